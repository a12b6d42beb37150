"""The functions whose meaning in DuckDB is known to be Spark's, of which types, and how both write them.

`{0}`, `{1}` stand for arguments, `{all}` for all of them, `{type}` for the type of the result. Where Spark in ANSI mode
raises (a division by zero, a number that does not fit, an index beyond an array), so does what is written for DuckDB.
Tests hold every line against answers of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import pyarrow as pa

from metaindex.core import dataclass

from .types import (
    BIGINT,
    BOOLEAN,
    CLOCK,
    DATE,
    DOUBLE,
    INSTANT,
    INT,
    MOST_DIGITS,
    NULL,
    STRING,
    as_decimal,
    common_type,
    is_integer,
    is_list,
    is_map,
    is_number,
)

Types: TypeAlias = Sequence[pa.DataType]
Signature: TypeAlias = Callable[[Types], "tuple[Types, pa.DataType] | None"]
"""Of arguments' types: those that Spark casts them to, and the result's; None where the meaning is not known."""

Wanted: TypeAlias = "pa.DataType | tuple[pa.DataType, ...]"


@dataclass(frozen=True, slots=True)
class KnownFunction:
    """`null_of_null`: it is NULL where an argument is, nowhere else, and never raises."""

    signature: Signature
    duckdb: str
    spark: str
    null_of_null: bool = False


def _of(result: pa.DataType, *wanted: Wanted) -> Signature:
    def signature(types: Types) -> tuple[Types, pa.DataType] | None:
        if len(types) != len(wanted):
            return None
        fitted = [_fitted(t, w if isinstance(w, tuple) else (w,)) for t, w in zip(types, wanted, strict=True)]
        known = [t for t in fitted if t is not None]
        return (known, result) if len(known) == len(fitted) else None

    return signature


def _fitted(t: pa.DataType, wanted: tuple[pa.DataType, ...]) -> pa.DataType | None:
    """Return the type that Spark casts an argument to implicitly: NULL, or an integer to a wider one."""
    if t in wanted:
        return t
    if t == NULL:
        return wanted[0]
    wider = [w for w in wanted if is_integer(w) and is_integer(t) and w.bit_width > t.bit_width]
    return wider[0] if wider else None


def _compared(types: Types) -> tuple[Types, pa.DataType] | None:
    """Values of one type, or of types that Spark brings to one."""
    common = common_type(types)
    if common is None or pa.types.is_nested(common) or len(types) < 2:
        return None
    return [common] * len(types), BOOLEAN


def _of_one_type(types: Types) -> tuple[Types, pa.DataType] | None:
    common = common_type(types)
    return None if common is None or not types else ([common] * len(types), common)


def _sum(types: Types) -> tuple[Types, pa.DataType] | None:
    common = common_type(types)
    if common is None or not is_number(common):
        return None
    if pa.types.is_decimal(common):
        if common.precision >= MOST_DIGITS:
            return None
        common = pa.decimal128(common.precision + 1, common.scale)
    return [common, common], common


def _product(types: Types) -> tuple[Types, pa.DataType] | None:
    common = common_type(types)
    if common is None or not is_number(common):
        return None
    if not pa.types.is_decimal(common):
        return [common, common], common
    one, two = (as_decimal(t) for t in types)
    if one is None or two is None or one.precision + two.precision >= MOST_DIGITS:
        return None
    return [one, two], pa.decimal128(one.precision + two.precision + 1, one.scale + two.scale)


def _quotient(types: Types) -> tuple[Types, pa.DataType] | None:
    plain = all(is_integer(t) or t in (DOUBLE, NULL) for t in types)
    return ([DOUBLE, DOUBLE], DOUBLE) if plain else None


def _whole_quotient(types: Types) -> tuple[Types, pa.DataType] | None:
    return ([BIGINT, BIGINT], BIGINT) if all(is_integer(t) or t == NULL for t in types) else None


def _remainder(types: Types) -> tuple[Types, pa.DataType] | None:
    common = common_type(types)
    known = common is not None and (is_integer(common) or common == DOUBLE)
    return ([common, common], common) if known else None


def _signed(types: Types) -> tuple[Types, pa.DataType] | None:
    (t,) = types
    return ([t], t) if is_number(t) else None


def _cases(types: Types) -> tuple[Types, pa.DataType] | None:
    """Conditions and values in turn, the value of no condition last."""
    values = [*types[1:-1:2], types[-1]]
    common = common_type(values)
    if common is None or any(t not in (BOOLEAN, NULL) for t in types[:-1:2]):
        return None
    return [BOOLEAN, common] * (len(types) // 2) + [common], common


def _element(types: Types) -> tuple[Types, pa.DataType] | None:
    of, key = types
    if is_list(of):
        return ([of, INT], of.value_type) if is_integer(key) and key != BIGINT else None
    return None


def _entry(types: Types) -> tuple[Types, pa.DataType] | None:
    of, key = types
    fits = pa.types.is_map(of) and (
        key == of.key_type or (is_integer(key) and common_type([key, of.key_type]) == of.key_type)
    )
    return ([of, of.key_type], of.item_type) if fits else None


def _has_element(types: Types) -> tuple[Types, pa.DataType] | None:
    of, value = types
    if not is_list(of) or pa.types.is_nested(of.value_type):
        return None
    return ([of, of.value_type], BOOLEAN) if common_type([of.value_type, value]) == of.value_type else None


def _any_list(types: Types) -> tuple[Types, pa.DataType] | None:
    fits = len(types) == 1 and (is_list(types[0]) or is_map(types[0]))
    return (types, INT) if fits else None


def _anything(types: Types) -> tuple[Types, pa.DataType] | None:
    return (types, BOOLEAN) if len(types) == 1 else None


def _compare(operator: str, duckdb: str = "") -> KnownFunction:
    return KnownFunction(
        _compared, f"({{0}} {duckdb or operator} {{1}})", f"({{0}} {operator} {{1}})", operator != "<=>"
    )


def _part(of: Wanted, duckdb: str, spark: str) -> KnownFunction:
    """A number that is read off a date or a time."""
    return KnownFunction(_of(INT, of), f"CAST({duckdb} AS INTEGER)", f"{spark}({{0}})", null_of_null=True)


def _divided(signature: Signature, duckdb: str, spark: str) -> KnownFunction:
    by_zero = "{1} = 0 AND {0} IS NOT NULL"  # NULL by zero is NULL
    return KnownFunction(signature, f"(CASE WHEN {by_zero} THEN error('division by zero') ELSE {duckdb} END)", spark)


def _whole(duckdb: str) -> str:
    """SQL that converts a double to a long as Java does: NaN is 0, out of range the nearest limit."""
    return (
        "(CASE WHEN isnan({0}) THEN 0 WHEN {0} >= 9223372036854775808 THEN 9223372036854775807"
        f" WHEN {{0}} < -9223372036854775808 THEN -9223372036854775808 ELSE CAST({duckdb} AS BIGINT) END)"
    )


_NO_MINUS_ONE: Final = "(CASE WHEN {1} = -1 THEN 1 ELSE {1} END)"
"""The same remainder, also of the least number, which DuckDB cannot divide by it."""
_DAYS: Final = (DATE, CLOCK)
_WHOLE: Final = (INT, BIGINT)

TABLE: Final[dict[str, KnownFunction]] = {
    "=": _compare("="),
    "!=": _compare("!="),
    "<": _compare("<"),
    "<=": _compare("<="),
    ">": _compare(">"),
    ">=": _compare(">="),
    "<=>": _compare("<=>", "IS NOT DISTINCT FROM"),
    "in": KnownFunction(_compared, "({0} IN ({rest}))", "({0} IN ({rest}))"),
    "is null": KnownFunction(_anything, "({0} IS NULL)", "({0} IS NULL)"),
    "not": KnownFunction(_of(BOOLEAN, BOOLEAN), "(NOT {0})", "(NOT {0})", null_of_null=True),
    "and": KnownFunction(_of(BOOLEAN, BOOLEAN, BOOLEAN), "({0} AND {1})", "({0} AND {1})"),
    "or": KnownFunction(_of(BOOLEAN, BOOLEAN, BOOLEAN), "({0} OR {1})", "({0} OR {1})"),
    "case": KnownFunction(_cases, "(CASE {cases} END)", "(CASE {cases} END)"),
    "coalesce": KnownFunction(_of_one_type, "coalesce({all})", "coalesce({all})"),
    "greatest": KnownFunction(_of_one_type, "greatest({all})", "greatest({all})"),
    "least": KnownFunction(_of_one_type, "least({all})", "least({all})"),
    "+": KnownFunction(_sum, "CAST(({0} + {1}) AS {type})", "({0} + {1})"),
    "-": KnownFunction(_sum, "CAST(({0} - {1}) AS {type})", "({0} - {1})"),
    "*": KnownFunction(_product, "CAST(({0} * {1}) AS {type})", "({0} * {1})"),
    "/": _divided(_quotient, "({0} / {1})", "({0} / {1})"),
    "div": _divided(_whole_quotient, "CAST(({0} // {1}) AS BIGINT)", "({0} div {1})"),
    "%": _divided(_remainder, f"CAST(({{0}} % {_NO_MINUS_ONE}) AS {{type}})", "({0} % {1})"),
    "negative": KnownFunction(_signed, "CAST((-{0}) AS {type})", "(-{0})"),
    "abs": KnownFunction(_signed, "CAST(abs({0}) AS {type})", "abs({0})"),
    "floor": KnownFunction(_of(BIGINT, DOUBLE), _whole("floor({0})"), "floor({0})"),
    "ceil": KnownFunction(_of(BIGINT, DOUBLE), _whole("ceil({0})"), "ceil({0})"),
    "isnan": KnownFunction(_of(BOOLEAN, DOUBLE), "coalesce(isnan({0}), FALSE)", "isnan({0})"),
    "length": KnownFunction(_of(INT, STRING), "CAST(length({0}) AS INTEGER)", "length({0})", null_of_null=True),
    "octet_length": KnownFunction(
        _of(INT, STRING), "CAST(strlen({0}) AS INTEGER)", "octet_length({0})", null_of_null=True
    ),
    "upper": KnownFunction(_of(STRING, STRING), "", "upper({0})"),
    "lower": KnownFunction(_of(STRING, STRING), "", "lower({0})"),
    "trim": KnownFunction(_of(STRING, STRING), "trim({0}, ' ')", "trim({0})", null_of_null=True),
    "ltrim": KnownFunction(_of(STRING, STRING), "ltrim({0}, ' ')", "ltrim({0})", null_of_null=True),
    "rtrim": KnownFunction(_of(STRING, STRING), "rtrim({0}, ' ')", "rtrim({0})", null_of_null=True),
    "concat": KnownFunction(_of(STRING, STRING, STRING), "({0} || {1})", "concat({0}, {1})", null_of_null=True),
    "replace": KnownFunction(
        _of(STRING, STRING, STRING, STRING),
        "(CASE WHEN {1} = '' THEN {0} ELSE replace({0}, {1}, {2}) END)",
        "replace({0}, {1}, {2})",
    ),
    "substring": KnownFunction(  # from a place and of a length that are no less than 1 and 0
        _of(STRING, STRING, INT, INT), "substr({0}, {1}, {2})", "substring({0}, {1}, {2})", null_of_null=True
    ),
    "instr": KnownFunction(  # of a text that is not empty
        _of(INT, STRING, STRING), "CAST(instr({0}, {1}) AS INTEGER)", "instr({0}, {1})", null_of_null=True
    ),
    "startswith": KnownFunction(_of(BOOLEAN, STRING, STRING), "starts_with({0}, {1})", "startswith({0}, {1})", True),
    "endswith": KnownFunction(_of(BOOLEAN, STRING, STRING), "suffix({0}, {1})", "endswith({0}, {1})", True),
    "contains": KnownFunction(_of(BOOLEAN, STRING, STRING), "contains({0}, {1})", "contains({0}, {1})", True),
    "like": KnownFunction(  # a pattern that Spark takes
        _of(BOOLEAN, STRING, STRING, STRING), "({0} LIKE {1} ESCAPE {2})", "({0} LIKE {1}{escape})"
    ),
    "year": _part(_DAYS, "year({0})", "year"),
    "quarter": _part(_DAYS, "quarter({0})", "quarter"),
    "month": _part(_DAYS, "month({0})", "month"),
    "day": _part(_DAYS, "day({0})", "day"),
    "dayofyear": _part(_DAYS, "dayofyear({0})", "dayofyear"),
    "dayofweek": _part(_DAYS, "dayofweek({0}) + 1", "dayofweek"),
    "weekday": _part(_DAYS, "isodow({0}) - 1", "weekday"),
    "weekofyear": _part(_DAYS, "weekofyear({0})", "weekofyear"),
    "hour": _part(CLOCK, "hour({0})", "hour"),
    "minute": _part(CLOCK, "minute({0})", "minute"),
    "second": _part(CLOCK, "second({0})", "second"),
    "last_day": KnownFunction(_of(DATE, DATE), "last_day({0})", "last_day({0})", null_of_null=True),
    "date_add": KnownFunction(_of(DATE, DATE, INT), "CAST({0} + {1} AS DATE)", "date_add({0}, {1})"),
    "date_sub": KnownFunction(_of(DATE, DATE, INT), "CAST({0} - {1} AS DATE)", "date_sub({0}, {1})"),
    "datediff": KnownFunction(_of(INT, DATE, DATE), "CAST(({0} - {1}) AS INTEGER)", "datediff({0}, {1})"),
    "add_months": KnownFunction(_of(DATE, DATE, INT), "CAST({0} + to_months({1}) AS DATE)", "add_months({0}, {1})"),
    "trunc": KnownFunction(  # of a date, to a unit of `units.DATE_UNITS`
        _of(DATE, DATE, STRING), "CAST(date_trunc({1}, {0}) AS DATE)", "trunc({0}, {1})", null_of_null=True
    ),
    "clock_trunc": KnownFunction(  # to a unit of `units.UNITS`
        _of(CLOCK, CLOCK, STRING),
        "date_trunc({1}, {0})",
        "CAST(date_trunc({1}, {0}) AS TIMESTAMP_NTZ)",
        null_of_null=True,
    ),
    "add_micros": KnownFunction(  # to a clock or an instant
        lambda types: ([types[0], BIGINT], types[0]) if types[0] in (CLOCK, INSTANT) else None,
        "({0} + to_microseconds({1}))",
        "({0} + make_dt_interval(0, 0, 0, {1} / 1000000BD))",
    ),
    "add_clock_months": KnownFunction(
        _of(CLOCK, CLOCK, INT), "({0} + to_months({1}))", "({0} + make_ym_interval(0, {1}))"
    ),
    "local_time": KnownFunction(  # in a zone: of a fixed offset, where it is written
        _of(CLOCK, INSTANT, STRING), "({0} + to_microseconds({offset}))", "CAST({0} AS TIMESTAMP_NTZ)", True
    ),
    "as_instant": KnownFunction(  # in a zone of a fixed offset
        _of(INSTANT, CLOCK, STRING), "({0} - to_microseconds({offset}))", "CAST({0} AS TIMESTAMP)", True
    ),
    "element": KnownFunction(  # of a list, counted from 0
        _element,
        "(CASE WHEN {0} IS NOT NULL AND ({1} < 0 OR {1} >= len({0})) THEN error('the index is beyond the array')"
        " ELSE list_extract({0}, {1} + 1) END)",
        "({0}[{1}])",
    ),
    "entry": KnownFunction(_entry, "list_extract(map_extract({0}, {1}), 1)", "({0}[{1}])"),
    "array_contains": KnownFunction(
        _has_element,
        "(CASE WHEN list_contains({0}, {1}) THEN TRUE WHEN {1} IS NULL OR list_aggregate({0}, 'count') < len({0})"
        " THEN NULL WHEN {0} IS NOT NULL THEN FALSE END)",
        "array_contains({0}, {1})",
    ),
    "size": KnownFunction(_any_list, "CAST({size} AS INTEGER)", "size({0})"),
}
