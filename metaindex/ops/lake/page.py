"""The page of a lake: sums, and a table of its tables that can be sorted and filtered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaindex.advisor import Page, Section
from metaindex.core import Cell, Column, Element, counted, human_bytes, moment, percent

from .answer import Lake, left_out_in_words
from .facts import LakeTable
from .picking import SCRIPT, Pick, picking

MOST_ROWS = 10_000
_NAMES = 3
"""Of a table's indexes, those that are named."""
_TITLE = 120

_MARKS = (
    ("problem", "with a problem"),
    ("behind", "behind"),
    ("unread", "with unread files"),
    ("bare", "without an index"),
    ("unused", "with an unused index"),
)


def page_of(lake: Lake) -> Page:
    """The whole page."""
    name = lake.place.rstrip("/").rsplit("/", 1)[-1] or lake.place
    title = name if len(name) <= _TITLE else f"{name[:_TITLE]}..."
    lead: list[Element | str | None] = [
        Element("p", Element("code", lake.place), class_="note"),
        Element.facts(_facts(lake)),
    ]
    foot = (
        Element(
            "p",
            f"Made {moment(lake.made_ms)} by metaindex. The page is one file: it loads nothing. The key / goes to the"
            " filter.",
        ),
    )
    return Page(title, tuple(lead), list(_sections(lake)), foot, script=SCRIPT, wide=True)


def _facts(lake: Lake) -> list[tuple[str, Element | str | None]]:
    indexed = sum(bool(table.indexes) for table in lake.tables)
    return [
        ("tables", f"{len(lake.tables):,}"),
        ("files", f"{lake.files:,}"),
        ("size", human_bytes(lake.size_bytes)),
        ("with indexes", f"{indexed:,}"),
        ("indexes take", human_bytes(lake.index_bytes) if indexed else ""),
        ("behind", f"{len(lake.behind):,}" if indexed else ""),
        ("with unread files", f"{len(lake.unread):,}" if lake.unread else ""),
        ("with a problem", f"{len(lake.problems):,}" if lake.problems else "none"),
        ("left out of noted queries", human_bytes(lake.bytes_left_out) if lake.bytes_left_out else ""),
    ]


def _sections(lake: Lake) -> Iterator[Section]:
    yield Section("tables", "Tables", tuple(_tables(lake)))
    if lake.recommended is not None:
        from metaindex.advisor import workload_section

        yield workload_section(lake.recommended)
    if lake.notes:
        yield Section("notes", "What is not in it", (Element.listed(lake.notes),))


def _tables(lake: Lake) -> Iterator[Element | str | None]:
    if not lake.tables:
        yield Element("p", "No table was found: no folder with _delta_log, metadata, or Parquet, CSV or JSON files.")
        return
    yield Element(
        "p",
        "Behind: what the index that lags most does not cover; every query reads those files. Unread: files that the"
        " index could not read; no query leaves them out; where they cannot be read now, scan and count end with an"
        " error, and Spark reads them as it does. Left out: of bytes that noted queries would have"
        " read; pale is left out. One value reads: of the files, the share that a value of the"
        " column that tells files apart best is in.",
        class_="note",
    )
    shown = lake.tables[:MOST_ROWS]
    marks = [_marks(table) for table in shown]
    picks = [Pick(mark, title, sum(mark in words for words in marks)) for mark, title in _MARKS]
    yield picking("tables", picks)
    drawn = Element.grid(
        "Tables of the lake",
        _HEADINGS,
        list(_rows(shown)),
        len(lake.tables) - len(shown),
        most=MOST_ROWS,
        marks=[" ".join(words) or "sound" for words in marks],
    )
    yield Element("div", drawn, class_="scrolled", tabindex="0", role="group", aria_label="Tables of the lake")


_HEADINGS = (
    Column("table"),
    Column("format"),
    Column("files", right=True),
    Column("size", right=True),
    Column("committed", right=True),
    Column("indexes"),
    Column("they take", right=True),
    Column("behind", right=True),
    Column("queries left out", right=True),
    Column("one value reads", right=True),
    Column("what is wrong, and what to do"),
)


def _marks(table: LakeTable) -> list[str]:
    said = {
        "problem": bool(table.problem),
        "behind": table.fresh is False,
        "unread": bool(table.unread_files),
        "bare": bool(table.format) and not table.indexes,
        "unused": bool(table.unused),
    }
    return [mark for mark, true in said.items() if true]


def _rows(tables: Sequence[LakeTable]) -> Iterator[list[str | Cell | Element]]:
    largest = max((table.size_bytes or 0 for table in tables), default=0) or 1
    for table in tables:
        yield [
            Cell(table.name, href=table.report),
            table.format or "?",
            _number(table.files),
            _bytes(table.size_bytes, largest),
            Cell(moment(table.committed_ms)[:10] if table.committed_ms else "", table.committed_ms),
            _indexes(table),
            Cell(human_bytes(table.index_bytes), table.index_bytes) if table.indexes else Cell(""),
            _behind(table),
            _left_out(table),
            _layout(table),
            _said(table),
        ]


def _number(value: int | None) -> Cell:
    return Cell("" if value is None else f"{value:,}", value)


def _bytes(size: int | None, largest: int) -> str | Cell | Element:
    if size is None:
        return Cell("")
    share = size / largest
    return Cell(human_bytes(size), size, share, share)


def _indexes(table: LakeTable) -> str:
    names = [index.said for index in table.indexes]
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _behind(table: LakeTable) -> Cell:
    """Sorted by bytes that every query reads; those that are fresh before those that are none."""
    if table.fresh is None:
        return Cell("")
    value = 0 if table.fresh else 1 + (table.behind_bytes or 0)
    commits, files = table.behind_commits, table.behind_files
    parts = [counted(commits, "commit")] if commits else [counted(files, "file")] if files else []
    parts += [human_bytes(table.behind_bytes)] if table.behind_bytes else []
    parts = ["no"] if table.fresh else parts or ["yes"]
    parts += [f"{counted(table.unread_files, 'file')} unread"] if table.unread_files else []
    return Cell(", ".join(parts), value)


def _left_out(table: LakeTable) -> str | Cell | Element:
    saved = table.savings
    if saved is None:
        return Cell("")
    total = saved.bytes_read + saved.bytes_left_out
    read = saved.bytes_read / total if total else 0.0
    return Cell(left_out_in_words(table), saved.bytes_left_out, read)


def _layout(table: LakeTable) -> str | Cell | Element:
    layout = table.layout
    if layout is None:
        return Cell("")
    return Cell(f"{percent(layout.share)} by {layout.column}", layout.share, layout.share)


def _said(table: LakeTable) -> str | Cell | Element:
    if table.problem:
        return Cell("; ".join((table.problem, *table.advice)), strong=True)
    return "; ".join(table.advice)
