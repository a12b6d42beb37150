r"""Lines of a CSV file -> columns, with the rules of Spark's parser.

    the line          is read as
    blank             left out (only blanks count as blank too)
    a,b,c (2 columns) a | b: more than the schema has is cut
    a                 a | NULL
    a,                a | NULL      an empty token is NULL, whatever nullValue says
    a,""              a | emptyValue, and that is NULL when it equals nullValue (both are empty by default)
    "a\"b"            a"b           the escape before a quote or before itself; before anything else it stays
    "a" ,b            a | b
    a"b,c             a"b | c
    "a,b              a,b           a quote that is never closed ends with the line; refused with quotes or escapes
                                    inside
    a,"               a | "         a quote that opens nothing is one
    "a"b,c            refused: a quote inside quotes that is not escaped (Spark's answer depends on what follows)

Blocks in which every quote opens or closes a whole field, or is doubled where that is the escape, go through Arrow's
parser; the others line by line.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Cure, ScanError, one_line
from metaindex.formats.model import Field

from .csv_dialect import CsvDialect, one_line_end
from .encodings import line_end, text_of
from .values import Doubts, ValueRules, add_lost, certain

_BLANKS = "".join(map(chr, range(33)))  # what Java trims
_BLANK_LINE = re.compile(rb"(?:\A|[\r\n])(?!(?:[\r\n]|\Z))[\0-\x20]*(?:[\r\n]|\Z)")
_BLANK = re.compile(rb"[\0-\x20]*")
_LINE = re.compile(rb"[^\r\n]+")
_Tokens: TypeAlias = dict[int, pa.Array]
"""Texts of columns by their place: of those that are asked, at least, and of one where none is."""


class CsvRows:
    """`columns` are those of the files, in their order: a column is found by its place, whatever the header calls
    it."""

    def __init__(self, dialect: CsvDialect, columns: tuple[Field, ...], values: ValueRules) -> None:
        self._dialect = dialect
        self._places = {f.name: i for i, f in enumerate(columns)}
        self._width = max(len(columns), 1)
        self._values = values
        stops = f"[{re.escape(dialect.quote + dialect.escape)}]" if dialect.quote else "(?!)"
        self._stops = re.compile(stops)

    def parse(
        self, block: bytes, fields: tuple[Field, ...], where: str, head: bool, doubts: Doubts | None = None
    ) -> tuple[int, list[pa.Array], bool]:
        """Rows, one array per field, and whether the file's first line is still to come. `doubts`: see `Doubts`."""
        self._refuse(block, where)
        block, head = self._without_header(block, where) if head and self._dialect.header else (block, False)
        tokens = self._by_arrow(block, fields, over_lines=False) or self._by_line(block, where)
        return *self._arrays(tokens, fields, where, doubts), head

    def parse_whole(
        self, data: bytes, fields: tuple[Field, ...], where: str, doubts: Doubts | None = None
    ) -> tuple[int, list[pa.Array]]:
        """A file whose quoted values may go over lines (multiLine)."""
        self._refuse(data, where)
        data = one_line_end(data, where)
        tokens = self._fast_whole(data, fields) or self._columns(self._records(text_of(data), where))
        return self._arrays(tokens, fields, where, doubts)

    def _refuse(self, data: bytes, where: str) -> None:
        """Characters that the parser of Spark takes for something else, by the dialect."""
        d = self._dialect
        if b"\0" in data and (not d.quote or not d.escape or d.escape == d.quote):
            raise ScanError.for_spark(
                f"zero characters are read where quote and escape are two characters; {where} has some"
            )
        if d.quote and not d.escape and d.quote.encode() in data:
            raise ScanError.for_spark(
                f"quotes are read where there is an escape; the table has escape '' and {where} has quotes"
            )

    def _arrays(
        self, tokens: _Tokens, fields: tuple[Field, ...], where: str, doubts: Doubts | None
    ) -> tuple[int, list[pa.Array]]:
        nulls, count = self._dialect.null_value, len(next(iter(tokens.values())))

        def read(f: Field) -> pa.Array:
            texts = tokens[self._places[f.name]]
            texts = pc.if_else(pc.equal(texts, nulls), pa.scalar(None, pa.string()), texts)
            values = self._values.column(texts, f, where)
            add_lost(doubts, {(f.name,): values.null_count - texts.null_count})
            return values

        return count, [certain(f, count, doubts, read) for f in fields]

    def _without_header(self, block: bytes, where: str) -> tuple[bytes, bool]:
        start = 0
        while start < len(block):
            before, start = start, _BLANK.match(block, start).end()  # type: ignore[union-attr]  # it matches everywhere
            end = line_end(block, start)
            line = block[start:end].decode("utf-8", "replace")
            text = line.strip(_BLANKS)
            is_comment = bool(self._dialect.comment) and text.startswith(self._dialect.comment)
            if is_comment and block[before:start].strip(b"\r\n"):
                raise ScanError.for_spark(
                    f"a comment begins with its line; {where} has one behind blanks where the header may be"
                )
            start = end
            if text and not is_comment:
                return block[start:], False
        return b"", True

    def _fast_whole(self, data: bytes, fields: tuple[Field, ...]) -> _Tokens | None:
        if b"\r" in data or (self._dialect.header and (data[:1] == b"\n" or b"\0" in data)):
            return None
        return self._by_arrow(data, fields, over_lines=True)

    def _by_arrow(self, block: bytes, fields: tuple[Field, ...], *, over_lines: bool) -> _Tokens | None:
        """Arrow's parser, where it reads the block as Spark's would; None where that is not certain."""
        d = self._dialect
        if d.trim_left or d.trim_right or d.comment or self._width == 1 or not block.strip():
            return None
        if block.startswith(codecs.BOM_UTF8):
            return None  # Arrow takes it for no part of the text
        if not over_lines and d.sep in _BLANKS and _BLANK_LINE.search(block):
            return None  # a line of empty values, which are parted by what Java trims, is no row to Spark
        quoted = bool(d.quote) and d.quote.encode() in block
        escaped = bool(d.escape) and d.escape != d.quote and d.escape.encode() in block
        if quoted and (escaped or not self._regular(np.frombuffer(block, np.uint8), over_lines)):
            return None
        import pyarrow.csv as csv

        # An empty value at the end is told from one in quotes only where its line ends.
        block = block if block.endswith((b"\n", b"\r")) else block + b"\n"
        skipped = 1 if over_lines and d.header else 0
        names = [str(i) for i in range(self._width)]
        try:
            table = csv.read_csv(
                pa.BufferReader(block),
                read_options=csv.ReadOptions(
                    column_names=names,
                    skip_rows_after_names=skipped,
                    use_threads=False,
                    block_size=max(len(block) + 1, 1024),
                ),
                parse_options=csv.ParseOptions(
                    delimiter=d.sep,
                    quote_char=d.quote if quoted else False,
                    double_quote=d.escape == d.quote,
                    escape_char=False,
                    newlines_in_values=over_lines,
                ),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=[str(self._places[f.name]) for f in fields] or names[:1],
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=not d.empty_value and not d.null_value,
                ),
            )
        except pa.ArrowInvalid:
            return None  # rows of other widths, bytes that are no UTF-8
        columns = {int(name): table.column(name).combine_chunks() for name in table.column_names}
        if d.empty_value and quoted:
            columns = {place: pc.if_else(pc.equal(c, ""), d.empty_value, c) for place, c in columns.items()}
        return columns

    def _regular(self, data: np.ndarray[tuple[int], np.dtype[np.uint8]], over_lines: bool) -> bool:
        """Return whether every quote opens or closes a whole field (or is a doubled quote), on one line unless fields
        may span lines."""
        at = np.flatnonzero(data == ord(self._dialect.quote))
        if len(at) % 2:
            return False
        ends = (data == ord(self._dialect.sep)) | (data == 10) | (data == 13)
        opens, closes = at[::2], at[1::2]
        before = np.where(opens > 0, ends[opens - 1], True)
        after = np.where(closes + 1 < len(data), ends[np.minimum(closes + 1, len(data) - 1)], True)
        if self._dialect.escape == self._dialect.quote and len(at):
            # A quote that is doubled closes and opens again, without anything between.
            joined = opens[1:] == closes[:-1] + 1
            before[1:] |= joined
            after[:-1] |= joined
        if not (before.all() and after.all()):
            return False
        line_ends = np.flatnonzero((data == 10) | (data == 13))
        return over_lines or bool((np.searchsorted(line_ends, opens) == np.searchsorted(line_ends, closes)).all())

    def _by_line(self, block: bytes, where: str) -> _Tokens:
        # A line of bytes ends with \n, \r and \r\n, and nothing else.
        lines = (text_of(m.group()) for m in _LINE.finditer(block))
        comment = self._dialect.comment
        return self._columns(
            self._tokens(line, where)
            for line in lines
            if line.strip(_BLANKS) and not (comment and line.startswith(comment))
        )

    def _columns(self, records: Iterable[list[str | None]]) -> _Tokens:
        columns: list[list[str | None]] = [[] for _ in range(self._width)]
        for tokens in records:
            for i, column in enumerate(columns):
                column.append(tokens[i] if i < len(tokens) else None)
        return {place: pa.array(column, pa.string()) for place, column in enumerate(columns)}

    def _records(self, text: str, where: str) -> Iterator[list[str | None]]:
        """Split a whole file into records. Only an empty line is dropped here, not one of blanks."""
        d, end = self._dialect, len(text)
        at, head = 0, d.header
        while at < end:
            stop = text.find("\n", at)
            stop = end if stop < 0 else stop
            blank = not text[at:stop].strip(_BLANKS)
            if blank and at < stop and (d.trim_left or d.trim_right):
                raise ScanError.for_spark(
                    f"with multiLine and ignored white space no line holds blanks alone; {where} has one"
                )
            if at == stop or (d.comment and text.startswith(d.comment, at)):
                at = stop + 1
                continue
            tokens, at = self._record(text, at, where)
            if not head:
                yield tokens
            head = False

    def _record(self, text: str, at: int, where: str) -> tuple[list[str | None], int]:
        """The tokens of the record that begins at a place, and the place behind its line end."""
        d, end, line_end = self._dialect, len(text), -1
        tokens: list[str | None] = []
        while True:
            start = at
            while d.trim_left and start < end and text[start] in _BLANKS and text[start] not in (d.sep, "\n"):
                start += 1
            if d.quote and text.startswith(d.quote, start):
                value, at = self._quoted(text, start + 1, where)
                tokens.append(self._checked(value, where) or d.empty_value)
            else:
                if line_end < at:
                    line_end = text.find("\n", at)
                    line_end = end if line_end < 0 else line_end
                stop = text.find(d.sep, at, line_end)
                stop = line_end if stop < 0 else stop
                tokens.append(self._plain(text[at:stop], where))
                at = stop
            self._hold(len(tokens), where)
            if at >= end or text[at] == "\n":
                return tokens, at + 1
            at += 1  # past the separator; a record that ends with one has an empty last token

    def _tokens(self, line: str, where: str) -> list[str | None]:
        d = self._dialect
        if not d.quote or d.quote not in line:
            self._hold(line.count(d.sep) + 1, where)
            return [self._plain(token, where) for token in line.split(d.sep)]
        return self._record(line, 0, where)[0]

    def _hold(self, columns: int, where: str) -> None:
        if columns > self._dialect.max_columns:
            raise ScanError(
                f"a line of CSV has at most {self._dialect.max_columns:,} columns, as in Spark; {where} has one of"
                f" more; name their number by {Cure('reader', 'maxColumns')}, or check sep and quote"
            )

    def _quoted(self, line: str, at: int, where: str) -> tuple[str, int]:
        """Return the value after an opening quote, and the place of the separator or the end after it."""
        d, end, start = self._dialect, len(line), at
        out: list[str] = []
        while (stopped := self._stops.search(line, at)) is not None:
            stop = stopped.start()
            out.append(line[at:stop])
            if line[stop] == d.escape and stop + 1 < end and line[stop + 1] in (d.quote, d.escape):
                out.append(line[stop + 1])
                at = stop + 2
            elif line[stop] == d.quote:
                after = stop + 1
                while after < end and line[after] in _BLANKS and line[after] not in (d.sep, "\n"):
                    after += 1
                if after < end and line[after] not in (d.sep, "\n"):
                    raise self._uncertain("a quote inside a quoted value must be escaped", line, stop, where)
                return "".join(out), after
            else:
                out.append(line[stop])
                at = stop + 1
        if start == end:
            return d.quote, end  # a quote that opens nothing is one
        if self._stops.search(line, start) is not None:
            raise self._uncertain("a value with quotes inside must be closed by one", line, start, where)
        return line[start:], end

    def _uncertain(self, rule: str, line: str, at: int, where: str) -> ScanError:
        escape = Cure("reader", "escape", '"')
        return ScanError(
            f"{rule} (the escape is '{one_line(self._dialect.escape)}'); {where} has"
            f" '{one_line(line[max(at - 40, 0) : at + 40])}'; "
            f"open the table with the escape that its writer used, such as {escape}, or {Cure('spark')}"
        ).without("escape", '"')

    def _plain(self, token: str, where: str) -> str | None:
        token = self._checked(token, where)
        if self._dialect.trim_left:
            token = token.lstrip(_BLANKS)
        if self._dialect.trim_right:
            token = token.rstrip(_BLANKS)
        return token or None

    def _checked(self, value: str, where: str) -> str:
        if self._dialect.trim_right and not self._dialect.trim_left and value and not value.strip(_BLANKS):
            raise ScanError(
                f"Spark fails where ignoreTrailingWhiteSpace alone meets a value of blanks; {where} has one; set"
                " ignoreLeadingWhiteSpace too"
            )
        return value
