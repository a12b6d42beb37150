"""Tables: a caption that says what they hold, headings that say of which column or row they are, numbers to the right.

On a narrow page each row becomes a card, whose cells are named (`data-label`); the roles are said, as a browser forgets
them then.
"""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.expressions.records import dataclass

from .bars import bar
from .markup import Child, Element, tag

MOST_ROWS = 200
"""Rows of a table: what is more is counted below it."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Of a column of a table. `number`: its cells stand to the right."""

    title: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class BarCell:
    """A number in words, and beside it a bar: `share` of a frame that is `whole` of the room."""

    text: str
    share: float
    whole: float = 1.0


_SHORT = 28
"""Characters that stay in one line."""

GridCell = str | BarCell | Element


def grid(caption: str, headings: Sequence[Heading], rows: Sequence[Sequence[GridCell]], more: int = 0) -> Element:
    """A table. The first cell of a row names it. `more`: rows that were left out before."""
    shown = rows[:MOST_ROWS]
    left = len(rows) - len(shown) + more
    head = tag("tr", *(_heading(heading) for heading in headings), role="row")
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", head, role="rowgroup"),
        tag("tbody", *(_row(headings, row) for row in shown), role="rowgroup"),
        role="table",
    )
    if not left:
        return table
    return tag("div", table, tag("p", f"... and {left:,} more, which are not shown", class_="note"))


def _heading(heading: Heading) -> Element:
    return tag("th", heading.title, scope="col", role="columnheader", class_="number" if heading.number else None)


def _row(headings: Sequence[Heading], row: Sequence[GridCell]) -> Element:
    cells = zip(headings, row, strict=True)
    return tag("tr", *(_cell(heading, cell, first=not at) for at, (heading, cell) in enumerate(cells)), role="row")


def _cell(heading: Heading, cell: GridCell, *, first: bool) -> Element:
    inside: list[Child] = [cell] if not isinstance(cell, BarCell) else [bar(cell.share, cell.whole), cell.text]
    classes = [*(["number"] if heading.number else []), *(["barred"] if isinstance(cell, BarCell) else [])]
    classes += ["short"] if isinstance(cell, str) and len(cell) <= _SHORT else []
    name = " ".join(classes) or None
    if first:
        return tag("th", *inside, scope="row", role="rowheader", class_=name)
    return tag("td", tag("span", *inside), role="cell", data_label=heading.title, class_=name)


def facts(pairs: Sequence[tuple[str, Child]]) -> Element:
    """Names and what they are, a pair a line."""
    return tag(
        "dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value not in ("", None))
    )


def listed(notes: Sequence[str]) -> Element | None:
    """What is to be known beside; nothing where there is nothing."""
    return tag("ul", *(tag("li", note) for note in notes), class_="notes note") if notes else None
