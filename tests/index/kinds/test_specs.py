"""What a user asks of a kind, and its form in the log."""

from typing import Any

import pyarrow as pa
import pytest

from metaindex.core import DamagedIndexError, UnknownColumnError, UnsupportedFeatureError
from metaindex.formats import Field, Schema
from metaindex.index.kinds.bloom.spec import Bloom
from metaindex.index.kinds.column_stats.spec import ColumnStats
from metaindex.index.kinds.kind import Kind
from metaindex.index.kinds.registry import KINDS
from metaindex.index.kinds.sketches.spec import Sketches
from metaindex.index.kinds.sums.spec import Sums
from metaindex.index.kinds.values.spec import ValueList, Values
from metaindex.index.log.entry import KindSpec

SCHEMA = Schema(
    (
        Field("user", pa.int64()),
        Field("email", pa.string()),
        Field("s", pa.struct([("x", pa.int32())]), children=(Field("x", pa.int32()),)),
        Field("tags", pa.list_(pa.string())),
    )
)
SOME: list[Kind] = [
    ColumnStats(),
    ColumnStats("user", scan_floats=False, trust_log=True),
    Values("user"),
    Values("user", ("user", "email"), by="value"),
    Bloom("email", fpp=0.001),
    Bloom(("user", "email")),
    ValueList("email", limit=7),
]


@pytest.mark.parametrize("kind", SOME, ids=repr)
def test_a_kind_is_the_same_after_the_log(kind: Kind) -> None:
    assert KINDS.of(kind.spec()) == kind


@pytest.mark.parametrize("spec", [KindSpec("values", 2), KindSpec("covering_of_the_future", 1)])
def test_a_kind_that_is_not_known_is_refused_with_advice(spec: KindSpec) -> None:
    with pytest.raises(
        DamagedIndexError, match=rf"'{spec.name}' version {spec.version} is .*known.*upgrade meta"
    ) as said:
        KINDS.of(spec)
    assert len(str(said.value)) < 200, "a line, however many kinds there are"


def test_keys_are_planned_by_the_schema() -> None:
    planned = Values("USER", ("s.x", "email")).planned(SCHEMA)
    assert [[leaf.parts for leaf in key] for key in planned] == [[("user",)], [("s", "x"), ("email",)]]


def test_a_key_named_twice_is_one() -> None:
    assert Values("user", "user", ("user",)) == Values("user")


@pytest.mark.parametrize("key", [(), ("user", "user"), 7, ("user", 7), [["user"]], ["user", 7], ("user", ["email"])])
def test_what_is_no_key_is_refused(key: Any) -> None:
    with pytest.raises(TypeError, match="a key is a column, or a tuple of different columns"):
        Values(key)


@pytest.mark.parametrize("kind", [Values, Bloom, ValueList, Sums, Sketches, ColumnStats])
def test_a_list_is_its_columns_in_every_kind(kind: Any) -> None:
    assert kind(["user", "email"]) == kind("user", "email") == kind(["user"], ["email"])
    assert kind(["user", "email"]) != (kind(("user", "email")) if kind in (Values, Bloom, ValueList) else None)
    assert KINDS.of(kind(["user", "email"]).spec()) == kind("user", "email")


@pytest.mark.parametrize("kind", [Values, Bloom, ValueList])
def test_a_tuple_is_one_key_in_a_list_too(kind: Any) -> None:
    assert kind([("user", "email"), "user"]).keys == (("user", "email"), ("user",))
    assert KINDS.of(kind(("user", "email")).spec()).planned(SCHEMA) == kind(("user", "email")).planned(SCHEMA)


@pytest.mark.parametrize("kind", [Values, Bloom, ValueList])
def test_a_kind_without_keys_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match=f"{kind.__name__} keys at least one column"):
        kind()


def test_what_cannot_be_had_is_refused() -> None:
    with pytest.raises(ValueError, match="by 'hash' or by 'value'; got 'size'"):
        Values("user", by="size")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fpp is between"):
        Bloom("user", fpp=0)
    with pytest.raises(ValueError, match=r"limit is a number of values .* got 0; leave it out for 1,000"):
        ValueList("user", limit=0)


def test_columns_that_cannot_be_keyed_are_refused_by_name() -> None:
    with pytest.raises(UnknownColumnError, match="near names: user"):
        Values("usr").planned(SCHEMA)
    for kind in (Values("s"), Bloom("s"), ValueList("s")):
        with pytest.raises(UnknownColumnError, match=r"'s' is a struct; name one of its fields: s\.x"):
            kind.planned(SCHEMA)
    with pytest.raises((UnsupportedFeatureError, UnknownColumnError), match="tags"):
        Values("tags").planned(SCHEMA)
