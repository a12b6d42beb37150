"""What the log says of columns, with the repairs: every fault that a writer is known for has its test."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.expressions import ColumnBounds, from_physical
from metaindex.formats.delta import statistics
from metaindex.formats.delta.stats_json import numbers_of_records
from tests.formats.delta.hand import add, checkpoint, column, commit, dv, leaf, metadata, protocol, snapshot


@pytest.fixture(scope="module", params=[0, 64], ids=["together", "one by one"], autouse=True)
def few_texts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both ways to read texts: by Arrow's reader, and parsed one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "FEW_TEXTS", request.param)
        yield


def stats(
    low: Any = None, high: Any = None, nulls: Any = 0, records: Any = 10, name: str = "c", **more: Any
) -> dict[str, Any]:
    return {
        "numRecords": records,
        "minValues": {name: low},
        "maxValues": {name: high},
        "nullCount": {name: nulls},
        **more,
    }


def bounds(
    tmp_path: Path, type_: str, *written: Any, field: dict[str, Any] | None = None, **more: Any
) -> ColumnBounds | None:
    adds = [add(f"f{n}", stats=one, **more) for n, one in enumerate(written)]
    commit(tmp_path, 0, protocol(3, ["deletionVectors"]), metadata(field or column("c", type_)), *adds)
    found = snapshot(tmp_path)
    return found.details.log_bounds(leaf(found, "c"))


def read(values: ColumnBounds | None, which: str = "lower") -> list[object]:
    return [from_physical(v, values.type) for v in getattr(values, which).to_pylist()]


def both(values: ColumnBounds | None) -> list[tuple[object, object]]:
    return list(zip(read(values, "lower"), read(values, "upper"), strict=True))


NONE = (None, None)
MOMENT, LATER = dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.timedelta(microseconds=999)
GOOD, NAN = stats(1, 2), float("nan")
SAID: dict[str, tuple[str, list[Any], list[tuple[Any, Any]], list[int | None]]] = {
    "long": ("long", [stats(-(2**63), 2**63 - 1, 3)], [(-(2**63), 2**63 - 1)], [3]),
    "integer": ("integer", [GOOD], [(1, 2)], [0]),
    "byte": ("byte", [stats(-1, 1)], [(-1, 1)], [0]),
    "double": ("double", [stats(-1.5, 1e300)], [(-1.5, 1e300)], [0]),
    "boolean": ("boolean", [stats(False, True)], [(False, True)], [0]),
    "date": ("date", [stats("0001-01-01", "9999-12-31")], [(dt.date(1, 1, 1), dt.date(9999, 12, 31))], [0]),
    "string": ("string", [stats("a", "😀")], [("a", "😀")], [0]),
    "the word NaN is a text": ("string", [stats("NaN", "NaN")], [("NaN", "NaN")], [0]),
    "over several lines": ("string", [json.dumps(stats("a", "b\nc"), indent=2), stats("x", "y")],
        [("a", "b\nc"), ("x", "y")], [0, 0]),
    "an explicit null is absent": ("long", [stats(None, None, 4), stats(None, 5), {"numRecords": 3, "minValues": None}],
        [NONE, (None, 5), NONE], [4, 0, None]),
    "a column of nulls": ("long", [{"numRecords": 10, "minValues": {}, "maxValues": {}, "nullCount": {"c": 10}}],
        [NONE], [10]),
    "contradictions": ("long", [stats(5, 1), stats(1, 2, 11), stats(1, 2, -1), stats(1, 2, 10), GOOD],
        [NONE, (1, 2), (1, 2), NONE, (1, 2)], [0, None, None, None, 0]),
    "a damaged text is its own file's": ("long",
        [GOOD, '{"numRecords": 10, "minV', GOOD, "[]", "", "{} {}", " ", GOOD],
        [(1, 2), NONE, (1, 2), *[NONE] * 4, (1, 2)], [0, None, 0, *[None] * 4, 0]),
    "of the wrong type": ("long", [stats("x", True), GOOD, stats({"a": 1}, [1]), stats(1.5, 2.5)],
        [NONE, (1, 2), NONE, (1, 3)], [0] * 4),
    "times are cut to milliseconds": ("timestamp", [stats(*["2020-01-01T00:00:00.000Z"] * 2)],
        [(MOMENT, MOMENT + LATER)], [0]),
}  # fmt: skip
STRUCTS: dict[str, tuple[str, list[tuple[Any, Any]], list[tuple[Any, Any]]]] = {
    "times are cut": ("timestamp", [(MOMENT, MOMENT)], [(MOMENT, MOMENT + LATER)]),
    "nan makes both unknown": ("double", [(1.0, NAN), (1.0, 2.0)], [NONE, (1.0, 2.0)]),
    "before the type was widened": ("timestamp_ntz", [(dt.date(2020, 1, 1), dt.date(2020, 1, 1))],
        [(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1) + LATER)]),
}  # fmt: skip


@pytest.mark.parametrize(("type_", "written", "expected", "nulls"), SAID.values(), ids=SAID)
def test_bounds_are_what_the_log_says(
    tmp_path: Path, type_: str, written: list[Any], expected: list[tuple[Any, Any]], nulls: list[int | None]
) -> None:
    found = bounds(tmp_path, type_, *written)
    assert both(found) == expected
    assert found.null_count.to_pylist() == nulls
    if all(isinstance(one, dict) for one in written):
        assert found.row_count.to_pylist() == [one["numRecords"] for one in written]
    if type_ == "timestamp":
        assert found.upper_exact is None


@pytest.mark.parametrize(("type_", "written", "expected"), STRUCTS.values(), ids=STRUCTS)
def test_structs_of_a_checkpoint_are_repaired_like_texts(
    tmp_path: Path, type_: str, written: list[tuple[Any, Any]], expected: list[tuple[Any, Any]]
) -> None:
    rows = [add(f"f{n}", stats_parsed=parsed(*one)) for n, one in enumerate(written)]
    checkpoint(tmp_path, 0, protocol(), metadata(column("c", type_)), *rows)
    found = snapshot(tmp_path)
    assert both(found.details.log_bounds(leaf(found, "c"))) == expected


def test_exact_bounds_are_said_where_the_log_is_tight(tmp_path: Path) -> None:
    found = bounds(tmp_path, "long", stats(1, 2), stats(1, 2, tightBounds=False), stats(1, 2, tightBounds=True))
    assert found.lower_exact.to_pylist() == found.upper_exact.to_pylist() == [True, False, True]
    assert found.null_count.to_pylist() == [0, None, 0]


@pytest.mark.parametrize(("low", "high"), [("1E-2", "1E+3"), ("0.010", "1000"), ("0.0123", "999.999")])
def test_decimals_in_other_spellings_are_never_narrower(tmp_path: Path, low: str, high: str) -> None:
    text = json.dumps(stats("LOW", "HIGH")).replace('"LOW"', low).replace('"HIGH"', high)
    ((lower, upper),) = both(bounds(tmp_path, "decimal(10,2)", text))
    assert lower is None or lower <= Decimal(low)
    assert upper is None or upper >= Decimal(high)


def test_columns_outside_the_indexed_ones_are_unknown(tmp_path: Path) -> None:
    assert bounds(tmp_path, "long", {"numRecords": 3, "minValues": {"other": 1}, "maxValues": {"other": 1}}) is None


@pytest.mark.parametrize("with_deletes", [True, False])
@pytest.mark.parametrize("tight", [True, False, None])
def test_statistics_under_a_deletion_vector_say_nothing_of_the_physical_rows(
    tmp_path: Path, with_deletes: bool, tight: bool | None
) -> None:
    said = {} if tight is None else {"tightBounds": tight}
    found = bounds(tmp_path, "long", stats(1, 2, 0, **said), **({"deletionVector": dv()} if with_deletes else {}))
    assert (found is None) == with_deletes
    assert snapshot(tmp_path).files.entry(0).record_count == 10


# Times ------------------------------------------------------------------------------------------------------------


def test_times_with_an_offset_are_instants(tmp_path: Path) -> None:
    found = bounds(tmp_path, "timestamp", stats("2020-01-01T00:00:00.000-08:00", "2020-01-01T10:00:00.000+02:00"))
    assert both(found)[0][0] == dt.datetime(2020, 1, 1, 8, tzinfo=dt.UTC)


@pytest.mark.parametrize("text", ["1850-01-01T00:00:00.000+00:53", "1971-06-01T00:00:00.000-00:44"])
def test_old_times_are_wider_by_the_seconds_that_their_offset_lost(tmp_path: Path, text: str) -> None:
    ((low, high),) = both(bounds(tmp_path, "timestamp", stats(text, text)))
    shown = dt.datetime.fromisoformat(text)
    for lost in (-59, 0, 59):
        true = shown + dt.timedelta(seconds=lost)
        assert low <= true <= high


def test_a_time_without_zone_where_one_belongs_is_unknown(tmp_path: Path) -> None:
    good = stats("2020-01-01T00:00:00.000Z", "2020-01-01T00:00:00.000Z")
    found = bounds(tmp_path, "timestamp", stats("2020-01-01T00:00:00", "2020-01-01T00:00:00"), good)
    assert read(found)[0] is None
    assert read(found)[1] is not None


def test_a_date_that_became_a_time_without_zone_is_read(tmp_path: Path) -> None:
    found = bounds(tmp_path, "timestamp_ntz", stats("2020-01-01", "2020-01-02"))
    assert both(found)[0][0] == dt.datetime(2020, 1, 1)
    assert both(found)[0][1] >= dt.datetime(2020, 1, 2)


def test_years_beyond_the_calendar_are_unknown(tmp_path: Path) -> None:
    found = bounds(tmp_path, "timestamp", stats("-0001-01-01T00:00:00.000Z", "+10000-01-01T00:00:00.000Z"))
    assert found is None or both(found)[0][1] is None or found.upper[0].as_py() > 250_000_000_000_000_000


# Texts ------------------------------------------------------------------------------------------------------------


@given(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=50),
    st.sampled_from(["\ufffd", "\U0010ffff"]),
    st.integers(1, 40),
)
def test_a_cut_text_bounds_the_whole_one(text: str, mark: str, length: int) -> None:
    from metaindex.formats.delta.statistics import _above_cut_texts

    cut = text[:length] + mark if len(text) > length else text
    if len(text) <= length and length < 32:
        return  # not cut, and indistinguishable from a whole text: nothing to repair
    assert _above_cut_texts(pa.array([cut.encode()], pa.binary()))[0].as_py() >= text.encode()


def test_a_text_of_32_characters_may_have_been_cut(tmp_path: Path) -> None:
    long, marked = "a" * 32, "b" * 32 + "\ufffd"
    found = bounds(tmp_path, "string", stats(long, long), stats("b" * 32, marked), stats("c", "c"))
    upper = found.upper.to_pylist()
    assert upper[0] > (long + "z").encode()
    assert upper[1] > ("b" * 32 + "😀").encode()
    assert upper[2] == b"c"
    assert found.lower_exact is None
    assert found.upper_exact is None


# Floats -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nan", ["NaN", NAN], ids=["said", "bare"])
@pytest.mark.parametrize("type_", ["float", "double"])
def test_nan_makes_both_bounds_unknown_and_infinity_bounds_nothing(tmp_path: Path, type_: str, nan: object) -> None:
    """Old writers leave the quotes out."""
    endless = ("-Infinity", "Infinity") if nan == "NaN" else (float("-inf"), float("inf"))
    found = bounds(tmp_path, type_, *(json.dumps(stats(*one)) for one in ((1.5, nan), endless, (1.5, 2.5))))
    assert found.nan_count is None
    assert both(found)[0] == (None, None)
    assert both(found)[1] in [(None, None), (float("-inf"), float("inf"))]
    assert both(found)[2] == (1.5, 2.5)


def test_a_printed_float_is_a_float(tmp_path: Path) -> None:
    (low,) = read(bounds(tmp_path, "float", stats(0.1, 0.1)))
    assert low == 0.10000000149011612


def test_a_float_that_became_a_double_is_never_outside(tmp_path: Path) -> None:
    changes = [{"fromType": "float", "toType": "double"}]
    found = bounds(
        tmp_path,
        "double",
        stats(0.1, 0.1),
        stats(0.7, 0.7),
        field=column("c", "double", **{"delta.typeChanges": changes}),
    )
    for (low, high), printed in zip(both(found), ("0.1", "0.7"), strict=True):
        assert low <= pa.array([float(printed)]).cast(pa.float32()).cast(pa.float64())[0].as_py() <= high
        assert low <= float(printed) <= high
    assert found.upper_exact is None


# Where they stand -------------------------------------------------------------------------------------------------


def test_statistics_are_found_by_physical_name(tmp_path: Path) -> None:
    field = column("c", "long", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "old"})
    written = {
        "numRecords": 9,
        "minValues": {"c": 1, "old": 5},
        "maxValues": {"c": 2, "old": 6},
        "nullCount": {"old": 0},
    }
    mapping = {"delta.columnMapping.mode": "name"}
    commit(tmp_path, 0, protocol(2), metadata(field, configuration=mapping), add("f", stats=written))
    found = snapshot(tmp_path)
    assert both(found.details.log_bounds(leaf(found, "c"))) == [(5, 6)]


def test_nested_fields_have_bounds(tmp_path: Path) -> None:
    inner = {"type": "struct", "fields": [column("x"), column("a.b", "string")]}
    written = {
        "numRecords": 2,
        "minValues": {"s": {"x": 1, "a.b": "k"}},
        "maxValues": {"s": {"x": 3, "a.b": "l"}},
        "nullCount": {"s": {"x": 0, "a.b": 1}},
    }
    commit(tmp_path, 0, protocol(), metadata(column("s", inner)), add("f", stats=written))
    found = snapshot(tmp_path)
    assert both(found.details.log_bounds(leaf(found, "s", "x"))) == [(1, 3)]
    assert both(found.details.log_bounds(leaf(found, "s", "a.b"))) == [("k", "l")]


def parsed(low: Any, high: Any, nulls: int = 0, records: int = 7, tight: bool | None = True) -> dict[str, Any]:
    return {
        "numRecords": records,
        "minValues": {"c": low},
        "maxValues": {"c": high},
        "nullCount": {"c": nulls},
        "tightBounds": tight,
    }


def test_struct_only_statistics_of_a_checkpoint(tmp_path: Path) -> None:
    checkpoint(
        tmp_path,
        3,
        protocol(),
        metadata(column("c")),
        add("a", stats_parsed=parsed(1, 5, 2)),
        add("b", stats_parsed=parsed(6, 9, 0, tight=False)),
        add("json", stats=stats(100, 200, 1)),
        add("none"),
    )
    commit(tmp_path, 4, add("late", stats=stats(7, 8)))
    found = snapshot(tmp_path)
    by_path = dict(zip(found.files.paths.to_pylist(), both(found.details.log_bounds(leaf(found, "c"))), strict=True))
    assert by_path == {"a": (1, 5), "b": (6, 9), "json": (100, 200), "none": (None, None), "late": (7, 8)}
    counts = dict(zip(found.files.paths.to_pylist(), found.files.table.column("record_count").to_pylist(), strict=True))
    assert counts == {"a": 7, "b": 7, "json": 10, "none": None, "late": 10}


RECORDS = st.one_of(
    st.none(),
    st.integers(0, 10**17).map(lambda n: json.dumps({"numRecords": n}, separators=(",", ":"))),
    st.integers(0, 10**19).map(lambda n: json.dumps({"numRecords": n, "minValues": {}}, separators=(",", ":"))),
    st.integers(-5, 10**6).map(lambda n: json.dumps({"minValues": {"numRecords": 1}, "numRecords": n})),
    st.sampled_from(
        [
            '{"numRecords":}',
            '{"numRecords":1.5}',
            '{"numRecords":"3"}',
            '{"numRecords":12',
            "{}",
            "",
            "\n",
            "null",
            "[]",
            "7",
        ]
    ),
)


@given(st.lists(RECORDS, max_size=12), st.integers(0, 3))
def test_record_counts_are_those_of_the_texts(texts: list[str | None], offset: int) -> None:
    def expected(text: str | None) -> int | None:
        try:
            found = json.loads(text or "{}").get("numRecords")
        except (ValueError, AttributeError):
            return None
        return found if isinstance(found, int) and 0 <= found < 2**63 else None

    found = numbers_of_records(pa.array(texts, pa.string()).slice(offset))
    assert found.to_pylist() == [expected(text) for text in texts[offset:]]


@pytest.mark.parametrize("year", [2, 1500, 1677, 2263, 9999])
def test_struct_times_kept_as_int96_do_not_overflow(tmp_path: Path, year: int) -> None:
    at = dt.datetime(year, 6, 1, tzinfo=dt.UTC)
    rows = [protocol(), metadata(column("c", "timestamp")), add("a", stats_parsed=parsed(at, at))]
    path = checkpoint(tmp_path, 0, *rows)
    pq.write_table(pq.read_table(path), path, use_deprecated_int96_timestamps=True)
    found = snapshot(tmp_path)
    ((low, high),) = both(found.details.log_bounds(leaf(found, "c")))
    assert low <= at <= high
