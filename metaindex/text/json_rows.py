"""Lines of JSON -> columns, with the rules of Spark's reader.

A line that is no JSON object gives a row of NULLs, a line that is an array gives a row for each object in it, a blank
line none. Names are matched exactly; of two fields with one name the last counts. A value of another type than its
column's is NULL, and takes the list or map around it with it, while a struct keeps its other fields. What stands behind
the object on its line is ignored. Refused are texts in single quotes, which Spark reads, and a line that is broken
inside a column of objects: Spark goes on behind the break as if the object had ended, and gives other rows to a query
that does not ask for the column.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa

from metaindex.errors import ScanError
from metaindex.formats.files import json_bounds
from metaindex.formats.model import Field

from .values import Uncertain, ValueRules, decimal_value, typed

_BLANKS = "".join(map(chr, range(33)))
_SPACE = re.compile(r"[ \t\n\r]*")
_LINE = re.compile(rb"[^\r\n]+")
_LONG_FORMS = re.compile(
    rb"[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f][\x80-\xbf]|\xf0[\x80-\x8f][\x80-\xbf]{2}"
    rb"|\xf4[\x90-\xbf][\x80-\xbf]{2}|[\xf5-\xf7][\x80-\xbf]{3}"
)  # characters in more bytes than they need, or beyond Unicode
_AT_ONCE = 50_000  # rows of objects in memory
_MOST_LEVELS = 500
_MOST_VALUES, _MOST_WHOLE_VALUES = 2_000_000, 10_000_000
"""Of one line, and of a file that is read whole. A value takes a hundred bytes in memory and two in a file, and a file
may be packed."""
_SPECIAL = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "+Infinity": math.inf,
    "+INF": math.inf,
    "-Infinity": -math.inf,
    "-INF": -math.inf,
}


_Row: TypeAlias = dict[str, tuple[Any, str]]


class _Bad(Exception):
    """The value is none of its column's type."""


class _BadBytes(_Bad):
    """It is no base64: to Spark the whole array around the record is broken."""


class _BrokenInside(ValueError):
    """The line is broken in the value of a column of objects."""


class _Number(str):
    """A number as it is written; `whole` tells an integer."""

    __slots__ = ("whole",)
    whole: bool


def _integer(text: str) -> _Number:
    number = _Number(text)
    number.whole = True
    return number


def _fraction(text: str) -> _Number:
    number = _Number(text)
    number.whole = False
    return number


class JsonRows:
    """`columns`: all that the table has in its files, whichever are asked. `line_end`: what ends a line; None: \\n, \\r
    or \\r\\n."""

    def __init__(self, values: ValueRules, columns: tuple[Field, ...], line_end: bytes | None = None) -> None:
        self._values = values
        self._of_objects = frozenset(f.name for f in columns if _holds_objects(f.type))
        self._line_end = line_end
        self._decoder = json.JSONDecoder(parse_int=_integer, parse_float=_fraction, parse_constant=_fraction)

    def parse(
        self, block: bytes, fields: tuple[Field, ...], where: str, head: bool
    ) -> tuple[int, list[pa.Array], bool]:
        """Rows, one array per field; JSON has no header."""
        _hold_levels(block if self._line_end is None else block.replace(self._line_end, b"\n"), where)
        raw = _LINE.findall(block) if self._line_end is None else block.split(self._line_end)
        lines = [line for line in (raw_line.strip(_BLANKS.encode()) for raw_line in raw) if line]
        if (arrays := self._fast(lines, fields, where)) is not None:
            return len(lines), arrays, False
        names = frozenset(f.name for f in fields)
        rows = (row for line in lines for row in self._line(line, names, where, _MOST_VALUES))
        return *self._by_value(rows, fields, where, any(line.startswith(b"[") for line in lines)), False

    def parse_whole(self, data: bytes, fields: tuple[Field, ...], where: str) -> tuple[int, list[pa.Array]]:
        """A file that is one object, or one array of objects; what follows it is ignored."""
        text = data.strip(_BLANKS.encode())
        _hold_levels(text.translate(None, b"\r\n"), where)
        names = frozenset(f.name for f in fields)
        rows = iter(self._line(text, names, where, _MOST_WHOLE_VALUES) if text else [])
        return self._by_value(rows, fields, where, text.startswith(b"["))

    def _by_value(
        self, rows: Iterator[_Row], fields: tuple[Field, ...], where: str, arrays: bool
    ) -> tuple[int, list[pa.Array]]:
        count, parts = 0, []
        while some := list(islice(rows, _AT_ONCE)):
            count += len(some)
            parts.append(self._arrays(some, fields, where, arrays))
        if not parts:
            return 0, self._arrays([], fields, where, arrays)
        return count, [pa.concat_arrays(columns) for columns in zip(*parts, strict=True)]

    def _arrays(self, rows: list[_Row], fields: tuple[Field, ...], where: str, in_arrays: bool) -> list[pa.Array]:
        arrays = []
        for f in fields:
            convert = self._converter(f.type, f.name)
            out = []
            for row in rows:
                value, text = row.get(f.name, (None, ""))
                try:
                    out.append(None if value is None else convert(value, text))
                except _Bad as bad:
                    if in_arrays and isinstance(bad, _BadBytes):
                        raise ScanError(
                            f"bytes are read as base64; {where} holds others in column {f.name!r} of an array, of which"
                            " Spark makes one row of NULLs; read with .to_spark(spark)"
                        ) from None
                    out.append(None)
                except Uncertain as error:
                    raise ScanError(
                        f"a text file is read as Spark reads it, or refused; {where} holds {error} in column {f.name!r}"
                        f" of type {f.type}; read with .to_spark(spark)"
                    ) from None
            try:
                arrays.append(_array(out, f.type))
            except UnicodeEncodeError as error:
                raise ScanError(
                    f"texts are UTF-8; {where} holds half a surrogate pair in column {f.name!r}; read with"
                    " .to_spark(spark)"
                ) from error
        return arrays

    def _fast(self, lines: list[bytes], fields: tuple[Field, ...], where: str) -> list[pa.Array] | None:
        """Arrow's parser, where every line is one object and every value of its column's own kind; None where that is
        not certain.

        Lines that begin and end as objects do hold one object each when there are as many objects as lines."""
        kinds = [_fast_type(f.type) for f in fields]
        if not lines or None in kinds or not all(line[:1] == b"{" and line[-1:] == b"}" for line in lines):
            return None
        import pyarrow.json as json_reader

        block = b"\n".join(lines)
        schema = pa.schema([pa.field(f.name, kind) for f, kind in zip(fields, kinds, strict=True)])
        try:
            table = json_reader.read_json(
                pa.BufferReader(block),
                read_options=json_reader.ReadOptions(use_threads=False, block_size=len(block) + 1),
                parse_options=json_reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            ).select(schema.names)
            table.validate(full=True)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError):
            return None  # a value of another kind, a name twice, a line that is no JSON
        if table.num_rows != len(lines):
            return None
        columns = [column.combine_chunks() for column in table.columns]
        return [
            self._values.column(column, f, where) if pa.types.is_temporal(f.type) else column.cast(f.type)
            for column, f in zip(columns, fields, strict=True)
        ]

    def _line(self, raw: bytes, names: frozenset[str], where: str, most: int) -> list[_Row]:
        if sum(map(raw.count, (b",", b"[", b"{"))) > most:
            raise ScanError(
                f"JSON that is read value by value has at most {most:,} values in a line, or {_MOST_WHOLE_VALUES:,} in"
                f" a file with multiLine; {where} has more; split it, or read with .to_spark(spark)"
            )
        try:
            line = raw.removeprefix(codecs.BOM_UTF8).decode()
            start = _SPACE.match(line).end()  # type: ignore[union-attr]  # it matches everywhere
            if line[start : start + 1] == "[":
                return self._objects(line, start + 1, names)
            if line[start : start + 1] == "{":
                return [self._object(line, start, names)[0]]
        except (ValueError, RecursionError) as error:
            if isinstance(error, _BrokenInside):
                raise ScanError(
                    "a record that is broken inside an object has what Spark takes behind the break for its own;"
                    f" {where} has the line {raw[:80]!r}; mend it, or read with .to_spark(spark)"
                ) from None
            if _LONG_FORMS.search(raw):
                raise ScanError(
                    f"JSON is UTF-8; {where} has bytes that are none and that Spark shows as other characters in the"
                    f" line {raw[:80]!r}; write it anew, or read with .to_spark(spark)"
                ) from None
            if b"'" in raw:
                raise ScanError(
                    f"JSON texts stand in double quotes; {where} has the line {raw[:80]!r}; read with .to_spark(spark)"
                ) from None
        return [{}]

    def _objects(self, line: str, at: int, names: frozenset[str]) -> list[_Row]:
        rows = []
        at = _SPACE.match(line, at).end()  # type: ignore[union-attr]
        if line[at : at + 1] == "]":
            return []
        while True:
            if line[at : at + 1] != "{":
                raise ValueError("no object")
            row, at = self._object(line, at, names)
            rows.append(row)
            at = _SPACE.match(line, at).end()  # type: ignore[union-attr]
            if line[at : at + 1] == "]":
                return rows
            if line[at : at + 1] != ",":
                raise ValueError("no comma")
            at = _SPACE.match(line, at + 1).end()  # type: ignore[union-attr]

    def _object(self, line: str, at: int, names: frozenset[str]) -> tuple[_Row, int]:
        """The fields of these names, each with its text: what a column of texts shows of a value that is none."""
        row: _Row = {}
        at = _SPACE.match(line, at + 1).end()  # type: ignore[union-attr]
        if line[at : at + 1] == "}":
            return row, at + 1
        while True:
            if line[at : at + 1] != '"':
                raise ValueError("no name")
            name, at = self._decoder.raw_decode(line, at)
            at = _SPACE.match(line, at).end()  # type: ignore[union-attr]
            if line[at : at + 1] != ":":
                raise ValueError("no colon")
            at = _SPACE.match(line, at + 1).end()  # type: ignore[union-attr]
            try:
                value, end = self._decoder.raw_decode(line, at)
            except ValueError as error:
                if name in self._of_objects and line[at : at + 1] in ("{", "["):
                    raise _BrokenInside from error
                raise
            if name in names:
                row[name] = (value, line[at:end])
            at = _SPACE.match(line, end).end()  # type: ignore[union-attr]
            if line[at : at + 1] == "}":
                return row, at + 1
            if line[at : at + 1] != ",":
                raise ValueError("no comma")
            at = _SPACE.match(line, at + 1).end()  # type: ignore[union-attr]

    def _converter(self, t: pa.DataType, name: str) -> Callable[[Any, str], object]:
        """From a value and its text to what `_array` takes; raises _Bad."""
        is_ = pa.types
        if is_.is_string(t) or is_.is_large_string(t):
            return _text
        if is_.is_binary(t) or is_.is_large_binary(t):
            return _bytes
        if is_.is_boolean(t):
            return lambda v, _: v if isinstance(v, bool) else _bad()
        if is_.is_signed_integer(t):
            width = t.bit_width
            return lambda v, _: _whole(v, width)
        if is_.is_floating(t) and t.bit_width >= 32:
            read = self._values.reader(t, name)
            return lambda v, _: _double(v, read)
        if is_.is_decimal(t):
            read_decimal = self._values.reader(t, name)
            return lambda v, _: _known(decimal_value(v, t) if isinstance(v, _Number) else read_decimal(_plain_text(v)))
        if is_.is_date32(t):
            read_day = self._values.reader(t, name)
            return lambda v, _: _known(read_day(_plain_text(v)))
        if is_.is_timestamp(t):
            read_micros = self._values.reader(t, name)
            return lambda v, _: _instant(v, t.tz is not None, read_micros)
        if is_.is_struct(t):
            inner = {
                t.field(i).name: self._converter(t.field(i).type, f"{name}.{t.field(i).name}")
                for i in range(t.num_fields)
            }
            return lambda v, _: _struct(v, inner)
        if is_.is_list(t):
            element = self._converter(t.value_type, f"{name}.element")
            return lambda v, _: [_element(e, element) for e in v] if isinstance(v, list) else _bad()
        if is_.is_map(t) and is_.is_string(t.key_type):
            item = self._converter(t.item_type, f"{name}.value")
            return lambda v, _: [(k, _element(e, item)) for k, e in v.items()] if isinstance(v, dict) else _bad()
        raise ScanError(
            f"column {name!r} is of type {t}, which JSON files are not read as here; read with .to_spark(spark)"
        )


def _hold_levels(text: bytes, where: str) -> None:
    """Spark has a row of NULLs for what is nested deeper than 1,000 levels, whichever columns are asked; Python's stack
    ends below that."""
    if json_bounds.levels(text, _MOST_LEVELS) > _MOST_LEVELS:
        raise ScanError(
            f"JSON is read to {_MOST_LEVELS} levels of lists and objects; {where} has more; read with .to_spark(spark)"
        )


def _fast_type(t: pa.DataType) -> pa.DataType | None:
    """What Arrow is asked to read for a column; None: values of the type are read one by one."""
    if pa.types.is_string(t) or pa.types.is_date32(t) or (pa.types.is_timestamp(t) and t.unit == "us"):
        return pa.string()
    return t if t in (pa.int32(), pa.int64(), pa.int16(), pa.float64(), pa.bool_()) else None


def _holds_objects(t: pa.DataType) -> bool:
    if pa.types.is_list(t):
        return _holds_objects(t.value_type)
    return bool(pa.types.is_struct(t) or pa.types.is_map(t))


def _bad() -> object:
    raise _Bad


def _known(value: object) -> object:
    return _bad() if value is None else value


def _plain_text(v: Any) -> str:
    if not isinstance(v, str) or isinstance(v, _Number):
        raise _Bad
    return v


def _text(v: Any, text: str) -> str:
    if isinstance(v, str):
        return str(v)
    if isinstance(v, bool):
        return "true" if v else "false"
    if not text:
        raise Uncertain("an object or list inside another where a text is wanted")
    return text


def _bytes(v: Any, _: str) -> bytes:
    try:
        return base64.b64decode(_plain_text(v), validate=True)
    except (binascii.Error, ValueError):
        raise _BadBytes from None


def _whole(v: Any, width: int) -> int:
    if not isinstance(v, _Number) or not v.whole or len(v) > 4000:
        raise _Bad
    number = int(v)
    if width == 8 and 128 <= number <= 255:
        return number - 256  # Spark takes a byte without sign too
    if not -(1 << (width - 1)) <= number < 1 << (width - 1):
        raise _Bad
    return number


def _double(v: Any, read: Callable[[str], object]) -> object:
    if isinstance(v, _Number):
        return _SPECIAL[v] if v in _SPECIAL else read(v)
    return _SPECIAL.get(_plain_text(v)) if _plain_text(v) in _SPECIAL else _bad()


def _instant(v: Any, zoned: bool, read: Callable[[str], object]) -> object:
    if isinstance(v, _Number):
        if zoned and v.whole and abs(int(v)) < 9_000_000_000_000:
            return int(v) * 1_000_000
        raise _Bad
    return _known(read(_plain_text(v)))


def _struct(v: Any, inner: dict[str, Callable[[Any, str], object]]) -> dict[str, object]:
    if not isinstance(v, dict):
        raise _Bad
    out = {}
    for name, convert in inner.items():
        value = v.get(name)
        try:
            out[name] = None if value is None else convert(value, "")
        except _Bad:
            out[name] = None
    return out


def _element(v: Any, convert: Callable[[Any, str], object]) -> object:
    return None if v is None else convert(v, "")


def _array(values: list[Any], t: pa.DataType) -> pa.Array:
    """Nested values keep days and microseconds as numbers, so the array is made of those and cast."""
    if pa.types.is_nested(t):
        return pa.array(values, _plain(t)).cast(t)
    return typed(values, t)


def _plain(t: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(t):
        return pa.struct([pa.field(t.field(i).name, _plain(t.field(i).type)) for i in range(t.num_fields)])
    if pa.types.is_list(t):
        return pa.list_(_plain(t.value_type))
    if pa.types.is_map(t):
        return pa.map_(t.key_type, _plain(t.item_type))
    if pa.types.is_date32(t):
        return pa.int32()
    if pa.types.is_timestamp(t):
        return pa.timestamp("us")
    return t
