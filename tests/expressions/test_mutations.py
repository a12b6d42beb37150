"""Every guard of soundness matters: with any single one switched off in a copy of the package, a fixed corpus of files
and predicates finds a wrong answer.

A mutation is a piece of source and what to put in its place. The piece must stand exactly once in the module: whoever
rewrites a guard is told to bring its mutation along.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from metaindex.expressions import skipping

from .corpus import Corpus, expressions

HOME = Path(skipping.__file__).parent

MUTATIONS: list[tuple[str, str, str]] = [
    # normalize: three values
    ("normal_form.py", "some_null = some_null or part.value is None", "pass"),
    ("normal_form.py", "Op.LT: Op.GE", "Op.LT: Op.GT"),
    ("normal_form.py", "Op.GT: Op.LE", "Op.GT: Op.LT"),
    ("normal_form.py", "Op.NE: Op.EQ", "Op.NE: Op.NE"),
    ("normal_form.py", "return Constant(None if leaf.value is None else leaf.value != negated)",
        "return Constant(bool(leaf.value) != negated)"),
    ("normal_form.py", "conjunctive = isinstance(node, And) != sign", "conjunctive = isinstance(node, And)"),
    ("normal_form.py", "todo.append((node.child, not sign))", "todo.append((node.child, sign))"),
    ("normal_form.py", "return (part.column, (part.value,)) if part.op is (Op.NE if negated else Op.EQ) else None",
        "return (part.column, (part.value,))"),
    ("normal_form.py", "return _normal_leaf(leaf, True) if leaf.value.is_null else Not(leaf)",
        "return _normal_leaf(leaf, True)"),
    # skipping: what else may make a leaf TRUE, FALSE or NULL
    ("skipping.py", "_walk(p, statistics, negated=True, null_too=True)",
        "_walk(p, statistics, negated=True, null_too=False)"),
    ("skipping.py", "        elif self._conjunctive:", "        elif not self._conjunctive:"),
    ("skipping.py", "inside, negated or op in (Op.GT, Op.GE))", "inside, negated)"),
    ("skipping.py", "inside, negated or op in (Op.GT, Op.GE))", "inside, op in (Op.GT, Op.GE))"),
    ("skipping.py", "self.nan and other.nan", "False"),
    ("skipping.py",
        "if not isinstance(part, _Inequality):\n            self._take(part)\n        elif not self._conjunctive:",
        "if not isinstance(part, _Inequality):\n            self._take(part)\n        elif False:"),
    ("skipping.py", "inside = Interval(None, value)\n", "inside = Interval(None, value, high_open=True)\n"),
    ("skipping.py", "inside = Interval(value, None)\n", "inside = Interval(value, None, low_open=True)\n"),
    ("skipping.py", "if negated or op in (Op.NE, Op.LE):\n            return ask.some_value",
        "if op in (Op.NE, Op.LE):\n            return ask.some_value"),
    ("skipping.py", "return ask.constant(False) if op is Op.GT else ask.some_nan(column)",
        "return ask.constant(False)"),
    ("skipping.py", "return self._ask.any_of((self._ask.some_other(column, values), self._ask.some_nan(column)))",
        "return self._ask.some_other(column, values)"),
    ("skipping.py", "return self._ask.any_of((self._other(column, (value,)), self._ask.some_null(column)))",
        "return self._other(column, (value,))"),
    ("skipping.py", "return ask.any_of((ask.some_null(column), ask.some_between(column, _NUMBERS)))",
        "return ask.some_between(column, _NUMBERS)"),
    ("skipping.py", "return ask.any_of((ask.some_between(column, below), ask.some_between(column, above)))",
        "return ask.some_between(column, below)"),
    ("skipping.py", "return ask.any_of((ask.some_between(column, below), ask.some_between(column, above)))",
        "return ask.some_between(column, above)"),
    ("skipping.py", "if negated if len(values) == len(leaf.values) else self._null_too:",
        "if negated and len(values) == len(leaf.values):"),
    ("skipping.py", "return self._ask.any_of((answer, self._ask.some_null(column))) if self._null_too else answer",
        "return answer"),
    ("skipping.py", "return ask.some_value(leaf.column) if negated else ask.some_null(leaf.column)",
        "return ask.some_null(leaf.column)"),
    ("skipping.py", "case Opaque():\n                return ask.constant(True)",
        "case Opaque():\n                return ask.constant(not negated)"),
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
    ("arrow_statistics.py", "(numbers >= 0) & Vector(values).present", "(numbers >= 0)"),
    # arrow_statistics: bounds that are not known, open ends, lists
    ("arrow_statistics.py", "out &= ~(self._upper.known & self._upper.below(inside.low, or_equal=inside.low_open))",
        "out &= ~self._upper.below(inside.low, or_equal=inside.low_open)"),
    ("arrow_statistics.py", "out &= ~(self._lower.known & self._lower.above(inside.high, or_equal=inside.high_open))",
        "out &= ~self._lower.above(inside.high, or_equal=inside.high_open)"),
    ("arrow_statistics.py", "self._upper.below(inside.low, or_equal=inside.low_open)",
        "self._upper.below(inside.low, or_equal=True)"),
    ("arrow_statistics.py", "self._lower.above(inside.high, or_equal=inside.high_open)",
        "self._lower.above(inside.high, or_equal=True)"),
    ("arrow_statistics.py", "below = self._upper.known & self._upper.below(point, or_equal=False)",
        "below = self._upper.known & self._upper.below(point, or_equal=True)"),
    ("arrow_statistics.py", "below = self._upper.known & self._upper", "below = self._upper"),
    ("arrow_statistics.py", "some |= ~(below | (self._lower.known & self._lower", "some |= ~(below | (self._lower"),
    ("arrow_statistics.py", "first = np.where(self._lower.known, self._lower.points_below(points, or_equal=False), 0)",
        "first = self._lower.points_below(points, or_equal=False)"),
    ("arrow_statistics.py",
        "last = np.where(self._upper.known, self._upper.points_below(points, or_equal=True), len(points))",
        "last = self._upper.points_below(points, or_equal=True)"),
    ("arrow_statistics.py", "self._upper.points_below(points, or_equal=True), len(points)",
        "self._upper.points_below(points, or_equal=False), len(points)"),
    ("arrow_statistics.py", "            out |= ~self.no_nan\n", "            pass\n"),
    ("arrow_statistics.py", "            if at is None:\n                return None\n",
        "            if at is None:\n                continue\n"),
    ("arrow_statistics.py", "same = self._lower.known & self._upper.known & self._lower.equals(self._upper)",
        "same = self._lower.equals(self._upper)"),
    ("arrow_statistics.py", "same = self._lower.known & self._upper.known & self._lower.equals(self._upper)",
        "same = self._lower.known & self._upper.known"),
    ("arrow_statistics.py", "among if nan_among else among & self.no_nan", "among"),
    ("arrow_statistics.py", "listed, values] if or_equal else [values, listed",
        "values, listed] if or_equal else [values, listed"),
    # physical and places: rounding outwards, refusing what engines compare otherwise
    ("physical.py", "return down + (raw - down * by != 0) if upper else down", "return down"),
    ("physical.py", "0.0 if upper else -0.0, doubles)",
        "0.0, doubles) + np.where(doubles == 0, 5e-324 * (not upper), 0.0)"),
    ("physical.py", "        valid = ~nan if valid is None else valid & ~nan\n",
        "        doubles = np.where(nan, 0.0, doubles)\n"),
    ("places.py", "if inexact_beyond and abs(value) >= _EXACT_INTEGERS:", "if False:"),
    ("places.py", "place.value, interval.low_open or not place.exact",
        "place.value, interval.low_open and place.exact"),
    ("places.py", "place.value, interval.high_open and place.exact", "place.value, interval.high_open"),
    ("places.py", "            empty = place is _Outside.ABOVE", "            empty = True"),
    ("places.py", "empty = empty or place is _Outside.BELOW", "empty = True"),
    ("places.py", "(low == high and (low_open or high_open))", "low == high"),
    ("places.py", "_AtValue(double) if math.isfinite(double) and Decimal(double) == value else None",
        "_AtValue(math.nextafter(double, math.inf))"),
    ("physical.py", "rows[:, 0] ^= 0x80", "pass"),
    ("physical.py", "(whole + 2**127).to_bytes(16, \"big\")", "whole.to_bytes(16, \"big\", signed=True)"),
    ("places.py", "if (value.utcoffset() is None) != (t.tz is None):\n                return None",
        "value = value.replace(tzinfo=None if t.tz is None else dt.timezone(dt.timedelta(hours=5)))"),
    ("places.py", "exact=value.time() == dt.time(0)", "exact=True"),
    ("places.py", "0xE000 if points[-1] == 0xD7FF else points[-1] + 1", "points[-1]"),
    ("places.py", "    while points and points[-1] == 0x10FFFF:\n        points.pop()\n",
        "    points = [min(p, 0x10FFFE) for p in points]\n"),
    ("places.py", "else WIDE.scaleb(number, scale)", "else number"),
    ("physical.py", "limit = INT64_MAX // factor", "limit = INT64_MAX"),
]  # fmt: skip


DEPENDENTS = {
    "physical": ("physical", "places", "arrow_statistics", "skipping"),
    "places": ("places", "arrow_statistics", "skipping"),
    "normal_form": ("normal_form", "skipping"),
    "arrow_statistics": ("arrow_statistics",),
    "skipping": ("skipping",),
}
"""Which modules are copied when one is mutated: itself, and those that take functions from it. The classes of nodes and
literals stay the package's own."""


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
        copy.__package__ = "metaindex.expressions"
        sys.modules[copy.__name__] = copy
        exec(compile(source, copy.__name__, "exec"), vars(copy))
        out |= {key: value for key, value in vars(copy).items() if not key.startswith("__")}
    return SimpleNamespace(**out)


@pytest.fixture
def forget_copies() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith("mutant")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus()


@pytest.mark.slow
def test_the_package_itself_is_never_wrong(corpus: Corpus) -> None:
    assert corpus.wrong(expressions) is None


@pytest.mark.usefixtures("forget_copies")
@pytest.mark.slow
def test_every_guard_switched_off_is_found(corpus: Corpus) -> None:
    survivors = []
    for number, (module, old, new) in enumerate(MUTATIONS):
        if corpus.wrong(mutated(number, module.removesuffix(".py"), old, new)) is None:
            survivors.append(f"{module}: {old!r} -> {new!r}")
    assert survivors == []
