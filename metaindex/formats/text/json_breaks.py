r"""Finds where a line of JSON breaks off inside a column's value, and whether Spark goes on after the break.

Spark's parser finds some mistakes only when a column's value is taken: in texts (a control character, an escape that is
none, bytes that are no UTF-8, bytes that are no base64), and anywhere in lists and objects. The column is then NULL,
and what stands behind the break is read as if the value had ended there:

    {"a":"x\q,"b":1}        a NULL, b 1
    {"a":"caf\xe9","b":1}   a NULL, b 1: the byte takes the quote for its second, and what follows is regular again
    {"a":"x\q","b":1}       no row of its own: a quote follows, where a comma or the end has to
    {"a":[1 2],"b":1}       a NULL, b 1

A query that does not ask for the column finds another break, or none. So nobody can say what a row has, and the file is
refused, unless what follows ends the record in any case: then it is a row of NULLs, as with a mistake anywhere else.
"""

from __future__ import annotations

import json
import re

import pyarrow as pa

from metaindex.expressions import Family

_LONG_FORMS = re.compile(
    rb"[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f][\x80-\xbf]|\xf0[\x80-\x8f][\x80-\xbf]{2}"
    rb"|\xf4[\x90-\xbf][\x80-\xbf]{2}|[\xf5-\xf7][\x80-\xbf]{3}"
)  # characters in more bytes than they need, or beyond Unicode
_HALVES = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")  # of surrogate pairs
_BREAK = "\0"  # a character that no text may hold
_DECODED_AT_ONCE = 4000  # bytes
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]{0,3}")
_GOES_ON = re.compile(r"[ \t\n\r]*[,}\]]")
_CUT_OFF = re.compile(r"[\w.+-]*")
INFINITIES = ("+INF", "-INF", "+Infinity")


class OtherCharacters(Exception):
    """Bytes of which Spark makes characters that are not those of UTF-8."""


def text_of(raw: bytes, *, decoded: bool) -> str | None:
    """A line, with a character that breaks it where Spark stops at bytes that are no UTF-8. None: it has no row that
    can be read. `decoded`: Spark decodes all of it before it parses anything."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        cut_off = error.reason == "unexpected end of data"  # of which Spark need not hear
        unheard = cut_off or len(raw) > _DECODED_AT_ONCE if decoded else _HALVES.search(raw)
        if unheard or _LONG_FORMS.search(raw):
            raise OtherCharacters from None
        if decoded:
            return None
        begin, end = error.start, _behind_bytes(raw, error.start)
        return raw[:begin].decode() + _BREAK + raw[end:].decode(errors="replace")


def _behind_bytes(raw: bytes, at: int) -> int:
    """Up to the first byte that does not continue the character that begins here, and with it."""
    first = raw[at]
    size = 2 if 0xC0 <= first < 0xE0 else 3 if 0xE0 <= first < 0xF0 else 4 if 0xF0 <= first < 0xF8 else 1
    for place in range(at + 1, min(at + size, len(raw))):
        if raw[place] & 0xC0 != 0x80:
            return place + 1
    return min(at + size, len(raw))


def goes_on(t: pa.DataType, begin: int, error: json.JSONDecodeError) -> bool:
    """Return whether Spark may go on after a break of the value that begins there, in a column of this type."""
    line, at = error.doc, error.pos
    match line[begin : begin + 1]:
        case '"' if at == begin:
            return False  # it never ends
        case '"':
            return pa.types.is_binary(t) or bool(_GOES_ON.match(line, _behind_character(line, at)))
        case "{" | "[":
            if not (pa.types.is_nested(t) or Family.of(t) is Family.TEXT):
                return False  # passed over as a whole
            cut_off = error.msg.startswith("Unterminated string") or _CUT_OFF.fullmatch(line, at)
            return not cut_off or "{" in line[begin:]
        case _:
            return False


def _behind_character(line: str, at: int) -> int:
    """Behind a character that breaks a text; `at` is where it stands, the letter u of such an escape."""
    if line[at] == "u":
        return _HEX_DIGITS.match(line, at + 1).end() + 1  # type: ignore[union-attr]  # it matches everywhere
    return at + 2 if line[at] == "\\" else at + 1
