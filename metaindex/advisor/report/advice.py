"""Another layout: what it would leave out, and the statement that makes it."""

from __future__ import annotations

from collections.abc import Iterator

from metaindex.advisor.clustering.advised import Advice
from metaindex.advisor.figures.shell import Section, copied
from metaindex.core import BarCell, Child, Element, GridCell, Heading, grid, listed, percent, tag

from .facts import LayoutSeen


def advice_section(layout: LayoutSeen) -> Section:
    """Advice to the owner of the table."""
    told = layout.advised
    children: list[Child] = [part for advice in told.advice for part in _advised(advice)]
    if not children:
        children = [tag("p", "No other layout is advised.")]
    sampled = [told.sampled.said] if told.sampled.said else []
    unnamed = ["advice is best for columns that queries filter by: name them by conditions (--where)"]
    return Section("advice", "Another layout", (*children, listed(sampled + ([] if told.named else unnamed))))


def _advised(advice: Advice) -> Iterator[Element]:
    files = max(advice.files, 1)
    headings = [
        Heading("column"),
        Heading("files now", number=True),
        Heading("files then", number=True),
        Heading("the layout is"),
    ]
    rows: list[list[GridCell]] = [
        [
            effect.column,
            BarCell(f"{effect.files_now:,.1f}", effect.files_now / files),
            BarCell(f"{effect.files_then:,.1f}", effect.files_then / files),
            effect.place,
        ]
        for effect in advice.effects
    ]
    yield tag("h3", f"{_capital(advice.how)}: {percent(max(advice.saving, 0.0))} fewer files")
    yield grid(f"Of {advice.files:,} files a range over 1% of the rows reads", headings, rows)
    yield tag("p", "The owner of the table may run:")
    yield copied(advice.sql())
    other = advice.rewrite.otherwise()
    if other:
        yield tag("p", "or")
        yield copied(";\n".join(other))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
