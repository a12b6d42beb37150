"""Conditions of engines whose literals are awkward to print: long texts, quotes, other alphabets, zones, digits. They
are read by structure, so rows are those of pyarrow's own filter, and never an error."""

import datetime as dt
import functools
import math
import operator
import zoneinfo
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg import expressions as ice

import metaindex as mi
from metaindex.expressions import Opaque, bind, to_arrow
from metaindex.expressions.engines.arrow_reading import from_arrow
from tests.duck import connected
from tests.evaluate import matches
from tests.tables import catalog_in, settled

TEXTS = ["", "a'b", 'a"b', "a\\b", "a\nb", "%_", "\x00", "é" * 60, "x" * 99 + "é", "日本" * 40, "x" + "日本" * 200,
    "😀" * 30, "NULL", "...]", "`"]  # fmt: skip
ZONES = [dt.UTC, dt.timezone(dt.timedelta(hours=5, minutes=45)), zoneinfo.ZoneInfo("Europe/Berlin")]
MOMENTS = [dt.datetime(2024, 10, 27, 2, 30, tzinfo=zone, fold=fold) for zone in ZONES for fold in (0, 1)]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "s": (pa.string(), TEXTS),
    "b": (pa.binary(), [text.encode() for text in TEXTS] + [b"\xff" * 120]),
    "f": (pa.float64(), [math.nan, 0.1, 1 / 3, 1e300, -math.inf, 123456.789012345]),
    "d": (pa.decimal128(38, 18), [Decimal("0.1"), Decimal("12345678901234567890.123456789012345678")]),
    "i": (pa.int64(), [2**63 - 1, -(2**63), 2**53 + 1]),
    "z": (pa.timestamp("us", "UTC"), MOMENTS),
    "n": (pa.timestamp("ns"), [dt.datetime(2024, 1, 1, 0, 0, 0, 1)]),
    "t": (pa.time64("us"), [dt.time(10, 30, 0, 1), dt.time.max]),
}
TABLE = pa.table(
    {name: pa.array([*values[:15], *[None] * (20 - len(values[:15]))], t) for name, (t, values) in VALUES.items()}
)


def _leaf(name: str) -> st.SearchStrategy[pc.Expression]:
    t, values = VALUES[name]
    field, scalar = pc.field(name), st.sampled_from(values).map(lambda v: pa.scalar(v, t))
    ops = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
    several = st.lists(st.sampled_from(values), min_size=1, max_size=24).map(lambda some: field.isin(pa.array(some, t)))
    found = [st.builds(lambda op, v: op(field, v), st.sampled_from(ops), scalar), several, st.just(field.is_null())]
    if name == "s":
        found.append(st.sampled_from(values).map(lambda v: pc.starts_with(field, v)))
    return st.one_of(found)


_CONDITIONS = st.recursive(
    st.sampled_from(sorted(VALUES)).flatmap(_leaf),
    lambda inner: st.one_of(
        inner.map(operator.invert),
        st.lists(inner, min_size=2, max_size=4).map(lambda some: functools.reduce(operator.and_, some)),
        st.lists(inner, min_size=2, max_size=4).map(lambda some: functools.reduce(operator.or_, some)),
    ),
    max_leaves=6,
)


@given(_CONDITIONS)
def test_rows_are_those_of_pyarrows_own_filter(condition: pc.Expression) -> None:
    found = from_arrow(condition, TABLE.schema)
    assert not any(isinstance(one, Opaque) for one in found.leaves())
    known = bind(found, TABLE.schema)
    expected = TABLE.filter(condition).to_pylist()
    assert repr([row for row in TABLE.to_pylist() if matches(known, row)]) == repr(expected)
    assert repr(TABLE.filter(to_arrow(known, TABLE.schema)).to_pylist()) == repr(expected)


def test_what_python_has_no_time_for_is_opaque() -> None:
    for scalar in (
        pa.scalar(2**62, pa.timestamp("us")),
        pa.scalar(1, pa.timestamp("ns")),
        pa.scalar(1, pa.time64("ns")),
    ):
        for condition in (pc.field("n") == scalar, pc.field("n").isin(pa.array([scalar])), ~(pc.field("n") < scalar)):
            assert any(isinstance(one, Opaque) for one in from_arrow(condition).leaves())
    assert isinstance(from_arrow(pc.field(0) == "é" * 200), Opaque)  # a field by number, and a text that pyarrow cuts


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    folder: Path = tmp_path_factory.mktemp("awkward")
    settled(folder, {f"{n}.parquet": pa.table({"n": [n], "s": [text]}) for n, text in enumerate(TEXTS)})
    table = mi.open_table(str(folder), config=mi.Config(builder="local"))
    table.create_index("i", mi.ColumnStats())
    return table


@pytest.mark.parametrize("k", [*range(1, 12), 49, 97, 98, 99, 100])
def test_long_lists_of_texts_find_their_rows(lake: mi.Table, k: int) -> None:
    others = ["x" * k + "日本" * 20, "x" * k + "é" * 40, "x" * k + "'😀" * 30] * 4
    condition = pc.field("s").isin(pa.array([*others, TEXTS[9]]))
    assert lake.prune(condition).kept_files < len(TEXTS)
    assert lake.scan(condition).to_arrow()["n"].to_pylist() == [9]
    assert lake.scan().to_dataset().to_table(filter=condition)["n"].to_pylist() == [9]
    quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in [*others, TEXTS[9]])
    with connected() as con:
        found = lake.scan().to_duckdb(con).filter(f"s IN ({quoted})").project("n").fetchall()
    assert found == [(9,)]


def test_an_expression_of_pyiceberg_gives_pyicebergs_rows(tmp_path: Path) -> None:
    catalog = catalog_in(tmp_path)
    made = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("s", pa.string())]))
    made.append(pa.table({"id": [1, 2, 3], "s": ["a", None, "b"]}))
    table = mi.open_table(made.metadata_location)
    for e in (ice.NotEqualTo("s", "b"), ice.NotIn("s", {"b"}), ice.NotIn("s", {"b", "q"}), ice.NotStartsWith("s", "b"),
        ice.Not(ice.EqualTo("s", "b")), ice.Not(ice.In("s", {"b", "q"})),
        ice.Not(ice.StartsWith("s", "b"))):  # fmt: skip
        own = made.scan(e).to_arrow()["id"].to_pylist()
        assert table.scan(e).to_arrow()["id"].to_pylist() == own, e
        assert table.scan(e).to_pyiceberg().to_arrow()["id"].to_pylist() == own, e
        assert table.scan().to_pyiceberg().filter(e).to_arrow()["id"].to_pylist() == own, e
    catalog.engine.dispose()
