"""Rows as Parquet parts, one after another: what is held is one part that is being written."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.formats.storage import Storage
from metaindex.formats.written import Part

PART_BYTES = 64 << 20
"""A part that has so many is put, and the next one begun."""

GROUP_ROWS = 1 << 17


def write_parts(target: Storage, folder: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> list[Part]:
    """One part at least, whose rows may be none. What was put is removed where a table cannot be had."""
    parts: list[Part] = []
    try:
        out = _Open(schema)
        for table in tables:
            for batch in table.to_batches(max_chunksize=GROUP_ROWS):
                out.add(batch)
                if out.full:
                    parts.append(out.put(target, folder, len(parts)))
                    out = _Open(schema)
        if out.rows or not parts:
            parts.append(out.put(target, folder, len(parts)))
    except BaseException:
        for part in parts:
            target.delete(part.path)
        raise
    return parts


class _Open:
    """A part that is being written. Small batches are gathered to row groups."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._out = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(self._out, schema, compression="zstd")
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self.rows = 0

    @property
    def full(self) -> bool:
        return self._held_rows == 0 and self._out.tell() >= PART_BYTES

    def add(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._held_rows += batch.num_rows
        self.rows += batch.num_rows
        if self._held_rows >= GROUP_ROWS:
            self._flush()

    def put(self, target: Storage, folder: str, number: int) -> Part:
        self._flush()
        self._writer.close()
        data = self._out.getvalue().to_pybytes()
        path = f"{folder}/part-{number:05d}-{uuid.uuid4()}-c000.zstd.parquet"
        target.put(path, data)
        return Part(path, self.rows, len(data))

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held, self._schema))
        self._held, self._held_rows = [], 0
