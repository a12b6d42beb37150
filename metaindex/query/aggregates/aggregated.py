"""The answer of an aggregate, and what it took."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from metaindex.core import ArrowRows, Column, Shown, Tabular, TextTable, counted, dataclass, plain
from metaindex.formats import Version
from metaindex.query.lookups.answer import Answer

_SHOWN = 100


@dataclass(frozen=True, slots=True, repr=False)
class Aggregated(Shown):
    """`table`: a row a group (one row without groups), the columns that make the groups first, then what was asked:
    `count(*)`, `min(x)`. Of the table's files, `left_out` hold no row that matches, `answered` were answered from what
    is known of them, and `opened` were read."""

    path: str
    version: Version
    table: pa.Table
    left_out: int
    answered: int
    opened: int

    @property
    def total_files(self) -> int:
        """Return the number of files of the version."""
        return self.left_out + self.answered + self.opened

    @property
    def shown(self) -> Sequence[str | Tabular]:
        """Return the output of `metaindex count`."""
        return self.answer.shown

    @property
    def answer(self) -> Answer:
        """Return the answer for people."""
        said = (
            f"{self.path} at version {self.version}: of {counted(self.total_files, 'file')} {self.opened:,} opened,"
            f" {self.answered:,} answered from metadata, {self.left_out:,} left out"
        )
        numbers = [pa.types.is_primitive(t) and not pa.types.is_temporal(t) for t in self.table.schema.types]
        columns = tuple(Column(n, right=r) for n, r in zip(self.table.column_names, numbers, strict=True))
        cells = ArrowRows(self.table.slice(0, _SHOWN)).cells()
        return Answer((said,), TextTable(columns, cells), self.table.num_rows - len(cells))

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {
            "table": self.path,
            "version": self.version.id,
            "columns": self.table.column_names,
            "rows": ArrowRows(self.table).plain(),
            **plain(self, "total_files", "left_out", "answered", "opened"),
        }
