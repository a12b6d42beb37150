"""Two filters share a key only where they mean the same of the same columns."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.expressions.evaluate import matches
from metaindex.expressions.literals import Literal
from metaindex.expressions.tree import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNull,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)
from metaindex.formats.model import Field, Schema
from metaindex.pruning.condition import predicate_of
from metaindex.remembering.key import MOST_VALUES, FilterMeaning

INT, TEXT = pa.int64(), pa.string()
SCHEMA = Schema((Field("a", INT), Field("b", TEXT), Field("t", pa.timestamp("us", tz="UTC"))))
MEANING = FilterMeaning("table", "delta", SCHEMA, "UTC")


def key(text: str, meaning: FilterMeaning = MEANING) -> bytes | None:
    return meaning.key(predicate_of(text, meaning.schema, meaning.time_zone))


def test_the_same_said_otherwise_has_one_key() -> None:
    assert key("a = 1 AND b = 'x'") == key("b = 'x' AND a = 1") is not None
    assert key("a IN (1, 2, 2)") == key("a = 2 OR a = 1")
    assert key("NOT (a <= 1)") == key("a > 1")
    assert key("upper(b) LIKE '%X%'") == key("UPPER(b)  LIKE  '%X%'") is not None
    assert key("a BETWEEN 1 AND 3") == key("a >= 1 AND 3 >= a")


TEXTS = (
    "a = 1", "a = 2", "a <=> 1", "a != 1", "a < 1", "a IN (1, 2)", "a IN (1, NULL)", "a IS NULL", "a IS NOT NULL",
    "b = '1'", "b = 'a'", "b LIKE 'a%'", "b LIKE '%a'", "b LIKE '%a%'", "upper(b) LIKE '%A%'", "lower(b) LIKE '%A%'",
    "a + 1 > 2", "a + 2 > 2", "a - 1 > 2", "a = 1 AND b = 'a'", "a = 1 OR b = 'a'", "t > '2020-01-01'",
    "t > '2020-01-02'", "length(b) = 1", "length(b) > a", "b = 'ab' AND b LIKE '%c'", "b = 'a' AND b LIKE '%bc'",
)  # fmt: skip


def test_what_means_something_else_has_another_key() -> None:
    keys = [key(text) for text in TEXTS]
    assert None not in keys
    assert len(set(keys)) == len(TEXTS)


def test_another_column_type_table_zone_or_secret_has_another_key() -> None:
    mapped = Field("a", INT, field_id=7, stable="id:7", source="col-1")
    others = [
        MEANING,
        replace(MEANING, table_uuid="other"),
        replace(MEANING, format="iceberg"),
        replace(MEANING, time_zone="Europe/Paris"),
        replace(MEANING, secret=b"s" * 16),
        *(
            replace(MEANING, schema=Schema((field,)))
            for field in (
                mapped,
                replace(mapped, field_id=8, stable="id:8"),
                Field("a", pa.int32()),
                Field("a", INT, source="x"),
                Field("a", INT, default=5),
                Field("a", INT, default_known=False),
                Field("a", INT, partition=True),
                Field("a", INT, mapped=("a", "old")),
            )
        ),
    ]
    keys = [key("a = 1", meaning) for meaning in others]
    assert None not in keys
    assert len(set(keys)) == len(others)
    renamed = replace(MEANING, schema=Schema((replace(mapped, name="z"),)))
    assert key("z = 1", renamed) == key("a = 1", replace(MEANING, schema=Schema((mapped,))))


def test_what_nobody_knows_the_meaning_of_has_no_key() -> None:
    unknown = Opaque("rand() > 0.5")
    known = predicate_of("a = 1", SCHEMA, "UTC")
    assert MEANING.key(unknown) is None
    assert MEANING.key(And((unknown, known))) is None
    assert MEANING.keys(And((unknown, known))) == (MEANING.key(known),), "the other part stands for itself"
    assert MEANING.keys(Or((unknown, known))) == ()
    assert key("rand() > 0.5 AND a = 1") is None
    assert key(f"a IN ({', '.join(map(str, range(MOST_VALUES + 1)))})") is None
    assert MEANING.key(predicate_of("1 = 1", SCHEMA, "UTC")) is None


def test_a_deep_filter_is_no_trouble() -> None:
    leaf = predicate_of("a = 1", SCHEMA, "UTC")
    other = predicate_of("b = 'x'", SCHEMA, "UTC")
    assert isinstance(leaf, Comparison)
    deep: Predicate = leaf
    for _ in range(MOST_VALUES // 2 - 1):
        deep = Or((And((deep, other)), leaf))
    assert MEANING.key(deep) is not None


A, B = ColumnRef(("a",)), ColumnRef(("b",))
small = st.one_of(
    st.builds(Comparison, st.just(A), st.sampled_from(Op), st.sampled_from([1, 2, None]).map(Literal)),
    st.builds(In, st.just(A), st.lists(st.sampled_from([1, 2, None]).map(Literal), max_size=3).map(tuple)),
    st.builds(IsNull, st.sampled_from([A, B])),
    st.builds(StartsWith, st.just(B), st.sampled_from(["x", "xy"])),
    st.builds(Constant, st.sampled_from([True, False, None])),
)
trees = st.recursive(
    small,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=3,
)
ROWS = [{"a": a, "b": b} for a in (None, 0, 1, 2, 3) for b in (None, "", "x", "xyz")]


@given(st.lists(trees, min_size=30, max_size=60))
@settings(deadline=None, max_examples=50)
def test_filters_of_one_key_match_the_same_rows(some: list[Predicate]) -> None:
    """Those of the same few leaves, so that many share one."""
    told: dict[bytes, list[bool]] = {}
    for tree in some:
        found = MEANING.key(tree)
        if found is not None:
            rows = [matches(tree, row) is True for row in ROWS]
            assert told.setdefault(found, rows) == rows
