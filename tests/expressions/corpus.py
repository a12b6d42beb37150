"""A fixed corpus of files and predicates that finds any wrong answer of the package, or of a copy of it.

Every small file over a few values of every physical encoding, with exact, loose, partly unknown and self-contradicting
statistics, under every leaf over the same values, negated and joined.
"""

import datetime as dt
import itertools
import math
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.expressions import (
    arrow_statistics,
    literals,
    normal_form,
    physical,
    skipping,
    statistics,
    tree,
)
from tests import evaluate

NAN, INF = math.nan, math.inf
FAR = 2**53
ZONE = dt.UTC
MOMENT = dt.datetime(2020, 1, 1, 12)
POOLS: list[tuple[pa.DataType, list[Any], list[Any]]] = [
    # type, values, literals besides
    (pa.float64(), [None, NAN, -1.5, 0.0, 2.0, INF], [NAN, -0.0, 2, 1, Decimal("0.1"), FAR + 1]),
    (pa.int64(), [None, -1, 0, 3, FAR + 1], [0.5, -INF, INF, 10**30, -(10**30), float(FAR), Decimal("2.5"), NAN]),
    (pa.string(), [None, "", "a", "ab", "b", "\U0010ffff"], ["\ud7ff", "c", b"\xff"]),
    (pa.decimal128(9, 2), [None, Decimal("-1.50"), Decimal("0.01"), Decimal("7.00")], [Decimal("0.005"), 7, -(10**40)]),
    (pa.decimal128(30, 2), [None, Decimal("-1.50"), Decimal("0.01"), Decimal(10**25)], [Decimal("0.005"), 10**40]),
    (pa.date32(), [None, dt.date(2019, 12, 31), dt.date(2020, 1, 1)], [MOMENT]),
    (pa.timestamp("us"), [None, MOMENT - dt.timedelta(1), MOMENT], [dt.date(2020, 1, 1)]),
    (pa.timestamp("us", tz="UTC"), [None, MOMENT.replace(tzinfo=ZONE)], []),
]
"""Few values of every encoding, NULL among them, and literals between and beyond them."""

_INSIDE = (tree, literals, physical, statistics, arrow_statistics, evaluate, normal_form, skipping)
expressions = SimpleNamespace(**{name: value for module in _INSIDE for name, value in vars(module).items()})
"""What the room has, by name: a copy with a mistake in it is made of this."""


class Corpus:
    """Predicates, with the answer for each value computed once by the package itself."""

    def __init__(self) -> None:
        self.pools = [Pool(*pool) for pool in POOLS]
        self.asked = [(pool, i) for pool in self.pools for i in range(len(pool.recipes))]
        random.Random(1).shuffle(self.asked)  # most mutations are wrong often, and so are found soon

    def wrong(self, x: Any) -> str | None:
        """The first wrong answer of the package `x`."""
        found = _wrong_rounding(x) or _wrong_prefix(x)
        statistics = {id(pool): pool.statistics(x) for pool in self.pools}
        for pool, i in () if found else self.asked:
            found = pool.wrong(x, i, statistics[id(pool)])
            if found:
                break
        return found


class Pool:
    """All small files over the values of one type, all predicates, and which value matches which."""

    def __init__(self, t: pa.DataType, values: list[Any], more: list[Any]) -> None:
        self.t, self.values = t, values
        files = [f for n in range(3) for f in itertools.combinations(range(len(values)), n)]
        self.recipes = list(_recipes(t, [v for v in values if v is not None], more))
        built = self.predicates = [build(r) for r in self.recipes]
        self.answers = [_answers(p, values) for p in built]
        self.matching = [np.array([[a is True for a in answers] for answers in self.answers])]
        if pa.types.is_floating(t):
            self.matching.append(np.array([[_ieee(p, v) is True for v in values] for p in built]))
        self.count, self.holds, self.bounds = _statistics(t, values, files)

    def statistics(self, x: Any) -> Any:
        return x.ArrowStatistics(self.count, {x.ColumnRef(("a",)): self._bounds(x)})

    def wrong(self, x: Any, i: int, statistics: Any) -> str | None:
        p = build(self.recipes[i])  # a tree keeps its form, which is that of whoever asked first
        kept, certain = x.may_match(p, statistics), x.must_match(p, statistics)
        for matching in self.matching:
            some = (self.holds & matching[i]).any(axis=1)
            every = ~(self.holds & ~matching[i]).any(axis=1)
            if (some & ~kept).any() or (certain & ~every).any():
                return f"{self.t}: {self.recipes[i]}"
        if x.normalize is not expressions.normalize and _answers(x.normalize(p), self.values) != self.answers[i]:
            return f"{self.t}: {self.recipes[i]} normalized"
        return None

    def _bounds(self, x: Any) -> Any:
        lower, upper, nulls, nans, rows = self.bounds
        return x.ColumnBounds(
            self.t,
            _joined(x.to_physical(lower[0], self.t, upper=False), lower[1]),
            _joined(x.to_physical(upper[0], self.t, upper=True), upper[1]),
            nulls,
            nans,
            rows,
        )


def _joined(of_values: pa.Array, as_stored: pa.Array | None) -> pa.Array:
    return of_values if as_stored is None else pa.concat_arrays([of_values, as_stored])


def _statistics(
    t: pa.DataType, values: list[Any], files: Sequence[tuple[int, ...]]
) -> tuple[int, npt.NDArray[np.bool_], Any]:
    """Each file many times: exact, loose, partly unknown, contradicting itself."""
    lower: list[Any] = []
    upper: list[Any] = []
    counts: list[tuple[int | None, int | None, int | None]] = []
    holds: list[tuple[int, ...]] = []
    ordered = sorted(v for v in values if v is not None and v == v)
    for file in files:
        held = [values[i] for i in file]
        numbers = [v for v in held if v is not None and v == v]
        low, high = (min(numbers), max(numbers)) if numbers else (None, None)
        nulls, nans = sum(v is None for v in held), sum(v != v for v in held)
        rows = len(held)
        exact = (nulls, nans, rows)
        variants: list[tuple[Any, Any, tuple[int | None, int | None, int | None]]] = [
            (low, high, exact),
            (None, high, exact) if numbers else (None, None, (None, None, None)),
            (low, None, (None, nans, rows)),
            (None, None, (None, None, None)),
            (None, None, (nulls, None, rows)) if not numbers else (low, high, (nulls, None, None)),
            (low, high, (None, nans, None)),
            (low, high, (None, None, rows)),
            (None if low is None else ordered[0], None if high is None else ordered[-1], exact),
        ]
        if numbers:
            variants += [
                (low, high, (nulls, nans, 0)),  # a row count that the bounds deny
                (low, high, (rows, nans, rows)),  # all NULL, which the bounds deny
                (low, high, (rows + 1, nans, rows)),
                (None, None, (-1, None, None)),
                (None, None, exact),
                (None, None, (nulls, nans, None)),
            ]
            if high != low:
                variants.append((high, low, exact))  # crossed
        if nans:
            variants.append((None, None, (rows, nans, rows)))  # more NULLs and NaNs than rows
        if nulls:
            variants.append((low, high, (None, 0 if not nans else None, rows)))
            variants.append((None, None, (nulls, nans, 0)))
            variants.append((low, high, (0 if nulls + rows < 0 else rows + 3, nans, rows)))
        for one_low, one_high, count in variants:
            lower.append(one_low)
            upper.append(one_high)
            counts.append(count)
            holds.append(file)
    stored: list[pa.Array | None] = [None, None]
    if pa.types.is_floating(t):  # NaN among stored bounds, beside real values
        stored = [pa.array([NAN, 5.0]), pa.array([-9.0, NAN])]
        counts += [(0, 0, 1), (0, 0, 1)]
        holds += [(2,), (2,)]
    held_mask = np.zeros((len(holds), len(values)), np.bool_)
    for i, file in enumerate(holds):
        held_mask[i, list(file)] = True
    columns = [pa.array([c[k] for c in counts], pa.int64()) for k in range(3)]
    return len(holds), held_mask, ((pa.array(lower, t), stored[0]), (pa.array(upper, t), stored[1]), *columns)


def _recipes(t: pa.DataType, values: list[Any], more: list[Any]) -> Iterator[tuple[Any, ...]]:
    literals = [*values, *more, None]
    leaves: list[tuple[Any, ...]] = [
        ("cmp", op, v) for op in ("=", "!=", "<", "<=", ">", ">=", "<=>") for v in literals
    ]
    leaves += [("null",), ("true", None), ("true", True), ("true", False), ("in",), ("in", None)]
    leaves += [("in", a, b) for a, b in zip(literals, [*literals[3:], *literals[:3]], strict=True)]
    many = [*values, *more, *_filler(t)]
    leaves += [("in", *many), ("in", *_filler(t)), ("in", values[-1], *_filler(t)), ("in", *many, None)]
    if pa.types.is_floating(t):
        leaves.append(("nan",))
    if pa.types.is_string(t):
        leaves += [("prefix", p) for p in ("", "a", "b", "\U0010ffff", "\ud7ff")]
    for leaf in leaves:
        yield leaf
        yield ("not", leaf)
    some = [leaves[i] for i in range(0, len(leaves), max(1, len(leaves) // 2))] + [("true", None), ("null",)]
    some += [("cmp", ">", values[-1]), ("cmp", "<=", values[0]), ("cmp", ">=", values[0])]
    for a, b in itertools.product(some, repeat=2):
        for joined in (("and", a, b), ("or", a, ("not", b))):
            yield joined
            yield ("not", joined)


def _filler(t: pa.DataType) -> list[Any]:
    """Values of the type that no file holds, so many that lists are searched rather than compared."""
    if pa.types.is_string(t):
        return [f"x{i:02}" for i in range(18)]
    if pa.types.is_date(t):
        return [dt.date(2021, 1, 1 + i) for i in range(18)]
    if pa.types.is_timestamp(t):
        return [MOMENT.replace(tzinfo=None if t.tz is None else ZONE) + dt.timedelta(days=9 + i) for i in range(18)]
    if pa.types.is_decimal(t):
        return [Decimal(100 + i) for i in range(18)]
    return [100.0 + i for i in range(18)] if pa.types.is_floating(t) else [100 + i for i in range(18)]


def build(recipe: tuple[Any, ...]) -> Any:
    x = expressions
    a = x.ColumnRef(("a",))
    match recipe:
        case ("cmp", op, value):
            return x.Comparison(a, x.Op(op), x.Literal(value))
        case ("null",):
            return x.IsNull(a)
        case ("nan",):
            return x.IsNan(a)
        case ("true", value):
            return x.Constant(value)
        case ("in", *values):
            return x.In(a, tuple(x.Literal(v) for v in values))
        case ("prefix", prefix):
            return x.StartsWith(a, prefix)
        case ("not", child):
            return x.Not(build(child))
        case ("and", *parts):
            return x.And(tuple(build(p) for p in parts))
        case ("or", *parts):
            return x.Or(tuple(build(p) for p in parts))
    raise AssertionError(recipe)


UNCOMPARED = "uncompared"


def _answer(p: Any, value: Any) -> Any:
    """TRUE, FALSE, NULL; a zoned moment against one without, and long against a far double: whatever an engine says, so
    no answer is wrong but True."""
    try:
        return expressions.matches(p, {"a": value})
    except (TypeError, ValueError):
        return UNCOMPARED


def _answers(p: Any, values: list[Any]) -> list[Any]:
    return [_answer(p, v) for v in values]


def _ieee(p: Any, value: Any) -> bool | None:
    """The same in an engine where NaN equals nothing, is neither less nor greater, and isnan(NULL) is NULL."""
    x = expressions

    def leaf(node: Any) -> bool | None:
        nan = isinstance(value, float) and math.isnan(value)
        match node:
            case x.Comparison():
                if node.op is x.Op.NULL_SAFE_EQ or node.value.is_null or not (nan or node.value.is_nan):
                    return x.matches(node, {"a": value})
                return None if value is None else node.op is x.Op.NE
            case x.In():
                if value is None and node.values:
                    return None
                found = [lit for lit in node.values if not lit.is_null]
                if not nan and any(not lit.is_nan and x.compare_values(value, lit.value) == 0 for lit in found):
                    return True
                return None if len(found) < len(node.values) else False
            case x.IsNan():
                return None if value is None else nan
        return x.matches(node, {"a": value})

    def conjoin(parts: list[bool | None]) -> bool | None:
        return False if False in parts else None if None in parts else True

    def disjoin(parts: list[bool | None]) -> bool | None:
        return True if True in parts else None if None in parts else False

    return p.fold(leaf, lambda v: None if v is None else not v, conjoin, disjoin)


def _wrong_rounding(x: Any) -> str | None:
    """Times finer or coarser than microseconds, and an opaque leaf: what the pools cannot say."""
    a = x.ColumnRef(("a",))
    nanos = pa.array([1500], pa.int64()).view(pa.timestamp("ns"))
    bounds = (x.to_physical(nanos, pa.timestamp("ns"), upper=u) for u in (False, True))
    one = x.ArrowStatistics(1, {a: x.ColumnBounds(pa.timestamp("ns"), *bounds)})
    later = x.Comparison(a, x.Op.GT, x.Literal(dt.datetime(1970, 1, 1, 0, 0, 0, 1)))
    if not x.may_match(later, one)[0]:
        return "nanoseconds"
    seconds = pa.array([2**62], pa.int64()).view(pa.timestamp("s"))
    if x.to_physical(seconds, pa.timestamp("s"), upper=True).null_count == 0:
        return "seconds beyond microseconds"
    far = x.ArrowStatistics(1, {a: x.ColumnBounds(pa.int64(), pa.array([FAR + 1]), pa.array([FAR + 1]))})
    if not x.may_match(x.Comparison(a, x.Op.EQ, x.Literal(float(FAR))), far)[0]:
        return "a long against a far double, equal as doubles"
    zoned = x.ColumnBounds(pa.timestamp("us", tz="UTC"), pa.array([0], pa.int64()), pa.array([0], pa.int64()))
    local = x.Comparison(a, x.Op.GT, x.Literal(dt.datetime(1970, 1, 1)))
    if not x.may_match(local, x.ArrowStatistics(1, {a: zoned}))[0]:
        return "a moment without zone for a column of instants"
    tenth = x.ArrowStatistics(1, {a: x.ColumnBounds(pa.float64(), pa.array([0.1]), pa.array([0.1]))})
    if not x.may_match(x.Comparison(a, x.Op.EQ, x.Literal(Decimal("0.1"))), tenth)[0]:
        return "a decimal that engines round to the column's double"
    nan = x.to_physical(pa.array([NAN]), pa.float64(), upper=True)
    if nan.null_count == 0:
        return "NaN as a bound"
    opaque = x.Opaque("f(a)")
    for p in (opaque, x.Not(opaque)):
        if not x.may_match(p, far)[0] or x.must_match(p, far)[0]:
            return "opaque"
    return None


def _wrong_prefix(x: Any) -> str | None:
    a = x.ColumnRef(("a",))
    for prefix, value in [
        ("\ud7ff", "\ud7ffz"),
        ("a\U0010ffff", "a\U0010ffff\U0010ffff"),
        ("\U0010ffff", "\U0010ffff\U0010ffff"),
    ]:
        bound = pa.array([value.encode()])
        one = x.ArrowStatistics(1, {a: x.ColumnBounds(pa.string(), bound, bound)})
        if not x.may_match(x.StartsWith(a, prefix), one)[0]:
            return f"prefix {prefix!r}"
    return None
