"""User's specification of the inverted index, and of the distinct values of every file; and their rows, by hash and by
value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, Self

import pyarrow as pa

from metaindex.core import ArgumentError, Mask, dataclass
from metaindex.expressions import physical_type
from metaindex.index.kinds.canonical import answers_for
from metaindex.index.kinds.kind import (
    AskedColumns,
    KeyCheck,
    KeyKind,
    KeyRows,
    Kind,
    LayoutRule,
    LookedUpRows,
    Merged,
    MergeInto,
    PlannedKey,
    StoredKind,
    WholeKind,
    keys_of,
    kind_missing,
)
from metaindex.index.log.entry import CoveredKey
from metaindex.index.log.fields import MAX_FILES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from metaindex.index.kinds.command import KindCommand
    from metaindex.index.kinds.keyed import Gathered, KeyCollector, KeyFinisher, KeyPlan, KeyReader, Spill, Units
    from metaindex.index.store.reader import RunReader
    from metaindex.index.store.writer import RunSink


_BITS: Final = frozenset({"by", "hash_bits", "unit_bits", "group_bits", "groups", "key"})
_NUMBERS: Final = {"unit_bits": 63, "group_bits": 63, "groups": MAX_FILES}


class HashRows(LookedUpRows):
    """Hashes of values, each with the files and row groups that hold it."""

    __slots__ = ()
    partition = "values"
    layout = LayoutRule(_BITS, {"by": ("hash",)}, {"hash_bits": 63, **_NUMBERS})
    exact = True
    turn = 0
    carries_types = True

    @classmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> KeyReader:
        from .hash_reader import HashReader

        return HashReader(run, key, types)

    @classmethod
    def merge(cls, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto) -> Merged:
        from .merge import merge_entries

        return merge_entries(key, some, into.sink, into.number)

    @classmethod
    def check(cls, reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
        from .verified import check_entries

        check_entries(reader, key, unkeyed)

    @classmethod
    def maker(cls, key: CoveredKey, kinds: Iterable[Kind]) -> KeyKind:
        return Values(tuple(column.name for column in key.columns))

    @classmethod
    def compared(
        cls, reader: RunReader, key: CoveredKey, plan: PlannedKey, ordinals: npt.NDArray[np.intp], spill: Spill
    ) -> KeyCheck:
        from .verified import EntryCheck

        return EntryCheck(reader, key, plan, spill)


class ValueRows(LookedUpRows):
    """The values themselves in order, each with the files and row groups that hold it."""

    __slots__ = ()
    partition = "value_keys"
    layout = LayoutRule(_BITS, {"by": ("value",), "key": ("int64",)}, _NUMBERS)
    exact = True
    equality_only = False
    turn = 1

    @classmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> KeyReader:
        from .key_reader import KeyValueReader

        return KeyValueReader(run, key, types)

    @classmethod
    def merge(cls, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto) -> Merged:
        from .merge import merge_values

        return merge_values(key, some, into.sink, into.number)

    @classmethod
    def carries_over(cls, old: pa.DataType, new: pa.DataType) -> bool:
        """Return whether values written under one type have the same bytes under another."""
        decimals = pa.types.is_decimal(old) or pa.types.is_decimal(new)
        temporal = any(pa.types.is_temporal(type_) for type_ in (old, new))
        alike = physical_type(old) == physical_type(new) and not decimals and not temporal
        return bool(answers_for(old, new) and alike)

    @classmethod
    def each_value(cls, reader: RunReader, key: CoveredKey) -> Iterator[tuple[Units, pa.Array]]:
        from .stored import each_value

        return each_value(reader, key)

    @classmethod
    def check(cls, reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
        from .verified import check_values

        check_values(reader, key, unkeyed)

    @classmethod
    def maker(cls, key: CoveredKey, kinds: Iterable[Kind]) -> KeyKind:
        return Values(tuple(column.name for column in key.columns), by="value")

    @classmethod
    def compared(
        cls, reader: RunReader, key: CoveredKey, plan: PlannedKey, ordinals: npt.NDArray[np.intp], spill: Spill
    ) -> KeyCheck:
        from .verified import ValueCheck

        return ValueCheck(reader, key, plan, spill)

    @classmethod
    def said(cls, key: CoveredKey) -> str:
        return f"values by value({', '.join(column.name for column in key.columns)})"


@dataclass(frozen=True, slots=True, init=False)
class Values(KeyKind):
    """The inverted index: value -> files and, in Parquet, row groups (the EDBT paper). `Values("a", "b")` keys two
    columns, `Values(("a", "b"))` both as one key.

    `by="hash"` keeps a hash of each value: smallest, answers `=` and `IN`; a collision reads a file in vain.
    `by="value"` keeps the values themselves, in order: ranges and prefixes as well.
    """

    keys: tuple[tuple[str, ...], ...]
    by: str

    def __init__(self, *keys: str | Sequence[str], by: Literal["hash", "value"] = "hash") -> None:
        if not isinstance(by, str) or by not in ("hash", "value"):
            raise ArgumentError(f"values are kept by 'hash' or by 'value'; got {by!r}")
        object.__setattr__(self, "keys", keys_of("Values", keys))
        object.__setattr__(self, "by", by)

    name = "values"
    words = ("values", "secondary_index")

    @classmethod
    def stored(cls) -> Sequence[type[StoredKind]]:
        return (HashRows, ValueRows)

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        return [*([cls(*asked.compared)] if asked.compared else []), *map(cls, asked.together)]

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from metaindex.index.kinds.command import Keys

        return Keys(
            cls,
            "--values",
            "values: which files and row groups hold a value? For look-ups of ids and names, exact",
            by={
                "choices": ["hash", "value"],
                "help": "keep a hash of each value (smallest; answers = and IN; the default), or the values themselves,"
                " in order (ranges and prefixes as well)",
            },
        )

    @property
    def rows(self) -> type[LookedUpRows]:
        return ValueRows if self.by == "value" else HashRows

    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> KeyCollector:
        if self.by == "hash":
            from .by_hash import HashCollector

            return HashCollector(plan, sink, spill, files)
        from .by_value import ValueCollector

        return ValueCollector(plan, sink, spill, files)

    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> KeyFinisher:
        if self.by == "hash":
            from .by_hash import HashFinisher

            return HashFinisher(plan, sink, spill, files, gathered)
        from .by_value import ValueFinisher

        return ValueFinisher(plan, sink, spill, files, gathered)


@dataclass(frozen=True, slots=True, init=False)
class ValueList(ValueRows, WholeKind):
    """The distinct values of every file, exactly, as long as they are at most `limit`; of a file with more nothing is
    known. Answers `=`, `IN`, `NOT IN`, `!=`, NULL, ranges, prefixes."""

    keys: tuple[tuple[str, ...], ...]
    limit: int

    def __init__(self, *keys: str | Sequence[str], limit: int = 1000) -> None:
        if not isinstance(limit, int) or not 1 <= limit <= 1_000_000:
            raise ArgumentError(
                f"limit is a number of values from 1 to 1,000,000; got {limit!r}; leave it out for 1,000"
            )
        object.__setattr__(self, "keys", keys_of("ValueList", keys))
        object.__setattr__(self, "limit", limit)

    name = partition = "value_lists"
    words = ("value_list", "set", "value_set")
    turn = 2
    unkeyed_because = "too many values"

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from metaindex.index.kinds.command import Keys

        return Keys(
            cls,
            "--value-list",
            "value lists: for columns with few values (a country, a state)",
            "the distinct values of this column in each file, or of several columns as one (a,b); can be repeated",
            limit={
                "type": int,
                "metavar": "N",
                "help": "of a file with more distinct values nothing is kept, and it is read; 1 to 1,000,000; default:"
                " 1000",
            },
        )

    @classmethod
    def maker(cls, key: CoveredKey, kinds: Iterable[Kind]) -> KeyKind:
        """Return the kind with the largest limit in the index: the same columns may be listed twice."""
        limits = [kind.limit for kind in kinds if isinstance(kind, cls)]
        if not limits:
            raise kind_missing(cls.name)
        return cls(tuple(column.name for column in key.columns), limit=max(limits))

    @classmethod
    def said(cls, key: CoveredKey) -> str:
        return f"{key.kind}({', '.join(column.name for column in key.columns)})"

    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> KeyCollector:
        from .by_value import ListCollector

        return ListCollector(plan, sink, spill, files, self.limit)

    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> KeyFinisher:
        from .by_value import ValueFinisher

        return ValueFinisher(plan, sink, spill, files, gathered)
