"""HTML and SVG as trees of elements: texts, tables, and bars beside their numbers.

Text and the values of attributes are escaped where the tree is written, and nowhere is markup made from text: names of
strangers stay names. What would steer a reader (control characters, marks that turn the direction of letters) is
written as an escape, as on a terminal.

A table has a caption that says what it holds, headings that say of which column or row its cells are, and numbers to
the right. On a narrow page each row becomes a card, whose cells are named (`data-label`); the roles are said, as a
browser forgets them then. A bar is full for what is read, the frame around it is the whole; it stands beside the number
that it shows, so that whoever does not see it misses nothing. Colours are attributes that a page's style replaces: in a
notebook, which has none of ours, they do on light and on dark ground.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Final
from urllib.parse import quote
from xml.etree import ElementTree as ET

from metaindex.core.texts import Column, lines, one_line

LONGEST: Final = 2000
"""Characters of a text: what is longer is cut, and says so."""
MOST_ROWS: Final = 200
"""Rows of a table: what is more is counted below it."""
_ACCENT: Final = "#2f7fb5"
"""Where no style says otherwise: 3 to 1 and more against white and against black."""
_WIDE, _HIGH = 100, 12
_SHORT = 28
"""Characters that stay in one line."""
_PIECES = re.compile(rf"[^_./,;:()\- ]{{1,{_SHORT}}}[_./,;:()\- ]*|[_./,;:()\- ]+")


class Element(ET.Element):
    """An element of HTML or SVG with its children. Of `attributes` None and False are omitted and True has no value;
    `class_` is `class`, `aria_label` is `aria-label`."""

    def __init__(self, name: str, /, *children: ET.Element | str | None, **attributes: object) -> None:
        super().__init__(name)
        for key, value in attributes.items():
            if value is not None and value is not False:
                written = "" if value is True else str(value) if key == "d" else said(value)  # `d`: a path, drawn by us
                self.set(key.rstrip("_").replace("_", "-"), written)
        for child in children:
            if isinstance(child, str):
                self._add_text(said(child))
            elif child is not None:
                self.append(child)

    @classmethod
    def pre(cls, text: str) -> Element:
        """Text whose lines stay lines."""
        element = cls("pre")
        element.text = "\n".join(map(said, lines(text).split("\n")))
        return element

    @classmethod
    def facts(cls, pairs: Sequence[tuple[str, Element | str | None]]) -> Element:
        """Names and what they are, a pair a line."""
        told = ((name, value) for name, value in pairs if value is not None and value != "")
        return cls("dl", *(cls("div", cls("dt", name), cls("dd", value)) for name, value in told))

    @classmethod
    def listed(cls, notes: Sequence[str]) -> Element | None:
        """Return the notes as a list; None if there are none."""
        return cls("ul", *(cls("li", note) for note in notes), class_="notes note") if notes else None

    @classmethod
    def filled(cls, **attributes: object) -> Element:
        """A rectangle, or a path, of what is read."""
        shape = "path" if "d" in attributes else "rect"
        return cls(shape, **{"class_": "full", "fill": _ACCENT, **attributes})

    @classmethod
    def bar(cls, share: float, whole: float = 1.0) -> Element:
        """A share, between 0 and 1, of a frame that is itself a share of the room: what is little can still be
        seen."""
        whole = min(max(whole, 0.0), 1.0)
        width = min(max(share, 0.0), whole) * _WIDE
        width = max(width, 0.8) if share > 0 else 0.0
        room: dict[str, object] = {"fill": "currentColor", "fill_opacity": 0.12}
        frame = cls("rect", class_="frame", **room, width=max(whole * _WIDE, 0.8) if whole > 0 else 0, height=_HIGH)
        return cls(
            "svg",
            frame,
            cls.filled(width=width, height=_HIGH) if width else None,
            class_="bar",
            viewBox=f"0 0 {_WIDE} {_HIGH}",
            width=_WIDE,
            height=_HIGH,
            preserveAspectRatio="none",
            aria_hidden="true",
        )

    @classmethod
    def cell(
        cls,
        text: str,
        value: float | None = None,
        share: float | None = None,
        whole: float = 1.0,
        *,
        href: str = "",
        strong: bool = False,
    ) -> Element:
        """Return words for one cell of a grid, and the number by which their column is sorted where a page can sort;
        None: behind all others. `share`: of a bar beside them, in a frame that is `whole` of the room. `href`: of a
        page beside this one, as `link_to` writes it. `strong`: something is wrong."""
        words = cls("a", text, href=href) if href else text
        bar = None if share is None else cls.bar(share, whole)
        number = None if value is None else f"{value:.12g}"
        return cls("span", bar, cls("strong", words) if strong else words, data_value=number)

    @staticmethod
    def link_to(folder: str, name: str) -> str:
        """The address of a file in a folder beside the page; nothing in it is read as a scheme or a host."""
        return "./" + "/".join(quote(part, safe="") for part in (*folder.split("/"), name) if part not in ("", "."))

    @classmethod
    def grid(
        cls,
        caption: str,
        headings: Sequence[Column],
        rows: Sequence[Sequence[str | Element]],
        more: int = 0,
        *,
        most: int = MOST_ROWS,
        marks: Sequence[str] = (),
    ) -> Element:
        """Return a table. The first cell of a row names it. `more`: rows that were omitted before; `most`: that are
        shown; `marks`: words of ours for each row, by which a page with a script picks rows."""
        shown = rows[:most]
        left = len(rows) - len(shown) + more
        words = [*marks[:most]] if marks else [None] * len(shown)
        head = cls("tr", *(_heading(heading) for heading in headings), role="row")
        table = cls(
            "table",
            cls("caption", caption),
            cls("thead", head, role="rowgroup"),
            cls("tbody", *(_row(headings, row, mark) for row, mark in zip(shown, words, strict=True)), role="rowgroup"),
            role="table",
            class_="sorted" if marks else None,
        )
        if not left:
            return table
        return cls("div", table, cls("p", f"... and {left:,} more, which are not shown", class_="note"))

    def html(self) -> str:
        """The element as HTML."""
        return ET.tostring(self, encoding="unicode", method="html")

    def _repr_html_(self) -> str:
        """The element for a notebook, without our style: each cell aligns its own number to the right."""
        copied: ET.Element = deepcopy(self)  # of no class of ours
        for cell in _cells(copied):
            side = "right" if "number" in cell.get("class", "").split() else "left"
            cell.set("style", f"text-align: {side}")
        for bar in copied.iter("svg"):
            bar.set("style", "margin-right: .5em; vertical-align: middle")
        return ET.tostring(copied, encoding="unicode", method="html")

    def _add_text(self, text: str) -> None:
        if len(self):
            self[-1].tail = (self[-1].tail or "") + text
        else:
            self.text = (self.text or "") + text


def said(value: object) -> str:
    """Return text for a page: one line, of bounded length. Numbers are short."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    text = str(value)
    return one_line(text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)")


def _cells(element: ET.Element) -> Iterator[ET.Element]:
    return (inside for inside in element.iter() if inside.tag in ("td", "th", "caption"))


def _heading(heading: Column) -> Element:
    return Element("th", heading.title, scope="col", role="columnheader", class_="number" if heading.right else None)


def _row(headings: Sequence[Column], row: Sequence[str | Element], marks: str | None) -> Element:
    cells = zip(headings, row, strict=True)
    told = (_cell(heading, cell, first=not at) for at, (heading, cell) in enumerate(cells))
    return Element("tr", *told, role="row", data_marks=marks)


def _cell(heading: Column, cell: str | Element, *, first: bool) -> Element:
    inside = cell if isinstance(cell, Element) and cell.tag == "span" else Element("span", cell)
    value = inside.attrib.pop("data-value", None)
    barred = inside.find("svg") is not None
    words = "" if barred else cell if isinstance(cell, str) else "".join(inside.itertext())
    short = len(words) <= _SHORT and not barred and (cell is inside or cell is words)
    name = " ".join((*["number"] * heading.right, *["barred"] * barred, *["short"] * short)) or None
    if not first:
        return Element("td", inside, role="cell", data_label=heading.title, class_=name, data_value=value)
    if cell is words and not short:
        inside = Element("span", *_breakable(words))
    head = Element("th", scope="row", role="rowheader", class_=name)
    head.text = inside.text
    head.extend(inside)
    return head


def _breakable(name: str) -> list[Element | str | None]:
    """A long name, which breaks behind its signs and not within its words; those that are too long break, too."""
    pieces = _PIECES.findall(said(name))
    return [child for piece in pieces for child in (piece, Element("wbr"))][:-1]
