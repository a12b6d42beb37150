"""A comparison of a function of a column, as one of the column: `date(ts) = d` is `ts >= d AND ts < d + 1`.

Every function here never falls as its argument grows, is NULL where that is and nowhere else, and comes in steps, so
that two cuts of its argument say all of a value v:

    f(x) >= v    x >= the first cut        f(x) < v     x < the first cut
    f(x) >  v    x >= the second cut       f(x) <= v    x < the second cut
    f(x) =  v    x >= the first cut AND x < the second cut

What a clock shows in a zone where clocks change may fall: there the column lies within 18 hours of what UTC makes of it
(no zone is further ahead or behind), which is necessary and not enough, so `exact` is False.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from metaindex.core import dataclass
from metaindex.expressions.literals import Literal
from metaindex.expressions.tree import And, ColumnRef, Comparison, In, IsNull, Not, Op, Or, Predicate, StartsWith
from metaindex.expressions.zones import fixed_offset

from .cases import beginnings, variants
from .functions import TABLE
from .nodes import ColumnValue, Fixed, FunctionCall, Scalar
from .types import CLOCK, DATE, is_integer
from .units import start_of, start_of_next

_MICRO: Final = dt.timedelta(microseconds=1)
_DAY: Final = dt.timedelta(days=1)
_FURTHEST: Final = dt.timedelta(hours=18)
_SIDES: Final = {Op.GE: (True, False), Op.GT: (True, False), Op.LT: (False, True), Op.LE: (False, True)}
_BOTH: Final = (True, True)
Cuts = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Solved:
    """`predicate` is TRUE where the comparison is, NULL where it is; `exact`: and nowhere else."""

    predicate: Predicate
    exact: bool = True


def solved(op: Op, scalar: Scalar, value: Fixed) -> Solved | None:
    """The comparison `scalar op value` as one of the column; None where that is not known."""
    if value.value.is_null or op is Op.NULL_SAFE_EQ:
        return None
    try:
        return _solved(op, scalar, value.value.value)
    except (OverflowError, ValueError):  # beyond Python's years
        return None


def _solved(op: Op, scalar: Scalar, value: Any) -> Solved | None:
    if isinstance(scalar, ColumnValue):
        return Solved(Comparison(scalar.column, op, Literal(value)))
    if not isinstance(scalar, FunctionCall):
        return None
    inner = scalar.arguments[0]
    if scalar.function == "cast" and _keeps_values(inner.type, scalar.type):
        return _solved(op, inner, value)
    if scalar.function in ("upper", "lower"):
        return _of_case(op, scalar, value)
    if scalar.function == "substring":
        return _of_beginning(op, scalar, value)
    if scalar.function == "local_time" and fixed_offset(_argument(scalar, 1)) is None:
        return _around(op, inner, value)
    cuts = _CUTS.get(scalar.function)
    pair = None if cuts is None else cuts(scalar, value)
    return None if pair is None else _between_cuts(op, inner, *pair, exact=scalar.function not in _MAY_RAISE)


def _between_cuts(op: Op, inner: Scalar, first: Any, second: Any, *, exact: bool) -> Solved | None:
    match op:
        case Op.GE:
            parts = [(Op.GE, first)]
        case Op.GT:
            parts = [(Op.GE, second)]
        case Op.LT:
            parts = [(Op.LT, first)]
        case Op.LE:
            parts = [(Op.LT, second)]
        case Op.EQ:
            parts = [(Op.GE, first), (Op.LT, second)]
        case _:
            parts = [(Op.LT, first), (Op.GE, second)]
    made = [_solved(side, inner, cut) for side, cut in parts]
    known = [part for part in made if part is not None]
    if len(known) < len(made):
        return None
    predicates = tuple(part.predicate for part in known)
    joined = predicates[0] if len(predicates) == 1 else Or(predicates) if op is Op.NE else And(predicates)
    return Solved(joined, exact and all(part.exact for part in known))


def _around(op: Op, inner: Scalar, clock: dt.datetime) -> Solved | None:
    """Return bounds on an instant from a comparison of its local time, whatever the time zone."""
    low, high = _SIDES.get(op, _BOTH if op is Op.EQ else (False, False))
    at = clock.replace(tzinfo=dt.UTC)
    made = [_solved(Op.GE, inner, at - _FURTHEST)] if low else []
    made += [_solved(Op.LE, inner, at + _FURTHEST)] if high else []
    known = tuple(part.predicate for part in made if part is not None)
    return Solved(And(known) if len(known) > 1 else known[0], exact=False) if known else None


def _keeps_values(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether the cast preserves values and their order."""
    if is_integer(source):
        return bool(is_integer(target) and source.bit_width <= target.bit_width)
    return bool(source == pa.float32() and target == pa.float64())


def _argument(call: FunctionCall, at: int) -> Any:
    part = call.arguments[at]
    if not isinstance(part, Fixed) or part.value.is_null:
        raise ValueError("differs from row to row")
    return part.value.value


def _cast(call: FunctionCall, value: Any) -> Cuts | None:
    source, target = call.arguments[0].type, call.type
    if source == CLOCK and target == DATE:
        return _midnight(value), _midnight(value + _DAY)
    if source == DATE and target == CLOCK:
        day = value.date()
        return day if value == _midnight(day) else day + _DAY, day + _DAY
    return None


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day)


def _year(call: FunctionCall, year: int) -> Cuts:
    first, second = dt.date(year, 1, 1), dt.date(year + 1, 1, 1)
    return (first, second) if call.arguments[0].type == DATE else (_midnight(first), _midnight(second))


def _clock_trunc(call: FunctionCall, clock: dt.datetime) -> Cuts:
    unit = _argument(call, 1)
    start = start_of(unit, clock)
    following = start_of_next(unit, start)
    return start if start == clock else following, following


def _trunc(call: FunctionCall, day: dt.date) -> Cuts:
    first, second = _clock_trunc(call, _midnight(day))
    return first.date(), second.date()


def _add_micros(call: FunctionCall, moment: dt.datetime) -> Cuts:
    at = moment - dt.timedelta(microseconds=_argument(call, 1))
    return at, at + _MICRO


def _local_time(call: FunctionCall, clock: dt.datetime) -> Cuts:
    ahead = fixed_offset(_argument(call, 1))
    assert ahead is not None, "zones where clocks change are asked otherwise"
    at = clock.replace(tzinfo=dt.UTC) - ahead
    return at, at + _MICRO


def _as_instant(call: FunctionCall, instant: dt.datetime) -> Cuts:
    ahead = fixed_offset(_argument(call, 1))
    assert ahead is not None, "clocks of other zones are no instants here"
    at = instant.replace(tzinfo=None) + ahead
    return at, at + _MICRO


def _date_add(call: FunctionCall, day: dt.date) -> Cuts:
    at = day - _argument(call, 1) * _DAY
    return at, at + _DAY


def _date_sub(call: FunctionCall, day: dt.date) -> Cuts:
    at = day + _argument(call, 1) * _DAY
    return at, at + _DAY


def _plus(sign: int) -> Callable[[FunctionCall, Any], Cuts | None]:
    def cuts(call: FunctionCall, value: Any) -> Cuts | None:
        if not is_integer(call.type) or type(value) is not int:
            return None
        at = value - sign * _argument(call, 1)
        return at, at + 1

    return cuts


_CUTS: Final[dict[str, Callable[[FunctionCall, Any], Cuts | None]]] = {
    "cast": _cast,
    "year": _year,
    "trunc": _trunc,
    "clock_trunc": _clock_trunc,
    "add_micros": _add_micros,
    "local_time": _local_time,
    "as_instant": _as_instant,
    "date_add": _date_add,
    "date_sub": _date_sub,
    "+": _plus(1),
    "-": _plus(-1),
}
_MAY_RAISE: Final = frozenset({"+", "-"})


def _of_beginning(op: Op, call: FunctionCall, value: str) -> Solved | None:
    """Solve a comparison of a text's first n characters, which never fall as the text grows, byte by byte."""
    inner, start, length = call.arguments[0], _argument(call, 1), _argument(call, 2)
    if not isinstance(inner, ColumnValue) or start != 1 or length < 1:
        return None
    column = inner.column
    match op:
        case Op.EQ | Op.NE:
            if len(value) > length:
                return None
            same = StartsWith(column, value) if len(value) == length else Comparison(column, Op.EQ, Literal(value))
            return Solved(same if op is Op.EQ else Not(same))
        case Op.GE:
            return Solved(_no_less(column, value, length))
        case Op.LT:
            return Solved(Not(_no_less(column, value, length)))
        case Op.GT:
            return Solved(_greater(column, value, length))
        case _:
            return Solved(Not(_greater(column, value, length)))


def _of_case(op: Op, call: FunctionCall, value: str) -> Solved | None:
    inner = call.arguments[0]
    if not isinstance(inner, ColumnValue) or op not in (Op.EQ, Op.NE):
        return None
    upper = call.function == "upper"
    texts = variants(value, upper=upper)
    if texts:
        among = In(inner.column, tuple(map(Literal, texts)))
        return Solved(among if op is Op.EQ else Not(among))
    starts = beginnings(value, upper=upper) if op is Op.EQ and value else ()
    return Solved(Or(tuple(StartsWith(inner.column, start) for start in starts)), exact=False) if starts else None


def _no_less(column: ColumnRef, value: str, length: int) -> Predicate:
    if len(value) > length:  # no text of so few characters lies between its beginning and it
        return _greater(column, value[:length], length)
    return Comparison(column, Op.GE, Literal(value))


def _greater(column: ColumnRef, value: str, length: int) -> Predicate:
    above = Comparison(column, Op.GT, Literal(value))
    if len(value) < length:
        return above
    return And((above, Not(StartsWith(column, value[:length]))))


def null_where(scalar: Scalar) -> ColumnRef | None:
    """The one column of an expression that is NULL where that is, and nowhere else; None where there is none."""
    while isinstance(scalar, FunctionCall):
        steady = scalar.function == "cast" and _keeps_values(scalar.arguments[0].type, scalar.type)
        steady = steady or (scalar.function != "cast" and TABLE[scalar.function].null_of_null)
        others = [part for part in scalar.arguments[1:] if not isinstance(part, Fixed) or part.value.is_null]
        if not steady or others:
            return None
        scalar = scalar.arguments[0]
    return scalar.column if isinstance(scalar, ColumnValue) else None


def is_null(scalar: Scalar) -> Predicate | None:
    column = null_where(scalar)
    return None if column is None else IsNull(column)
