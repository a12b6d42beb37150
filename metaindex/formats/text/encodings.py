"""The encodings of text files: UTF-8, and those of one byte a character that hold ASCII and that Python and Java decode
alike, to the character.

They are written down, for an encoding of the same name may be another table (`cp874`, `TIS-620`, `mac-cyrillic`).
Encodings of several bytes (GBK, Shift_JIS, EUC-KR ...) differ in some characters and in what broken ones become, so an
index by one of them would name other values than Spark reads."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from metaindex.core import Cure, ScanError

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


_HALF = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


@dataclass(frozen=True, slots=True)
class Encoding:
    """Encoding of files. `name` is Python's; `said`: the user gave it. `whole`: files are read whole."""

    name: str
    said: bool
    json: bool
    whole: bool

    @classmethod
    def of(cls, name: str | None, file_format: str, whole: bool) -> Encoding:
        """`name`: one that is read here (`compressed.unread_option`)."""
        return cls(codec_of(name or "utf-8") or "utf-8", name is not None, file_format == "json", whole)

    def shows_mark(self, data: bytes) -> bool:
        """Return whether a byte-order mark at the beginning of a file read whole counts as a character, which is no
        JSON. Without a named encoding, Spark looks for one in four bytes or more."""
        return self.json and (self.name == "utf-8" if self.said else data == codecs.BOM_UTF8)

    def utf8(self, data: bytes, where: str) -> bytes:
        """The text in UTF-8; what is no text of the encoding becomes U+FFFD, as in Spark, but for lines of JSON: those
        it does not read."""
        if self.name == "utf-8":
            if self.json and not self.said and b"\0" in data:
                raise ScanError.for_spark(f"JSON is read in UTF-8; {where} holds zero bytes, as UTF-16 and UTF-32 do")
            return data
        if not self.json or self.whole:
            return data.decode(self.name, "replace").encode()
        try:
            return data.decode(self.name).encode()
        except UnicodeError:
            raise ScanError(
                f"lines of JSON are text of their encoding, or may be rows of NULLs to Spark; {where} has bytes that"
                f" are none of {self.name}; name its encoding, or {Cure('spark')}"
            ) from None


def text_of(data: bytes) -> str:
    """UTF-8 as Java decodes it: half a surrogate pair becomes one U+FFFD, where Python has one for each byte."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _HALF.sub("\ufffd".encode(), data).decode("utf-8", "replace")


def line_end(text: bytes, start: int) -> int:
    r"""Return the end of the line from `start`; a \r\n may count as two, for the line between them is blank."""
    for near in (start + 65536, len(text)):
        ends = [at + 1 for at in (text.find(b"\n", start, near), text.find(b"\r", start, near)) if at >= 0]
        if ends:
            return min(ends)
    return len(text)
