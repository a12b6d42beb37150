"""Encodings of text that Python and Java decode alike, to the character.

Of one byte: written down, for an encoding of the same name may be another table (`cp874`, `TIS-620`, `mac-cyrillic`).
Encodings of several bytes (GBK, Shift_JIS, EUC-KR ...) differ in some characters and in what broken ones become, so an
index by one of them would name other values than Spark reads."""

from __future__ import annotations

import codecs

ONE_BYTE = frozenset(
    {
        "ascii",
        *(f"cp125{n}" for n in range(9)),
        *("cp437", "cp737", "cp775", "cp850", "cp852", "cp855", "cp857", "cp858", "cp860", "cp861", "cp862"),
        *("cp863", "cp865", "cp866", "cp869"),
        *(f"iso8859-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16)),
        *("koi8-r", "koi8-u", "mac-latin2", "mac-roman"),
    }
)
"""Python's names. Each holds ASCII, so that lines and separators are told by bytes."""


def codec_of(name: str) -> str | None:
    """Python's name of an encoding that is read here as Spark reads it; None for any other text."""
    try:
        known = codecs.lookup(name).name
    except (LookupError, UnicodeError, ValueError):  # ValueError: a zero character in a name
        return None
    return known if known == "utf-8" or known in ONE_BYTE else None
