"""Rows from bounds: the state is never a guess, cut bounds enclose, aggregates are those of their files."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.expressions import ColumnBounds
from metaindex.formats import Field, Leaf, Trust
from metaindex.index.kinds.column_stats.rows import aggregates, column_rows, sorted_rows
from metaindex.index.kinds.column_stats.schemas import COLUMN_STATS, PARTITION_STATS
from metaindex.index.kinds.facts import COUNTS, domain_of, facts_of, successors
from metaindex.index.kinds.states import BOUND_BYTES, StatState

UNKNOWN, ALL_NULL, VALUES = (int(state) for state in StatState)


def facts(type_: pa.DataType, **columns: list[object]) -> dict[str, object]:
    """The facts of one file."""
    domain = domain_of(type_)
    arrays = {
        name: pa.array(values, domain if name in ("lower", "upper") else pa.bool_() if "exact" in name else pa.int64())
        for name, values in columns.items()
    }
    bounds = ColumnBounds(type_, arrays.pop("lower", None), arrays.pop("upper", None), **arrays)
    return facts_of(bounds, 1, Trust.FOOTER).to_pylist()[0]


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ({}, UNKNOWN),
        ({"null_count": [3], "row_count": [3]}, ALL_NULL),
        ({"null_count": [0], "row_count": [0]}, ALL_NULL),
        ({"null_count": [None], "row_count": [3]}, UNKNOWN),
        ({"null_count": [0], "row_count": [3]}, UNKNOWN),
        ({"lower": [1], "upper": [2], "null_count": [None], "row_count": [3]}, VALUES),
        ({"lower": [1], "upper": [None]}, UNKNOWN),
        ({"lower": [None], "upper": [1]}, UNKNOWN),
        ({"lower": [2], "upper": [1]}, UNKNOWN),
    ],
)
def test_state_says_no_more_than_is_known(said: dict[str, list[object]], state: int) -> None:
    row = facts(pa.int64(), **said)
    assert row["state"] == state
    assert (row["lower"] is None) == (row["upper"] is None) == (state != VALUES)


def test_floats_that_are_all_nan_are_values_without_bounds() -> None:
    row = facts(pa.float64(), null_count=[1], nan_count=[2], row_count=[3])
    assert (row["state"], row["lower"], row["upper"], row["nan_count"]) == (VALUES, None, None, 2)


def test_nan_bound_is_no_bound() -> None:
    assert facts(pa.float64(), lower=[float("nan")], upper=[1.0], null_count=[0], row_count=[2])["state"] == UNKNOWN


def test_zero_bounds_enclose_both_zeros() -> None:
    row = facts(pa.float64(), lower=[0.0], upper=[-0.0])
    assert (str(row["lower"]), str(row["upper"])) == ("-0.0", "0.0")


def test_types_without_nan_have_none() -> None:
    assert facts(pa.int32())["nan_count"] == 0
    assert facts(pa.float32())["nan_count"] is None


def test_long_upper_bound_of_only_0xff_is_unknown() -> None:
    row = facts(pa.binary(), lower=[b"a"], upper=[b"\xff" * 65], lower_exact=[True], upper_exact=[True])
    assert (row["state"], row["lower"], row["lower_exact"]) == (UNKNOWN, None, False)


long_bytes = st.binary(max_size=6).flatmap(
    lambda end: st.sampled_from([b"", b"\xff" * 62, b"a" * 62, b"\xff" * 70, b"a" * 63 + b"\xff"]).map(
        lambda s: s + end
    )
)


@given(values=st.lists(long_bytes, min_size=1, max_size=5))
@settings(deadline=None)
def test_cut_bounds_enclose_and_are_not_exact(values: list[bytes]) -> None:
    low, high = min(values), max(values)
    row = facts(pa.binary(), lower=[low], upper=[high], lower_exact=[True], upper_exact=[True])
    if row["state"] == UNKNOWN:
        assert high[:BOUND_BYTES] == b"\xff" * BOUND_BYTES
        return
    lower, upper = row["lower"], row["upper"]
    assert isinstance(lower, bytes)
    assert isinstance(upper, bytes)
    assert lower <= low
    assert high <= upper
    assert max(len(lower), len(upper)) <= BOUND_BYTES
    assert row["lower_exact"] == (lower == low)
    assert row["upper_exact"] == (upper == high)


@given(st.lists(st.binary(min_size=4, max_size=4), min_size=1, max_size=6))
@settings(deadline=None)
def test_successor_is_the_least_string_above_the_prefix(prefixes: list[bytes]) -> None:
    matrix = np.frombuffer(b"".join(prefixes), np.uint8).reshape(-1, 4)
    for prefix, successor in zip(prefixes, successors(matrix).to_pylist(), strict=True):
        if successor is None:
            assert prefix == b"\xff" * 4
            continue
        assert prefix + b"\xff" * 9 < successor
        assert successor[:-1] + bytes([successor[-1] - 1]) == prefix[: len(successor)]


KINDS = {
    "int": (pa.int64(), st.integers(-3, 3)),
    "double": (pa.float64(), st.sampled_from([-1.5, -0.0, 0.0, 2.5, float("inf"), float("-inf")])),
    "bytes": (pa.string(), st.sampled_from([b"", b"a", b"a\xff", b"b", "😀".encode(), b"x" * 70])),
}


@st.composite
def many_files(draw: st.DrawFn) -> tuple[pa.DataType, pa.Table, list[int]]:
    type_, values = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    count = draw(st.integers(1, 12))
    pairs = [sorted((draw(values), draw(values))) for _ in range(count)]
    unknown = [draw(st.booleans()) and draw(st.booleans()) for _ in range(count)]
    all_null = [draw(st.integers(0, 3)) == 0 for _ in range(count)]
    no_bounds = [a or b for a, b in zip(unknown, all_null, strict=True)]
    rows = [draw(st.integers(1, 5)) for _ in range(count)]

    def bound(side: int) -> pa.Array:
        return pa.array([None if n else p[side] for p, n in zip(pairs, no_bounds, strict=True)], domain_of(type_))

    bounds = ColumnBounds(
        type_,
        bound(0),
        bound(1),
        null_count=pa.array([n if a else None if u else 0 for n, a, u in zip(rows, all_null, unknown, strict=True)]),
        nan_count=pa.array([None if u else 0 for u in unknown], pa.int64()),
        row_count=pa.array(rows),
        lower_exact=pa.array([draw(st.booleans()) for _ in range(count)]),
        upper_exact=pa.array([draw(st.booleans()) for _ in range(count)]),
    )
    partitions = sorted(draw(st.integers(0, 3)) for _ in range(count))
    return type_, facts_of(bounds, count, Trust.FOOTER), partitions


NAMES = {pa.int64(): "int", pa.float64(): "double", pa.binary(): "bytes"}


def rows_of(type_: pa.DataType, table: pa.Table, partitions: list[int]) -> pa.Table:
    ordinals, ords = pa.array(range(len(partitions)), pa.int32()), pa.array(partitions, pa.int32())
    return column_rows(Leaf((Field("c", type_),)), table, ordinals, ords, pa.array(partitions, pa.int64()))


@given(many_files())
@settings(deadline=None)
def test_partition_rows_are_the_aggregate_of_their_files(drawn: tuple[pa.DataType, pa.Table, list[int]]) -> None:
    type_, table, partitions = drawn
    rows = rows_of(type_, table, partitions)
    assert rows.schema == COLUMN_STATS
    stats = aggregates(rows)
    assert stats.schema == PARTITION_STATS
    name = NAMES[domain_of(type_)]
    by_partition = {row["partition_ord"]: row for row in stats.to_pylist()}
    assert sorted(by_partition) == sorted(set(partitions)) == [row["partition_ord"] for row in stats.to_pylist()]
    for part, found in by_partition.items():
        files = [row for row in rows.to_pylist() if row["partition_ord"] == part]
        states = {row["state"] for row in files}
        assert found["file_count"] == len(files)
        expected = UNKNOWN if UNKNOWN in states else VALUES if VALUES in states else ALL_NULL
        assert found["state"] == expected
        for one in COUNTS:
            each = [row[one] for row in files]
            assert found[one] == (None if None in each else sum(each))
        valued = [row for row in files if row["state"] == VALUES and row[f"lower_{name}"] is not None]
        for side, pick in (("lower", min), ("upper", max)):
            bound, exact = found[f"{side}_{name}"], found[f"{side}_exact"]
            if expected != VALUES:
                assert (bound, exact) == (None, False)
                continue
            assert bound == pick(row[f"{side}_{name}"] for row in valued)
            assert exact == any(row[f"{side}_exact"] for row in valued if row[f"{side}_{name}"] == bound)


@given(many_files())
@settings(deadline=None)
def test_rows_are_stored_by_partition_lower_bound_and_ordinal(drawn: tuple[pa.DataType, pa.Table, list[int]]) -> None:
    type_, table, partitions = drawn
    rows = rows_of(type_, table, partitions)
    name = NAMES[domain_of(type_)]
    out = sorted_rows(rows).to_pylist()
    keys = [
        (r["partition_ord"], r[f"lower_{name}"] is not None, r[f"lower_{name}"] or (type_ and 0), r["ordinal"])
        for r in out
    ]
    if name == "bytes":
        keys = [(p, known, low or b"", o) for p, known, low, o in keys]
    assert keys == sorted(keys)
    assert len(out) == len(partitions)
