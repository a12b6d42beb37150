"""Columns and types of CSV and JSON lines, from what stands in a file or two.

CSV values become the narrowest of int, long, decimal without a fraction, double, date, timestamp, boolean, string
that holds them all, by the forms that Spark's inferSchema knows. Only the beginning of a file (32 MB) is looked at:
a later value that is none of the type is known where it is read, not here.
"""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from metaindex.expressions.errors import (
    CorruptTableError,
    MetaIndexError,
    StorageError,
    UnsupportedFeatureError,
    first_line,
)
from metaindex.formats.column_names import alike
from metaindex.formats.encodings import codec_of
from metaindex.formats.storage import Storage

from . import json_bounds
from .compressed import open_text
from .header import check_header
from .options import MOST_COLUMNS, by_its_name, most_columns
from .text_types import infer_text

_LOOKED_AT = 32 << 20
_LONGS = range(-(1 << 63), 1 << 63)
_Merge: TypeAlias = Callable[[pa.DataType, pa.DataType], pa.DataType]


def csv_schema(storage: Storage, paths: Sequence[str], newest: str, reader: Mapping[str, str]) -> pa.Schema:
    """Names of the header of the first of `paths` that has a line (`_c0`, `_c1` ... without one), types that hold the
    values of it and of the newest file."""
    path, table = _first(paths, lambda path: _csv_text(storage, path, reader), lambda table: table.num_columns > 0)
    tables = {path: table}
    if newest != path:
        tables[newest] = _csv_text(storage, newest, reader)
    return _csv_columns([each for each in tables.items() if each[1].num_columns] or [(path, table)], reader)


_LOOKED_FOR_TEXT = 1_000
_Read = TypeVar("_Read")


def _first(paths: Sequence[str], read: Callable[[str], _Read], says: Callable[[_Read], bool]) -> tuple[str, _Read]:
    """The first file that says something of columns, as Spark takes the first line of all files: an export may begin
    with parts that have none."""
    first = paths[0], read(paths[0])
    if says(first[1]):
        return first
    for path in paths[1:_LOOKED_FOR_TEXT]:
        found = read(path)
        if says(found):
            return path, found
    if len(paths) > _LOOKED_FOR_TEXT:
        raise CorruptTableError(
            f"columns are found in a file that has a line; the first {_LOOKED_FOR_TEXT:,} files, from {paths[0]!r} on,"
            " have none; name the columns with schema="
        )
    return first


def _csv_columns(read: Sequence[tuple[str, pa.Table]], reader: Mapping[str, str]) -> pa.Schema:
    if "header" not in reader:
        for path, table in read:
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
    """See `check_header`, of columns that the user names. What cannot be read is the business of whoever reads it."""
    for path in paths:
        try:
            table = _csv_text(storage, path, reader, 1 << 16)
        except MetaIndexError:
            continue
        check_header(path, table, schema)


def _csv_text(storage: Storage, path: str, reader: Mapping[str, str], most: int = _LOOKED_AT) -> pa.Table:
    """All columns of the beginning of a file as texts, under what its header says."""
    import pyarrow.csv as csv

    header = _header(reader)
    quote, escape = reader.get("quote", '"'), reader.get("escape", "\\")
    separator = reader.get("sep", "\t" if ".tsv" in path.lower() else ",")
    for name, value in (("sep", {"\\t": "\t"}.get(separator, separator)), ("quote", quote), ("escape", escape)):
        if (len(value) != 1 or not "\0" < value <= "\x7f") and (value or name == "sep"):
            cure = "name the columns with schema=" if len(value) == 1 else "name another"
            raise UnsupportedFeatureError(f"{name} of CSV files is one ASCII character; got {value!r}; {cure}")
    text = _without_comments(_text(storage, path, reader, most), reader)
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
    head = text if is_whole(reader) else _head(text)
    try:
        # No stream: its thread may outlive a short process, and ends it with an abort.
        names = csv.read_csv(
            pa.BufferReader(head),
            read_options=csv.ReadOptions(
                autogenerate_column_names=not header, use_threads=False, block_size=max(len(head) + 1, 1024)
            ),
            parse_options=parse,
            convert_options=nulls,
        ).column_names
        nulls.column_types = dict.fromkeys(names, pa.string())
        table = csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(
                column_names=names, skip_rows_after_names=1 if header else 0, block_size=max(len(text) + 1, 1024)
            ),
            parse_options=parse,
            convert_options=nulls,
        )
    except pa.ArrowInvalid as error:
        raise CorruptTableError(
            f"the columns are read from {path!r}, which is no CSV file: {first_line(error)}; check sep, quote, escape"
            " and header, or name the columns with schema="
        ) from error
    return table


_IN_LINE = rb"[\x00-\x09\x0b\x0c\x0e-\x20]*+"  # blanks, as Java trims them
_ENDED = rb"(?:\r\n|\r|\n)"


def _without_comments(text: bytes, reader: Mapping[str, str]) -> bytes:
    """Without the lines that the parser passes over: comments, and before the first row blank ones. In quotes that go
    over lines (multiLine) a line may begin like one, so that only the first ones are taken for some."""
    mark = re.escape(reader.get("comment", "").encode())
    comment = mark + rb"[^\r\n]*+" if mark else rb"(?!)"
    blank = rb"(?!)" if is_whole(reader) else _IN_LINE
    begun = re.compile(rb"(?:(?:" + comment + rb"|" + blank + rb")" + _ENDED + rb")*+").match(text)
    text = text if begun is None else text[begun.end() :]
    if not mark or is_whole(reader):
        return text
    return re.sub(rb"(?m)^" + comment + rb"(?:" + _ENDED + rb"|\Z)", b"", text)


_BEGINNINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_OTHER_BEGINNINGS = {
    b"PAR1": "Parquet: say format='parquet'",
    b"\x1f\x8b": "gzip: a packed file has a name that ends in .gz",
    b"PK\3\4": "a packed folder or a spreadsheet: unpack it, or save it as text",
}
_UNMARKED = (
    (re.compile(rb"[^\0]\0\0\0", re.DOTALL), "UTF-32LE"),
    (re.compile(rb"\0\0\0[^\0]", re.DOTALL), "UTF-32BE"),
    (re.compile(rb"[^\0]\0[^\0]\0", re.DOTALL), "UTF-16LE"),
    (re.compile(rb"\0[^\0]\0[^\0]", re.DOTALL), "UTF-16BE"),
)
"""Of a text whose first characters are ASCII, as those of JSON are, and of most names of columns."""


def _check_utf8(text: bytes, path: str) -> None:
    """Before Arrow parses it: what is no text in a row is decoded where no error can be caught."""
    if not _is_utf8(text):
        like = _begins_as(text)
        raise CorruptTableError(
            f"columns of CSV files are found in UTF-8 where encoding= does not say otherwise; {path!r} is not"
            f" in UTF-8; {like or _SAY_ENCODING}, or name the columns with schema="
        )


_SAY_ENCODING = "say encoding= ('ISO-8859-1', 'windows-1252' ...)"


def _is_utf8(text: bytes) -> bool:
    try:
        pa.array([text], pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _begins_as(text: bytes) -> str:
    """What a text is by its first bytes, and what is said to have it read; empty where they tell nothing."""
    encoding = next((name for mark, name in _BEGINNINGS if text.startswith(mark)), "") or next(
        (name for pattern, name in _UNMARKED if pattern.match(text)), ""
    )
    if encoding:
        return f"it begins as {encoding}: say encoding={encoding!r} and multiLine=True"
    like = next((said for mark, said in _OTHER_BEGINNINGS.items() if text.startswith(mark)), "")
    return f"it begins as {like}" if like else ""


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
            " number by maxColumns=, or check sep and quote"
        )


def _header(reader: Mapping[str, str]) -> bool:
    said = reader.get("header", "true")
    if said.lower() not in ("true", "false"):
        raise UnsupportedFeatureError(f"header of CSV files is true or false; got {said!r}; name one of these")
    return said.lower() == "true"


def _header_names(names: Sequence[str]) -> list[str]:
    """As Spark names them: nameless columns `_c<place>`, columns of one name with their place behind."""
    folded = [alike(n) for n in names]
    return [f"_c{i}" if not n else f"{n}{i}" if folded.count(folded[i]) > 1 else n for i, n in enumerate(names)]


def json_schema(storage: Storage, paths: Sequence[str], newest: str, reader: Mapping[str, str]) -> pa.Schema:
    """Fields of the objects in order of appearance, in the first of `paths` that has some and in the newest file;
    numbers are long, double, or decimal where integers are beyond 64 bits, and texts stay texts, as in Spark."""
    path, first = _first(paths, lambda path: _json_columns(storage, path, reader), bool)
    fields = dict(first)
    if newest != path:
        for name, t in _json_columns(storage, newest, reader).items():
            fields[name] = _common(fields.get(name), t)
    return pa.schema([pa.field(name, _no_null(t)) for name, t in fields.items()])


def _json_columns(storage: Storage, path: str, reader: Mapping[str, str]) -> dict[str, pa.DataType]:
    """Of one file."""
    text = _text(storage, path, reader)
    if not text.strip():
        return {}
    try:
        if is_whole(reader):
            return _columns(_lines_of(text))
        _refuse_over_lines(text)
        return _columns(text)
    except (pa.ArrowInvalid, ValueError, RecursionError) as error:
        raw = _beginning(storage, path, _LOOKED_AT)
        whole = text.lstrip()[:1] == b"[" and not is_whole(reader)
        cure = "multiLine=True reads a file that is one array" if whole else by_its_name(path, "json")
        cure = cure or _begins_as(raw) or ("" if _is_utf8(text) else f"it is not in UTF-8: {_SAY_ENCODING}")
        raise CorruptTableError(
            f"the columns are read from {path!r}, which is not JSON lines of one shape: {first_line(error)};"
            f" {cure or 'name the columns with schema='}"
        ) from error


def _refuse_over_lines(text: bytes) -> None:
    """Arrow reads objects that go over lines; a line is a row, and one of them would have none of its columns."""
    line = text.lstrip().partition(b"\n")[0]
    if line[:1] != b"{" or line.rstrip()[-1:] == b"}":
        return
    try:
        json.loads(line)
    except json.JSONDecodeError:
        raise ValueError(
            "an object stands in one line, and the first goes over several (multiLine=True reads a file that is one"
            " object, or an array of them)"
        ) from None


def _columns(text: bytes) -> dict[str, pa.DataType]:
    import pyarrow.json as arrow_json

    fields: dict[str, pa.DataType] = {}
    for piece in json_bounds.pieces(text):
        read = arrow_json.ReadOptions(use_threads=False, block_size=len(piece) + 1)
        schema = arrow_json.read_json(pa.BufferReader(piece), read_options=read).schema
        rows = json_bounds.large_integers(piece)
        for field in schema:
            t = _json_type(field.type)
            t = t if rows is None else _exact(t, [row.get(field.name) for row in rows])
            fields[field.name] = _common(fields.get(field.name), t, other=_refused)
        if len(fields) > MOST_COLUMNS:
            raise ValueError(f"it has more than {MOST_COLUMNS:,} names")
    return fields


def _refused(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    raise ValueError(f"a column changes from {a} to {b}")


def _text_of_both(_a: pa.DataType, _b: pa.DataType) -> pa.DataType:
    return pa.string()


def _json_type(t: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_temporal(t) else _inside(t, _json_type)


def _exact(t: pa.DataType, values: list[Any]) -> pa.DataType:
    """Arrow takes integers beyond 64 bits for doubles, in which neighbours are one value."""
    if pa.types.is_struct(t):
        of = [value for value in values if isinstance(value, dict)]
        return pa.struct([(f.name, _exact(f.type, [value.get(f.name) for value in of])) for f in t])
    if pa.types.is_list(t):
        return pa.list_(_exact(t.value_type, [item for value in values if isinstance(value, list) for item in value]))
    numbers = [value for value in values if value is not None]
    if t != pa.float64() or not all(isinstance(number, int) for number in numbers):
        return t
    large = [len(str(abs(number))) for number in numbers if number not in _LONGS]
    if not large:
        return t
    exact = pa.decimal128(max(large), 0)
    return exact if len(large) == len(numbers) else _with_longs(exact)


def _with_longs(t: pa.DataType) -> pa.DataType:
    return pa.decimal128(max(t.precision, 20), 0)


def _common(a: pa.DataType | None, b: pa.DataType, other: _Merge = _text_of_both) -> pa.DataType:
    """`other`: of two types that nothing but text has in common."""
    if a is None or pa.types.is_null(a) or a == b:
        return b
    if pa.types.is_null(b):
        return a
    if _is_number(a) and _is_number(b):
        return _common_number(a, b)
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        fields = {a.field(i).name: a.field(i).type for i in range(a.num_fields)}
        for i in range(b.num_fields):
            fields[b.field(i).name] = _common(fields.get(b.field(i).name), b.field(i).type, other)
        return pa.struct(list(fields.items()))
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(_common(a.value_type, b.value_type, other))
    return other(a, b)


def _is_number(t: pa.DataType) -> bool:
    return t in (pa.int64(), pa.float64()) or pa.types.is_decimal(t)


def _common_number(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Of two that are not the same."""
    decimals = [t for t in (a, b) if pa.types.is_decimal(t)]
    if pa.float64() in (a, b) or not decimals:
        return pa.float64()
    wider = max(decimals, key=lambda t: int(t.precision))
    return wider if len(decimals) == 2 else _with_longs(wider)


def _no_null(t: pa.DataType) -> pa.DataType:
    """A column that was never other than null is text, as in Spark."""
    return pa.string() if pa.types.is_null(t) else _inside(t, _no_null)


def _inside(t: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type with its fields, or its elements, changed."""
    if pa.types.is_struct(t):
        return pa.struct([pa.field(t.field(i).name, change(t.field(i).type)) for i in range(t.num_fields)])
    return pa.list_(change(t.value_type)) if pa.types.is_list(t) else t


def is_whole(reader: Mapping[str, str]) -> bool:
    """Is a file one text, not a line a row?"""
    return "true" in (reader.get("multiline", "").lower(), reader.get("wholefile", "").lower())


def _lines_of(text: bytes) -> bytes:
    """One object, or an array of them, as JSON lines."""
    start = text.lstrip()
    value, _ = json.JSONDecoder().raw_decode(start.decode())
    return "\n".join(json.dumps(item) for item in (value if isinstance(value, list) else [value])).encode()


def _text(storage: Storage, path: str, reader: Mapping[str, str], most: int = _LOOKED_AT) -> bytes:
    """The beginning of a file in UTF-8, its lines ended by \\n."""
    text = _beginning(storage, path, most)
    encoding = reader.get("encoding", reader.get("charset", "utf-8"))
    codec = codec_of(encoding)
    if codec is None:
        raise UnsupportedFeatureError(
            "columns of text files are found in UTF-8, UTF-16, UTF-32 and encodings of one byte that Java decodes"
            f" alike; got {encoding!r}; name the columns with schema="
        )
    if codec != "utf-8":
        text = text.decode(codec, "replace").encode("utf-8", "replace").removeprefix(b"\xef\xbb\xbf")
    end = reader.get("linesep", "\n").encode()
    if not end:
        raise UnsupportedFeatureError("lineSep is one character or more; it is empty; name one, or leave it out")
    return text if end == b"\n" else text.replace(end, b"\n")


def _beginning(storage: Storage, path: str, most: int) -> bytes:
    """Up to so many bytes of a file's text, decompressed, in whole lines."""
    with storage.open_input(path) as raw:
        try:
            source = open_text(raw, path)
            parts, size = [], 0
            while size <= most and (part := source.read(min(1 << 20, most + 1 - size))):
                parts.append(part)
                size += len(part)
        except StorageError:
            raise  # a store that does not answer is no damage
        except (OSError, EOFError, zlib.error, pa.ArrowInvalid, CorruptTableError) as error:
            raise CorruptTableError(
                f"cannot read {path!r}: {first_line(error)}; write it again, or remove it"
            ) from error
    text = b"".join(parts).removeprefix(b"\xef\xbb\xbf")
    return text[: text.rfind(b"\n") + 1] if size > most else text
