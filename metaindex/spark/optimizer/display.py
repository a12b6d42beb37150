"""The ways in which an explanation is shown: plain text, the colours of a terminal, HTML. What differs between the
plans stands between two tags."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .settings import DisplayMode

_TAGS: dict[DisplayMode, tuple[str, str]] = {
    "plaintext": ("<----", "---->"),
    "console": ("\x1b[42m", "\x1b[0m"),
    "html": ('<b style="background: rgba(46, 160, 67, .25)">', "</b>"),
}
_CHANGING = re.compile(r"#\d+L?|plan_id=\d+|\*\(\d+\) |\[id=\S+\]")


@dataclass(frozen=True, slots=True)
class Display:
    """A mode and its tags; those of the mode where none are given."""

    mode: DisplayMode = "plaintext"
    begin: str = ""
    end: str = ""

    def titled(self, sections: Sequence[tuple[str, Sequence[str]]], marked: frozenset[str]) -> str:
        """Sections of lines under titles; `marked` lines between the tags."""
        if self.mode == "html":
            shown = "".join(
                f"<h4>{self._plain(title)}</h4><pre>{chr(10).join(self._line(line, marked) for line in lines)}</pre>"
                for title, lines in sections
            )
            return f"<div>{shown}</div>"
        blocks = [[f"{title}:", *(f"  {self._line(line, marked)}" for line in lines)] for title, lines in sections]
        return "\n\n".join("\n".join(block) for block in blocks)

    def _plain(self, text: str) -> str:
        return html.escape(text, quote=False) if self.mode == "html" else text

    def _line(self, line: str, marked: frozenset[str]) -> str:
        if line not in marked:
            return self._plain(line)
        own = bool(self.begin or self.end)
        begin, end = (self.begin, self.end) if own else _TAGS[self.mode]
        bare = line.lstrip(" :+-")
        return f"{self._plain(line[: len(line) - len(bare)])}{begin}{self._plain(bare)}{end}"


def differing(text_: str, other: str) -> frozenset[str]:
    """Lines of two plans that the other does not have, whatever the numbers of expressions and stages."""
    lines = [text.splitlines() for text in (text_, other)]
    had = [Counter(_shape(line) for line in some) for some in lines]
    return frozenset(
        line for some, against in zip(lines, reversed(had), strict=True) for line in some if not against[_shape(line)]
    )


def _shape(line: str) -> str:
    return _CHANGING.sub("", line).lstrip(" :+-")
