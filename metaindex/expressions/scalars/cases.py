"""Upper and lower case of texts, as Spark has it.

Spark asks ICU, by Unicode's full mappings; so does Python, by those of its own version of Unicode. Unicode never
changes how a character is cased while both cases of it are there, so the two differ for characters that one of them
does not know, and for those that got another case later: of a text with one of these nothing is said.

Few texts have a given lower (upper) case if it is short and ASCII: `lower(s) = 'ab'` is `s IN ('ab', 'Ab', 'aB',
'AB')`, which every source of statistics answers. Beyond ASCII itself few characters have ASCII in another case, most of
them several letters; Unicode adds none to them.
"""

from __future__ import annotations

import unicodedata
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector

_LATER: Final = frozenset("\u019b\u0264")
"""Letters that got their capital after Unicode 14, the oldest that a Python may have."""


def cased(texts: pa.Array, *, upper: bool) -> pa.Array | None:
    """The texts in upper (lower) case; None where that is not known of one."""
    texts = texts.cast(pa.string())
    if pc.all(pc.string_is_ascii(texts)).as_py() in (True, None):
        return pc.ascii_upper(texts) if upper else pc.ascii_lower(texts)
    encoded = Vector(texts).array.dictionary_encode()
    changed = [cased_text(text, upper=upper) for text in encoded.dictionary.to_pylist()]
    if None in changed:
        return None
    return pa.array(changed, pa.string()).take(encoded.indices)


def cased_text(text: str, *, upper: bool) -> str | None:
    """Return one text in upper (lower) case, or None if engines may disagree about a character of it."""
    if not text.isascii() and any(c in _LATER or unicodedata.category(c) == "Cn" for c in text):
        return None
    return text.upper() if upper else text.lower()


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
