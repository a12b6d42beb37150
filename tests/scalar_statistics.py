"""Answers for one file, from plain Python values: the walk's oracle, which knows of no vector."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaindex.core import LiteralTypeError
from metaindex.expressions import ColumnRef, Interval, Literal
from tests.evaluate import compare_values


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of one column of one file; None is unknown. `has_nan`: the type may hold NaN."""

    lower: Any = None
    upper: Any = None
    null_count: int | None = None
    nan_count: int | None = None
    row_count: int | None = None
    has_nan: bool = True


@dataclass(frozen=True, slots=True)
class ScalarStatistics:
    """`PruningStatistics` of one file. Bounds compare as `evaluate` compares values; what does not compare proves
    nothing."""

    columns: Mapping[ColumnRef, FileFacts]

    def some_between(self, column: ColumnRef, interval: Interval) -> bool:
        facts = self._facts(column)
        if _no_number(facts):
            return False
        lower, upper = _bounds(facts)
        try:
            return not (
                _apart(upper, interval.low, 1, interval.low_open)
                or _apart(lower, interval.high, -1, interval.high_open)
            )
        except LiteralTypeError:
            return True

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> bool:
        return any(
            self.some_nan(column) if value.is_nan else self.some_between(column, Interval(value, value))
            for value in values
        )

    def some_other(self, column: ColumnRef, values: Sequence[Literal]) -> bool:
        facts = self._facts(column)
        if not self.some_value(column):
            return False
        nan_among = any(value.is_nan for value in values)
        if nan_among and _no_number(facts):
            return False
        lower, upper = _bounds(facts)
        if lower is None or upper is None or (self.some_nan(column) and not nan_among):
            return True
        try:
            return not any(
                compare_values(lower, value.value) == 0 == compare_values(upper, value.value)
                for value in values
                if not value.is_nan
            )
        except LiteralTypeError:
            return True

    def some_null(self, column: ColumnRef) -> bool:
        facts = self._facts(column)
        return not (_rows(facts) == 0 or facts.null_count == 0)

    def some_value(self, column: ColumnRef) -> bool:
        facts = self._facts(column)
        rows = _rows(facts)
        return not (rows == 0 or (rows is not None and facts.null_count == rows and _boundless(facts)))

    def some_nan(self, column: ColumnRef) -> bool:
        facts = self._facts(column)
        return facts.has_nan and self.some_value(column) and facts.nan_count != 0

    def constant(self, value: bool) -> bool:
        return value

    def all_of(self, parts: Sequence[bool]) -> bool:
        return all(parts)

    def any_of(self, parts: Sequence[bool]) -> bool:
        return any(parts)

    def _facts(self, column: ColumnRef) -> FileFacts:
        return self.columns.get(column, _UNKNOWN)


_UNKNOWN = FileFacts()


def _boundless(facts: FileFacts) -> bool:
    return facts.lower is None and facts.upper is None


def _rows(facts: FileFacts) -> int | None:
    """Row count, unless what else is said denies that there are none."""
    if facts.row_count == 0 and not (_boundless(facts) and not facts.null_count and not facts.nan_count):
        return None
    return facts.row_count


def _no_number(facts: FileFacts) -> bool:
    rows, nulls = _rows(facts), facts.null_count
    nans = facts.nan_count if facts.has_nan else 0
    if rows is None or not _boundless(facts):
        return False
    return rows == 0 or nulls == rows or (nulls is not None and nans is not None and nulls + nans == rows)


def _bounds(facts: FileFacts) -> tuple[Any, Any]:
    """Lower and upper bound, neither when they contradict each other or are NaN."""
    lower, upper = facts.lower, facts.upper
    wrong = lower != lower or upper != upper  # NaN
    if not wrong and lower is not None and upper is not None:
        wrong = compare_values(lower, upper) > 0
    return (None, None) if wrong else (lower, upper)


def _apart(bound: Any, end: Literal | None, sign: int, is_open: bool) -> bool:
    """Does the file's end stay outside of the interval's end, so that the two do not meet?"""
    if bound is None or end is None:
        return False
    order = compare_values(end.value, bound) * sign
    return order > 0 or (is_open and order == 0)
