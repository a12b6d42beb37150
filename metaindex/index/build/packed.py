"""Facts that wait for their turn, compressed in memory: ten million files of five columns are gigabytes otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

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
