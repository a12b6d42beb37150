"""Columns and types of JSON lines, from what stands in a file or two, as Spark infers them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from metaindex.core import CorruptTableError, Cure, first_line
from metaindex.formats.columns import with_inside
from metaindex.storage import Storage

from . import json_bounds
from .beginnings import (
    LOOKED_AT,
    NAME_COLUMNS,
    beginning,
    begins_as,
    first_that_says,
    is_utf8,
    is_whole,
    say_encoding,
    text_of,
)
from .options import MOST_COLUMNS, by_its_name
from .schema_text import merged_type

_LONGS = range(-(1 << 63), 1 << 63)
_Merge: TypeAlias = Callable[[pa.DataType, pa.DataType], pa.DataType]


class _Broken(ValueError):
    """The text is no JSON lines; of other errors the text may be right, and is more than is looked at."""


def json_schema(storage: Storage, paths: Sequence[str], newest: str, reader: Mapping[str, str]) -> pa.Schema:
    """Fields of the objects in order of appearance, in the first of `paths` that has some and in the newest file;
    numbers are long, double, or decimal where integers are beyond 64 bits, and texts stay texts, as in Spark."""
    path, first = first_that_says(
        paths,
        lambda path: text_of(storage, path, reader),
        lambda path, text: _json_columns(storage, path, text, reader),
        bool,
    )
    fields = dict(first)
    if newest != path:
        for name, t in _json_columns(storage, newest, text_of(storage, newest, reader), reader).items():
            fields[name] = _common(fields.get(name), t)
    return pa.schema([pa.field(name, _no_null(t)) for name, t in fields.items()])


def _json_columns(storage: Storage, path: str, text: bytes, reader: Mapping[str, str]) -> dict[str, pa.DataType]:
    """Infer the columns of one file from its text."""
    if not text.strip():
        return {}
    try:
        if is_whole(reader):
            return _columns(_lines_of(text))
        _refuse_over_lines(text)
        return _columns(text)
    except (pa.ArrowInvalid, ValueError, RecursionError) as error:
        raw = beginning(storage, path, LOOKED_AT)
        whole = text.lstrip()[:1] == b"[" and not is_whole(reader)
        cure = (
            f"{Cure('reader', 'multiLine', True)} reads a file that is one array (of files of lines it reads the first"
            f" object alone: choose those that are arrays by {Cure('also', 'glob')})"
            if whole
            else by_its_name(path, "json")
        )
        cure = cure or begins_as(raw) or ("" if is_utf8(text) else f"it is not in UTF-8: {say_encoding()}")
        broken = isinstance(error, pa.ArrowInvalid | json.JSONDecodeError | _Broken)
        again = "write the file again, or remove it, or " if broken else ""
        refused = CorruptTableError(
            f"the columns are read from {path!r}, which is not JSON lines of one shape: {first_line(error)};"
            f" {cure or f'{again}{NAME_COLUMNS}'}"
        )
        raise (refused.without("multiLine", True) if whole else refused) from error


def _refuse_over_lines(text: bytes) -> None:
    """Arrow reads objects that go over lines; a line is a row, and one of them would have none of its columns."""
    line, end, _ = text.lstrip().partition(b"\n")
    if line[:1] != b"{" or line.rstrip()[-1:] == b"}":
        return
    if not end and len(text) >= LOOKED_AT:
        raise ValueError(f"its first line is longer than the {LOOKED_AT:,} bytes that are looked at")
    try:
        json.loads(line)
    except json.JSONDecodeError:
        if not text.lstrip().partition(b"\n")[2].strip():
            raise _Broken("it ends within an object, in its first line") from None
        raise _Broken(
            "an object stands in one line, and the first goes over several"
            f" ({Cure('reader', 'multiLine', True)} reads a file that is one object, or an array of them; of files of"
            " lines it reads the first object alone)"
        ) from None


_NULLS = re.compile(rb"\A(?:\s*null(?=\s|\Z))+\s*")
"""Lines that are no object and have no column. Arrow's reader must not see them first: it crashes the process."""


def _columns(text: bytes) -> dict[str, pa.DataType]:
    import pyarrow.json as arrow_json

    fields: dict[str, pa.DataType] = {}
    for whole in json_bounds.pieces(text):
        nulls = _NULLS.match(whole)
        piece = whole if nulls is None else whole[nulls.end() :]
        if not piece:
            continue
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
    return pa.string() if pa.types.is_temporal(t) else with_inside(t, _json_type)


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

    def of_two(a: pa.DataType, b: pa.DataType) -> pa.DataType:
        if pa.types.is_null(a) or pa.types.is_null(b):
            return b if pa.types.is_null(a) else a
        return _common_number(a, b) if _is_number(a) and _is_number(b) else other(a, b)

    return b if a is None else merged_type(a, b, of_two)


def _is_number(t: pa.DataType) -> bool:
    return t in (pa.int64(), pa.float64()) or pa.types.is_decimal(t)


def _common_number(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Return the common type of two different number types."""
    decimals = [t for t in (a, b) if pa.types.is_decimal(t)]
    if pa.float64() in (a, b) or not decimals:
        return pa.float64()
    wider = max(decimals, key=lambda t: int(t.precision))
    return wider if len(decimals) == 2 else _with_longs(wider)


def _no_null(t: pa.DataType) -> pa.DataType:
    """A column that was never other than null is text, as in Spark."""
    return pa.string() if pa.types.is_null(t) else with_inside(t, _no_null)


def _lines_of(text: bytes) -> bytes:
    """Convert one object, or an array of objects, to JSON lines."""
    start = text.lstrip()
    value, _ = json.JSONDecoder().raw_decode(start.decode())
    return "\n".join(json.dumps(item) for item in (value if isinstance(value, list) else [value])).encode()
