"""Reports of an index's part in an answer, sizes for people, and drawings of the files that a query keeps and drops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from metaindex.core import Plain, dataclass, human_bytes
from metaindex.index import Lacking

if TYPE_CHECKING:
    from metaindex.core import Element


LOG: Final = "the table's log"


@dataclass(frozen=True, slots=True)
class IndexReport(Plain):
    """The part of one index (or the table's own log) in a query. `reason` says why it was not used, or what it answered
    for."""

    JSON = "name used reason columns dropped_files dropped_bytes seconds reads bytes_read"
    name: str
    used: bool
    reason: str
    columns: tuple[str, ...] = ()
    dropped_files: int = 0  # by this index alone
    dropped_bytes: int = 0
    reads: int = 0
    bytes_read: int = 0
    seconds: float = 0.0  # to look up and answer
    left_out: bool = False  # for what is wrong with it, which `reason` says
    lacks: Lacking | None = None  # the files for which it does not answer, which `reason` says

    @property
    def helped(self) -> bool:
        """Return whether it is an index that left files out."""
        return self.used and self.dropped_files > 0 and self.name != LOG


def prune_grids(
    files: tuple[int, int], sizes: tuple[int, int], by: Sequence[tuple[IndexReport, str]]
) -> tuple[Element, ...]:
    """Files and bytes, read of all; then a row an index, with the columns that it answered by."""
    from metaindex.core import Column, Element

    titles = ("read", "left out", "all")
    headings = [Column("what"), *(Column(title, right=True) for title in titles)]
    shares = [_sizes("files", *files, "{:,}".format), _sizes("bytes", *sizes, human_bytes)]
    whole = Element.grid("What is read of the table (full), and what is left out (pale)", headings, shares)
    if not by:
        return (whole,)
    by_index = ("files left out", "bytes left out", "look-ups", "read of it", "time")
    headings = [Column("index"), *(Column(title, right=True) for title in by_index), Column("how")]
    rows = [_index(files[1], report, how) for report, how in by]
    return whole, Element.grid("Left out by whom, each by itself", headings, rows)


def _sizes(what: str, part: int, whole: int, said: Callable[[int], str]) -> list[str | Element]:
    from metaindex.core import Element

    return [what, Element.cell(said(part), share=part / whole if whole else 0.0), said(whole - part), said(whole)]


def _index(total_files: int, report: IndexReport, how: str) -> list[str | Element]:
    from metaindex.core import Element

    if not report.used:
        return [report.name, "-", "-", "-", "-", "-", f"not used: {report.reason}"]
    share = report.dropped_files / max(total_files, 1)
    return [
        report.name,
        Element.cell(f"{report.dropped_files:,}", share=0.0, whole=share),
        human_bytes(report.dropped_bytes),
        f"{report.reads:,}",
        human_bytes(report.bytes_read),
        f"{report.seconds * 1000:.1f} ms",
        how + (f" ({report.reason})" if report.reason else ""),
    ]
