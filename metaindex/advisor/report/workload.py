"""The part of a page about a workload: the indexes recommended for it, and what they skip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaindex.advisor.figures.shell import Section, copied
from metaindex.advisor.selection.answer import (
    Recommendation,
    share_with_bounds,
    with_bounds,
)
from metaindex.advisor.selection.pieces import RecommendedIndex, TableAdvice
from metaindex.core import BarCell, Child, GridCell, Heading, counted, duration, grid, listed, tag

_MOST = 10
"""Lines of what is told besides."""


def workload_section(recommended: Recommendation) -> Section:
    """Return the section on a recommendation for a table."""
    children: list[Child] = [tag("p", _sentence(str(recommended.shown[0])))]
    for table in recommended.tables:
        children += _of_table(recommended, table)
    children.append(listed(recommended.notes[:_MOST]))
    return Section("workload", "The workload", tuple(children))


def _of_table(recommended: Recommendation, table: TableAdvice) -> Iterator[Child]:
    indexes = [index for index in recommended.indexes if index.table == table.table]
    if table.read_bytes:
        yield _reads(table, bool(indexes))
    if indexes:
        yield _indexes(indexes)
        yield tag("p", "To create them, where ", tag("code", "table"), " is the table:")
        yield copied("\n".join(index.python for index in indexes))
    notes = [f"{index.name}: {note}" for index in indexes for note in index.notes]
    notes += [f"no query of the workload would read more without {unused.said}" for unused in table.unused]
    yield listed(notes)
    yield from _told("Not recommended", [f"{passed.candidate}: {passed.reason}" for passed in table.passed])
    yield from _told("Not answered", [f"{query}: {problem}" for query, problem in table.refused])
    yield listed(list(table.notes[:_MOST]))


def _reads(table: TableAdvice, changes: bool) -> Child:
    """Draw what the whole workload reads."""
    then = table.then_bytes.expected / table.read_bytes
    rows: list[list[GridCell]] = [["now", BarCell(with_bounds(table.reads_bytes), 1.0)]]
    if changes:
        rows.append(["with these indexes", BarCell(with_bounds(table.then_bytes), then)])
    title = f"What the workload reads of the table, each of {counted(table.queries, 'query')}"
    return grid(f"{title} as often as it is asked", [Heading("as it is"), Heading("bytes", number=True)], rows)


def _indexes(indexes: Sequence[RecommendedIndex]) -> Child:
    titles = ("queries helped", "leaves out", "of the reads", "size", "to build", "pays after")
    headings = [Heading("index"), Heading("of"), *(Heading(title, number=True) for title in titles)]
    rows: list[list[GridCell]] = [
        [
            index.name,
            index.title,
            with_bounds(index.helps_queries, "{:,}".format),
            BarCell(with_bounds(index.adds_bytes), 0.0, index.saved_share),
            share_with_bounds(index.saved),
            with_bounds(index.size_bytes),
            "-" if index.build_cpu_seconds is None else duration(round(index.build_cpu_seconds * 1000)),
            str(index.break_even),
        ]
        for index in indexes
    ]
    return grid("Recommended, each beside those above it", headings, rows)


def _told(title: str, lines: Sequence[str]) -> Iterator[Child]:
    if lines:
        more = [f"and {len(lines) - _MOST:,} more"] if len(lines) > _MOST else []
        yield tag("details", tag("summary", f"{title}: {len(lines):,}"), listed([*lines[:_MOST], *more]))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
