"""Columns and types of CSV lines, from what stands in a file or two.

Values become the narrowest of int, long, decimal without a fraction, double, date, timestamp, boolean, string that
holds them all, by the forms that Spark's inferSchema knows. Only the beginning of a file (32 MB) is looked at: a later
value that is none of the type is known where it is read, not here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from metaindex.core import CorruptTableError, Cure, MetaIndexError, UnsupportedFeatureError, first_line, one_line
from metaindex.formats.column_names import alike
from metaindex.storage import Storage

from .beginnings import NAME_COLUMNS, begins_as, first_that_says, is_utf8, is_whole, say_encoding, text_of
from .header import check_header, infer_text
from .options import most_columns


def csv_schema(storage: Storage, paths: Sequence[str], newest: str, reader: Mapping[str, str]) -> pa.Schema:
    """Names of the header of the first of `paths` that has a line (`_c0`, `_c1` ... without one), types that hold the
    values of it and of the newest file."""
    path, table = first_that_says(
        paths,
        lambda path: text_of(storage, path, reader),
        lambda path, text: _csv_text(text, path, reader),
        lambda table: table.num_columns > 0,
    )
    tables = {path: table}
    if newest != path:
        tables[newest] = _csv_text(text_of(storage, newest, reader), newest, reader)
    return _csv_columns([each for each in tables.items() if each[1].num_columns] or [(path, table)], reader)


def _csv_columns(read: Sequence[tuple[str, pa.Table]], reader: Mapping[str, str]) -> pa.Schema:
    for path, table in read:
        if "header" not in reader:
            check_header(path, table, None)
    tables = [table for _, table in read]
    first = tables[0].column_names
    names = _header_names(first) if _header(reader) else [f"_c{i}" for i in range(len(first))]
    fields = []
    for at, name in enumerate(names):
        columns = [t.column(at) for t in tables if t.num_columns > at]
        fields.append(
            pa.field(
                name,
                infer_text(pa.chunked_array([c for column in columns for c in column.chunks], pa.string()), reader),
            )
        )
    return pa.schema(fields)


def look_for_data(storage: Storage, paths: Sequence[str], reader: Mapping[str, str], schema: pa.Schema) -> None:
    """Run `check_header` for columns that the user names. Unreadable files are skipped: reading them raises."""
    for path in paths:
        try:
            table = _csv_text(text_of(storage, path, reader, 1 << 16), path, reader, named=True)
        except MetaIndexError:
            continue
        check_header(path, table, schema)


def _csv_text(text: bytes, path: str, reader: Mapping[str, str], *, named: bool = False) -> pa.Table:
    """Return all columns in the beginning of a file as texts, named by its header. `named`: does the user say which
    there are?"""
    import pyarrow.csv as csv

    header = _header(reader)
    quote, escape = reader.get("quote", '"'), reader.get("escape", "\\")
    separator = reader.get("sep", "\t" if ".tsv" in path.lower() else ",")
    for name, value in (("sep", {"\\t": "\t"}.get(separator, separator)), ("quote", quote), ("escape", escape)):
        if (len(value) != 1 or not "\0" < value <= "\x7f") and (value or name == "sep"):
            cure = NAME_COLUMNS if len(value) == 1 else "name another"
            raise UnsupportedFeatureError(
                f"{name} of CSV files is one ASCII character; got '{one_line(value)}'; {cure}"
            )
    text = _without_comments(text, reader)
    if not text.strip():
        return pa.table({})
    _check_utf8(text, path)
    text = text if text.endswith(b"\n") else text + b"\n"
    # Names are wanted before types can be fixed to text, so the first line is read alone.
    parse = csv.ParseOptions(
        delimiter={"\\t": "\t"}.get(separator, separator),
        quote_char=quote or False,
        double_quote=escape == quote,
        escape_char=escape if escape and escape != quote else False,
        newlines_in_values=is_whole(reader),
        invalid_row_handler=lambda _row: "skip",
    )
    _hold_columns(text, path, parse.delimiter, quote if is_whole(reader) else "", most_columns(reader))
    nulls = csv.ConvertOptions(
        null_values=["", reader.get("nullvalue", "")], strings_can_be_null=True, quoted_strings_can_be_null=True
    )

    def read(text: bytes, **how: Any) -> pa.Table:
        # No stream: its thread may outlive a short process, and ends it with an abort.
        options = csv.ReadOptions(block_size=max(len(text) + 1, 1024), **how)
        return csv.read_csv(pa.BufferReader(text), read_options=options, parse_options=parse, convert_options=nulls)

    try:
        head = text if is_whole(reader) else _head(text)
        names = read(head, autogenerate_column_names=not header, use_threads=False).column_names
        nulls.column_types = dict.fromkeys(names, pa.string())
        table = read(text, column_names=names, skip_rows_after_names=1 if header else 0)
    except pa.ArrowInvalid as error:
        raise CorruptTableError(
            f"the columns are read from {path!r}, which is no CSV file: {first_line(error)}; check sep, quote, escape"
            f" and header, or {NAME_COLUMNS}"
        ) from error
    if not named and "sep" not in reader and ".tsv" not in path.lower():
        _check_separator(path, _first_row(text, quote if is_whole(reader) else ""), table.num_columns)
    return table


def _check_separator(path: str, first_row: bytes, columns: int) -> None:
    """Raise UnsupportedFeatureError if no separator is given, and commas make one column of a first row that has
    another mark: none is guessed."""
    mark = next((mark for mark in ";\t|" if columns == 1 and mark.encode() in first_row), "")
    if mark:
        said = mark.replace("\t", "\\t")
        raise UnsupportedFeatureError(
            f"columns of CSV files are separated by commas where {Cure('also', 'delimiter')} does not say otherwise; by"
            f" those the first row of {path!r} is one column, and it has '{one_line(mark)}'; say"
            f" {Cure('reader', 'delimiter', mark)} where that separates them, {Cure('also', 'delimiter', ',')} where a"
            " line is one column"
        ).without("delimiter", said)


_IN_LINE = rb"[\x00-\x09\x0b\x0c\x0e-\x20]*+"  # blanks, as Java trims them
_ENDED = rb"(?:\r\n|\r|\n)"


def _without_comments(text: bytes, reader: Mapping[str, str]) -> bytes:
    """Remove the lines that the parser skips: comments, and blank lines before the first row. In quotes that go over
    lines (multiLine) a line may begin like one, so that only the first ones are taken for some."""
    mark = re.escape(reader.get("comment", "").encode())
    comment = mark + rb"[^\r\n]*+" if mark else rb"(?!)"
    blank = rb"(?!)" if is_whole(reader) else _IN_LINE
    begun = re.compile(rb"(?:(?:" + comment + rb"|" + blank + rb")" + _ENDED + rb")*+").match(text)
    text = text if begun is None else text[begun.end() :]
    if not mark or is_whole(reader):
        return text
    return re.sub(rb"(?m)^" + comment + rb"(?:" + _ENDED + rb"|\Z)", b"", text)


def _check_utf8(text: bytes, path: str) -> None:
    """Raise CorruptTableError unless the text is UTF-8, before Arrow decodes it where no error can be caught."""
    if not is_utf8(text):
        like = begins_as(text)
        raise CorruptTableError(
            f"columns of CSV files are found in UTF-8 where {Cure('also', 'encoding')} does not say otherwise; {path!r}"
            f" is not in UTF-8; {like or f'{say_encoding()}, or {NAME_COLUMNS}'}"
        )


def _head(text: bytes) -> bytes:
    """The first row, and what is blank before it."""
    found = re.compile(rb"\s*+[^\r\n]*+").match(text)
    return (text if found is None else found[0]) + b"\n"


def _first_row(text: bytes, quote: str) -> bytes:
    """`quote`: where a name between two of them may go over lines."""
    q = re.escape(quote.encode())
    row = rb"(?:[^%b\r\n]|%b[^%b]*+%b?)*+" % (q, q, q, q) if quote else rb"[^\r\n]*+"
    first_row = re.compile(rb"\s*+(" + row + rb")").match(text)
    return b"" if first_row is None else first_row[1]


def _hold_columns(text: bytes, path: str, separator: str, over_lines: str, most: int) -> None:
    """Arrow makes a column of whatever the first row says, and ends the process where there is no memory for it."""
    if _first_row(text, over_lines).count(separator.encode()) >= most:
        raise CorruptTableError(
            f"a line of CSV has at most {most:,} columns, as in Spark; the first of {path!r} has more; name their"
            f" number by {Cure('reader', 'maxColumns')}, or check sep and quote"
        )


def _header(reader: Mapping[str, str]) -> bool:
    said = reader.get("header", "true")
    if said.lower() not in ("true", "false"):
        raise UnsupportedFeatureError(f"header of CSV files is true or false; got {said!r}; name one of these")
    return said.lower() == "true"


def _header_names(names: Sequence[str]) -> list[str]:
    """Return the names as Spark assigns them: nameless columns are `_c<place>`, duplicates get their place appended."""
    folded = [alike(n) for n in names]
    return [f"_c{i}" if not n else f"{n}{i}" if folded.count(folded[i]) > 1 else n for i, n in enumerate(names)]
