"""Upper and lower case of texts, as Spark has it.

Spark asks ICU, by Unicode's full mappings; so does Python, by those of its own version of Unicode. Unicode never
changes how a character is cased while both cases of it are there, so the two differ for characters that one of them
does not know, and for those that got another case later: of a text with one of these nothing is said.
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
