"""The indexes of a table for a page: how much of it each covers, how fresh it is, what it takes."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.drawing.grid import BarCell, GridCell, Heading, grid
from metaindex.drawing.markup import Element
from metaindex.pruning.result import human_bytes

from .info import IndexInfo, fresh_in_words, state_in_words
from .words import moment, percent


def indexes_grid(infos: Sequence[IndexInfo], files: int, size_bytes: int) -> Element:
    """`files`, `size_bytes`: of the table, which covering and size are shares of."""
    titles = ("files covered", "size")
    headings = [Heading("index"), Heading("kinds"), Heading("state"), Heading("fresh")]
    headings += [*(Heading(title, number=True) for title in titles), Heading("of the table", number=True)]
    problem = any(info.problem for info in infos)
    headings += [Heading("changed"), *([Heading("problem")] if problem else [])]
    most = max((_size(info) for info in infos), default=0)
    return grid("Indexes of the table", headings, [_row(info, files, size_bytes, most, problem) for info in infos])


def _row(info: IndexInfo, files: int, size_bytes: int, most: int, problem: bool) -> list[GridCell]:
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
    """Files of the table that the index covers; None where nobody knows."""
    if info.new_files is None:
        return None
    return max(min(files - info.new_files, info.files) - info.uncovered_files, 0)


def _size(info: IndexInfo) -> int:
    return info.size_bytes if info.stored_bytes is None else info.stored_bytes
