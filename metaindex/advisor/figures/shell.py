"""A self-contained page: one file without any requests. Its policy forbids every fetch, every script except the one of
ours that it may have, and every style except the one in its head."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from metaindex.core import Child, Element, dataclass, html, pre, tag

from .style import STYLE

GENERATOR = "metaindex report"
"""What a page of ours says of itself in its head."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page, under a heading of its own. `key` is its anchor."""

    key: str
    title: str
    children: tuple[Child, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """`lead` stands below the title, `foot` at the end. `script`: a text of this project, never one with data in it;
    `wide`: it has a table of many columns."""

    title: str
    lead: tuple[Child, ...]
    sections: Sequence[Section]
    foot: tuple[Child, ...] = ()
    script: str = ""
    wide: bool = False

    def html(self) -> str:
        """The document."""
        return f"<!DOCTYPE html>\n{html(self._document())}\n"

    def _document(self) -> Element:
        return tag("html", self._head(), self._body(), lang="en")

    def _head(self) -> Element:
        return tag(
            "head",
            tag("meta", charset="utf-8"),
            _meta("generator", GENERATOR),
            tag("meta", **{"http-equiv": "Content-Security-Policy"}, content=policy(self.script)),
            _meta("viewport", "width=device-width, initial-scale=1"),
            _meta("color-scheme", "light dark"),
            _meta("referrer", "no-referrer"),
            tag("title", self.title),
            _style(),
        )

    def _body(self) -> Element:
        contents = [tag("li", tag("a", section.title, href=f"#{section.key}")) for section in self.sections]
        return tag(
            "body",
            tag("header", tag("h1", self.title), *self.lead),
            tag("nav", tag("ul", *contents), aria_label="Contents"),
            tag("main", *(_section(section) for section in self.sections)),
            tag("footer", *self.foot),
            _raw("script", self.script) if self.script else None,
            class_="wide" if self.wide else None,
        )


def copied(text: str) -> Element:
    """Lines to be copied. They can be reached by keys: a narrow page may have to move them."""
    block = pre(text)
    block.set("tabindex", "0")
    return block


def policy(script: str = "") -> str:
    """Nothing is fetched; the style, and the script where there is one, are those that have these digests."""
    runs = f"script-src {_digest(script)}; " if script else ""
    return f"default-src 'none'; {runs}style-src {_digest(STYLE)}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _meta(name: str, content: str) -> Element:
    return tag("meta", name=name, content=content)


def _style() -> Element:
    return _raw("style", STYLE)


def _raw(name: str, text: str) -> Element:
    """Return a text of this project unescaped: none of it is data."""
    assert "</" not in text
    element = Element(name)
    element.text = text
    return element


def _section(section: Section) -> Element:
    heading = tag("h2", section.title, id=f"{section.key}-title")
    return tag("section", heading, *section.children, id=section.key, aria_labelledby=f"{section.key}-title")
