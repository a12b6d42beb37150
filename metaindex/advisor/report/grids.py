"""The tables of a page: a row an index, and a row a column of the layout, with bars."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.advisor.clustering.clustering import ColumnClustering
from metaindex.core import BarCell, Element, GridCell, Heading, grid, moment, percent
from metaindex.query import human_bytes
from metaindex.table import IndexInfo, fresh_in_words, state_in_words

MOST = 60
"""Columns of a table that are shown."""


def layout_grid(columns: Sequence[ColumnClustering]) -> Element:
    """Draw how much of the table one value, and a range over 1% of the rows, read by each column."""
    some = any(column.unknown_files for column in columns)
    titles = ("one value reads", "1% of rows reads", "depth", "constant files")
    headings = [Heading("column"), *(Heading(title, number=True) for title in titles)]
    headings += [Heading("no bounds", number=True)] if some else []
    rows = [_column(column, some) for column in columns[:MOST]]
    return grid("Share of the files that queries read, by column", headings, rows, more=len(columns) - len(rows))


def _column(column: ColumnClustering, some: bool) -> Sequence[GridCell]:
    cells = (
        column.column,
        BarCell(percent(column.value_share), column.value_share),
        BarCell(percent(column.range_share), column.range_share),
        f"{column.average_depth:,.1f}",
        percent(column.constant_share),
    )
    return (*cells, *((f"{column.unknown_files:,}",) if some else ()))


def indexes_grid(infos: Sequence[IndexInfo], files: int, size_bytes: int) -> Element:
    """`files`, `size_bytes`: of the table, which covering and size are shares of."""
    titles = ("files covered", "size")
    headings = [Heading("index"), Heading("kinds"), Heading("state"), Heading("fresh")]
    headings += [*(Heading(title, number=True) for title in titles), Heading("of the table", number=True)]
    problem = any(info.problem for info in infos)
    headings += [Heading("changed"), *([Heading("problem")] if problem else [])]
    most = max((_size(info) for info in infos), default=0)
    return grid("Indexes of the table", headings, [_index(info, files, size_bytes, most, problem) for info in infos])


def _index(info: IndexInfo, files: int, size_bytes: int, most: int, problem: bool) -> list[GridCell]:
    covered = _covered(info, files)
    size = _size(info)
    cells: list[GridCell] = [
        info.name,
        ", ".join(info.kinds) or "-",
        state_in_words(info),
        fresh_in_words(info),
        "-" if covered is None else BarCell(f"{covered:,} of {files:,}", covered / files if files else 0.0),
        BarCell(human_bytes(size), size / most if most else 0.0, size / most if most else 0.0),
        percent(size / size_bytes) if size_bytes else "-",
        moment(info.changed_ms),
    ]
    return [*cells, info.problem] if problem else cells


def _covered(info: IndexInfo, files: int) -> int | None:
    """Return how many files of the table the index covers; None if unknown."""
    if info.new_files is None:
        return None
    return max(min(files - info.new_files, info.files) - info.uncovered_files, 0)


def _size(info: IndexInfo) -> int:
    return info.size_bytes if info.stored_bytes is None else info.stored_bytes
