"""CSV and JSON lines as Spark reads them in its PERMISSIVE mode: text in, the table's columns out.

An option that is not honoured here is refused by name, unless it has no say in what is read.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from typing import IO

import pyarrow as pa

from metaindex.core import Cure, ScanError, one_line
from metaindex.formats.files.beginnings import beginning, is_whole
from metaindex.formats.files.compressed import by_spark as cure_by_spark
from metaindex.formats.files.compressed import encoding_of, open_text, unread_option, whole, without_only_spark
from metaindex.formats.files.time_patterns import TimePattern
from metaindex.formats.model import Field, Schema
from metaindex.storage import Storage

from .csv_dialect import CsvDialect
from .csv_rows import CsvRows
from .encodings import Encoding
from .json_rows import JsonRows
from .values import Doubts, ValueRules

_BLOCK_BYTES = 6 << 20  # of a size whose memory is used again, not given back to the system and asked for anew
_MOST_LINE_BYTES, _MOST_WHOLE_BYTES = 128 << 20, 1 << 30
"""Unpacked: a megabyte of a packed file may be gigabytes, and whoever builds for others has their files in memory."""
_Part = tuple[int, int, list[pa.Array]]

# Options with the only value that is honoured; an option with another value is refused.
_FIXED = {
    "mode": "permissive",
    "enforceschema": "true",
    "columnnameofcorruptrecord": "_corrupt_record",
    "locale": "en-us",
    "unescapedquotehandling": "stop_at_delimiter",
    "primitivesasstring": "false",
    "allowcomments": "false",
    "allowunquotedfieldnames": "false",
    "allowsinglequotes": "true",
    "allownonnumericnumbers": "true",
    "allownumericleadingzeros": "false",
    "allowbackslashescapinganycharacter": "false",
    "allowunquotedcontrolchars": "false",
}
# Honoured by the dialect and the values, or without a say in the rows of a file once the schema is known.
_KNOWN = {
    *("file_format", "sep", "delimiter", "quote", "escape", "header", "nullvalue", "emptyvalue", "nanvalue"),
    *("positiveinf", "negativeinf", "encoding"),
    *("charset", "ignoreleadingwhitespace", "ignoretrailingwhitespace", "timezone", "comment", "linesep"),
    *("compression", "multiline", "wholefile"),
    *("inferschema", "samplingratio", "prefersdate", "prefersdecimal", "dropfieldifallnull", "maxcolumns"),
    *("maxcharspercolumn", "path", "basepath"),
    *("recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter", "ignorecorruptfiles"),
    *("ignoremissingfiles", "mergeschema", "partitions"),
    *("schema", "datetimerebasemode", "columnpruning", "infertimestampntz", "partition_types", "partition_columns"),
    *("dateformat", "timestampformat", "timestampntzformat"),
}  # fmt: skip


class TextReader:
    """Reads the CSV or JSON files of one snapshot. `by_spark`: without the options of those that only Spark reads."""

    def __init__(
        self, file_format: str, options: Mapping[str, object], schema: Schema, *, by_spark: bool = False
    ) -> None:
        options = without_only_spark(options) if by_spark else options
        given = {
            k.lower(): str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items() if v is not None
        }
        for name, value in given.items():
            if name in _FIXED:
                if value.lower() != _FIXED[name]:
                    raise ScanError.for_spark(
                        f"{file_format} files are read with {name} {_FIXED[name]!r}; the table has '{one_line(value)}'"
                    )
            elif name not in _KNOWN:
                raise ScanError(
                    f"an option of {file_format} files is honoured or refused; {name!r} ('{one_line(value)}') is"
                    f" not known; mend its name (each is an option of its own, as {Cure('also', 'header', True)}), or"
                    f" {Cure('spark')}"
                )
        if any(f.name == "_corrupt_record" for f in schema):
            raise ScanError.for_spark(
                "the corrupt records of a table are shown by Spark only; its schema has the column '_corrupt_record'"
            )
        self._whole = is_whole(given)
        if why := unread_option(given):
            raise ScanError(f"{why}; {cure_by_spark()}")
        self._encoding = Encoding.of(encoding_of(given), file_format, self._whole)
        values = ValueRules(
            json=file_format == "json",
            zone=given.get("timezone", "UTC"),
            nan=given.get("nanvalue", "NaN"),
            positive_inf=given.get("positiveinf", "Inf"),
            negative_inf=given.get("negativeinf", "-Inf"),
            date_pattern=_pattern(given, "dateformat"),
            timestamp_pattern=_pattern(given, "timestampformat"),
            local_pattern=_pattern(given, "timestampntzformat"),
        )
        self._rows: CsvRows | JsonRows
        self._packed: CsvRows | JsonRows | None = None  # of packed files that are read whole, where they are others
        in_file = tuple(f for f in schema if not f.partition)
        if file_format == "csv":
            self._rows = CsvRows(CsvDialect.of(given), in_file, values)
        else:
            self._rows = JsonRows(values, in_file, decoded=self._encoding.said)
            self._packed = JsonRows(values, in_file, decoded=self._encoding.said, packed=True)

    @property
    def whole(self) -> bool:
        """Return whether a file is one text instead of a line per row."""
        return self._whole

    def try_beginning(self, storage: Storage, path: str, fields: tuple[Field, ...], most: int) -> None:
        """Read so many bytes of a file. Raises what reading it raises."""
        for _ in self.read(pa.BufferReader(beginning(storage, path, most)), "", fields, path):
            pass

    def read(
        self, source: pa.NativeFile, path: str, fields: tuple[Field, ...], where: str, doubts: Doubts | None = None
    ) -> Iterator[_Part]:
        """Yield the first row, the number of rows, and an array per field, of each block. `doubts`: see `Doubts`."""
        stream = open_text(source, path)
        if self._whole:
            data = self._encoding.utf8(_whole(stream, where), where)
            if not self._encoding.shows_mark(data):
                data = data.removeprefix(codecs.BOM_UTF8)
            of_packed = self._packed if stream is not source else None
            count, arrays = (of_packed or self._rows).parse_whole(data, fields, where, doubts)
            if count:
                yield 0, count, arrays
            return
        first, head = 0, True
        for number, block in enumerate(_blocks(stream, where)):
            text = block.removeprefix(codecs.BOM_UTF8) if number == 0 else block
            if text is not block and isinstance(self._rows, CsvRows) and text.startswith(codecs.BOM_UTF8):
                raise ScanError.for_spark(f"a text file begins with one byte-order mark at most; {where} has two")
            count, arrays, head = self._rows.parse(self._encoding.utf8(text, where), fields, where, head, doubts)
            if count:
                yield first, count, arrays
            first += count


def _pattern(given: Mapping[str, str], name: str) -> TimePattern | None:
    text = given.get(name)
    if text is None:
        return None
    pattern = TimePattern.of(text)
    if pattern is None:
        raise ScanError.for_spark(
            f"dates and times are read by patterns of fixed width, such as dd.MM.yyyy; the table has {name}"
            f" '{one_line(text)}'"
        )
    return pattern


def _whole(stream: IO[bytes], where: str) -> bytes:
    """A file that is read at once."""
    parts, size = [], 0
    for block in _blocks(stream, where):
        parts.append(block)
        size += len(block)
        if size > _MOST_WHOLE_BYTES:
            raise ScanError(
                f"a text file that is read whole (multiLine) has at most {_MOST_WHOLE_BYTES:,} bytes,"
                f" unpacked; {where} has more; split it, or {Cure('spark')}"
            )
    return b"".join(parts)


def _blocks(stream: IO[bytes], where: str) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time. A file in which no line ends is one block."""
    rest: list[bytes] = []
    with whole(where):
        while piece := stream.read(_BLOCK_BYTES):
            if sum(map(len, rest)) > _MOST_LINE_BYTES:
                raise ScanError.for_spark(
                    f"a line of a text file has at most {_MOST_LINE_BYTES:,} bytes, unpacked; {where} has a longer one"
                )
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join((*rest, piece if cut == len(piece) else memoryview(piece)[:cut]))
                rest = [piece[cut:]] if cut < len(piece) else []
            else:
                rest.append(piece)
    if rest:
        yield b"".join(rest)
