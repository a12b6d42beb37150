"""Base classes of index kinds, and what they hand to each other.

    Kind        what a user asks for: a frozen value, and its form in the log (a name, a version, properties)
    StoredKind  the rows of keys in one metadata partition: what their layout says, and how they are merged and checked;
                as LookedUpRows they answer in which files a value is
    KeyKind     a kind that keys values; as a WholeKind it says of its rows, too: one class is all of it

Beside KeyKind stand kinds that keep facts of columns (`described`) and kinds that keep rows of the table (`served`).

The program knows kinds by these alone. `registry` lists those of metaindex; a package of its own adds one by an entry
point of the group `metaindex.kinds` that names a `WholeKind` (docs/kinds.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import ArgumentError, DamagedIndexError, Mask, dataclass
from metaindex.expressions import physical_type
from metaindex.formats import Leaf, Schema
from metaindex.index.keys import key_id
from metaindex.index.log.entry import CoveredKey, KindSpec

from .canonical import answers_for
from .checks import KeyCheck as KeyCheck
from .checks import Mismatch as Mismatch
from .keyed import KeyPlan

if TYPE_CHECKING:  # what writes, and what a person sees, is loaded by the verbs that need it
    from metaindex.index.store.layout import PartInfo
    from metaindex.index.store.reader import RunReader
    from metaindex.index.store.writer import RunSink

    from .command import KindCommand
    from .keyed import Gathered, KeyCollector, KeyFinisher, KeyReader, Spill, Units
    from .pieces import WritesPieces

KeyRows = tuple["RunReader", CoveredKey, npt.NDArray[np.int64]]
"""The rows of a key in one run, and the new ordinal of each of its files: -1 where nothing is taken of it. Each new
ordinal is taken from one run at most."""

Merged = tuple[dict[str, int | str], "list[PartInfo]"]
"""The layout of a key whose rows were merged, and its parts."""


@dataclass(frozen=True, slots=True)
class MergeInto:
    """Destination of a merged key's rows. `number`: that of the key's n-th part, for `sink.write`. `write`: writes
    pieces of rows that are read in the table's place; None: threads of this process."""

    sink: RunSink
    number: Callable[[int], int]
    write: WritesPieces | None = None


@dataclass(frozen=True, slots=True)
class LayoutRule:
    """Rules for a key's layout. `names`: all of it, but for what begins with one of `prefixes`. `forms`: the values
    that a name may have, where they are few. `numbers`: names that must be there, each with the largest whole number
    that it may have."""

    names: frozenset[str] = frozenset()
    forms: Mapping[str, Collection[object]] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()

    def unknown(self, key: CoveredKey) -> str | None:
        """Return the unknown part of the key, or None."""
        for name, value in key.layout.items():
            if name not in self.names and not name.startswith(self.prefixes or ("\0",)):
                return f"{name[:80]!r} in the layout of {key.kind}"
            if value not in self.forms.get(name, (value,)):
                return f"{name} {str(value)[:80]!r} in the layout of {key.kind}"
        return None

    def senseless(self, key: CoveredKey) -> str | None:
        """Return the inconsistent part of the key, or None."""
        for name, most in self.numbers.items():
            value = key.layout.get(name)
            if type(value) is not int or not 0 <= value <= most:
                return f"a layout of {key.kind} without a sound {name}"
        return None


@dataclass(frozen=True, slots=True)
class AskedColumns:
    """Columns in queries, by their dotted names, in the order of first use: those with an order, those compared for
    equality and stored in the files, and those with ranges.

    Where whole queries are known, and not conditions alone: `together`, columns that must all be equal to something in
    one query; `joined`, `grouped` and `ordered`, by which it joins, groups and sorts; `needed`, all that it reads: a
    struct by its own name where it is read whole, else by its fields.
    """

    named: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    ranged: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    joined: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()


class Kind(ABC):
    """Base of what a user requests."""

    __slots__ = ()
    name: ClassVar[str]
    version: ClassVar[int] = 1
    needs_spark: ClassVar[bool] = False
    keeps_facts: ClassVar[bool] = False  # of columns, file by file
    keeps_rows: ClassVar[bool] = False  # of the table: it is a `RowKind`
    words: ClassVar[tuple[str, ...]] = ()  # other names in SQL, the plainest first

    @abstractmethod
    def spec(self) -> KindSpec:
        """Return the kind as the log stores it."""

    @classmethod
    @abstractmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        """The kind that has these properties in the log. KeyError, TypeError or ValueError for others."""

    @classmethod
    def stored(cls) -> Sequence[type[StoredKind]]:
        """The rows that runs hold of keys of this kind."""
        return ()

    @classmethod
    def command(cls) -> KindCommand[Kind] | None:
        """Return its options in `metaindex create`."""
        return None

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        """Return kinds of this class that may help such queries; none if the choice needs a user."""
        return ()

    @property
    def title(self) -> str:
        """One-line title: `values(user_id)`."""
        return self.name

    @property
    def bounded(self) -> int:
        """Return how many of the first columns have bounds by which parts of its rows are skipped; 0: it keeps none."""
        return 0

    def united(self, other: Kind) -> Kind | None:
        """Return one kind that answers what both do, or None."""
        return None

    @abstractmethod
    def check_columns(self, schema: Schema) -> None:
        """UnknownColumnError, with the near names, for a column that is not there; UnsupportedFeatureError for one that
        the kind cannot take."""

    def leaves(self, schema: Schema) -> list[Leaf]:
        """Return the columns of which it keeps facts, at a schema. UnknownColumnError, with the near names, for one
        that is not there; UnsupportedFeatureError for one that has no order."""
        return []

    def narrowed(self, columns: Sequence[str]) -> Kind:
        """Return the kind limited to facts of these columns."""
        return self

    @staticmethod
    def footers_tell(leaf: Leaf) -> bool:
        """Return whether Parquet footers tell all facts of the column. They do not tell NaN of floats."""
        ordered = physical_type(leaf.type) is not None and not pa.types.is_floating(leaf.type)
        return ordered and not any(level.partition for level in leaf.path)

    def reads(self, schema: Schema) -> list[Leaf] | None:
        """Return the columns whose data a build reads of Parquet files; None for all, where a kind does not say. Raises
        as `check_columns`."""
        return None

    def sized(self, schema: Schema, table_bytes: int) -> Kind:
        """Return the kind with defaults that depend on the table's size."""
        return self


class StoredKind(ABC):
    """The rows of keys in one metadata partition, by class methods alone."""

    __slots__ = ()
    partition: ClassVar[str]
    layout: ClassVar[LayoutRule] = LayoutRule()
    unkeyed_because: ClassVar[str] = "values without a key"

    @classmethod
    @abstractmethod
    def merge(cls, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto) -> Merged:
        """Writes the rows of a key of several runs as those of one."""

    @classmethod
    @abstractmethod
    def check(cls, reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
        """Read all rows of a key back. Raises Mismatch, or a reading error, if something is wrong. `unkeyed`: the files
        that the key does not cover. `records`: by ordinal the number of rows in the table's log."""

    @classmethod
    def carries_over(cls, old: pa.DataType, new: pa.DataType) -> bool:
        """Return whether values written under one type have the same rows under another."""
        return bool(old == new)

    @classmethod
    def senseless(cls, key: CoveredKey) -> str | None:
        """Return why a key is inconsistent, or None: its rows would be looked for in the wrong place."""
        if key.key_id != key_id(key.kind, [column.stable for column in key.columns]):
            return f"a key id of {key.kind} that does not follow from its columns"
        return cls.layout.senseless(key)

    @classmethod
    def together(cls, key: CoveredKey, other: CoveredKey) -> bool:
        """Return whether keys of two runs with compatible columns may be merged."""
        return True

    @classmethod
    def said(cls, key: CoveredKey) -> str:
        """The key for a person."""
        return f"{key.kind}({', '.join(column.name for column in key.columns)})"


class LookedUpRows(StoredKind):
    """Rows that answer in which files a value is, or what values of each file come to."""

    __slots__ = ()
    finds_values: ClassVar[bool] = True  # do they answer in which files a value is?
    exact: ClassVar[bool] = False  # does its answer leave nothing for other keys to prove, but for collisions?
    equality_only: ClassVar[bool] = True  # does it know whether a value is equal, and nothing else?
    turn: ClassVar[int] = 100  # of several keys of a column the least is asked first
    takes_every_row: ClassVar[bool] = False  # is a row group of one value more to it than that value?
    carries_types: ClassVar[bool] = False  # are the rows of equal values the same under every type that has them?

    @classmethod
    @abstractmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> KeyReader:
        """Return the reader of a run's key. `types`: its columns' current types, for whose values those of the types at
        write time answer."""

    @classmethod
    @abstractmethod
    def maker(cls, key: CoveredKey, kinds: Iterable[Kind]) -> KeyKind:
        """The kind that made the key, for its columns' names as they were. `kinds`: those of the index that have the
        name of this partition."""

    @classmethod
    def compared(
        cls, reader: RunReader, key: CoveredKey, plan: PlannedKey, ordinals: npt.NDArray[np.intp], spill: Spill
    ) -> KeyCheck:
        """Return a comparison of the stored rows of some files with the files: by default, that look-ups of values in a
        file find it. `spill`: for what does not fit in memory."""
        from .asked_again import AskedAgain

        return AskedAgain(cls.reader(reader, key, [leaf.type for leaf in plan.leaves]), reader.run.files)

    @classmethod
    def carries_over(cls, old: pa.DataType, new: pa.DataType) -> bool:
        return old == new if not cls.carries_types else answers_for(old, new)


@runtime_checkable
class KeepsValues(Protocol):
    """Rows that keep every value of their files unchanged, so that distinct values can be listed."""

    @classmethod
    def each_value(cls, reader: RunReader, key: CoveredKey) -> Iterator[tuple[Units, pa.Array]]:
        """Yield the ordinals of files and a value that each of them has, as `different.DistinctKeys`; in pieces, as all
        of them may exceed memory. A value may come once or more often, NULL never; of a text that may have been cut
        there are `different.CUT` bytes. Raises DamagedIndexError for impossible rows."""


class KeyKind(Kind):
    """A kind that keys values: each key is one column or several together."""

    __slots__ = ()
    keys: tuple[tuple[str, ...], ...]

    @property
    @abstractmethod
    def rows(self) -> type[LookedUpRows]:
        """The rows that it writes."""

    def spec(self) -> KindSpec:
        options = {name: getattr(self, name) for name in self._options()}
        return KindSpec(self.name, self.version, {"keys": [list(key) for key in self.keys], **options})

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(*cls.said_keys(said), **{name: said[name] for name in cls._options()})

    @staticmethod
    def said_keys(said: Mapping[str, Any]) -> list[Any]:
        """Return the keys of a stored kind, for the constructor: JSON has lists where it takes tuples."""
        return [tuple(key) if isinstance(key, list) else key for key in said["keys"]]

    @classmethod
    def _options(cls) -> list[str]:
        """The parameters of a record beside its keys."""
        return [field.name for field in fields(cls) if field.name != "keys"]  # type: ignore[arg-type]

    @abstractmethod
    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> KeyCollector:
        """Return the builder of a key for a run of so many files."""

    @abstractmethod
    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> KeyFinisher:
        """Return the writer of a key of which several collectors gathered a share each."""

    @property
    def title(self) -> str:
        keys = ("(" + ", ".join(key) + ")" if len(key) > 1 else key[0] for key in self.keys)
        return f"{self.name}({', '.join(keys)})"

    def united(self, other: Kind) -> Kind | None:
        """Return a kind with the keys of both, if all else is equal."""
        if type(other) is not type(self):
            return None
        mine, theirs = ({**kind.spec().properties, "keys": None} for kind in (self, other))
        keys = [list(key) for key in dict.fromkeys((*self.keys, *other.keys))]
        return type(self).of({**mine, "keys": keys}) if mine == theirs else None

    @classmethod
    def command(cls) -> KindCommand[Kind] | None:
        from .command import Keys

        return Keys.named(cls.name, cls.__doc__, cls)

    def check_columns(self, schema: Schema) -> None:
        self.planned(schema)

    def reads(self, schema: Schema) -> list[Leaf]:
        return [leaf for leaves in self.planned(schema) for leaf in leaves]

    def planned(self, schema: Schema) -> list[tuple[Leaf, ...]]:
        """The columns of each key at a schema. UnknownColumnError, with the near names, for one that is not there;
        UnsupportedFeatureError for one whose values are not keyed."""
        return [tuple(schema.indexable(name) for name in key) for key in self.keys]


@dataclass(frozen=True, slots=True)
class PlannedKey(KeyPlan):
    """A planned key with the kind that builds it."""

    kind: KeyKind

    @classmethod
    def of(cls, kind: KeyKind, leaves: tuple[Leaf, ...], place: int = 0) -> Self:
        partition = kind.rows.partition
        return cls(partition, key_id(partition, [leaf.stable for leaf in leaves]), leaves, place, kind)


def key_plans(kinds: Sequence[Kind], schema: Schema) -> list[PlannedKey]:
    """The keys that kinds ask for at a schema, each once. Raises as `columns.find_leaf` where a column is not there or
    has no values to key."""
    plans: dict[int, PlannedKey] = {}
    for kind in kinds:
        if isinstance(kind, KeyKind):
            for leaves in kind.planned(schema):
                plan = PlannedKey.of(kind, leaves, len(plans))
                plans.setdefault(plan.key_id, plan)
    return list(plans.values())


class WholeKind(KeyKind, LookedUpRows):
    """A kind that keys values and is its own rows' class, in the partition of its name."""

    __slots__ = ()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "name" in cls.__dict__ and "partition" not in cls.__dict__:
            cls.partition = cls.name

    @property
    def rows(self) -> type[LookedUpRows]:
        return type(self)

    @classmethod
    def stored(cls) -> Sequence[type[StoredKind]]:
        return (cls,)

    @classmethod
    def maker(cls, key: CoveredKey, kinds: Iterable[Kind]) -> KeyKind:
        for kind in kinds:
            if isinstance(kind, cls):
                return cls.of({**kind.spec().properties, "keys": [[column.name for column in key.columns]]})
        raise kind_missing(cls.name)


def kind_missing(name: str) -> DamagedIndexError:
    """Return the error for a key whose kind its index lacks."""
    return DamagedIndexError(
        f"a key is of a kind of its index; there is one of {name}, which the index has not; recreate the index"
    )


def listed(names: Sequence[object]) -> list[Any]:
    """Return names, those in lists one by one: a list of columns is these columns, in every kind."""
    return [name for each in names for name in (each if isinstance(each, list) else (each,))]


def keys_of(kind: str, keys: Sequence[object]) -> tuple[tuple[str, ...], ...]:
    """Keys as they are written in a constructor: names, lists of names, and tuples of names for composite keys.
    ArgumentError for anything else."""
    out: dict[tuple[str, ...], None] = {}
    for key in listed(keys):
        names = key if isinstance(key, tuple) else (key,)
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ArgumentError(
                f"a key is a column, or a tuple of different columns, as in {kind}('a') or {kind}(('a', 'b')); got"
                f" {key!r}"
            )
        out[names] = None
    if not out:
        raise ArgumentError(f"{kind} keys at least one column; none was given; name it, as in {kind}('user_id')")
    return tuple(out)
