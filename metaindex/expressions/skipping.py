"""The walk that proves: which files hold no matching row, and of which files every row matches.

A row matches when the predicate is TRUE for it; FALSE and NULL both leave it out. Statistics answer only questions of
one shape, "may some row of the file be such?" (`statistics.PruningStatistics`), where False is a proof and True means
yes or unknown. So

    may_match(p)    may some row make p TRUE?           False: drop the file
    may_fail(p)     may some row make p FALSE or NULL?  False: the file is certain
    must_match(p)   not may_fail(p)                     True: every row matches

`must_match` is not `not may_match(NOT p)`, as NULL rows fail both p and NOT p. And no answer is negated on the way: a
negated "maybe" would be a false proof. NOT is carried down to the leaves instead, and a leaf is asked for the truth
that is wanted there:

    leaf             may be TRUE                       may be FALSE                        may be NULL
    x = v            some_among(v)                     some_other(v)                       some_null
    x < v            some_between(.., v)               some_between([v, ..) or some_nan    some_null
    x > v            some_between(v, ..) or some_nan   some_between(.., v]) or some_nan    some_null
    x > v AND x < w  some_between(v, w): a row TRUE for both lies between; only `<` and `<=` as written leave NaN out
    x <=> v          some_among(v)                     some_other(v) or some_null          never
    x IN (v, w)      some_among(v, w)                  some_other(v, w)                    some_null
    x IN (v, NULL)   some_among(v)                     never                               some_null or some_other(v)
    x IS NULL        some_null                         some_value                          never
    isnan(x)         some_nan                          some_null or any number             some_null (never in Spark)
    x LIKE 'p%'      some_between([p, succ p))         below p, or at succ p and above     some_null
    opaque           always                            always                              always

AND may be TRUE only if all parts may; it may be FALSE if any part may; OR is the mirror. A file of x in [3, 7] without
NULLs, asked for `NOT (x < 10 OR y = 1)`: that is "x < 10 may be FALSE" and "y = 1 may be FALSE"; no x lies in [10, ..),
so the file is dropped whatever y is. Asked for `x > 2`: it may match, and it cannot fail (no x in (.., 2], no NULL, and
no NaN if x is an integer), so it is certain.

NaN. Spark calls NaN equal to NaN and greater than every number; IEEE engines say FALSE to every comparison with it,
save `!=`. The table serves both: an inequality *may be FALSE* for NaN whichever way it points, so `NOT (x > 5)` keeps a
file with NaN though Spark would answer FALSE there, and a file with NaN is never certain of an inequality. The price is
nil where NaN counts are known or the type has no NaN. `x < v` and `x = v` as written match no NaN in any engine, so
bounds alone drop files there. Comparisons with a NaN literal are asked in the same spirit: whatever any engine could
answer. `normalize` would turn `NOT (x > 5)` into `x <= 5`, right by Spark's order only, hence the walk keeps such a
NOT.
"""

from __future__ import annotations

from typing import Generic, TypeVar, assert_never, cast

import numpy as np

from metaindex.core import dataclass

from .literals import Literal
from .normal_form import NEGATED, fold_signed, gathered_form
from .places import prefix_interval
from .statistics import Interval, PruningStatistics
from .tree import ColumnRef, Comparison, Constant, In, IsNan, IsNull, Leaf, Op, Opaque, Predicate, StartsWith

T = TypeVar("T")


def may_match(p: Predicate, statistics: PruningStatistics[T]) -> T:
    """False where no row of the file makes the predicate TRUE, whatever is not known. Never negate it."""
    return _walk(p, statistics, negated=False, null_too=False)


def may_fail(p: Predicate, statistics: PruningStatistics[T]) -> T:
    """False where no row of the file makes the predicate FALSE or NULL. Never negate it: `must_match` is what you
    want."""
    return _walk(p, statistics, negated=True, null_too=True)


def must_match(p: Predicate, statistics: PruningStatistics[T]) -> T:
    """True only where every row of the file makes the predicate TRUE; a file known to have no rows is certain of every
    leaf that statistics can speak of."""
    answer = may_fail(p, statistics)
    if isinstance(answer, np.ndarray):
        return cast(T, ~answer)
    return cast(T, not answer)


def _walk(p: Predicate, statistics: PruningStatistics[T], *, negated: bool, null_too: bool) -> T:
    """Return whether some row may make p (NOT p, when negated) TRUE (or NULL, when null_too)."""
    asker = _Questions(statistics, null_too)

    def add(conjunctive: bool, so_far: _Group[T] | None, answer: T | _Inequality) -> _Group[T]:
        group = so_far if so_far is not None else _Group(statistics, conjunctive)
        group.add(answer)
        return group

    def close(conjunctive: bool, so_far: _Group[T] | None) -> T:
        return statistics.constant(conjunctive) if so_far is None else so_far.close()

    def leaf(leaf: Leaf, sign: bool) -> T | _Inequality:
        return asker.leaf(leaf, sign)

    return cast(T, fold_signed(gathered_form(p), negated, leaf, add, close))  # what `close` answers


@dataclass(frozen=True, slots=True)
class _Inequality:
    """`column < v` and its like, asked to be TRUE: still a question, as an AND may make one of several. `nan`: a NaN
    row is TRUE too."""

    column: ColumnRef
    inside: Interval
    nan: bool

    def ask(self, statistics: PruningStatistics[T]) -> T:
        answer = statistics.some_between(self.column, self.inside)
        return statistics.any_of((answer, statistics.some_nan(self.column))) if self.nan else answer

    def both(self, other: _Inequality) -> _Inequality | None:
        """Return the interval of rows that make both TRUE, inside both. None for literals of two kinds: a source may
        know how to compare one and not the other."""
        mine, two = self.inside, other.inside
        if len({end.kind for end in (mine.low, mine.high, two.low, two.high) if end is not None}) > 1:
            return None
        low = _tighter(mine.low, mine.low_open, two.low, two.low_open, 1)
        high = _tighter(mine.high, mine.high_open, two.high, two.high_open, -1)
        return _Inequality(self.column, Interval(low[0], high[0], low[1], high[1]), self.nan and other.nan)


def _tighter(
    end: Literal | None, one_open: bool, two: Literal | None, two_open: bool, sign: int
) -> tuple[Literal | None, bool]:
    if end is None or two is None:
        return (two, two_open) if end is None else (end, one_open)
    mine, other = end.value, two.value  # of one kind, in whose order Python's is Spark's
    if mine == other:
        return end, one_open or two_open
    return (end, one_open) if (mine > other) is (sign > 0) else (two, two_open)  # type: ignore[operator]


class _Group(Generic[T]):
    """The parts of an AND or OR so far. Inequalities of one column in an AND become one interval: `a > 3 AND a < 5`
    asks for a value between both, which fewer files have than have a value above 3 and a value below 5; and an index
    looks into one stretch of its rows and not into two halves."""

    def __init__(self, statistics: PruningStatistics[T], conjunctive: bool) -> None:
        self._statistics = statistics
        self._conjunctive = conjunctive
        self._answer: T | None = None
        self._open: dict[ColumnRef, _Inequality] = {}

    def add(self, part: T | _Inequality) -> None:
        if not isinstance(part, _Inequality):
            self._take(part)
        elif not self._conjunctive:
            self._take(part.ask(self._statistics))
        else:
            before = self._open.get(part.column)
            both = before.both(part) if before is not None else part
            if both is None:
                self._take(part.ask(self._statistics))
            else:
                self._open[part.column] = both

    def close(self) -> T:
        for part in self._open.values():
            self._take(part.ask(self._statistics))
        self._open = {}
        return self._statistics.constant(self._conjunctive) if self._answer is None else self._answer

    def _take(self, answer: T) -> None:
        if self._answer is None:
            self._answer = answer
        elif self._conjunctive:
            self._answer = self._statistics.all_of((self._answer, answer))
        else:
            self._answer = self._statistics.any_of((self._answer, answer))


_NUMBERS = Interval(None, None)


class _Questions(Generic[T]):
    """The table of the module's docstring: one leaf, asked for TRUE (FALSE, when negated), and for NULL too where that
    is wanted. Leaves are in normal form: none compares with NULL, no list is without a value."""

    def __init__(self, statistics: PruningStatistics[T], null_too: bool) -> None:
        self._ask = statistics
        self._null_too = null_too

    def leaf(self, leaf: Leaf, negated: bool) -> T | _Inequality:
        ask = self._ask
        match leaf:
            case Constant():
                return ask.constant(self._null_too if leaf.value is None else leaf.value != negated)
            case Opaque():
                return ask.constant(True)
            case IsNull():
                return ask.some_value(leaf.column) if negated else ask.some_null(leaf.column)
            case IsNan():
                return self._is_nan(leaf.column, negated)
            case StartsWith():
                return self._or_null(leaf.column, self._starts_with(leaf, negated))
            case In():
                return self._in(leaf, negated)
            case Comparison():
                return self._comparison(leaf, negated)
            case _:
                assert_never(leaf)

    def _comparison(self, leaf: Comparison, negated: bool) -> T | _Inequality:
        column, value = leaf.column, leaf.value
        if leaf.op is Op.NULL_SAFE_EQ:
            if not negated:
                return self._ask.some_among(column, (value,))
            return self._ask.any_of((self._other(column, (value,)), self._ask.some_null(column)))
        op = NEGATED[leaf.op] if negated else leaf.op
        if value.is_nan:
            return self._or_null(column, self._nan_compared(column, op, negated))
        match op:
            case Op.EQ | Op.NULL_SAFE_EQ:
                return self._or_null(column, self._ask.some_among(column, (value,)))
            case Op.NE:
                return self._or_null(column, self._other(column, (value,)))
            case Op.LT:
                inside = Interval(None, value, high_open=True)
            case Op.LE:
                inside = Interval(None, value)
            case Op.GT:
                inside = Interval(value, None, low_open=True)
            case Op.GE:
                inside = Interval(value, None)
            case _:
                assert_never(op)
        inequality = _Inequality(column, inside, negated or op in (Op.GT, Op.GE))
        return self._or_null(column, inequality.ask(self._ask)) if self._null_too else inequality

    def _nan_compared(self, column: ColumnRef, op: Op, negated: bool) -> T:
        ask = self._ask
        if negated or op in (Op.NE, Op.LE):
            return ask.some_value(column)
        if op is Op.LT:
            return ask.some_between(column, _NUMBERS)
        return ask.constant(False) if op is Op.GT else ask.some_nan(column)

    def _other(self, column: ColumnRef, values: tuple[Literal, ...]) -> T:
        """Return whether some row may differ from all values, in Spark or an engine where NaN equals nothing."""
        if any(value.is_nan for value in values):
            return self._ask.any_of((self._ask.some_other(column, values), self._ask.some_nan(column)))
        return self._ask.some_other(column, values)

    def _in(self, leaf: In, negated: bool) -> T:
        ask, column = self._ask, leaf.column
        values = tuple([value for value in leaf.values if value.value is not None])
        parts = [] if negated else [ask.some_among(column, values)]
        # A row unequal to all values is FALSE, or NULL when NULL is among the values.
        if negated if len(values) == len(leaf.values) else self._null_too:
            parts.append(self._other(column, values))
        return self._or_null(column, ask.any_of(parts) if parts else ask.constant(False))

    def _is_nan(self, column: ColumnRef, negated: bool) -> T:
        ask = self._ask
        if negated:
            return ask.any_of((ask.some_null(column), ask.some_between(column, _NUMBERS)))
        return self._or_null(column, ask.some_nan(column))

    def _starts_with(self, leaf: StartsWith, negated: bool) -> T:
        ask, column = self._ask, leaf.column
        if not negated:
            return ask.some_between(column, prefix_interval(leaf.prefix))
        # Successor by bytes: exactly the texts without the prefix lie outside, malformed UTF-8 included.
        prefix = leaf.prefix.encode("utf-8", "surrogatepass")
        if not prefix:
            return ask.constant(False)
        below = Interval(None, Literal(prefix), high_open=True)
        above = Interval(Literal(prefix[:-1] + bytes((prefix[-1] + 1,))), None)  # no UTF-8 byte is 0xFF
        return ask.any_of((ask.some_between(column, below), ask.some_between(column, above)))

    def _or_null(self, column: ColumnRef, answer: T) -> T:
        return self._ask.any_of((answer, self._ask.some_null(column))) if self._null_too else answer
