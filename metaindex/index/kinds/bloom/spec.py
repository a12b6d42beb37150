"""User's specification of a bloom filter of every file; and its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from metaindex.core import ArgumentError, Mask, dataclass
from metaindex.index.kinds.kind import (
    AskedColumns,
    KeyCheck,
    KeyRows,
    Kind,
    LayoutRule,
    Merged,
    MergeInto,
    PlannedKey,
    WholeKind,
    keys_of,
)
from metaindex.index.log.entry import CoveredKey

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from metaindex.index.kinds.command import KindCommand
    from metaindex.index.kinds.keyed import Gathered, KeyCollector, KeyFinisher, KeyPlan, KeyReader, Spill
    from metaindex.index.store.reader import RunReader
    from metaindex.index.store.writer import RunSink


@dataclass(frozen=True, slots=True, init=False)
class Bloom(WholeKind):
    """Split-block bloom filters of the Parquet specification, one a file and key, stored across the files of a run.
    `fpp`: the share of files without the value that are read in vain."""

    keys: tuple[tuple[str, ...], ...]
    fpp: float

    def __init__(self, *keys: str | Sequence[str], fpp: float = 0.01) -> None:
        if not isinstance(fpp, int | float) or not 1e-6 <= fpp <= 0.5:
            raise ArgumentError(f"fpp is between 0.000001 and 0.5; got {fpp!r}")
        object.__setattr__(self, "keys", keys_of("Bloom", keys))
        object.__setattr__(self, "fpp", float(fpp))

    name = "bloom_filters"
    words = ("bloom", "bloom_filter", "bloomfilter")
    layout = LayoutRule(frozenset({"classes"}))
    turn = 3
    carries_types = True

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        return [*([cls(*asked.compared)] if asked.compared else []), *map(cls, asked.together)]

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from metaindex.index.kinds.command import Keys

        return Keys(
            cls,
            "--bloom",
            "bloom filters: as values, smaller and inexact",
            "a bloom filter of this column for each file, or of several columns as one (a,b); can be repeated",
            fpp={
                "type": float,
                "metavar": "P",
                "help": "the share of files without the value that are read in vain; default: 0.01",
            },
        )

    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> KeyCollector:
        from .collector import BloomCollector

        return BloomCollector(plan, sink, spill, files, self.fpp)

    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> KeyFinisher:
        from .collector import BloomFinisher

        return BloomFinisher.of(plan, sink, spill, files, gathered)

    @classmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> KeyReader:
        from .reader import BloomReader

        return BloomReader(run, key, types)

    @classmethod
    def merge(cls, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto) -> Merged:
        from .stored import merge_filters

        return merge_filters(key, some, into.sink, into.number)

    @classmethod
    def check(cls, reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
        from .stored import check_filters

        check_filters(reader, key, unkeyed)

    @classmethod
    def compared(
        cls, reader: RunReader, key: CoveredKey, plan: PlannedKey, ordinals: npt.NDArray[np.intp], spill: Spill
    ) -> KeyCheck:
        from .stored import FilterCheck

        return FilterCheck(reader, key, ordinals.tolist())
