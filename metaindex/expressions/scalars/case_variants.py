"""Finds the texts whose lower (upper) case is a given text: few if it is short and ASCII. So `lower(s) = 'ab'` is `s IN
('ab', 'Ab', 'aB', 'AB')`, which every source of statistics answers.

Beyond ASCII itself few characters have ASCII in another case, most of them several letters; Unicode adds none to them.
"""

from __future__ import annotations

from typing import Final

_LOWER: Final = {"k": "\u212a", "i\u0307": "\u0130"}
_UPPER: Final = {
    "I": "\u0131",
    "S": "\u017f",
    "SS": "\u00df",
    "ST": "\ufb05\ufb06",
    "FF": "\ufb00",
    "FI": "\ufb01",
    "FL": "\ufb02",
    "FFI": "\ufb03",
    "FFL": "\ufb04",
    "J\u030c": "\u01f0",
    "H\u0331": "\u1e96",
    "T\u0308": "\u1e97",
    "W\u030a": "\u1e98",
    "Y\u030a": "\u1e99",
    "A\u02be": "\u1e9a",
}
"""Characters beyond ASCII by what they are in that case, where that begins with ASCII."""
MOST_VARIANTS: Final = 256
MOST_BEGINNINGS: Final = 32


def variants(text: str, *, upper: bool) -> tuple[str, ...] | None:
    """The texts that are this one in that case; None where they are too many, or not known."""
    if not text.isascii() or text != (text.upper() if upper else text.lower()):
        return None
    by_length: dict[int, list[str]] = {0: [""]}
    for at in range(len(text)):
        for source, length in _sources(text[at:], upper=upper):
            if length <= len(text) - at:
                by_length.setdefault(at + length, []).extend(before + source for before in by_length[at])
        if any(len(some) > MOST_VARIANTS for some in by_length.values()):
            return None
        del by_length[at]
    return tuple(by_length[len(text)])


def beginnings(text: str, *, upper: bool) -> tuple[str, ...]:
    """Return the prefixes, in any case, of all texts that begin with `text` in that case; empty if unknown."""
    ascii_part = text[: next((at for at, c in enumerate(text) if not c.isascii()), len(text))]
    if ascii_part != (ascii_part.upper() if upper else ascii_part.lower()):
        return ()
    whole: list[str] = []
    begun = [("", 0)]
    while begun:
        grown: list[tuple[str, int]] = []
        for before, at in begun:
            if at >= len(ascii_part):
                whole.append(before)
                continue
            grown += [(before + source, at + length) for source, length in _sources(ascii_part[at:], upper=upper)]
        if len(whole) + len(grown) > MOST_BEGINNINGS:
            break
        begun = grown
    return tuple(dict.fromkeys(some for some in (*whole, *(before for before, _ in begun)) if some))


def _sources(rest: str, *, upper: bool) -> list[tuple[str, int]]:
    """Characters whose case is what a text begins with, or begins with all of it; and how much of it that is."""
    first = rest[0]
    plain = dict.fromkeys((first, first.lower() if upper else first.upper()))
    known = [(c, 1) for c in plain]
    for cased, sources in (_UPPER if upper else _LOWER).items():
        if rest.startswith(cased) or cased.startswith(rest):
            known += [(c, len(cased)) for c in sources]
    return known
