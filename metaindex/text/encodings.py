"""The encodings of text files: UTF-8, those of one byte a character that hold ASCII, and UTF-16 and UTF-32 where lines
are not told by bytes: in multiLine files, and in JSON files with a lineSep."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from metaindex.errors import ScanError
from metaindex.expressions.shown import between_quotes
from metaindex.formats.encodings import WIDE, codec_of

_HALF = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")),
}


@dataclass(frozen=True, slots=True)
class Encoding:
    """`name` is Python's; `said`: the user named it. `whole`: files are read whole."""

    name: str
    said: bool
    wide: bool
    json: bool
    whole: bool

    @classmethod
    def of(cls, name: str | None, file_format: str, whole: bool, line_end: str | None) -> Encoding:
        """ScanError for an encoding in which these files are not read."""
        known = codec_of(name or "utf-8")
        wide = known in WIDE
        # Spark splits lines before it decodes them: by the bytes of the line's end, which only JSON encodes.
        lines = file_format == "json" and line_end is not None and known not in _MARKS
        if known is None or (wide and not (whole or lines)):
            cure = "say multiLine=True, or " if wide else ""
            raise ScanError(
                "text files are read in UTF-8, in encodings of one byte that Java decodes alike, and in UTF-16 and"
                f" UTF-32 with multiLine; the table has {name!r}; {cure}read with .to_spark(spark)"
            )
        if line_end is not None and not line_end.isascii() and not wide and known != "utf-8":
            raise ScanError(
                "lines are told by the bytes of lineSep in the encoding, which may be those of another character; the"
                f" table has lineSep {between_quotes(line_end)} in {name!r}; read with .to_spark(spark)"
            )
        return cls(known, name is not None, wide, file_format == "json", whole)

    def shows_mark(self, data: bytes) -> bool:
        """Is a byte-order mark at the beginning of a file that is read whole a character of it, which is no JSON? Where
        no encoding is named, Spark looks for one in four bytes or more."""
        return self.json and (self.name == "utf-8" if self.said else data == codecs.BOM_UTF8)

    def utf8(self, data: bytes, where: str) -> bytes:
        """The text in UTF-8; what is no text of the encoding becomes U+FFFD, as in Spark, but for lines of JSON: those
        it does not read."""
        if self.name == "utf-8":
            if self.json and not self.said and b"\0" in data:
                raise ScanError(
                    f"JSON in UTF-16 or UTF-32 is read with encoding= and multiLine; {where} holds zero bytes; read"
                    " with .to_spark(spark)"
                )
            return data
        name = self.name
        if name in _MARKS:  # the byte-order mark says which; without one it is big-endian
            name = next((marked for mark, marked in _MARKS[name] if data.startswith(mark)), f"{name}-be")
        if not self.json or self.whole:
            return data.decode(name, "replace").encode("utf-8", "replace")
        try:
            return data.decode(name).encode()
        except UnicodeError:
            raise ScanError(
                f"lines of JSON are text of their encoding, or may be rows of NULLs to Spark; {where} has bytes that"
                f" are none of {self.name}; name its encoding, or read with .to_spark(spark)"
            ) from None


def text_of(data: bytes) -> str:
    """UTF-8 as Java decodes it: half a surrogate pair becomes one U+FFFD, where Python has one for each byte."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _HALF.sub("\ufffd".encode(), data).decode("utf-8", "replace")
