"""Sorted tables in, parts of a run out: small tables share a part, large ones are cut."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from .layout import PartInfo
from .rows import COLUMNS, PART_ROWS, Columns
from .writer import RunSink


@dataclass(slots=True)
class PartStream:
    """Takes tables in the order of their rows and writes a part whenever PART_ROWS have come together. `close` writes
    what is left (an empty part when nothing came and one is `needed`). `first_number` and every `step`-th from it on
    are the numbers of its parts: several streams that write into one folder take turns."""

    sink: RunSink
    kind: str
    schema: pa.Schema
    columns: Columns = COLUMNS
    first_number: int = 0
    step: int = 1
    parts: list[PartInfo] = field(default_factory=list)
    waiting: list[pa.Table] = field(default_factory=list)
    waiting_rows: int = 0

    def add(self, table: pa.Table) -> None:
        """The next rows."""
        while table.num_rows:
            taken = table.slice(0, PART_ROWS - self.waiting_rows)
            table = table.slice(taken.num_rows)
            self.waiting.append(taken)
            self.waiting_rows += taken.num_rows
            if self.waiting_rows == PART_ROWS:
                self._write()

    def close(self, *, needed: bool = True) -> list[PartInfo]:
        """Return all parts, in order."""
        if self.waiting or (needed and not self.parts):
            self._write()
        return self.parts

    def _write(self) -> None:
        table = pa.concat_tables(self.waiting).combine_chunks() if self.waiting else self.schema.empty_table()
        if table.schema != self.schema:
            table = table.cast(self.schema)
        self.waiting, self.waiting_rows = [], 0
        number = self.first_number + len(self.parts) * self.step
        self.parts.append(self.sink.write(self.kind, table, number, self.columns))
