"""Lines of JSON -> columns, with the rules of Spark's reader.

A line that is no JSON object gives a row of NULLs, a line that is an array gives a row for each object in it, a blank
line none. Names are matched exactly; of two fields with one name the last counts (refused where its value is of another
type: then the one before it does). A value of another type than its column's is NULL, and takes the list or map around
it with it, while a struct keeps its other fields. What stands behind the object on its line is ignored. Refused are
texts in single quotes and infinities as Java writes them, which Spark reads, and lines that are broken inside the value
of a column where Spark goes on behind the break (`json_breaks`).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from metaindex.core import Cure, ScanError
from metaindex.formats.columns import leaf_types
from metaindex.formats.files import json_bounds
from metaindex.formats.files.beginnings import is_utf8
from metaindex.formats.model import Field

from . import json_breaks
from .encodings import text_of
from .json_values import (
    MOST_DIGITS,
    MOST_OF_NAME,
    Bad,
    BadBytes,
    LongNumber,
    OddName,
    are_bytes,
    array_of,
    converter,
    decoder,
    has_long_texts,
    hold_name,
    holds_bytes,
)
from .values import Doubts, Uncertain, ValueRules, add_lost, certain, count_lost

_BLANKS = b" \t\r\n"
_SPACE = re.compile(r"[ \t\n\r]*")
_MINUS_ZERO = re.compile(rb"-0\s*[,}\]]")  # an integer, which has no sign; to Arrow it is -0.0
_LONG_NUMBER = re.compile(rb"(?<![0-9.eE+-])[0-9.eE+-]{%d}" % (MOST_DIGITS + 1))
_NO_NUMBERS = ((b"N", re.compile(rb"-NaN\s*[,}\]]")), (b"I", re.compile(rb"Inf\s*[,}\]]")))
"""What Arrow alone takes for numbers, with a letter that is soon looked for."""
_PARTS, _FEW = 16, 32
"""Into so many parts lines are cut if some of them are doubtful, and so few are not cut any more."""
_AT_ONCE = 50_000  # rows of objects in memory
_MOST_LEVELS = 500
_MOST_VALUES, _MOST_WHOLE_VALUES = 2_000_000, 10_000_000
"""Of one line, and of a file that is read whole. A value takes a hundred bytes in memory and two in a file, and a file
may be packed."""
_Row: TypeAlias = dict[str, tuple[Any, str, bool]]
"""Of each field its value, its text, and whether its name stands there for the second time."""


class _Doubtful(Exception):
    """Raised where Arrow and Spark may read the lines differently."""


class _BrokenInside(ValueError):
    """Raised for a line that is broken in a column's value if Spark goes on after the break."""


class _Lines:
    """A text, and where its lines that are not empty begin and end."""

    def __init__(self, text: bytes) -> None:
        ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")), len(text))
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))
        filled = starts < ends
        self.text, self.starts, self.ends = text, starts[filled], ends[filled]

    def longer(self, size: int) -> list[bytes]:
        """Return the lines of more bytes."""
        long = self.ends - self.starts > size
        spans = zip(self.starts[long].tolist(), self.ends[long].tolist(), strict=True)
        return [self.text[start:end] for start, end in spans]


class JsonRows:
    """`columns`: all that the table has in its files, whichever are asked. `decoded`: an encoding is named: Spark
    decodes the bytes before it parses them. `packed`: of files that are read whole and unpacked, whose bytes Spark
    cannot go back to, either."""

    def __init__(
        self, values: ValueRules, columns: tuple[Field, ...], *, decoded: bool = False, packed: bool = False
    ) -> None:
        self._values = values
        self._types = {f.name: f.type for f in columns}
        self._of_bytes = frozenset(f.name for f in columns if holds_bytes(f.type))
        self._decoded = decoded
        self._written_anew = decoded or packed
        self._decoder = decoder(anew=self._written_anew)

    def parse(
        self, block: bytes, fields: tuple[Field, ...], where: str, head: bool, doubts: Doubts | None = None
    ) -> tuple[int, list[pa.Array], bool]:
        """Rows, one array per field; JSON has no header. `doubts`: see `Doubts`."""
        lines = _Lines(block.replace(b"\r", b"\n") if b"\r" in block else block)
        _hold_levels(b"\n".join(lines.longer(_MOST_LEVELS)), where)  # a level takes a byte
        kinds = None if self._of_bytes else _kinds(fields)
        parts = list(self._parts(lines, kinds, fields, where, doubts))
        if len(parts) == 1:
            return *parts[0], False
        return sum(count for count, _ in parts), _joined([arrays for _, arrays in parts]), False

    def _parts(
        self, lines: _Lines, kinds: pa.Schema | None, fields: tuple[Field, ...], where: str, doubts: Doubts | None
    ) -> Iterator[tuple[int, list[pa.Array]]]:
        """Yield rows of lines: by columns where that is certain, and the others line by line."""
        by_columns = None if kinds is None else self._fast(lines, kinds, fields, where, doubts)
        if by_columns is not None:
            yield by_columns
            return
        filled = [line for line in (line.strip(_BLANKS) for line in lines.longer(0)) if line]
        if kinds is None or len(filled) <= _FEW:
            names = frozenset(f.name for f in fields)
            rows = (row for line in filled for row in self._line(line, names, where, _MOST_VALUES))
            yield self._by_value(rows, fields, where, any(line.startswith(b"[") for line in filled), doubts)
            return
        size = -(-len(filled) // _PARTS)
        for start in range(0, len(filled), size):
            some = _Lines(b"\n".join(filled[start : start + size]))
            yield from self._parts(some, kinds, fields, where, doubts)

    def parse_whole(
        self, data: bytes, fields: tuple[Field, ...], where: str, doubts: Doubts | None = None
    ) -> tuple[int, list[pa.Array]]:
        """A file that is one object, or one array of objects; what follows it is ignored."""
        text = data.strip(_BLANKS)
        if self._decoded:
            text = text_of(text).encode()  # of a whole file Spark replaces what is no text of the encoding
        _hold_levels(text.translate(None, b"\r\n"), where)
        names = frozenset(f.name for f in fields)
        rows = iter(self._line(text, names, where, _MOST_WHOLE_VALUES) if text else [])
        return self._by_value(rows, fields, where, text.startswith(b"["), doubts)

    def _by_value(
        self, rows: Iterator[_Row], fields: tuple[Field, ...], where: str, in_arrays: bool, doubts: Doubts | None
    ) -> tuple[int, list[pa.Array]]:
        count, parts = 0, []
        while some := list(islice(rows, _AT_ONCE)):
            count += len(some)
            parts.append(self._arrays(some, fields, where, in_arrays, doubts))
        return count, _joined(parts) if parts else self._arrays([], fields, where, in_arrays, doubts)

    def _arrays(
        self, rows: list[_Row], fields: tuple[Field, ...], where: str, in_arrays: bool, doubts: Doubts | None
    ) -> list[pa.Array]:
        def read(f: Field) -> pa.Array:
            lost = Doubts()
            convert = converter(f.type, (f.name,), self._values, lost)
            out = []
            for row in rows:
                value, text, again = row.get(f.name, (None, "", False))
                try:
                    out.append(None if value is None else convert(value, text))
                except Bad as bad:
                    if again:
                        raise _refused("two values", f, where) from None
                    if in_arrays and isinstance(bad, BadBytes):
                        raise ScanError.for_spark(
                            f"bytes are read as base64; {where} holds others in column {f.name!r} of an array, of which"
                            " Spark makes one row of NULLs"
                        ) from None
                    count_lost(lost, (f.name,), 1)
                    out.append(None)
                except Uncertain as error:
                    raise _refused(str(error), f, where) from None
            try:
                array = array_of(out, f.type)
            except UnicodeEncodeError as error:
                raise ScanError.for_spark(
                    f"texts are UTF-8; {where} holds half a surrogate pair in column {f.name!r}"
                ) from error
            add_lost(doubts, lost)
            return array

        return [certain(f, len(rows), doubts, read) for f in fields]

    def _fast(
        self, lines: _Lines, kinds: pa.Schema, fields: tuple[Field, ...], where: str, doubts: Doubts | None
    ) -> tuple[int, list[pa.Array]] | None:
        """Arrow's parser, where every line is one object and every value of its column's own kind; None where that is
        not certain.

        Lines that begin and end as objects do hold one object each when there are as many objects as lines."""
        block, count = lines.text, len(lines.starts)
        data = np.frombuffer(block, np.uint8)
        if not count or (data[lines.starts] != ord("{")).any() or (data[lines.ends - 1] != ord("}")).any():
            return None
        if not is_utf8(block):  # Arrow does not look at fields that nobody asks for
            return None
        if any(_LONG_NUMBER.search(line) or has_long_texts(line) for line in lines.longer(MOST_DIGITS)):
            return None
        floats = any(pa.types.is_floating(of) for kind in kinds.types for of in leaf_types(kind))
        if any(letter in block and form.search(block) for letter, form in _NO_NUMBERS) or (
            floats and _MINUS_ZERO.search(block)
        ):
            return None
        import pyarrow.json as json_reader

        try:
            table = json_reader.read_json(
                pa.BufferReader(block),
                read_options=json_reader.ReadOptions(use_threads=False, block_size=len(block) + 1),
                parse_options=json_reader.ParseOptions(explicit_schema=kinds, unexpected_field_behavior="ignore"),
            ).select(kinds.names)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError):
            return None  # a value of another kind, a name twice, a line that is no JSON
        if table.num_rows != count:
            return None
        columns, lost = {name: table.column(name).combine_chunks() for name in kinds.names}, Doubts()
        try:
            arrays = [
                certain(f, count, doubts, lambda f: self._typed(columns[f.name], f.type, (f.name,), where, lost))
                for f in fields
            ]
        except (_Doubtful, pa.ArrowInvalid):
            return None  # a text with half a surrogate pair, a number too large
        add_lost(doubts, lost)
        return count, arrays

    def _typed(self, column: pa.Array, t: pa.DataType, path: tuple[str, ...], where: str, lost: Doubts) -> pa.Array:
        """Convert what Arrow read (`_fast_type`) to values of the field's type."""
        if not pa.types.is_nested(t):
            column.validate(full=True)
        if pa.types.is_temporal(t):
            values = self._values.column(column, Field(".".join(path), t), where)
            count_lost(lost, path, values.null_count - column.null_count)
            return values
        if pa.types.is_struct(t):
            inner = [t.field(i) for i in range(t.num_fields)]
            children = [
                self._typed(child, part.type, (*path, part.name), where, lost)
                for child, part in zip(column.flatten(), inner, strict=True)
            ]
            return pa.StructArray.from_arrays(children, fields=inner, mask=column.is_null())
        if pa.types.is_list(t):
            element = self._typed(column.values, t.value_type, (*path, "element"), where, lost)
            if element.null_count > column.values.null_count:
                raise _Doubtful  # a day that is none takes the list around it along
            return pa.ListArray.from_arrays(column.offsets, element, mask=column.is_null()).cast(t)
        return column.cast(t)

    def _line(self, raw: bytes, names: frozenset[str], where: str, most: int) -> list[_Row]:
        if sum(map(raw.count, (b",", b"[", b"{"))) > most:
            raise ScanError(
                f"JSON that is read value by value has at most {most:,} values in a line, or {_MOST_WHOLE_VALUES:,} in"
                f" a file with multiLine; {where} has more; split it, or {Cure('spark')}"
            )
        if not self._decoded:
            raw = raw.removeprefix(codecs.BOM_UTF8)
        try:
            line = json_breaks.text_of(raw, decoded=self._decoded)
            if line is None:
                return [{}]
            start = _behind_blanks(line, 0)
            if line[start : start + 1] == "[":
                return self._objects(line, start + 1, names)
            if line[start : start + 1] == "{":
                return [self._object(line, start, names)[0]]
        except json_breaks.OtherCharacters:
            raise ScanError(
                f"JSON is UTF-8; {where} has bytes that are none and that Spark shows as other characters in the line"
                f" {raw[:80]!r}; write it anew, or {Cure('spark')}"
            ) from None
        except LongNumber:
            raise ScanError.for_spark(
                f"a number of JSON has at most {MOST_DIGITS:,} digits, or its line may be a row of NULLs to Spark;"
                f" {where} has a longer one"
            ) from None
        except OddName:
            raise ScanError.for_spark(
                f"names are whole and of at most {MOST_OF_NAME:,} bytes, or Spark may have a row of NULLs for their"
                f" line; {where} has another in the line {raw[:80]!r}"
            ) from None
        except (ValueError, RecursionError) as error:
            if isinstance(error, _BrokenInside):
                raise ScanError(
                    "a record that is broken inside a value has what Spark takes behind the break for its own;"
                    f" {where} has the line {raw[:80]!r}; mend it, or {Cure('spark')}"
                ) from None
            if isinstance(error, json.JSONDecodeError) and error.doc.startswith(json_breaks.INFINITIES, error.pos):
                raise ScanError.for_spark(
                    f"infinite numbers are Infinity, -Infinity or texts; {where} has others in the line {raw[:80]!r}"
                ) from None
            if b"'" in raw:
                raise ScanError.for_spark(
                    f"JSON texts stand in double quotes; {where} has the line {raw[:80]!r}"
                ) from None
        return [{}]

    def _objects(self, line: str, at: int, names: frozenset[str]) -> list[_Row]:
        rows: list[_Row] = []

        def element(at: int) -> int:
            if line[at : at + 1] != "{":
                raise ValueError("no object")
            row, end = self._object(line, at, names)
            rows.append(row)
            return end

        _members(line, at, "]", element)
        return rows

    def _object(self, line: str, at: int, names: frozenset[str]) -> tuple[_Row, int]:
        """The fields of these names, each with its text: what a column of texts shows of a value that is none."""
        row: _Row = {}

        def field(at: int) -> int:
            if line[at : at + 1] != '"':
                raise ValueError("no name")
            name, at = self._decoder.raw_decode(line, at)
            hold_name(name)
            at = _behind_blanks(line, at)
            if line[at : at + 1] != ":":
                raise ValueError("no colon")
            at = _behind_blanks(line, at + 1)
            try:
                value, end = self._decoder.raw_decode(line, at)
            except json.JSONDecodeError as error:
                if name in self._types and json_breaks.goes_on(self._types[name], at, error):
                    raise _BrokenInside from error
                raise
            if name in self._of_bytes and not are_bytes(value):
                raise _BrokenInside
            if name in names:
                row[name] = (value, "" if self._written_anew else line[at:end], name in row)
            return end

        return row, _members(line, at + 1, "}", field)


def _members(line: str, at: int, end: str, member: Callable[[int], int]) -> int:
    """Read what stands between commas, up to the sign `end`, and return the place behind it. `member` reads one, and
    does the same."""
    at = _behind_blanks(line, at)
    if line[at : at + 1] == end:
        return at + 1
    while True:
        at = _behind_blanks(line, member(at))
        if line[at : at + 1] == end:
            return at + 1
        if line[at : at + 1] != ",":
            raise ValueError("no comma")
        at = _behind_blanks(line, at + 1)


def _behind_blanks(line: str, at: int) -> int:
    return _SPACE.match(line, at).end()  # type: ignore[union-attr]  # it matches everywhere


def _hold_levels(text: bytes, where: str) -> None:
    """Spark has a row of NULLs for what is nested deeper than 1,000 levels, whichever columns are asked; Python's stack
    ends below that."""
    if json_bounds.levels(text, _MOST_LEVELS) > _MOST_LEVELS:
        raise ScanError.for_spark(f"JSON is read to {_MOST_LEVELS} levels of lists and objects; {where} has more")


def _joined(parts: list[list[pa.Array]]) -> list[pa.Array]:
    return [pa.concat_arrays(columns) for columns in zip(*parts, strict=True)]


def _kinds(fields: tuple[Field, ...]) -> pa.Schema | None:
    kinds = [(f.name, _fast_type(f.type)) for f in fields]
    return None if any(kind is None for _, kind in kinds) else pa.schema(kinds)


def _fast_type(t: pa.DataType) -> pa.DataType | None:
    """Return the type that Arrow reads for a column; None if its values are read one by one."""
    if pa.types.is_struct(t):
        inner = [(t.field(i).name, _fast_type(t.field(i).type)) for i in range(t.num_fields)]
        whole = inner and all(kind is not None for _, kind in inner) and len(dict(inner)) == len(inner)
        return pa.struct([pa.field(name, kind) for name, kind in inner]) if whole else None
    if pa.types.is_list(t):
        kind = _fast_type(t.value_type)
        return None if kind is None else pa.list_(kind)
    if pa.types.is_string(t) or pa.types.is_date32(t) or (pa.types.is_timestamp(t) and t.unit == "us"):
        return pa.string()
    if pa.types.is_decimal128(t) and t.scale >= 0:
        return pa.decimal256(t.precision, t.scale)  # has room for all digits on either side of the point
    if pa.types.is_signed_integer(t) or pa.types.is_boolean(t):
        return t
    return t if pa.types.is_floating(t) and t.bit_width >= 32 else None


def _refused(what: str, field: Field, where: str) -> ScanError:
    return ScanError.for_spark(
        f"a text file is read as Spark reads it, or refused; {where} holds {what} in column {field.name!r} of type"
        f" {field.type}"
    )
