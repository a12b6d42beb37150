"""Partition values: every escaping, NULL and empty text, typed as the protocol says."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.expressions import ColumnBounds, from_physical
from metaindex.formats.columns import map_values, text_map
from metaindex.formats.model import Snapshot, partition_text
from tests.formats.delta.hand import add, column, commit, leaf, log, metadata, protocol, snapshot


def made(tmp_path: Path, type_: str, *texts: str | None) -> tuple[Snapshot, ColumnBounds]:
    records = {"numRecords": 4}
    adds = [add(f"f{n}", stats=records, partitionValues={"p": text}) for n, text in enumerate(texts)]
    commit(tmp_path, 0, protocol(), metadata(column("id"), column("p", type_), partitions=["p"]), *adds)
    found = snapshot(tmp_path)
    bounds = found.details.partition_bounds(leaf(found, "p"))
    assert bounds is not None
    return found, bounds


def values(bounds: ColumnBounds, which: str = "lower") -> list[object]:
    return [from_physical(v, bounds.type) for v in getattr(bounds, which).to_pylist()]


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("integer", "-5", -5),
        ("long", "9223372036854775807", 2**63 - 1),
        ("boolean", "true", True),
        ("double", "1.5E10", 1.5e10),
        ("double", "-Infinity", float("-inf")),
        ("float", "0.1", 0.10000000149011612),
        ("decimal(20,2)", "123456789012345678.90", Decimal("123456789012345678.90")),
        ("date", "1582-10-04", dt.date(1582, 10, 4)),
        ("string", "a b/%é", "a b/%é"),
        ("timestamp_ntz", "2020-01-01 00:00:00.123456", dt.datetime(2020, 1, 1, 0, 0, 0, 123456)),
        ("timestamp", "2020-01-01T00:00:00.123456Z", dt.datetime(2020, 1, 1, 0, 0, 0, 123456, tzinfo=dt.UTC)),
    ],
)
def test_typed_values_are_exact(tmp_path: Path, type_: str, text: str, value: object) -> None:
    _, bounds = made(tmp_path, type_, text)
    assert values(bounds, "lower") == values(bounds, "upper") == [value]
    assert bounds.lower_exact.to_pylist() == bounds.upper_exact.to_pylist() == [True]
    assert bounds.null_count.to_pylist() == [0]


@pytest.mark.parametrize(
    ("type_", "texts", "lower", "nulls"),
    [
        ("integer", [None, "", "3"], [None, None, 3], [1, 1, 0]),
        ("integer", ["x", "1_0", "99999999999999999999", "٣"], [None] * 4, [1] * 4),  # no values of the type
        ("timestamp", ["12:00:00", "2020-01-01 12:00:00 Nowhere/Else"], [None] * 2, [None] * 2),  # a session knows them
        ("date", ["-0044-03-15", "+12345-01-01"], [-735_525, 3_789_391], [0, 0]),  # beyond the calendar, exact
        ("double", ["NaN", "1.0"], [None, 1.0], [0, 0]),
    ],
)
def test_what_is_null_or_unknown_of_every_type_but_text(
    tmp_path: Path, type_: str, texts: list[str | None], lower: list[Any], nulls: list[int | None]
) -> None:
    _, bounds = made(tmp_path, type_, *texts)
    assert (bounds.lower.to_pylist(), bounds.null_count.to_pylist()) == (lower, nulls)
    if type_ != "timestamp":
        assert bounds.upper.to_pylist() == lower
    if type_ == "double":  # a value of every row
        assert bounds.nan_count.to_pylist() == [1, 0]


@pytest.mark.parametrize("type_", ["string", "binary"])
def test_an_empty_text_is_a_value_of_text_and_binary(tmp_path: Path, type_: str) -> None:
    _, bounds = made(tmp_path, type_, None, "", "x")
    assert bounds.null_count.to_pylist() == [1, 0, 0]
    assert bounds.lower.to_pylist() == bounds.upper.to_pylist() == [None, b"", b"x"]
    assert bounds.lower_exact.to_pylist() == [False, True, True]


def test_a_text_that_reads_like_null_is_told_from_null(tmp_path: Path) -> None:
    found, bounds = made(tmp_path, "string", None, "__HIVE_DEFAULT_PARTITION__")
    assert bounds.null_count.to_pylist() == [1, 0]
    assert found.files.table.column("partition").to_pylist() == [
        "p=__HIVE_DEFAULT_PARTITION__",
        "p=%5F_HIVE_DEFAULT_PARTITION__",
    ]


def test_a_time_without_zone_is_as_wide_as_zones_are(tmp_path: Path) -> None:
    _, bounds = made(tmp_path, "timestamp", "2020-01-01 12:00:00")
    (low,), (high,) = values(bounds, "lower"), values(bounds, "upper")
    noon = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
    assert low <= noon - dt.timedelta(hours=14)
    assert high >= noon + dt.timedelta(hours=12)
    assert bounds.lower_exact.to_pylist() == [False]


def test_a_partition_column_has_no_log_bounds_and_others_no_partition_bounds(tmp_path: Path) -> None:
    found, _ = made(tmp_path, "integer", "1")
    assert found.details.log_bounds(leaf(found, "p")) is None
    assert found.details.partition_bounds(leaf(found, "id")) is None
    assert found.partition_columns == ("p",)


@pytest.mark.parametrize("where", ["commit", "checkpoint"])
def test_texts_follow_the_metadatas_order_and_logical_names(tmp_path: Path, where: str) -> None:
    def field(name: str, number: int) -> dict[str, Any]:
        return column(
            name, "string", **{"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{name}"}
        )

    head = [
        protocol(2),
        metadata(
            field("a", 1), field("b", 2), partitions=["b", "a"], configuration={"delta.columnMapping.mode": "name"}
        ),
    ]
    tuples = [("x/y", None), ("é=%", ""), (None, "2020-01-01 00:00:00"), ("x/y", None)]
    adds = [add(f"f{n}", partitionValues={"col-a": a, "col-b": b}) for n, (a, b) in enumerate(tuples)]
    log(tmp_path, where, *head, *adds)
    found = snapshot(tmp_path)
    expected = [partition_text(["b", "a"], [b, a]) for a, b in tuples]
    assert found.files.table.column("partition").to_pylist() == expected


@given(
    st.lists(st.dictionaries(st.sampled_from(["p", "q", "r"]), st.one_of(st.none(), st.text(max_size=3))), max_size=8),
    st.integers(0, 4),
)
def test_values_of_a_map_column(maps: list[dict[str, str | None]], offset: int) -> None:
    for key in "pq":
        found = map_values(text_map(maps).slice(offset), key).to_pylist()
        assert found == [one.get(key) for one in maps[offset:]]
