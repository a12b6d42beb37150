"""Facts that the table's log states of new files, so that they need not be opened: the writer has just counted them
(RFC-27, metadata prepared with the data commit).

What a log may be believed in is decided by `SnapshotDetails.log_bounds`; here only whether it says enough. A file is
opened where some column lacks its state, its NULL count or its rows; so it is for float columns where NaN are to be
counted, which no log does. What waits for its turn is held compressed where it is much: ten million files of five
columns are gigabytes otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask
from metaindex.expressions import ColumnBounds
from metaindex.formats import Leaf, Trust
from metaindex.index.build.collect import Collected, facts_together
from metaindex.index.build.protocol import BuildRequest
from metaindex.index.kinds.facts import MOST_ROWS, constant, replace_rows, take_bounds, told, unknown_facts

_ROWS_AT_ONCE = 30_000_000
"""Files times columns whose statements are held uncompressed."""

_ASKED = ["state", "null_count", "nan_count", "value_count"]


def prepared(request: BuildRequest) -> tuple[list[Facts], Mask]:
    """The facts of every leaf over the request's files, and the files for which they are enough."""
    count = len(request.files)
    enough = np.ones(count, np.bool_)
    facts: list[Facts] = []
    few = count * len(request.leaves) <= MOST_ROWS
    at_once = max(1, _ROWS_AT_ONCE // max(1, count))
    for start in range(0, len(request.leaves), at_once):
        some = request.leaves[start : start + at_once]
        bounds = request.snapshot.details.many_log_bounds(some)
        for leaves in [some] if few else [[leaf] for leaf in some]:
            stated = _stated(request, leaves, [bounds.pop(0) for _ in leaves])  # its memory is the next column's
            enough &= _say_enough(request, leaves, stated)
            facts += map(packed, stated)
    return facts, enough


def completed(facts: list[Facts], enough: Mask, read: Collected) -> Collected:
    """Prepared facts with those of the files that were read after all."""
    rows = np.flatnonzero(~enough)
    scanned = np.zeros(len(enough), np.bool_)
    scanned[rows] = read.scanned
    whole: list[Facts] = []
    for at, better in enumerate(read.facts):
        whole.append(packed(replace_rows(unpacked(facts[at]), rows, unpacked(better))))
    return Collected(whole, {int(rows[row]): why for row, why in read.problems.items()}, scanned)


def _stated(request: BuildRequest, leaves: Sequence[Leaf], listed: Sequence[ColumnBounds | None]) -> list[pa.Table]:
    count = len(request.files)
    none = constant(0, count, pa.int64())
    said = []
    for bounds, leaf in zip(listed, leaves, strict=True):
        if bounds is not None:
            taken = replace(take_bounds(bounds, request.snapshot_rows), type=leaf.type)
            said.append(replace(taken, nan_count=none) if told(leaf, request.without_nan) else taken)
    facts = iter(facts_together(said, count, [Trust.LOG] * len(said)))
    return [
        unknown_facts(leaf.type, count) if bounds is None else next(facts)
        for bounds, leaf in zip(listed, leaves, strict=True)
    ]


def _say_enough(request: BuildRequest, leaves: Sequence[Leaf], stated: Sequence[pa.Table]) -> Mask:
    count = len(request.files)
    facts = pa.concat_tables([table.select(_ASKED) for table in stated])
    nan = np.array([request.scan_floats and pa.types.is_floating(leaf.type) for leaf in leaves], np.bool_)
    said = pc.and_(pc.is_valid(facts.column("null_count")), pc.is_valid(facts.column("value_count")))
    said = pc.and_(said, pc.greater(facts.column("state"), 0))
    said = pc.and_(said, pc.or_(pc.is_valid(facts.column("nan_count")), pa.array(~np.repeat(nan, count))))
    truths = np.asarray(said.combine_chunks().to_numpy(zero_copy_only=False), np.bool_)
    return np.asarray(truths.reshape(len(leaves), count).all(axis=0), np.bool_)


PACKED_ROWS = 1 << 20
"""Files from which on facts that wait are held compressed."""


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """The facts of a column, compressed in memory."""

    data: pa.Buffer

    @classmethod
    def of(cls, facts: pa.Table) -> PackedFacts:
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, facts.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(facts, max_chunksize=1 << 17)
        return cls(out.getvalue())

    def table(self) -> pa.Table:
        return pa.ipc.open_stream(self.data).read_all().combine_chunks()


Facts: TypeAlias = "pa.Table | PackedFacts"


def packed(facts: pa.Table, least: int = PACKED_ROWS) -> Facts:
    """Compressed where they are many."""
    return PackedFacts.of(facts) if facts.num_rows >= least else facts


def unpacked(facts: Facts) -> pa.Table:
    return facts.table() if isinstance(facts, PackedFacts) else facts
