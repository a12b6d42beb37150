"""Tables for people: plain columns in a text or a pipe (no colour codes, nothing cut off), drawn by rich on a terminal
and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from metaindex.core.records import dataclass
from metaindex.core.texts import LINES, Column, html_table, one_line

if TYPE_CHECKING:
    from rich.table import Table

    from .figures import Element


@dataclass(frozen=True, slots=True)
class TextTable:
    """Columns and rows of cells. `bars`: for a column, by its place, a share between 0 and 1 for each row, which a
    notebook and a page draw beside the number: full, or pale if `pale`, as for skipped files."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    bars: tuple[tuple[int, tuple[float, ...]], ...] = ()
    pale: bool = False

    def __str__(self) -> str:
        return plain_table(self.columns, self.rows)

    def __rich__(self) -> Table:
        return rich_table(self.columns, self.rows)

    def _repr_html_(self) -> str:
        drawn: dict[int, list[str]] = {}
        if self.bars:
            from .figures import Element

            drawn = {at: [Element.bar(*self._full(s)).html() for s in shares[:LINES]] for at, shares in self.bars}
        return html_table([(c.title, c.right) for c in self.columns], self.rows, drawn)

    def grid(self, caption: str) -> Element:
        """Return the table as an HTML element."""
        from .figures import Element

        bars = dict(self.bars)

        def cells(number: int, row: Sequence[str]) -> list[str | Element]:
            parts = {at: self._full(shares[number]) for at, shares in bars.items()}
            bar = {at: Element.cell(row[at], None, *part) for at, part in parts.items()}
            return [bar.get(at, text) for at, text in enumerate(row)]

        return Element.grid(caption, self.columns, [cells(number, row) for number, row in enumerate(self.rows)])

    def _full(self, share: float) -> tuple[float, float]:
        """Return the full part of a bar, and the part that is its frame."""
        return (0.0, share) if self.pale else (share, 1.0)


def plain_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    r"""Aligned columns two spaces apart. Line breaks inside a cell are written as \n, so that a row is a line."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    titles = [one_line(c.title) for c in columns]
    widths = [max([len(titles[i]), *(len(row[i]) for row in cells)]) for i in range(len(columns))]

    def line(values: Sequence[str]) -> str:
        aligned = (v.rjust(w) if c.right else v.ljust(w) for v, w, c in zip(values, widths, columns, strict=True))
        return "  ".join(aligned).rstrip()

    return "\n".join([line(titles), line(["-" * w for w in widths]), *map(line, cells)])


def rich_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table for rich, which folds long cells to the width of the terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        # What a row is called stays in one piece on a narrow terminal.
        least = min(max((len(row[at]) for row in rows), default=0), 24) if at == 0 else None
        justify: Literal["right", "left"] = "right" if column.right else "left"
        drawn.add_column(Text(one_line(column.title)), justify=justify, overflow="fold", min_width=least)
    for row in rows:
        drawn.add_row(*(Text(one_line(cell)) for cell in row))
    return drawn
