"""Kinds that keep one row of every file: what its values come to. No value is looked up in them, so they leave no file
out; what is known of files answers for them (`answers/`).

A class says its schema, whose first columns are `key_id` and `ordinal`, and makes what takes the values of a file
(`OfFile`). Of a file whose values cannot be taken there is no row: it is unkeyed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from metaindex.core import ArgumentError, Mask, UnsupportedFeatureError, Vector, dataclass
from metaindex.expressions import Literal
from metaindex.formats import Leaf, Schema
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.rows import Columns

from .canonical import UnkeyedValuesError
from .exact_sums import can_be_summed
from .keyed import EqualityReader, Gathered, Hits, KeyFinisher, KeyPlan, Spill, Units
from .kind import KeyCheck, KeyRows, Merged, MergeInto, Mismatch, PlannedKey, WholeKind, keys_of
from .stored_rows import named, stored_rows
from .theta.sketch import can_be_sketched

if TYPE_CHECKING:  # what writes, and what reads parts, is loaded by the verbs that need it
    from metaindex.index.store.layout import PartInfo
    from metaindex.index.store.reader import RunReader
    from metaindex.index.store.writer import RunSink

    from .command import KindCommand
    from .keyed import KeyCollector
    from .kind import Kind


COLUMNS = Columns(ascending=frozenset({"ordinal"}), ranged=frozenset({"key_id", "ordinal"}))
_PART_BYTES = 64 << 20
_MOST_ROWS = 1 << 18
_SHORT_BYTES = 64


class FileAggregate(Enum):
    """Aggregates of a file's values in the rows."""

    SUM = auto()
    DISTINCT_VALUES = auto()

    def takes(self, type_: pa.DataType) -> bool:
        """Return whether there are aggregates of values of this type. Integers and decimals have sums: the order in
        which floats are added changes theirs."""
        return can_be_summed(type_) if self is FileAggregate.SUM else can_be_sketched(type_)


class OfFilesKind(WholeKind):
    """A kind with a row a file and key; each key is one column."""

    __slots__ = ()
    schema: ClassVar[pa.Schema]
    tells: ClassVar[FileAggregate]
    finds_values = False
    unkeyed_because: ClassVar[str] = "values that cannot be taken"
    taken: ClassVar[str] = "columns whose values they can take"  # for people
    takes_every_row: ClassVar[bool] = True

    @classmethod
    def command(cls) -> KindCommand[Kind] | None:
        from .command import Keys

        return Keys.named(cls.name, cls.__doc__, cls, Keys.ONE_EACH)

    @abstractmethod
    def of_file(self, type_: pa.DataType) -> OfFile:
        """Return a collector of a file's values, for a column of this type."""

    @classmethod
    @abstractmethod
    def made_by(cls, key: CoveredKey) -> OfFilesKind:
        """Return the kind that made the stored rows."""

    @classmethod
    @abstractmethod
    def wrong_row(cls, row: Mapping[str, Any]) -> str | None:
        """Return why a stored row is invalid, or None."""

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """Approximate largest size of a row."""

    @property
    def said_layout(self) -> dict[str, int | str]:
        """The layout of its keys."""
        return {}

    def planned(self, schema: Schema) -> list[tuple[Leaf, ...]]:
        keys = super().planned(schema)
        for (leaf,) in keys:
            if len(leaf.path) > 1 or leaf.field.partition:
                place = "is of a partition" if leaf.field.partition else "is a field of a struct"
                raise UnsupportedFeatureError(
                    f"{self.name} are of columns that stand in the files, at the top; {'.'.join(leaf.parts)!r} {place};"
                    " choose another column"
                )
            if not self.tells.takes(leaf.type):
                raise UnsupportedFeatureError(
                    f"{self.name} are of {self.taken}; {'.'.join(leaf.parts)!r} is {leaf.type}; choose another column"
                )
        return keys

    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> KeyCollector:
        return OfFilesCollector(self, plan, sink, spill, files)

    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> KeyFinisher:
        return OfFilesFinisher(self, plan, sink, spill, files, tuple(gathered))

    @classmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> NothingFound:
        return NothingFound()

    @classmethod
    def merge(cls, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto) -> Merged:
        return dict(key.layout), list(merged(cls.schema, cls.made_by(key).row_bytes, key, some, into))

    @classmethod
    def check(cls, reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
        seen = np.zeros(len(unkeyed), np.bool_)
        last = -1
        for table in stored_rows(reader, key):
            if table.schema.names != cls.schema.names:
                raise Mismatch(f"{named(key)} has other columns than its kind", key.kind)
            ordinals = Vector(table.column("ordinal")).numbers.astype(np.int64)
            if len(ordinals) and (ordinals[0] <= last or (np.diff(ordinals) <= 0).any()):
                raise Mismatch(f"the rows of {named(key)} do not ascend by file", key.kind)
            if len(ordinals) and ordinals[-1] >= len(unkeyed):
                raise Mismatch(f"rows of {named(key)} are of files that the run does not have", key.kind)
            seen[ordinals] = True
            last = int(ordinals[-1]) if len(ordinals) else last
            for row in table.to_pylist():
                if (why := cls.wrong_row(row)) is not None:
                    raise Mismatch(f"a row of {named(key)} {why}", key.kind)
        if (seen == unkeyed).any():
            raise Mismatch(f"{named(key)} has a row for each file of which it is said to know, and no other", key.kind)

    @classmethod
    def compared(
        cls, reader: RunReader, key: CoveredKey, plan: PlannedKey, ordinals: npt.NDArray[np.intp], spill: Spill
    ) -> KeyCheck:
        return OfFilesCheck(cls.made_by(key), plan, reader, key)


def of_key(reader: RunReader, key: CoveredKey, names: Sequence[str]) -> pa.Table:
    """Return these columns of all rows of a key, in the order of their files."""
    tables = []
    for part in reader.parts(key.kind):
        if part.first_key == key.key_id:
            groups = range(len(reader.footer(part).rows))
            tables.append(reader.read(part, groups, names, keep=False))
    if not tables:
        return pa.table({name: pa.array([], pa.int64()) for name in names})
    return pa.concat_tables(tables).combine_chunks()


class NothingFound(EqualityReader):
    """Look-up without answers: an aggregate of a file does not tell which values it has."""

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        return None


def one_column_each(kind: str, keys: Sequence[str | Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Keys of one column each, as a constructor gets them. ArgumentError for anything else."""
    named_keys = keys_of(kind, keys)
    for key in named_keys:
        if len(key) > 1:
            raise ArgumentError(f"{kind} are of one column each, as in {kind}('a', 'b'); got {key!r}")
    return named_keys


class OfFile(Protocol):
    """Takes the values of one file."""

    def add(self, values: pa.Array) -> None:
        """Add rows. Raises UnkeyedValuesError, or an error of Arrow, for unsupported values."""

    def row(self) -> Mapping[str, object]:
        """Return the result: a value for each column of the schema except the first two."""


class _FileByFile:
    """Makes the row of one file after the other; see `keyed.TakesRows`. `failed`: those of which there is none."""

    def __init__(self, kind: OfFilesKind, plan: KeyPlan) -> None:
        self._kind, self._plan, self._ordinal = kind, plan, -1
        self._open: OfFile | None = None
        self.failed: list[int] = []

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal, self._open = ordinal, self._kind.of_file(self._plan.leaves[0].type)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        assert self._open is not None
        self._open.add(_alone(values))

    def fail(self) -> None:
        self.failed.append(self._ordinal)
        self._open = None


class OfFilesCollector(_FileByFile):
    """Collects rows of whole files, and spills those beyond its memory limit; see `KeyCollector`."""

    def __init__(self, kind: OfFilesKind, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> None:
        super().__init__(kind, plan)
        self._sink, self._spill, self._files, self._entries = sink, spill, files, 0
        self._held: list[dict[str, object]] = []
        self._away: list[str] = []

    def add_groups(self, groups: Sequence[tuple[int, int]], values: Sequence[pa.Array]) -> None:
        """Add row groups as if they were one; see `AddsGroups`."""
        self.add(0, values)

    def end(self) -> None:
        assert self._open is not None
        self._held.append({"key_id": self._plan.key_id, "ordinal": self._ordinal, **self._open.row()})
        self._entries += 1
        self._open = None
        if len(self._held) * self._kind.row_bytes > self._spill.limit_bytes:
            self._put_away()

    def close(self) -> tuple[CoveredKey, list[PartInfo], Units]:
        finisher = OfFilesFinisher(self._kind, self._plan, self._sink, self._spill, self._files, (self.hand_over(),))
        return finisher.close(self._spill, self._away)

    def hand_over(self) -> Gathered:
        if self._held:
            self._put_away()
        return Gathered(tuple(self._away), self._entries, tuple(self.failed))

    def _put_away(self) -> None:
        table = pa.Table.from_pylist(self._held, schema=self._kind.schema)
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
        self._away.append(self._spill.fresh(self._kind.name))
        self._spill.storage.put(self._away[-1], out.getvalue().to_pybytes())
        self._held.clear()


@dataclass(frozen=True)
class OfFilesFinisher(KeyFinisher):
    """Writes ranges of files, as many as a part may have rows; see `KeyFinisher`."""

    kind: OfFilesKind
    plan: KeyPlan
    sink: RunSink
    spill: Spill
    files: int
    gathered: tuple[Gathered, ...] = field(default=())

    @property
    def ranges(self) -> int:
        return -(-self.files // _part_rows(self.kind.row_bytes)) if any(share.entries for share in self.gathered) else 0

    def write(self, number: int) -> list[PartInfo]:
        first = number * _part_rows(self.kind.row_bytes)
        last = min(self.files, first + _part_rows(self.kind.row_bytes))
        some = []
        for path in (path for share in self.gathered for path in share.spills):
            with pa.ipc.open_stream(pa.py_buffer(self.spill.storage.read(path))) as opened:
                table = opened.read_all()
            ordinals = Vector(table.column("ordinal")).numbers
            some.append(table.filter(pa.array((ordinals >= first) & (ordinals < last))))
        return _written(self.kind.name, some, self.sink, self.plan.number(number))

    def covered(self) -> tuple[CoveredKey, Units]:
        unkeyed = Gathered.unkeyed_of(self.gathered)
        return self.plan.covered(self.kind.said_layout, len(unkeyed)), unkeyed


class OfFilesCheck(_FileByFile):
    """Computes each file's row again; see `checks.KeyCheck`. Short forms of the results are held, and the stored rows
    stream past: all of them may exceed memory."""

    def __init__(self, kind: OfFilesKind, plan: KeyPlan, reader: RunReader, key: CoveredKey) -> None:
        super().__init__(kind, plan)
        self._reader, self._key = reader, key
        self._truth: dict[int, dict[str, object]] = {}

    def end(self) -> None:
        assert self._open is not None
        self._truth[self._ordinal] = {name: _short(value) for name, value in self._open.row().items()}

    def wrong(self, ordinals: Sequence[int]) -> Iterator[tuple[int, str]]:
        waiting = {ordinal: self._truth[ordinal] for ordinal in ordinals}
        for table in stored_rows(self._reader, self._key):
            places = table.column("ordinal").to_pylist()
            for at in (at for at, ordinal in enumerate(places) if ordinal in waiting):
                (stored,) = table.slice(at, 1).to_pylist()
                truth = waiting.pop(places[at])
                other = [name for name, value in truth.items() if _short(stored[name]) != value]
                if other:
                    yield places[at], f"its rows come to another {', '.join(other)} than the index says"
        for ordinal in waiting:
            yield ordinal, "the index has no row of it"


def _short(value: object) -> object:
    return xxhash.xxh3_128_digest(value) if isinstance(value, bytes) and len(value) > _SHORT_BYTES else value


def _alone(values: Sequence[pa.Array]) -> pa.Array:
    if len(values) != 1:
        raise UnkeyedValuesError("what a file's values come to is of one column")
    (column,) = values
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _part_rows(row_bytes: int) -> int:
    return max(1, min(_MOST_ROWS, _PART_BYTES // row_bytes))


def _written(name: str, tables: Sequence[pa.Table], sink: RunSink, number: int) -> list[PartInfo]:
    rows = pa.concat_tables(tables).sort_by("ordinal") if tables else None
    if rows is None or not rows.num_rows:
        return []
    return [sink.write(name, rows.combine_chunks(), number, COLUMNS)]


def merged(
    schema: pa.Schema, row_bytes: int, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto
) -> Iterator[PartInfo]:
    """Part by part: what is read of each run again are the row groups whose files go into the part."""
    files = max((int(places.max(initial=-1)) + 1 for _, _, places in some), default=0)
    step, number = _part_rows(row_bytes), 0
    for first in range(0, files, step):
        tables = [
            table
            for run, old, places in some
            for table in _of_range(schema, run, old, places, first, min(files, first + step))
        ]
        for part in _written(
            key.kind, [_as(table, schema, key.key_id) for table in tables], into.sink, into.number(number)
        ):
            number += 1
            yield part


def _of_range(
    schema: pa.Schema, run: RunReader, old: CoveredKey, places: npt.NDArray[np.int64], first: int, last: int
) -> Iterator[pa.Table]:
    """Return rows of the files whose new ordinals are in a range, with these ordinals."""
    names = schema.names
    for part in run.parts(old.kind):
        if part.first_key != old.key_id:
            continue
        for group in range(len(run.footer(part).rows)):
            ordinals = Vector(run.read(part, [group], ["ordinal"], keep=False).column("ordinal")).numbers
            new = places[ordinals.astype(np.int64)]
            at = np.flatnonzero((new >= first) & (new < last))
            if len(at):
                rows = run.read(part, [group], names, keep=False).take(Vector.arrow(at, None, pa.int64()))
                ordinals = Vector.arrow(new[at].astype(np.int32), None, pa.int32())
                yield rows.set_column(names.index("ordinal"), schema.field("ordinal"), ordinals)


def _as(table: pa.Table, schema: pa.Schema, key_id: int) -> pa.Table:
    ids = pa.repeat(pa.scalar(key_id, pa.int64()), table.num_rows)
    arrays = [ids if f.name == "key_id" else table.column(f.name).cast(f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
