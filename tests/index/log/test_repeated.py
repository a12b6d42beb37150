"""What is made of JSON again is what was made of it before, and of no other JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import ArgumentError
from metaindex.index.log import fields
from metaindex.index.log.fields import Repeated

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES, lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=2), some, max_size=3)
)


@given(st.lists(VALUES, max_size=50))
def test_a_value_gives_what_it_gave_by_itself(values: list[object]) -> None:
    again = Repeated(json.dumps)
    for value in values * 2:
        assert again(json.loads(json.dumps(value))) == json.dumps(value)


def test_numbers_texts_and_truths_are_told_apart() -> None:
    again = Repeated(lambda value: f"{type(value).__name__} {value}")
    alike = [1, 1.0, "1", True, 0, 0.0, -0.0, False, "True", "0", None, "None"]
    assert [again(one) for one in alike] == [f"{type(one).__name__} {one}" for one in alike]


def test_what_was_made_is_given_again_and_what_is_raised_is_raised_again() -> None:
    made: list[object] = []

    def make(value: object) -> object:
        made.append(value)
        if value == "bad":
            raise ArgumentError("a value is good; this one is bad; give another")
        return object()

    again = Repeated(make)
    assert again([1, "a"]) is again([1, "a"])
    for _ in range(2):
        with pytest.raises(ArgumentError):
            again("bad")
    assert made == [[1, "a"], "bad", "bad"]


def test_few_and_short_ones_are_held() -> None:
    made: list[object] = []
    again = Repeated(made.append)
    long = "x" * fields._LONGEST
    for value in (long, long, *range(fields._HELD + 1), fields._HELD, 0):
        again(value)
    assert made == [long, long, *range(fields._HELD + 1), 0]
