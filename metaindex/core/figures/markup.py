"""HTML and SVG as trees of elements. Text and the values of attributes are escaped where the tree is written, and
nowhere is markup made from text: names of strangers stay names.

What would steer a reader (control characters, marks that turn the direction of letters) is written as an escape, as on
a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from xml.etree import ElementTree as ET

from metaindex.core.records import dataclass
from metaindex.core.shown import lines, one_line

Element = ET.Element
Child = Element | str | None
LONGEST = 2000
"""Characters of a text: what is longer is cut, and says so."""


def tag(name: str, /, *children: Child, **attributes: object) -> Element:
    """Return an element. Of `attributes` None and False are omitted and True has no value; `class_` is `class`,
    `aria_label` is `aria-label`."""
    element = Element(name)
    for key, value in attributes.items():
        if value is not None and value is not False:
            written = "" if value is True else str(value) if key == "d" else said(value)  # `d`: a path, drawn by us
            element.set(key.rstrip("_").replace("_", "-"), written)
    return put(element, *children)


def put(element: Element, *children: Child) -> Element:
    """The element, with more in it."""
    for child in children:
        if isinstance(child, str):
            _add_text(element, said(child))
        elif child is not None:
            element.append(child)
    return element


def pre(text: str) -> Element:
    """Text whose lines stay lines."""
    element = Element("pre")
    element.text = "\n".join(map(said, lines(text).split("\n")))
    return element


def said(value: object) -> str:
    """Return text for a page: one line, of bounded length. Numbers are short."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    text = str(value)
    return one_line(text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)")


def html(element: Element) -> str:
    """The element as HTML."""
    return ET.tostring(element, encoding="unicode", method="html")


@dataclass(frozen=True, slots=True)
class Picture:
    """Elements for use outside of our pages, as in a notebook, without our style: each cell aligns its own number to
    the right. `text`: the same in words, for printing."""

    elements: tuple[Element, ...]
    text: str = ""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return "".join(html(_with_sides(element)) for element in self.elements)


def _with_sides(element: Element) -> Element:
    copied = deepcopy(element)
    for cell in _cells(copied):
        side = "right" if "number" in cell.get("class", "").split() else "left"
        cell.set("style", f"text-align: {side}")
    for bar in copied.iter("svg"):
        bar.set("style", "margin-right: .5em; vertical-align: middle")
    return copied


def _cells(element: Element) -> Iterator[Element]:
    return (inside for inside in element.iter() if inside.tag in ("td", "th", "caption"))


def _add_text(element: Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text
