"""The result of a look-up: the same words on the command line, by `print` in Python, and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaindex.core import Column, Cure, Shown, TextTable

SHOWN = 50
"""Row groups that a look-up shows to a person; machines get all."""

PLACE = (Column("row group", right=True), Column("rows", right=True), Column("match", right=True))


@dataclass(frozen=True, slots=True, repr=False)
class Answer(Shown):
    """Result of a look-up: sentences, with a table below them if there are rows to list."""

    sentences: tuple[str, ...]
    table: TextTable | None = None
    more: int = 0  # rows that the table leaves out

    @property
    def shown(self) -> Sequence[str | TextTable]:
        table = () if self.table is None else ("", self.table)
        return (*self.sentences, *table, *self.left_out)

    @property
    def left_out(self) -> tuple[str, ...]:
        return (f"... and {self.more:,} more; {Cure('all')}",) if self.more else ()


def place(row: dict[str, object]) -> tuple[str, str, str]:
    """Cells of a row group: its number, its rows, those that match."""

    def cell(value: object, unknown: str) -> str:
        return f"{value:,}" if isinstance(value, int) else unknown

    return cell(row["row_group"], "-"), cell(row["row_count"], "not known"), cell(row["matches"], "maybe")
