"""A text of many statements, taken apart at its semicolons as it is read: no more of it is held than one statement.

What stands in quotes, names in backticks and comments ends none. A statement that is longer than it may be is passed
over, to its end. A quote or comment that nothing closes spoils its own statement alone: where the text ends inside of
one, that statement ends at the first semicolon that ends a line.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from typing import Final

MOST_CHARACTERS: Final = 1_000_000
"""Of a statement, or of a line of a log."""

_PLAIN: Final = re.compile(r"(?<!\w)[rR]['\"]|['\"`;]|--|/\*")
_EVENTS: Final = {
    "'": re.compile(r"\\.|'", re.DOTALL),
    '"': re.compile(r'\\.|"', re.DOTALL),
    "r'": re.compile("'"),
    'r"': re.compile('"'),
    "`": re.compile("`"),
    "--": re.compile(r"\n"),
    "/*": re.compile(r"/\*|\*/"),
}
_HELD: Final = {"": re.compile(r"(?:[-/]|(?<!\w)[rR])\Z"), "'": re.compile(r"\\\Z"), "/*": re.compile(r"[*/]\Z")}
_HELD['"'] = _HELD["'"]
"""What may begin something whose end the next piece of the text has."""
_BLANK: Final = re.compile(r"(?:\s|--[^\n]*+(?:\n|\Z)|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/)*")
_LINE_END: Final = re.compile(r";[ \t]*\r?\n")
_MOST_UNCLOSED: Final = 16
"""Statements of a text that nothing closes: each has the rest of the text taken apart anew."""


def statements(pieces: Iterable[str], most: int = MOST_CHARACTERS) -> Iterator[str | None]:
    """Yield the statements of a text in pieces, without semicolons; None for one of more characters than `most`. Blanks
    and comments alone are no statement."""
    for _ in range(_MOST_UNCLOSED):
        splitter = _Splitter(most)
        for piece in pieces:
            yield from splitter.taken(piece)
        rest = yield from splitter.ended()
        if _BLANK.fullmatch(rest):
            return
        pieces = (rest,)
    yield rest.strip()


class _Splitter:
    def __init__(self, most: int) -> None:
        self.most = most
        self.inside = ""  # what the text is inside of
        self.depth = 0  # of comments
        self.parts: list[str] = []
        self.size = 0
        self.before = self.held = ""  # the last character that was taken, and those that wait for the next piece

    def ended(self) -> Generator[str | None, None, str]:
        """Yield the last statement; return what stands behind it, if nothing closes what it is inside of."""
        yield from self.taken("", last=True)
        text = "" if self.inside in ("", "--") or self.size > self.most else "".join(self.parts)
        end = _LINE_END.search(text)
        if end is not None:
            self.parts, self.size = [text[: end.start()]], end.start()
        yield from self._closed()
        return "" if end is None else text[end.end() :]

    def taken(self, piece: str, *, last: bool = False) -> Iterator[str | None]:
        text = self.before + self.held + piece
        at = start = len(self.before)
        while (event := (_EVENTS[self.inside] if self.inside else _PLAIN).search(text, at)) is not None:
            at = event.end()
            if event[0] == ";" and not self.inside:
                self._keep(text[start : event.start()])
                yield from self._closed()
                start = at
            else:
                self._entered(event[0])
        held = None if last or self.inside not in _HELD else _HELD[self.inside].search(text, at)
        end = len(text) if held is None else held.start()
        self._keep(text[start:end])
        self.before, self.held = text[max(end - 1, 0) : end], text[end:]

    def _entered(self, event: str) -> None:
        if not self.inside:
            self.inside = event.lower()
            self.depth = 1
        elif self.inside == "/*":
            self.depth += 1 if event == "/*" else -1
            self.inside = self.inside if self.depth else ""
        elif not event.startswith("\\"):
            self.inside = ""

    def _keep(self, text: str) -> None:
        self.size += len(text)
        if self.size <= self.most:
            self.parts.append(text)
        else:
            self.parts.clear()

    def _closed(self) -> Iterator[str | None]:
        text, too_long = "".join(self.parts), self.size > self.most
        self.parts, self.size = [], 0
        if too_long:
            yield None
        elif not _BLANK.fullmatch(text):
            yield text.strip()
