"""User's specification of the inverted index; and its rows, by hash and by value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import pyarrow as pa

from metaindex.core import ArgumentError, Mask, dataclass
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
    keys_of,
)
from metaindex.index.log.entry import CoveredKey, KindSpec

from .layouts import BITS, NUMBERS, VALUE_LAYOUT, values_carry_over

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from metaindex.index.kinds.command import KindCommand
    from metaindex.index.kinds.keyed import Gathered, KeyCollector, KeyFinisher, KeyPlan, KeyReader, Spill, Units
    from metaindex.index.store.reader import RunReader
    from metaindex.index.store.writer import RunSink


class HashRows(LookedUpRows):
    """Hashes of values, each with the files and row groups that hold it."""

    __slots__ = ()
    partition = "values"
    layout = LayoutRule(BITS, {"by": ("hash",)}, {"hash_bits": 63, **NUMBERS})
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
        return Values([column.name for column in key.columns])

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
    layout = VALUE_LAYOUT
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
        return values_carry_over(old, new)

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
        return Values([column.name for column in key.columns], by="value")

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

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"keys": [list(key) for key in self.keys], "by": self.by})

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(*said["keys"], by=said["by"])

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
