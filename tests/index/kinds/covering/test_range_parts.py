"""A part of ranges that is left out holds no row that matches."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.expressions import And, ColumnRef, Predicate, col
from metaindex.index.kinds.covering.range_parts import SaidColumn, parts_left
from metaindex.index.kinds.served import StoredPart
from metaindex.index.kinds.values.encoding import as_bytes, encode_values
from metaindex.index.store.layout import PartInfo
from tests.evaluate import matches

VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "long": (pa.int64(), st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1)),
    "text": (pa.string(), st.text("ab\x00é", max_size=4)),
    "long text": (
        pa.string(),
        st.builds(lambda n, end: "p" * n + end, st.integers(244, 260), st.text("az", max_size=6)),
    ),
    "double": (pa.float64(), st.floats()),
    "date": (pa.date32(), st.dates()),
}


def of_c(type_: pa.DataType) -> dict[ColumnRef, SaidColumn]:
    return {ColumnRef(("c",)): SaidColumn(0, type_)}


def part(number: int, values: pa.Array) -> StoredPart:
    keys = as_bytes(encode_values(values, values.type)).to_pylist()
    bounds = ["" if key is None else key.hex() for key in (keys[0], keys[-1])]
    return StoredPart(PartInfo("covering", f"{number}.mix", len(keys), 1, 1, "", 1, 1, *bounds), None)


def in_order(values: list[Any], type_: pa.DataType) -> list[Any]:
    """As Spark sorts: NULL first, NaN last."""
    if pa.types.is_string(type_):  # keys of long texts end in a hash
        return sorted(values, key=lambda v: (v is not None, (v or "").encode()))
    key = {
        repr(v): k
        for v, k in zip(values, as_bytes(encode_values(pa.array(values, type_), type_)).to_pylist(), strict=True)
    }
    return sorted(values, key=lambda v: (v is not None, key[repr(v)] or b""))


@st.composite
def cases(draw: st.DrawFn) -> tuple[pa.DataType, list[Any], int, list[Predicate]]:
    type_, some = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    values = draw(st.lists(st.none() | some, min_size=1, max_size=12))
    asked = st.sampled_from([v for v in values if v is not None]) | some if any(v is not None for v in values) else some
    one = draw(asked)
    other = draw(asked)
    c = col("c")
    every = [
        c == one,
        c != one,
        c < one,
        c <= one,
        c > one,
        c >= one,
        c.isin([one, other]),
        c.is_null(),
        c.is_not_null(),
        ~(c < one),
        (c > one) | (c == other),
        (c >= one) & (c <= other),
    ]
    return type_, values, draw(st.integers(1, 4)), draw(st.lists(st.sampled_from(every), min_size=1, max_size=2))


@given(cases())
def test_no_matching_row_is_left_out(case: tuple[pa.DataType, list[Any], int, list[Predicate]]) -> None:
    type_, values, size, conjuncts = case
    ordered = in_order(values, type_)
    pieces = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    parts = [part(number, pa.array(piece, type_)) for number, piece in enumerate(pieces)]
    kept = {one.path for one in parts_left(parts, conjuncts, of_c(type_))}
    for number, piece in enumerate(pieces):
        if any(matches(And(tuple(conjuncts)), {"c": value}) for value in piece):
            assert f"{number}.mix" in kept


def test_a_range_leaves_one_part() -> None:
    parts = [part(n, pa.array([10 * n, 10 * n + 9], pa.int64())) for n in range(5)]
    left = parts_left(parts, [col("c") >= 20, col("c") < 30], of_c(pa.int64()))
    assert [one.path for one in left] == ["2.mix"]
    assert parts_left(parts, [col("x") == 3], of_c(pa.int64())) == parts


@pytest.mark.parametrize("type_", [pa.int64(), pa.string(), pa.float64()], ids=str)
def test_a_bound_of_a_part_is_in_it(type_: pa.DataType) -> None:
    bounds = pa.array(["2", "2", "4", "6"]).cast(type_)
    parts = [part(0, bounds[:2]), part(1, bounds[2:])]
    two, four, six = (one.as_py() for one in bounds[1:])
    c = col("c")
    for asked, number in (
        (c == two, 0),
        (c == four, 1),
        (c == six, 1),
        (c >= six, 1),
        (c <= two, 0),
        (c.isin([six]), 1),
    ):
        assert parts[number] in parts_left(parts, [asked], of_c(type_))


def test_a_long_text_is_in_one_of_the_parts_that_are_left() -> None:
    """Keys of 256 bytes and more end in a hash, which has no order: neither a value nor a bound tells more than its
    first 248 bytes."""
    values = sorted("p" * 250 + f"{number:02}" + "q" * (number % 3 * 10) for number in range(60))
    parts = [part(at, pa.array(values[at * 6 : at * 6 + 6])) for at in range(10)]
    for number, value in enumerate(values):
        for asked in (col("c") == value, col("c").isin([value, "a"])):
            left = parts_left(parts, [asked], of_c(pa.string()))
            assert parts[number // 6] in left


def test_a_part_of_which_nothing_is_known_is_left_whatever_is_asked() -> None:
    known = part(0, pa.array([1, 2], pa.int64()))
    unknown = replace(known, info=replace(known.info, path="1.mix", least=None, greatest=None))
    c = col("c")
    for asked in (c == 7, c > 7, c.isin([7]), c.is_null(), c.is_not_null(), ~(c == 1)):
        assert unknown in parts_left([known, unknown], [asked], of_c(pa.int64()))
    assert parts_left([known, unknown], [c.is_null()], of_c(pa.int64())) == [unknown]
