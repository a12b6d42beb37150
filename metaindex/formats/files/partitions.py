"""Hive partitions in folder names: `year=2024/month=01/part-0.parquet`, by Spark's rules.

    folder                   column, value
    a=1                      a, "1"
    a=x%2Fy                  a, "x/y"            percent-decoded one character at a time, as Spark does
    a=__HIVE_DEFAULT_PARTITION__   a, NULL
    a=1/any/name             a, "1"              folders below partitions say nothing

Types are inferred over all values of a column (int, long, decimal without a fraction, double, timestamp, date,
string) unless a schema names them. Layouts of which two readers make different tables are refused: names that differ
between files, files beside partition folders.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import Any, TypeAlias

import pyarrow as pa

from metaindex.core import Cure, FormatError, UnsupportedFeatureError, first_line
from metaindex.formats.column_names import alike
from metaindex.formats.columns import numbers, strings
from metaindex.formats.spark_texts import NUMBER, TRUTHS, java_double

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"

Kind: TypeAlias = tuple[str, int]  # name of Spark's type, and the precision of a decimal
_NULL: Kind = ("null", 0)
_STRING: Kind = ("string", 0)
_EXACT = Context(prec=60)  # Python's own context refuses more than 28 digits


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partition columns of a folder tree: `values[i]` has the typed value of column i for each folder."""

    names: tuple[str, ...]
    raw: tuple[tuple[str, ...], ...]  # per folder, as the folder says it
    types: tuple[pa.DataType, ...]
    values: tuple[pa.Array, ...]
    base: str = ""  # the folder that all partitions are in, relative, without a closing slash

    def texts(self, folder: int) -> list[str | None]:
        """The values of a folder as decoded text, NULL as None."""
        return [None if r == HIVE_NULL else unescape(r) for r in self.raw[folder]]


def unescape(text: str) -> str:
    """`%2F` is "/": one character for each code, as Spark writes them; what is no code stays."""
    if "%" not in text:
        return text
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), text)


def read_partitions(
    folders: Sequence[str], given: pa.Schema | None = None, starts: Sequence[int] | None = None
) -> Partitions:
    """The partitions of folders (relative, with a closing slash). `given`: types that the user named, by column
    name. `starts`: where in each folder's name partitions may begin; everywhere at its beginning where not given."""
    columns: tuple[str, ...] | None = None
    first = base = ""
    raw = []
    for place, folder in enumerate(folders):
        start = 0 if starts is None else starts[place]
        above, names, values = _columns(folder[start:])
        above = f"{folder[:start]}{above}".rstrip("/")
        if columns is None:
            columns, base, first = names, above, folder
        elif names != columns:
            raise UnsupportedFeatureError(
                f"all files of a table have the same partition columns; {first or 'the root'!r} has {_said(columns)}, "
                f"{folder or 'the root'!r} has {_said(names)}; open the folders as tables of their own"
            )
        elif above != base and columns:
            raise UnsupportedFeatureError(
                f"all partitions of a table begin at the same folder; {first!r} begins at {base or 'the root'!r},"
                f" {folder!r} at {above or 'the root'!r}; open the folders as tables of their own, or say"
                f" {Cure('reader', 'basePath')} where they are partitions themselves"
            )
        raw.append(values)
    names = columns or ()
    types, typed = [], []
    for at, name in enumerate(names):
        t, column = _typed(name, [row[at] for row in raw], given)
        types.append(t)
        typed.append(column)
    return Partitions(names, tuple(raw), tuple(types), tuple(typed), base if names else "")


def _said(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else "none"


def _columns(folder: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The folder where partitions begin, names and raw values: the lowest unbroken run of `name=value` folders."""
    parts = [part for part in folder.split("/") if part]
    while parts and "=" not in parts[-1]:
        parts.pop()
    names: list[str] = []
    values: list[str] = []
    while parts and "=" in parts[-1]:
        name, _, value = parts.pop().partition("=")
        if not name or not value:
            raise FormatError(f"a partition folder is named column=value, neither empty; got {folder!r}; rename it")
        names.insert(0, unescape(name))
        values.insert(0, value)
    if any("=" in part for part in parts):
        raise UnsupportedFeatureError(
            f"partition folders follow each other without others between them; got {folder!r}; move the inner ones up"
        )
    if len({alike(name) for name in names}) < len(names):
        raise UnsupportedFeatureError(f"a partition column is named once; got {folder!r}; rename one of the folders")
    return "/".join(parts), tuple(names), tuple(values)


# Types ----------------------------------------------------------------------------------------------------------------


def _typed(name: str, raw: list[str], given: pa.Schema | None) -> tuple[pa.DataType, pa.Array]:
    distinct = list(dict.fromkeys(raw))
    wanted = _given_type(name, given)
    if wanted is None:
        kind = _NULL
        for value in distinct:
            kind = _wider(kind, infer(value))
            if kind == _STRING:
                break
        wanted = _arrow(kind)
    convert = _converter(wanted)
    try:
        by_raw = {value: None if value == HIVE_NULL else convert(value) for value in distinct}
        return wanted, _array([by_raw[value] for value in raw], wanted)
    except (ValueError, InvalidOperation, OverflowError, pa.ArrowInvalid) as error:
        raise FormatError(
            f"the values of partition column {name!r} are of its type {wanted}; one is not ({first_line(error)}); name"
            f" another type in {Cure('reader', 'schema')}"
        ) from error


def _array(values: list[Any], t: pa.DataType) -> pa.Array:
    if pa.types.is_string(t):
        return strings(values)
    if pa.types.is_integer(t) and None not in values:
        return numbers(values).cast(t)
    return pa.array(values, t)


def _given_type(name: str, given: pa.Schema | None) -> pa.DataType | None:
    if given is None:
        return None
    fits = [f for f in given if f.name == name] or [f for f in given if alike(f.name) == alike(name)]
    return fits[0].type if len(fits) == 1 else None


_WHOLE = re.compile(r"[+-]?[0-9]+")
_NO_NUMBER = re.compile(r"[+-]?(NaN|Infinity)")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MOMENT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]))?")


def infer(raw: str) -> Kind:
    """The narrowest type that Spark gives one raw value."""
    if raw == HIVE_NULL:
        return _NULL
    if _WHOLE.fullmatch(raw):
        number = int(raw)
        if -(2**31) <= number < 2**31:
            return "int", 0
        if -(2**63) <= number < 2**63:
            return "long", 0
    if NUMBER.fullmatch(raw):
        _, digits, exponent = Decimal(raw).as_tuple()
        if isinstance(exponent, int) and exponent >= 0:
            precision = len(digits) + exponent if digits != (0,) else 1
            if precision <= 38:
                return "decimal", precision
    if _double(raw) is not None:
        return "double", 0
    if _moment(unescape(raw)) is not None:
        return "timestamp", 0
    if _day(raw) is not None:
        return "date", 0
    return _STRING


def _wider(a: Kind, b: Kind) -> Kind:
    """The type that holds both; string where Spark knows none."""
    if a == b or b == _NULL:
        return a
    if a == _NULL:
        return b
    kinds = {a[0], b[0]}
    if kinds == {"int", "long"}:
        return "long", 0
    if kinds == {"int", "double"}:
        return "double", 0
    if kinds <= {"int", "long", "decimal"}:
        digits = {"int": 10, "long": 20}
        return "decimal", min(38, max(digits.get(name, precision) for name, precision in (a, b)))
    if kinds == {"date", "timestamp"}:
        return "timestamp", 0
    return _STRING


_ARROW = {
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
}


def _arrow(kind: Kind) -> pa.DataType:
    return pa.decimal128(kind[1], 0) if kind[0] == "decimal" else _ARROW.get(kind[0], pa.string())


def _converter(t: pa.DataType) -> Callable[[str], Any]:
    is_ = pa.types
    if is_.is_integer(t):
        return int
    if is_.is_floating(t):
        return lambda raw: _required(_double(raw), raw)
    if is_.is_decimal(t):
        return lambda raw: _decimal(raw, t)
    if is_.is_boolean(t):
        return lambda raw: _required(TRUTHS.get(unescape(raw).strip().lower()), raw)
    if is_.is_date(t):
        return lambda raw: _required(_day(unescape(raw)), raw)
    if is_.is_timestamp(t):
        return lambda raw: _required(_moment_or_day(unescape(raw), t.tz is not None), raw)
    if is_.is_binary(t) or is_.is_large_binary(t):
        return lambda raw: unescape(raw).encode()
    if is_.is_string(t) or is_.is_large_string(t):
        return unescape
    raise UnsupportedFeatureError(
        f"a partition column is a number, text, date or time; {t} is none; leave it out of {Cure('reader', 'schema')}"
    )


def _required(value: Any, raw: str) -> Any:
    if value is None:
        raise ValueError(f"{raw!r}")
    return value


def _double(raw: str) -> float | None:
    text = raw.strip()
    return float(text) if _NO_NUMBER.fullmatch(text) else java_double(text)


def _decimal(raw: str, t: pa.DataType) -> Decimal:
    value = Decimal(raw)
    if not value.is_finite():
        raise ValueError(f"{raw!r}")
    scaled: Decimal = value.quantize(Decimal(1).scaleb(-t.scale), context=_EXACT)
    if scaled != value:
        raise ValueError(f"{raw!r}")
    return scaled


def _day(text: str) -> dt.date | None:
    day_text = _DATE.fullmatch(text)
    try:
        return dt.date(int(day_text[1]), int(day_text[2]), int(day_text[3])) if day_text else None
    except ValueError:
        return None


def _moment(text: str) -> dt.datetime | None:
    moment_text = _MOMENT.fullmatch(text)
    if moment_text is None:
        return None
    year, month, day, hour, minute, second = map(int, moment_text.groups()[:6])
    try:
        return dt.datetime(year, month, day, hour, minute, second, int((moment_text[7] or "").ljust(6, "0")[:6]))
    except ValueError:
        return None


def _moment_or_day(text: str, aware: bool) -> dt.datetime | None:
    moment = _moment(text)
    if moment is None:
        day = _day(text)
        moment = None if day is None else dt.datetime(day.year, day.month, day.day)
    return moment.replace(tzinfo=dt.UTC) if moment is not None and aware else moment
