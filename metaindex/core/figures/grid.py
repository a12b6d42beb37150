"""Tables: a caption that says what they hold, headings that say of which column or row they are, numbers to the right.

On a narrow page each row becomes a card, whose cells are named (`data-label`); the roles are said, as a browser forgets
them then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from metaindex.core.records import dataclass

from .bars import bar
from .markup import Child, Element, said, tag

MOST_ROWS = 200
"""Rows of a table: what is more is counted below it."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a table's column. `number`: its cells are aligned to the right."""

    title: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class BarCell:
    """A number in words, and beside it a bar: `share` of a frame that is `whole` of the room. `value`: by which its
    column is sorted, where a page can sort."""

    text: str
    share: float
    whole: float = 1.0
    value: float | None = None


@dataclass(frozen=True, slots=True)
class ValueCell:
    """Words, and the number by which their column is sorted; None: behind all others. `href`: of a page beside this
    one, as `link_to` writes it. `strong`: something is wrong."""

    text: str
    value: float | None = None
    href: str = ""
    strong: bool = False


_SHORT = 28
"""Characters that stay in one line."""

_PIECES = re.compile(rf"[^_./,;:()\- ]{{1,{_SHORT}}}[_./,;:()\- ]*|[_./,;:()\- ]+")

GridCell = str | BarCell | ValueCell | Element


def grid(
    caption: str,
    headings: Sequence[Heading],
    rows: Sequence[Sequence[GridCell]],
    more: int = 0,
    *,
    most: int = MOST_ROWS,
    marks: Sequence[str] = (),
) -> Element:
    """Return a table. The first cell of a row names it. `more`: rows that were omitted before; `most`: that are shown;
    `marks`: words of ours for each row, by which a page with a script picks rows."""
    shown = rows[:most]
    left = len(rows) - len(shown) + more
    words = [*marks[:most]] if marks else [None] * len(shown)
    head = tag("tr", *(_heading(heading) for heading in headings), role="row")
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", head, role="rowgroup"),
        tag("tbody", *(_row(headings, row, mark) for row, mark in zip(shown, words, strict=True)), role="rowgroup"),
        role="table",
        class_="sorted" if marks else None,
    )
    if not left:
        return table
    return tag("div", table, tag("p", f"... and {left:,} more, which are not shown", class_="note"))


def _heading(heading: Heading) -> Element:
    return tag("th", heading.title, scope="col", role="columnheader", class_="number" if heading.number else None)


def _row(headings: Sequence[Heading], row: Sequence[GridCell], marks: str | None) -> Element:
    cells = zip(headings, row, strict=True)
    told = (_cell(heading, cell, first=not at) for at, (heading, cell) in enumerate(cells))
    return tag("tr", *told, role="row", data_marks=marks)


def _cell(heading: Heading, cell: GridCell, *, first: bool) -> Element:
    inside, value = _inside(cell)
    classes = [*(["number"] if heading.number else []), *(["barred"] if isinstance(cell, BarCell) else [])]
    text = cell.text if isinstance(cell, ValueCell) else cell
    classes += ["short"] if isinstance(text, str) and len(text) <= _SHORT else []
    name = " ".join(classes) or None
    if first:
        if isinstance(cell, str) and len(cell) > _SHORT:
            inside = _breakable(cell)
        return tag("th", *inside, scope="row", role="rowheader", class_=name)
    return tag("td", tag("span", *inside), role="cell", data_label=heading.title, class_=name, data_value=value)


def _inside(cell: GridCell) -> tuple[list[Child], str | None]:
    """Return a cell's content, and the number it is sorted by."""
    match cell:
        case BarCell():
            return [bar(cell.share, cell.whole), cell.text], _number(cell.value)
        case ValueCell():
            words: Child = tag("a", cell.text, href=cell.href) if cell.href else cell.text
            return [tag("strong", words) if cell.strong else words], _number(cell.value)
        case _:
            return [cell], None


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.12g}"


def link_to(folder: str, name: str) -> str:
    """The address of a file in a folder beside the page; nothing in it is read as a scheme or a host."""
    return "./" + "/".join(quote(part, safe="") for part in (*folder.split("/"), name) if part not in ("", "."))


def _breakable(name: str) -> list[Child]:
    """A long name, which breaks behind its signs and not within its words; those that are too long break, too."""
    pieces = _PIECES.findall(said(name))
    return [child for piece in pieces for child in (piece, tag("wbr"))][:-1]


def facts(pairs: Sequence[tuple[str, Child]]) -> Element:
    """Names and what they are, a pair a line."""
    return tag(
        "dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value not in ("", None))
    )


def listed(notes: Sequence[str]) -> Element | None:
    """Return the notes as a list; None if there are none."""
    return tag("ul", *(tag("li", note) for note in notes), class_="notes note") if notes else None
