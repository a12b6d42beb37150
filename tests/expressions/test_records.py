"""`metaindex.core.records.dataclass` makes what `dataclasses.dataclass` makes, wherever anyone looks."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from metaindex.core import dataclass as quick


def variants(make: Callable[..., Any]) -> dict[str, type]:
    """The same classes by either decorator."""

    @make(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        label: str = "p"
        tags: list[str] = field(default_factory=list, compare=False, repr=False)

    @make(frozen=True, slots=True, order=True)
    class Pair:
        """Ordered."""

        a: int
        b: str

    @make(frozen=True)
    class One:
        """One field."""

        only: tuple[int, ...]

    @make(frozen=True)
    class Nothing:
        """No field."""

    @make(slots=True)
    class Count:
        """May change."""

        reads: int = 0

        def __post_init__(self) -> None:
            self.reads += 1

    @make(frozen=True, eq=False, repr=False)
    class Thing:
        """Compared by identity."""

        name: str

    return {c.__name__: c for c in (Point, Pair, One, Nothing, Count, Thing)}


BOTH = [variants(dataclasses.dataclass), variants(quick)]
OURS = BOTH[1]


def same(look: Callable[[dict[str, type]], object]) -> None:
    theirs, ours = (look(found) for found in BOTH)
    assert theirs == ours


def test_they_compare_hash_and_print_alike() -> None:
    same(lambda c: c["Point"](1) == c["Point"](1, "p", ["not compared"]))
    same(lambda c: c["Point"](1) == c["Point"](2))
    same(lambda c: c["Point"](1) == (1, "p"))
    same(lambda c: c["One"]((1,)) == c["Nothing"]())
    same(lambda c: hash(c["Point"](1)) == hash(c["Point"](1)))
    same(lambda c: len({c["One"]((1,)), c["One"]((1,)), c["Nothing"](), c["Nothing"]()}))
    same(
        lambda c: repr([c["Point"](1, tags=["hidden"]), c["Pair"](1, "x"), c["One"](()), c["Nothing"](), c["Count"](3)])
    )
    same(lambda c: c["Count"].__hash__)
    same(lambda c: c["Thing"]("a") == c["Thing"]("a"))
    same(lambda c: repr(c["Thing"]("a")).startswith("<"))


def test_they_order_alike() -> None:
    same(lambda c: [dataclasses.astuple(p) for p in sorted(c["Pair"](a, b) for a, b in [(2, "a"), (1, "z"), (1, "b")])])
    same(
        lambda c: [
            c["Pair"](1, "a") <= c["Pair"](1, "a"),
            c["Pair"](1, "b") > c["Pair"](1, "a"),
            c["Pair"](0, "b") >= c["Pair"](1, "a"),
        ]
    )
    for classes in BOTH:
        with pytest.raises(TypeError, match="not supported"):
            _ = classes["Pair"](1, "a") < (1, "b")  # type: ignore[operator]


def test_the_standard_library_takes_them_for_its_own() -> None:
    same(lambda c: [f.name for f in dataclasses.fields(c["Point"])])
    same(lambda c: dataclasses.asdict(c["Point"](1, "q", ["t"])))
    same(lambda c: dataclasses.replace(c["Point"](1, "q"), x=7).x)  # type: ignore[type-var]
    same(lambda c: c["Point"].__match_args__)  # type: ignore[attr-defined]
    same(lambda c: list(inspect.signature(c["Point"]).parameters))
    same(lambda c: c["Count"]().reads)
    same(lambda c: c["Point"](1).tags is not c["Point"](1).tags)  # type: ignore[attr-defined]


def test_frozen_means_frozen() -> None:
    for classes in BOTH:
        point = classes["Point"](1)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
            point.x = 2  # type: ignore[attr-defined]
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
            del point.x  # type: ignore[attr-defined]
        count = classes["Count"](5)
        count.reads = 9  # type: ignore[attr-defined]
        assert count.reads == 9  # type: ignore[attr-defined]


def test_missing_and_unknown_arguments_are_refused() -> None:
    for classes in BOTH:
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            classes["Point"]()
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
            classes["Point"](1, z=2)


@quick(frozen=True, slots=True)
class Shipped:
    """At module level, as pickle wants it."""

    name: str
    parts: tuple[int, ...] = ()


def test_they_travel() -> None:
    sent = Shipped("a", (1, 2))
    assert pickle.loads(pickle.dumps(sent)) == sent
    assert copy.deepcopy(sent) == sent


def test_a_class_without_a_docstring_is_named() -> None:
    @quick
    class Bare:
        a: int

    assert Bare.__doc__ == "Bare"
    assert Bare(1) == Bare(1)
