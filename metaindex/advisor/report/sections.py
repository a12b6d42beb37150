"""The parts of the page, each from what one room found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from metaindex.advisor.figures.shell import Page, Section
from metaindex.advisor.figures.strip import strip_figure
from metaindex.core import Child, counted, listed, moment, pre, tag

from .advice import advice_section
from .facts import LayoutSeen, TableSeen
from .files import files_section, summary_of
from .grids import indexes_grid, layout_grid
from .queries import query_parts, shortened
from .workload import workload_section


def page_of(seen: TableSeen) -> Page:
    """The whole page."""
    name = seen.path.rstrip("/").rsplit("/", 1)[-1] or seen.path
    lead: list[Child] = [tag("p", summary_of(seen), class_="lead"), tag("p", tag("code", seen.path), class_="note")]
    foot = (
        tag(
            "p",
            f"Made {moment(seen.made_ms)} by metaindex. The page is one file: it loads nothing.",
        ),
    )
    return Page(shortened(name), tuple(lead), list(_sections(seen)), foot)


def _sections(seen: TableSeen) -> Iterator[Section]:
    yield files_section(seen)
    yield _indexes(seen)
    yield _layout(seen.layout)
    if seen.layout.strips:
        yield _strips(seen.layout)
    if seen.queries:
        yield Section("queries", "What conditions keep", tuple(query_parts(seen.queries)))
    if seen.recommended is not None:
        yield workload_section(seen.recommended)
    yield _savings(seen)
    yield advice_section(seen.layout)
    if seen.notes:
        yield Section("notes", "What is missing", (listed(seen.notes),))


def _indexes(seen: TableSeen) -> Section:
    files = seen.snapshot.files
    if not seen.indexes:
        words = "The table has no index. One of column statistics is small and knows all columns:"
        hint = f"metaindex create {quote(seen.path)} stats"
        return Section("indexes", "Indexes", (tag("p", words), pre(hint)))
    told = tag("p", "Files that an index does not cover are read by every query; a fresh index knows this version.")
    return Section("indexes", "Indexes", (told, indexes_grid(seen.indexes, len(files), files.size_bytes)))


def _layout(layout: LayoutSeen) -> Section:
    told = layout.clustering
    children: list[Child] = []
    if told.columns:
        children.append(
            tag(
                "p",
                "What queries have to read of the table by minima and maxima alone, on average over all values"
                " that rows have. Full: read; pale: left out. Depth: how many files overlap at the worst point of a"
                " file's range (1: no other); constant: files with one value.",
            )
        )
        children.append(layout_grid(told.columns))
    notes = list(told.remarks)
    if layout.more:
        notes.append(f"{counted(layout.more, 'column')} more were not measured")
    if told.without_bounds:
        notes.append(f"without bounds in any file: {_listed(told.without_bounds)}")
    return Section("layout", "How the files lie", (*children, listed(notes)))


def _strips(layout: LayoutSeen) -> Section:
    told = tag(
        "p",
        "What minima and maxima can tell apart, and what not. Files that lie above each other are read together: a thin"
        " diagonal is a table in the order of the column, a full field is one where only an index of values helps.",
    )
    types = {column.column: column.type for column in layout.clustering.columns}
    drawn: list[Child] = []
    for strip in layout.strips:
        drawn += [tag("h3", strip.title, " ", tag("small", types.get(strip.title, ""))), strip_figure(strip)]
    return Section("ranges", "Ranges of the files", (told, *drawn))


def _savings(seen: TableSeen) -> Section:
    savings = seen.savings
    if savings is None or not savings.total.queries:
        words = "No query is noted." if savings is not None else "The query log cannot be read."
        hint = " Config(query_log=True), or METAINDEX_QUERY_LOG=kept, notes what is asked; the page then tells what"
        hint += " each index spared, day by day."
        return Section("savings", "Savings", (tag("p", words + hint),))
    first, *_ = savings.shown
    children: list[Child] = [tag("p", _capital(str(first).removeprefix(f"{savings.table}: "))), savings.figure]
    if savings.indexes:
        children.append(savings.by_index.grid("What each index spared, and what it costs"))
    unused = (
        [f"helped no query that was noted since it was created: {', '.join(savings.unused)}"] if savings.unused else []
    )
    return Section("savings", "Savings", (*children, listed([*unused, *savings.notes])))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - 20
    return ", ".join(names[:20]) + (f" and {more:,} more" if more > 0 else "")
