"""Where a condition selects whole partitions, a plan names exactly those: whoever counts from its tasks counts right.

Plans are made here as if no index and no statistic were there, so that this guard stands alone."""

import datetime as dt
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from metaindex.serve import Refusal
from metaindex.serve.plans import Plans
from tests.serve.lake import JAVA_1_12, PYICEBERG_0_12, counted, leaf, names, parted, planned, served

OPS: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda v, x: v is not None and v < x,
    "lt-eq": lambda v, x: v is not None and v <= x,
    "gt": lambda v, x: v is not None and v > x,
    "gt-eq": lambda v, x: v is not None and v >= x,
    "eq": lambda v, x: v is not None and v == x,
    "not-eq": lambda v, x: v is not None and v != x,
}
WIDE = {"not-eq", "not-in", "not-starts-with"}
"""Some readers take these to be true of NULL: a file of NULL is kept, and clients send `not-null` beside them."""


@pytest.fixture(autouse=True)
def _unpruned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plans, "_pruned", lambda self, snapshot, *_: np.arange(len(snapshot.files)))


def selects(plans: Plans, said: Any, matching: Callable[[Any], bool], files: list[list[Any]]) -> None:
    """Each file whose rows all match is in the plan, and none whose rows all do not; of no other file anything is
    asked but that it is there."""
    kept = set(names(planned(plans, said)))
    for number, rows in enumerate(files):
        some = any(map(matching, rows))
        assert (f"f{number}" in kept) or not some, (said, rows)
        assert (f"f{number}" not in kept) or some, (said, rows)


IDENTITIES = [
    ("int", pa.int32(), "int", [None, -5, 0, 7, 2**31 - 1], [-6, -5, 0, 3, 7, 2**31]),
    ("long", pa.int64(), "long", [None, -(2**63), 0, 2**62], [0, 2**62, 2**64]),
    ("string", pa.string(), "string", [None, "", "a", "b", "é😀"], ["", "a", "b", "c", "é"]),
    ("boolean", pa.bool_(), "boolean", [None, True, False], [True, False]),
]


@pytest.mark.parametrize(("kind", "arrow", "made", "values", "literals"), IDENTITIES, ids=lambda one: str(one)[:10])
def test_identity(
    tmp_path: Path, kind: str, arrow: pa.DataType, made: str, values: list[Any], literals: list[Any]
) -> None:
    files = [(value, [value, value]) for value in values]
    plans = served(parted(tmp_path / "t", kind, "identity", files, arrow=arrow, made=made))
    rows = [held for _, held in files]
    for (op, holds), x in itertools.product(OPS.items(), literals):
        null_too = op in WIDE
        selects(plans, leaf(op, x), lambda v, x=x, holds=holds, n=null_too: holds(v, x) or (n and v is None), rows)
        both = {"type": "and", "left": leaf("not-null"), "right": leaf(op, x)}
        selects(plans, both, lambda v, x=x, holds=holds: holds(v, x), rows)
    selects(plans, leaf("in", literals), lambda v: v in literals, rows)
    selects(plans, leaf("not-in", literals), lambda v: v not in literals, rows)
    selects(plans, leaf("is-null"), lambda v: v is None, rows)
    selects(plans, leaf("not-null"), lambda v: v is not None, rows)
    if kind == "string":
        selects(plans, leaf("starts-with", "é"), lambda v: v is not None and v.startswith("é"), rows)
        selects(plans, leaf("not-starts-with", "é"), lambda v: v is None or not v.startswith("é"), rows)


def test_dates_and_times_of_identity(tmp_path: Path) -> None:
    days = [None, -3, 0, 20454, 20455, 3_000_000]
    logical = {"type": "int", "logicalType": "date"}
    files = [(day, [day]) for day in days]
    plans = served(parted(tmp_path / "t", "date", "identity", files, arrow=pa.date32(), made=logical))
    for (op, holds), x in itertools.product(OPS.items(), [-3, 20455, 3_000_000, 3_000_001]):
        selects(
            plans, leaf(op, x), lambda v, x=x, o=op, h=holds: h(v, x) or (o in WIDE and v is None), [[d] for d in days]
        )
    assert names(planned(plans, leaf("eq", "2026-01-02"))) == ["f4"]


US = 1_000_000
DAY = 86_400 * US
UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h"}


@pytest.mark.parametrize("transform", UNITS)
def test_periods_of_times(tmp_path: Path, transform: str) -> None:
    """Literals at the start of a period select whole ones; rows lie at both ends of theirs."""
    starts = [dt.datetime(y, m, d, h) for y in (1968, 1970, 2026) for m in (1, 12) for d in (1, 31) for h in (0, 23)]
    micros = sorted({int(np.datetime64(s, "us").astype(np.int64)) for s in starts})
    unit = UNITS[transform]
    files: dict[int, list[int]] = {}
    for value in micros:
        period = np.datetime64(value, "us").astype(f"datetime64[{unit}]")
        low = int(period.astype("datetime64[us]").astype(np.int64))
        high = int((period + 1).astype("datetime64[us]").astype(np.int64)) - 1
        files[int(period.astype(np.int64))] = [low, high]
    listed: list[tuple[Any, list[Any]]] = [*files.items(), (None, [None])]
    made = {"type": "int", "logicalType": "date"} if transform == "day" else "int"
    plans = served(parted(tmp_path / "t", "timestamp", transform, listed, arrow=pa.timestamp("us"), made=made))
    bounds = [low for low, _ in files.values() if low > 0]  # where clients take a condition for exact
    for op, x in itertools.product(("lt", "gt-eq"), bounds):
        selects(plans, leaf(op, x), lambda v, x=x, h=OPS[op]: h(v, x), [rows for _, rows in listed])
    for op, x in itertools.product(OPS, [v + n for v in micros for n in (-1, 0, 1)]):  # and elsewhere none is lost
        kept = set(names(planned(plans, leaf(op, x))))
        for number, (_, rows) in enumerate(listed):
            assert f"f{number}" in kept or not any(OPS[op](v, x) for v in rows), (op, x, rows)
    selects(plans, leaf("is-null"), lambda v: v is None, [rows for _, rows in listed])
    literal = next(iter(files))
    term = {"type": "transform", "transform": transform, "term": "v"}
    assert names(planned(plans, leaf("eq", literal, term))) == ["f0"]
    if transform == "day":
        assert names(planned(plans, leaf("eq", str(np.datetime64(literal, "D")), term))) == ["f0"]


def test_times_of_old_writers_are_kept(tmp_path: Path) -> None:
    """Writers before Iceberg 0.12 rounded times before 1970 towards zero: that of 1969-12-31 stands in period 0."""
    plans = served(parted(tmp_path / "t", "timestamp", "day", [(0, [-1])], arrow=pa.timestamp("us"), made="int"))
    for said in (leaf("eq", -1), leaf("lt", 0), leaf("lt-eq", -1), leaf("in", [-1])):
        assert names(planned(plans, said)) == ["f0"]


@pytest.mark.parametrize("kind", ["int", "string"])
def test_truncated(tmp_path: Path, kind: str) -> None:
    numbers = kind == "int"
    values: list[Any] = [-9, -1, 0, 9, 10, 99] if numbers else ["", "a", "ab", "abc", "abd", "b", "é😀x", "é😀y"]
    files: dict[Any, list[Any]] = {}
    for value in values:
        files.setdefault(value - value % 10 if numbers else value[:2], []).append(value)
    listed = [*files.items(), (None, [None])]
    arrow = pa.int32() if numbers else pa.string()
    transform = "truncate[10]" if numbers else "truncate[2]"
    plans = served(parted(tmp_path / "t", kind, transform, listed, arrow=arrow, made=kind))
    literals = [-10, -1, 0, 5, 9, 10, 2**31 - 1] if numbers else ["", "a", "ab", "abc", "b", "é😀x"]
    for op, x in itertools.product(OPS, literals):
        kept = set(names(planned(plans, leaf(op, x))))
        assert all(f"f{n}" in kept for n, (_, rows) in enumerate(listed) if any(OPS[op](v, x) for v in rows)), (op, x)
    rows = [rows for _, rows in listed]
    if numbers:
        assert names(planned(plans, leaf("eq", 99))) == ["f3"]
    else:  # a prefix as long as the width selects whole partitions
        for prefix in ("", "a", "ab", "é😀"):
            selects(plans, leaf("starts-with", prefix), lambda v, p=prefix: v is not None and v.startswith(p), rows)
            selects(plans, leaf("not-starts-with", prefix), lambda v, p=prefix: v is None or not v.startswith(p), rows)
        assert names(planned(plans, leaf("starts-with", "abc"))) == ["f2"]
    term = {"type": "transform", "transform": transform, "term": "v"}
    assert names(planned(plans, leaf("eq", 90 if numbers else "ab", term))) == ["f3" if numbers else "f2"]


def test_a_bucket_is_asked_as_a_term(tmp_path: Path) -> None:
    files = [(n, [n * 100]) for n in range(4)] + [(None, [None])]
    plans = served(parted(tmp_path / "t", "int", "bucket[4]", files, arrow=pa.int32(), made="int"))
    four = {"type": "transform", "transform": "bucket[4]", "term": "v"}
    assert names(planned(plans, leaf("eq", 1, four))) == ["f1"]
    assert names(planned(plans, leaf("in", [0, 3], four))) == ["f0", "f3"]
    assert names(planned(plans, {"type": "not", "child": leaf("lt", 2, four)})) == ["f2", "f3"]
    assert len(names(planned(plans, leaf("eq", 1, {**four, "transform": "bucket[8]"})))) == 5
    assert names(planned(plans, leaf("is-null"))) == ["f4"]


def test_a_term_of_a_partition_column_itself_is_refused(tmp_path: Path) -> None:
    """Clients take `bucket(4, v) = 1` for `v = 1` there."""
    plans = served(parted(tmp_path / "t", "int", "identity", [(1, [1])], arrow=pa.int32(), made="int"))
    with pytest.raises(Refusal, match="compare the column"):
        planned(plans, leaf("eq", 1, {"type": "transform", "transform": "bucket[4]", "term": "v"}))


def test_counts_from_tasks_are_right_for_and_or_not(tmp_path: Path) -> None:
    files = [(n, [n] * (n + 1)) for n in range(6)] + [(None, [None] * 7)]
    plans = served(parted(tmp_path / "t", "int", "identity", files, arrow=pa.int32(), made="int"))
    either = {"type": "or", "left": leaf("eq", 2), "right": leaf("is-null")}
    assert counted(planned(plans, either)) == 3 + 7
    assert counted(planned(plans, {"type": "not", "child": either})) == 1 + 2 + 4 + 5 + 6
    unknown = {"type": "or", "left": leaf("eq", 2), "right": {"type": "like", "term": "v", "value": "%"}}
    assert counted(planned(plans, unknown)) == 21 + 7
    assert counted(planned(plans, {"type": "and", "left": leaf("eq", 2), "right": unknown})) == 3
    assert counted(planned(plans, False)) == 0
    assert counted(planned(plans, True)) == 21 + 7


def test_floats_of_identity(tmp_path: Path) -> None:
    nan = float("nan")
    values = [None, -1.5, -0.0, 0.0, 2.5, nan]
    files = [(value, [value]) for value in values]
    plans = served(parted(tmp_path / "t", "double", "identity", files, arrow=pa.float64(), made="double"))

    def kept(said: Any) -> list[Any]:
        rows = plans.table.snapshot(None, own_schema=False)
        from metaindex.serve.filters import read_filter
        from metaindex.serve.partitions import may_match

        asked = read_filter(said, rows.snapshot.schema)
        mask = may_match(asked, rows.partitions(), np.arange(len(values)))
        return [repr(value) for value, one in zip(values, mask, strict=True) if one]

    assert kept(leaf("eq", 0.0)) == ["-0.0", "0.0"]
    assert kept(leaf("in", [-0.0, 2.5])) == ["-0.0", "0.0", "2.5"]
    assert kept(leaf("lt", 0.0)) == ["-1.5"]
    assert kept(leaf("gt", 0.0)) == ["2.5", "nan"]  # NaN is the greatest to Spark
    assert kept(leaf("is-nan")) == ["nan"]
    assert kept(leaf("eq", "NaN")) == ["nan"]
    assert kept(leaf("lt", "NaN")) == ["-1.5", "-0.0", "0.0", "2.5"]
    assert plans.table.load(JAVA_1_12).config == {"scan-planning-mode": "client"}  # its JSON has no NaN


@pytest.mark.parametrize("transform", ["zorder[3]", "someday"])
def test_a_table_of_an_unknown_transform_is_handed_to_the_client(tmp_path: Path, transform: str) -> None:
    plans = served(parted(tmp_path / "t", "int", transform, [(1, [1])], arrow=pa.int32(), made="int"))
    loaded = plans.table.load(JAVA_1_12)
    assert loaded.config == {"scan-planning-mode": "client"}
    assert loaded.location is not None
    with pytest.raises(Refusal, match="unknown transform"):  # it obeys the catalog alone, which says `server`
        plans.table.load(PYICEBERG_0_12)
    with pytest.raises(Refusal, match="unknown transform"):
        planned(plans, leaf("eq", 1))
