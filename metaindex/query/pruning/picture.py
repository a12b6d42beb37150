"""Drawings of the files that a query keeps and drops, and which index dropped them: for a notebook or a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metaindex.core import BarCell, Element, GridCell, Heading, dataclass, grid, human_bytes

from .report import IndexReport


@dataclass(frozen=True, slots=True)
class FilesRead:
    """Share of a table that a query reads."""

    kept_files: int
    total_files: int
    kept_bytes: int
    total_bytes: int


def prune_grids(read: FilesRead, by: Sequence[tuple[IndexReport, str]]) -> tuple[Element, ...]:
    """Files and bytes, read of all; then a row an index, with the columns that it answered by."""
    titles = ("read", "left out", "all")
    headings = [Heading("what"), *(Heading(title, number=True) for title in titles)]
    sizes = [
        _sizes("files", read.kept_files, read.total_files, "{:,}".format),
        _sizes("bytes", read.kept_bytes, read.total_bytes, human_bytes),
    ]
    whole = grid("What is read of the table (full), and what is left out (pale)", headings, sizes)
    if not by:
        return (whole,)
    by_index = ("files left out", "bytes left out", "look-ups", "read of it", "time")
    headings = [Heading("index"), *(Heading(title, number=True) for title in by_index), Heading("how")]
    rows = [_index(read, report, how) for report, how in by]
    return whole, grid("Left out by whom, each by itself", headings, rows)


def _sizes(what: str, part: int, whole: int, said: Callable[[int], str]) -> list[GridCell]:
    return [what, BarCell(said(part), part / whole if whole else 0.0), said(whole - part), said(whole)]


def _index(read: FilesRead, report: IndexReport, how: str) -> list[GridCell]:
    if not report.used:
        return [report.name, "-", "-", "-", "-", "-", f"not used: {report.reason}"]
    share = report.dropped_files / max(read.total_files, 1)
    return [
        report.name,
        BarCell(f"{report.dropped_files:,}", 0.0, share),
        human_bytes(report.dropped_bytes),
        f"{report.reads:,}",
        human_bytes(report.bytes_read),
        f"{report.seconds * 1000:.1f} ms",
        how + (f" ({report.reason})" if report.reason else ""),
    ]
