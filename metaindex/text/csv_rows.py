"""Lines of a CSV file -> columns, with the rules of Spark's parser.

    the line          is read as
    blank             left out (only blanks count as blank too)
    a,b,c (2 columns) a | b: more than the schema has is cut
    a                 a | NULL
    a,                a | NULL      an empty token is NULL, whatever nullValue says
    a,""              a | emptyValue, and that is NULL when it equals nullValue (both are empty by default)
    "a\\"b"            a"b           the escape before a quote or before itself; before anything else it stays
    "a" ,b            a | b
    a"b,c             a"b | c
    "a,b              a,b           a quote that is never closed ends with the line
    "a"b,c            refused: a quote inside quotes that is not escaped (Spark's answer depends on what follows)

Blocks in which every quote opens or closes a whole field go through Arrow's parser; the others line by line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from formats.model import Field
from metaindex.errors import ScanError

from .values import Values

_BLANKS = "".join(map(chr, range(33)))  # what Java trims


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The options of Spark's reader; `quote`, `escape` and `comment` may be empty: none."""

    sep: str = ","
    quote: str = '"'
    escape: str = "\\"
    comment: str = ""
    header: bool = False
    null_value: str = ""
    empty_value: str = ""
    trim_left: bool = False
    trim_right: bool = False

    @classmethod
    def of(cls, given: Mapping[str, str]) -> CsvDialect:
        def single(name: str, default: str) -> str:
            value = {"\\t": "\t", "\\0": "\0", "\x00": ""}.get(given.get(name, default), given.get(name, default))
            if len(value) > 1 or not value.isascii() or value in ("\r", "\n"):
                raise ScanError(
                    f"{name} of CSV files is one ASCII character; the table has {value!r}; read with .to_spark(spark)"
                )
            return value

        sep = single("sep" if "sep" in given else "delimiter", ",")
        if not sep:
            raise ScanError("sep of CSV files is one character; it is empty; name one")
        return cls(
            sep=sep,
            quote=single("quote", '"'),
            escape=single("escape", "\\"),
            comment=single("comment", ""),
            header=given.get("header", "false").lower() == "true",
            null_value=given.get("nullvalue", ""),
            empty_value=given.get("emptyvalue", ""),
            trim_left=given.get("ignoreleadingwhitespace", "false").lower() == "true",
            trim_right=given.get("ignoretrailingwhitespace", "false").lower() == "true",
        )


class CsvRows:
    """`columns` are those of the files, in their order: a column is found by its place, whatever the header calls it."""

    def __init__(self, dialect: CsvDialect, columns: tuple[Field, ...], values: Values) -> None:
        self._dialect = dialect
        self._places = {f.name: i for i, f in enumerate(columns)}
        self._width = max(len(columns), 1)
        self._values = values

    def parse(
        self, block: bytes, fields: tuple[Field, ...], where: str, head: bool
    ) -> tuple[int, list[pa.Array], bool]:
        """Rows, one array per field, and whether the file's first line is still to come."""
        if head and (self._dialect.header or self._dialect.comment):
            block, head = self._without_header(block, head)
        else:
            head = False
        tokens = self._fast(block)
        if tokens is None:
            tokens = self._by_line(block, where)
        count = len(tokens[0])
        nulls = self._dialect.null_value
        arrays = []
        for f in fields:
            array = tokens[self._places[f.name]]
            array = pc.if_else(pc.equal(array, nulls), pa.scalar(None, pa.string()), array)
            arrays.append(self._values.column(array, f, where))
        return count, arrays, head

    def _without_header(self, block: bytes, head: bool) -> tuple[bytes, bool]:
        if not self._dialect.header:
            return block, False
        start = 0
        while start < len(block):
            end = _line_end(block, start)
            text = block[start:end].decode("utf-8", "replace").strip(_BLANKS)
            start = end
            if text and not (self._dialect.comment and text.startswith(self._dialect.comment)):
                return block[start:], False
        return b"", True

    def _fast(self, block: bytes) -> list[pa.Array] | None:
        """Arrow's parser, where it reads the block as Spark's would; None where that is not certain."""
        d = self._dialect
        if d.trim_left or d.trim_right or d.comment or self._width == 1 or not block.strip():
            return None
        data = np.frombuffer(block, np.uint8)
        quoted = bool(d.quote) and d.quote.encode() in block
        escaped = bool(d.escape) and d.escape != d.quote and d.escape.encode() in block
        if quoted and (escaped or not self._regular(data)):
            return None
        import pyarrow.csv as csv

        names = [str(i) for i in range(self._width)]
        try:
            table = csv.read_csv(
                pa.BufferReader(block),
                read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=max(len(block) + 1, 1024)),
                parse_options=csv.ParseOptions(delimiter=d.sep, quote_char=d.quote if quoted else False, double_quote=False, escape_char=False),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=not d.empty_value and not d.null_value
                ),
            )  # fmt: skip
        except pa.ArrowInvalid:
            return None  # rows of other widths, bytes that are no UTF-8
        columns = [column.combine_chunks() for column in table.columns]
        if d.empty_value and quoted:
            columns = [pc.if_else(pc.equal(c, ""), d.empty_value, c) for c in columns]
        return columns

    def _regular(self, data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> bool:
        """Does every quote open or close a whole field, on one line?"""
        at = np.flatnonzero(data == ord(self._dialect.quote))
        if len(at) % 2:
            return False
        ends = (data == ord(self._dialect.sep)) | (data == 10) | (data == 13)
        opens, closes = at[::2], at[1::2]
        before = np.where(opens > 0, ends[opens - 1], True)
        after = np.where(closes + 1 < len(data), ends[np.minimum(closes + 1, len(data) - 1)], True)
        line_ends = np.flatnonzero((data == 10) | (data == 13))
        same_line = np.searchsorted(line_ends, opens) == np.searchsorted(line_ends, closes)
        return bool(before.all() and after.all() and same_line.all())

    def _by_line(self, block: bytes, where: str) -> list[pa.Array]:
        columns: list[list[str | None]] = [[] for _ in range(self._width)]
        for raw in block.splitlines():  # of bytes: \n, \r and \r\n, no others
            line = raw.decode("utf-8", "replace")
            shown = line.strip(_BLANKS)
            if not shown or (self._dialect.comment and shown.startswith(self._dialect.comment)):
                continue
            tokens = self._tokens(line, where)
            for i, column in enumerate(columns):
                column.append(tokens[i] if i < len(tokens) else None)
        return [pa.array(column, pa.string()) for column in columns]

    def _tokens(self, line: str, where: str) -> list[str | None]:
        d = self._dialect
        if not d.quote or d.quote not in line:
            return [self._plain(token) for token in line.split(d.sep)]
        tokens: list[str | None] = []
        at, end = 0, len(line)
        while True:
            start = at
            if d.trim_left:
                while start < end and line[start] in _BLANKS and line[start] != d.sep:
                    start += 1
            if start < end and line[start] == d.quote:
                value, at = self._quoted(line, start + 1, where)
                tokens.append(value or d.empty_value)
            else:
                stop = line.find(d.sep, at)
                stop = end if stop < 0 else stop
                tokens.append(self._plain(line[at:stop]))
                at = stop
            if at >= end:
                return tokens
            at += 1  # past the separator; a line that ends with one has an empty last token

    def _quoted(self, line: str, at: int, where: str) -> tuple[str, int]:
        """The value that begins behind an opening quote, and the place of the separator or the end behind it."""
        d, end = self._dialect, len(line)
        out: list[str] = []
        while at < end:
            c = line[at]
            if c == d.escape and at + 1 < end and line[at + 1] in (d.quote, d.escape):
                out.append(line[at + 1])
                at += 2
            elif c == d.quote:
                after = at + 1
                while after < end and line[after] in _BLANKS and line[after] != d.sep:
                    after += 1
                if after < end and line[after] != d.sep:
                    raise ScanError(
                        f"a quote inside a quoted value must be escaped by {d.escape!r}; {where} has the line {line[:80]!r}; open the table with the escape that its writer used, such as escape='\"'"
                    )
                return "".join(out), after
            else:
                out.append(c)
                at += 1
        return "".join(out), end

    def _plain(self, token: str) -> str | None:
        if self._dialect.trim_left:
            token = token.lstrip(_BLANKS)
        if self._dialect.trim_right:
            token = token.rstrip(_BLANKS)
        return token or None


def _line_end(block: bytes, start: int) -> int:
    """Behind the line that begins at `start`; a \\r\\n may count as two ends, for the line between them is blank."""
    ends = [at for at in (block.find(b"\n", start, start + 65536), block.find(b"\r", start, start + 65536)) if at >= 0]
    if not ends:
        ends = [at for at in (block.find(b"\n", start), block.find(b"\r", start)) if at >= 0]
    return min(ends, default=len(block) - 1) + 1
