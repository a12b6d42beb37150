"""Every guard of soundness matters: with any single one switched off in a copy of the package, a fixed corpus of files and predicates finds a wrong answer.

A mutation is a piece of source and what to put in its place. The piece must stand exactly once in the module: whoever rewrites a guard is told to bring
its mutation along. The corpus is every small file over a few values of every physical encoding, with exact, loose, partly unknown and self-contradicting
statistics, under every leaf over the same values, negated and joined.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import expressions

HOME = Path(expressions.__file__).parent
NAN, INF = math.nan, math.inf
FAR = 2**53

MUTATIONS: list[tuple[str, str, str]] = [
    # normalize: three values
    ("normalize.py", "some_null = some_null or part.value is None", "pass"),
    ("normalize.py", "Op.LT: Op.GE", "Op.LT: Op.GT"),
    ("normalize.py", "Op.GT: Op.LE", "Op.GT: Op.LT"),
    ("normalize.py", "Op.NE: Op.EQ", "Op.NE: Op.NE"),
    ("normalize.py", "return Constant(None if leaf.value is None else leaf.value != negated)", "return Constant(bool(leaf.value) != negated)"),
    ("normalize.py", "conjunctive = isinstance(node, And) != sign", "conjunctive = isinstance(node, And)"),
    ("normalize.py", "todo.append((node.child, not sign))", "todo.append((node.child, sign))"),
    ("normalize.py", "return (part.column, (part.value,)) if part.op is (Op.NE if negated else Op.EQ) else None", "return (part.column, (part.value,))"),
    ("normalize.py", "return _normal_leaf(leaf, True) if leaf.value.is_null else Not(leaf)", "return _normal_leaf(leaf, True)"),
    # skipping: what else may make a leaf TRUE, FALSE or NULL
    ("skipping.py", "_walk(p, statistics, negated=True, null_too=True)", "_walk(p, statistics, negated=True, null_too=False)"),
    ("skipping.py", "        elif self._conjunctive:", "        elif not self._conjunctive:"),
    ("skipping.py", "inside, negated or op in (Op.GT, Op.GE))", "inside, negated)"),
    ("skipping.py", "inside, negated or op in (Op.GT, Op.GE))", "inside, op in (Op.GT, Op.GE))"),
    ("skipping.py", "self.nan and other.nan", "False"),
    ("skipping.py", "if not isinstance(part, _Inequality):\n            self._take(part)\n        elif not self._conjunctive:", "if not isinstance(part, _Inequality):\n            self._take(part)\n        elif False:"),
    ("skipping.py", "inside = Interval(None, value)\n", "inside = Interval(None, value, high_open=True)\n"),
    ("skipping.py", "inside = Interval(value, None)\n", "inside = Interval(value, None, low_open=True)\n"),
    ("skipping.py", "if negated or op in (Op.NE, Op.LE):\n            return ask.some_value", "if op in (Op.NE, Op.LE):\n            return ask.some_value"),
    ("skipping.py", "return ask.constant(False) if op is Op.GT else ask.some_nan(column)", "return ask.constant(False)"),
    ("skipping.py", "return self._ask.any_of((self._ask.some_other(column, values), self._ask.some_nan(column)))", "return self._ask.some_other(column, values)"),
    ("skipping.py", "return self._ask.any_of((self._other(column, (value,)), self._ask.some_null(column)))", "return self._other(column, (value,))"),
    ("skipping.py", "return ask.any_of((ask.some_null(column), ask.some_between(column, _NUMBERS)))", "return ask.some_between(column, _NUMBERS)"),
    ("skipping.py", "return ask.any_of((ask.some_between(column, below), ask.some_between(column, above)))", "return ask.some_between(column, below)"),
    ("skipping.py", "return ask.any_of((ask.some_between(column, below), ask.some_between(column, above)))", "return ask.some_between(column, above)"),
    ("skipping.py", "if negated if len(values) == len(leaf.values) else self._null_too:", "if negated and len(values) == len(leaf.values):"),
    ("skipping.py", "return self._ask.any_of((answer, self._ask.some_null(column))) if self._null_too else answer", "return answer"),
    ("skipping.py", "return ask.some_value(leaf.column) if negated else ask.some_null(leaf.column)", "return ask.some_null(leaf.column)"),
    ("skipping.py", "case Opaque():\n                return ask.constant(True)", "case Opaque():\n                return ask.constant(not negated)"),
    ("skipping.py", "self._null_too if leaf.value is None", "False if leaf.value is None"),
    # arrow_statistics: what the statistics say against themselves
    ("arrow_statistics.py", "wrong = wrong | side.nan", "pass"),
    ("arrow_statistics.py", "wrong = lower.known & upper.known & lower.exceeds(upper)", "wrong = lower.known & False"),
    ("arrow_statistics.py", "rows_known = rows_known & ~(no_rows & (some_bound | (nulls > 0) | (nans > 0)))", "pass"),
    ("arrow_statistics.py", "nulls_known = nulls_known & ~too_many", "pass"),
    ("arrow_statistics.py", "full = rows_known & nulls_known & ~some_bound", "full = rows_known & nulls_known"),
    ("arrow_statistics.py", "full = rows_known & nulls_known", "full = nulls_known"),
    ("arrow_statistics.py", "empty | (nulls_known & (nulls == 0))", "empty | (nulls == 0)"),
    ("arrow_statistics.py", "self.no_value | (nans_known & (nans == 0))", "self.no_value | (nans == 0)"),
    ("arrow_statistics.py", "(not_numbers == rows)", "(not_numbers >= nans)"),
    ("arrow_statistics.py", "(numbers >= 0) & valid", "(numbers >= 0)"),
    # arrow_statistics: bounds that are not known, open ends, lists
    ("arrow_statistics.py", "out &= ~(self._upper.known & self._upper.below(inside.low, or_equal=inside.low_open))", "out &= ~self._upper.below(inside.low, or_equal=inside.low_open)"),
    ("arrow_statistics.py", "out &= ~(self._lower.known & self._lower.above(inside.high, or_equal=inside.high_open))", "out &= ~self._lower.above(inside.high, or_equal=inside.high_open)"),
    ("arrow_statistics.py", "self._upper.below(inside.low, or_equal=inside.low_open)", "self._upper.below(inside.low, or_equal=True)"),
    ("arrow_statistics.py", "self._lower.above(inside.high, or_equal=inside.high_open)", "self._lower.above(inside.high, or_equal=True)"),
    ("arrow_statistics.py", "below = self._upper.known & self._upper.below(point, or_equal=False)", "below = self._upper.known & self._upper.below(point, or_equal=True)"),
    ("arrow_statistics.py", "below = self._upper.known & self._upper", "below = self._upper"),
    ("arrow_statistics.py", "some |= ~(below | (self._lower.known & self._lower", "some |= ~(below | (self._lower"),
    ("arrow_statistics.py", "first = np.where(self._lower.known, self._lower.points_below(points, or_equal=False), 0)", "first = self._lower.points_below(points, or_equal=False)"),
    ("arrow_statistics.py", "last = np.where(self._upper.known, self._upper.points_below(points, or_equal=True), len(points))", "last = self._upper.points_below(points, or_equal=True)"),
    ("arrow_statistics.py", "self._upper.points_below(points, or_equal=True), len(points)", "self._upper.points_below(points, or_equal=False), len(points)"),
    ("arrow_statistics.py", "            out |= ~self.no_nan\n", "            pass\n"),
    ("arrow_statistics.py", "            if at is None:\n                return None\n", "            if at is None:\n                continue\n"),
    ("arrow_statistics.py", "same = self._lower.known & self._upper.known & self._lower.equals(self._upper)", "same = self._lower.equals(self._upper)"),
    ("arrow_statistics.py", "same = self._lower.known & self._upper.known & self._lower.equals(self._upper)", "same = self._lower.known & self._upper.known"),
    ("arrow_statistics.py", "among if nan_among else among & self.no_nan", "among"),
    ("arrow_statistics.py", "listed, values] if or_equal else [values, listed", "values, listed] if or_equal else [values, listed"),
    # physical: rounding outwards, refusing what engines compare otherwise
    ("physical.py", "return down + (raw - down * by != 0) if upper else down", "return down"),
    ("physical.py", "0.0 if upper else -0.0, doubles)", "0.0, doubles) + np.where(doubles == 0, 5e-324 * (not upper), 0.0)"),
    ("physical.py", "        valid = ~nan if valid is None else valid & ~nan\n", "        doubles = np.where(nan, 0.0, doubles)\n"),
    ("physical.py", "if inexact_beyond and abs(value) >= _EXACT_INTEGERS:", "if False:"),
    ("physical.py", "place.value, interval.low_open or not place.exact", "place.value, interval.low_open and place.exact"),
    ("physical.py", "place.value, interval.high_open and place.exact", "place.value, interval.high_open"),
    ("physical.py", "            empty = place is _Outside.ABOVE", "            empty = True"),
    ("physical.py", "empty = empty or place is _Outside.BELOW", "empty = True"),
    ("physical.py", "(low == high and (low_open or high_open))", "low == high"),
    ("physical.py", "_At(double) if math.isfinite(double) and Decimal(double) == value else None", "_At(math.nextafter(double, math.inf))"),
    ("physical.py", "rows[:, 0] ^= 0x80", "pass"),
    ("physical.py", "return (unscaled + 2**127).to_bytes(16, \"big\")", "return unscaled.to_bytes(16, \"big\", signed=True)"),
    ("physical.py", "if (value.utcoffset() is None) != (t.tz is None):\n                return None", "value = value.replace(tzinfo=None if t.tz is None else dt.timezone(dt.timedelta(hours=5)))"),
    ("physical.py", "exact=value.time() == dt.time(0)", "exact=True"),
    ("physical.py", "0xE000 if points[-1] == 0xD7FF else points[-1] + 1", "points[-1]"),
    ("physical.py", "    while points and points[-1] == 0x10FFFF:\n        points.pop()\n", "    points = [min(p, 0x10FFFE) for p in points]\n"),
    ("physical.py", "else _WIDE.scaleb(number, scale)", "else number"),
    ("physical.py", "limit = INT64_MAX // factor", "limit = INT64_MAX"),
]  # fmt: skip


DEPENDENTS = {
    "physical": ("physical", "arrow_statistics", "skipping"),
    "normalize": ("normalize", "skipping"),
    "arrow_statistics": ("arrow_statistics",),
    "skipping": ("skipping",),
}
"""Which modules are copied when one is mutated: itself, and those that take functions from it. The classes of nodes and literals stay the package's own."""


def mutated(number: int, module: str, old: str, new: str) -> SimpleNamespace:
    """The package's functions, with those of the mutated copies in their place."""
    out = vars(expressions).copy()
    copied = DEPENDENTS[module]
    for name in copied:
        source = (HOME / f"{name}.py").read_text()
        if name == module:
            assert source.count(old) == 1, f"{name} holds this {source.count(old)} times, a mutation needs once: {old}"
            source = source.replace(old, new)
        for other in copied:
            source = source.replace(f"from .{other} import", f"from mutant{number}_{other} import")
        copy = ModuleType(f"mutant{number}_{name}")
        copy.__package__ = "expressions"
        sys.modules[copy.__name__] = copy
        exec(compile(source, copy.__name__, "exec"), vars(copy))
        out |= {key: value for key, value in vars(copy).items() if not key.startswith("__")}
    return SimpleNamespace(**out)


@pytest.fixture
def forget_copies() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith("mutant")]:
        del sys.modules[name]


# The corpus ---------------------------------------------------------------------------------------------------

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
        p = self.predicates[i]
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
    """TRUE, FALSE, NULL; a zoned moment against one without, and long against a far double: whatever an engine says, so no answer is wrong but True."""
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

    return x.fold(p, leaf, lambda v: None if v is None else not v, conjoin, disjoin)


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


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus()


def test_the_package_itself_is_never_wrong(corpus: Corpus) -> None:
    assert corpus.wrong(expressions) is None


@pytest.mark.usefixtures("forget_copies")
def test_every_guard_switched_off_is_found(corpus: Corpus) -> None:
    survivors = []
    for number, (module, old, new) in enumerate(MUTATIONS):
        if corpus.wrong(mutated(number, module.removesuffix(".py"), old, new)) is None:
            survivors.append(f"{module}: {old!r} -> {new!r}")
    assert survivors == []
