"""A table's layout for a notebook or a page: a row a column, with bars of what queries read."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.drawing.grid import BarCell, GridCell, Heading, grid
from metaindex.drawing.markup import Element
from metaindex.views.words import percent

from .clustering import ColumnClustering

MOST = 60
"""Columns of a table that are shown."""


def layout_grid(columns: Sequence[ColumnClustering]) -> Element:
    """How much of the table one value, and a range over 1% of the rows, read by each column."""
    some = any(column.unknown_files for column in columns)
    titles = ("one value reads", "1% of rows reads", "depth", "constant files")
    headings = [Heading("column"), *(Heading(title, number=True) for title in titles)]
    headings += [Heading("no bounds", number=True)] if some else []
    rows = [_row(column, some) for column in columns[:MOST]]
    return grid("Share of the files that queries read, by column", headings, rows, more=len(columns) - len(rows))


def _row(column: ColumnClustering, some: bool) -> Sequence[GridCell]:
    cells = (
        column.column,
        BarCell(percent(column.value_share), column.value_share),
        BarCell(percent(column.range_share), column.range_share),
        f"{column.average_depth:,.1f}",
        percent(column.constant_share),
    )
    return (*cells, *((f"{column.unknown_files:,}",) if some else ()))
