"""Filters are read by the type of the column; what cannot be read keeps every file."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from metaindex.formats import Field, Schema
from metaindex.serve import Refusal
from metaindex.serve.filters import MOST_LEAVES, MOST_VALUES, read_filter, text_of
from tests.serve.lake import leaf

U = UUID("00000000-0000-0000-0000-00000000004a")
TYPES: dict[str, pa.DataType] = {
    "b": pa.bool_(),
    "i": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "dec": pa.decimal128(9, 2),
    "day": pa.date32(),
    "ts": pa.timestamp("us"),
    "tz": pa.timestamp("us", "UTC"),
    "t": pa.time64("us"),
    "ns": pa.timestamp("ns"),
    "s": pa.string(),
    "bin": pa.binary(),
    "fx": pa.binary(2),
    "u": pa.uuid(),
    "V": pa.string(),
    "a.b": pa.int32(),
}


def schema() -> Schema:
    fields = [Field(name, of, True) for name, of in TYPES.items()]
    inner = (Field("x", pa.int32(), True), Field("y", pa.string(), True))
    struct = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.string())])
    return Schema((*fields, Field("st", struct, True, children=inner)))


def terms(said: Any, **how: Any) -> list[Any]:
    return list(read_filter(said, schema(), **how).terms.values())


HALF_PAST = 1_767_360_600_000_000
VALUES = [
    ("b", True, True),
    ("i", 37, 37),
    ("l", "37", 37),  # a literal of text that was never bound
    ("f", 0.1, 0.10000000149011612),
    ("d", 37.0, 37.0),
    ("d", 37, 37.0),
    ("d", "37.0", 37.0),  # pyiceberg, of a parsed text
    ("d", "Infinity", float("inf")),
    ("dec", "0.37", Decimal("0.37")),
    ("dec", 3, Decimal(3)),
    ("day", 20455, 20455),  # Java: days
    ("day", "2026-01-02", 20455),  # pyiceberg: text
    ("day", 3_000_000, 3_000_000),  # beyond Python's calendar
    ("ts", HALF_PAST, HALF_PAST),
    ("ts", "2026-01-02T13:30:00", HALF_PAST),
    ("tz", "2026-01-02T13:30:00", HALF_PAST),  # pyiceberg leaves out the zone of UTC
    ("tz", "2026-01-02T14:30:00+01:00", HALF_PAST),
    ("t", "00:00:01.5", 1_500_000),
    ("s", "0025", "0025"),  # no bytes in hexadecimal
    ("bin", "0025", b"\x00\x25"),
    ("bin", "004A", b"\x00\x4a"),
    ("bin", "004a", b"\x00\x4a"),
    ("fx", "0025", b"\x00\x25"),
    ("u", str(U), U.bytes),
    ("st.x", 37, 37),
    ("a.b", 37, 37),
    ("s", {"type": "literal", "value": "x"}, "x"),
]


@pytest.mark.parametrize(("column", "said", "value"), VALUES)
def test_a_value_is_read_by_the_type_of_its_column(column: str, said: Any, value: Any) -> None:
    (read,) = terms(leaf("eq", said, column))
    assert read.values == (value,)
    (read,) = terms(leaf("in", [said, said], {"type": "reference", "term": column}))
    assert read.values == (value, value)
    assert (
        not read_filter(leaf("eq", said, column), schema()).for_pruning(schema(), "UTC").has_opaque or said == 3_000_000
    )


UNREAD = [
    leaf("eq", "x", "i"),
    leaf("eq", 1.5, "i"),
    leaf("eq", True, "i"),
    leaf("eq", None, "s"),
    leaf("eq", 5, "s"),
    leaf("eq", 0.1, "dec"),  # a number of JSON has lost its digits
    leaf("eq", "3.249", "dec"),  # pyiceberg rounds it, Java refuses it
    leaf("eq", "NaN", "dec"),
    leaf("eq", "1e999999999", "dec"),
    leaf("eq", "2026-13-40", "day"),
    leaf("eq", 2**70, "ts"),
    leaf("eq", "2026-01-02T13:30:00+01:00", "ts"),
    leaf("eq", 1, "ns"),
    leaf("eq", "zz", "bin"),
    leaf("eq", 1, "nobody"),
    leaf("eq", 1, "st"),
    leaf("eq", 1, "I"),
    leaf("starts-with", 5, "i"),
    leaf("in", "abc", "s"),
    leaf("eq", 1, {"type": "transform", "transform": "folded[3]", "term": "i"}),
    leaf("eq", 1, {"type": "transform", "transform": "bucket[3]", "term": {"type": "reference"}}),
    leaf("eq", 1e300, "f"),
    {"type": "like", "term": "s", "value": "%x"},
    {"type": "eq", "term": "s"},
    {"type": "eq", "term": 5, "value": 5},
    {"type": "st-intersects", "term": "s", "value": {}},
]


@pytest.mark.parametrize("said", UNREAD, ids=str)
def test_what_cannot_be_read_keeps_every_file(said: Any) -> None:
    for whole in (said, {"type": "not", "child": said}):
        read = read_filter(whole, schema())
        assert not read.terms
        assert read.for_pruning(schema(), "UTC").has_opaque


@pytest.mark.parametrize("said", [None, 5, "true", [], {}, {"type": 5}, {"type": "and", "left": 5, "right": True}])
def test_what_is_no_expression_is_refused(said: Any) -> None:
    with pytest.raises(Refusal, match="a filter is an expression"):
        read_filter(said, schema())


def test_constants_stand_bare_or_by_name() -> None:
    for said in (True, {"type": "true"}, {"type": "literal", "value": True}, {"type": "not", "child": False}):
        assert str(read_filter(said, schema()).tree) == "Constant(value=True)"
    assert str(read_filter({"type": "not", "child": True}, schema()).tree) == "Constant(value=False)"


def test_not_is_pushed_to_the_leaves() -> None:
    both = {"type": "and", "left": leaf("lt", 5, "i"), "right": {"type": "not", "child": leaf("in", [1], "i")}}
    read = read_filter({"type": "not", "child": both}, schema())
    assert type(read.tree).__name__ == "Or"
    assert [(term.op, term.turned) for term in read.terms.values()] == [("gt-eq", True), ("in", False)]


def test_names_may_ignore_case_unless_two_are_alike() -> None:
    assert terms(leaf("eq", 5, "I"), case_sensitive=False)
    assert not terms(leaf("eq", 5, "I"))
    twice = Schema((Field("v", pa.int32(), True), Field("V", pa.int32(), True)))
    assert not read_filter(leaf("eq", 5), twice, case_sensitive=False).terms
    assert [*read_filter(leaf("eq", 5, "V"), twice, unsure={"w"}).terms]
    assert not read_filter(leaf("eq", 5, "V"), twice, unsure={"v"}).terms


def test_ten_thousand_levels_are_read_and_too_many_leaves_refused() -> None:
    deep: Any = leaf("eq", 5, "i")
    for _ in range(10_000):
        deep = {"type": "not", "child": deep}
    assert [term.op for term in terms(deep)] == ["eq"]
    with pytest.raises(Refusal, match="at most"):
        read_filter(leaf("in", [1] * (MOST_VALUES + 1), "i"), schema())
    for deep_side, other in (("left", "right"), ("right", "left")):
        chain: Any = leaf("eq", 5, "i")
        for _ in range(MOST_LEAVES - 1):
            chain = {"type": "or", deep_side: chain, other: leaf("eq", 5, "i")}
        assert len(terms(chain)) == MOST_LEAVES
        with pytest.raises(Refusal, match="at most"):
            read_filter({"type": "or", deep_side: chain, other: leaf("eq", 5, "i")}, schema())


@pytest.mark.parametrize(
    ("said", "wide"),
    [
        (leaf("not-eq", 5, "i"), "NULL"),  # some readers take it to be true of NULL
        (leaf("not-in", [5], "i"), "NULL"),
        (leaf("not-starts-with", "a", "s"), "NULL"),
        ({"type": "not", "child": leaf("gt", 5.0, "d")}, "NAN"),  # NaN is not greater to some
        (leaf("lt", 3_000_000_000, "l"), "NULL"),  # pyiceberg, in files from before the column was widened
        (leaf("in", [3_000_000_000], "l"), "2147483647"),
        (leaf("eq", 0.1, "d"), "0.10000000149011612"),
    ],
    ids=str,
)
def test_a_leaf_is_as_wide_as_the_widest_reader(said: Any, wide: str) -> None:
    from metaindex.expressions import to_sql

    assert wide in to_sql(read_filter(said, schema()).for_pruning(schema(), "UTC")).upper()


def test_dates_of_the_library_are_those_of_the_filter() -> None:
    predicate = read_filter(leaf("eq", 20455, "day"), schema()).for_pruning(schema(), "UTC")
    assert dt.date(2026, 1, 2) == predicate.value.value  # type: ignore[union-attr]


def test_java_gets_infinities_back_as_numbers() -> None:
    """It writes them as texts, and fails at such a text when it reads the residual."""
    either = {"type": "or", "left": leaf("eq", "Infinity", "D"), "right": leaf("in", ["-Infinity", 1.5], "f")}
    both = {"type": "and", "left": {"type": "not", "child": either}, "right": leaf("eq", "Infinity", "s")}
    text = text_of(both, schema())
    assert text.count("1e999") == 2
    assert '"value":1e999' in text
    assert "[-1e999,1.5]" in text
    assert json.loads(text)["right"] == leaf("eq", "Infinity", "s")
    assert json.loads(text_of(both, None)) == both
