"""Shown tables over the real server: the files of a plan are those that the indexes and partitions leave, and rows are
as metaindex reads them."""

import decimal
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.exceptions import BadRequestError

import metaindex as mi
from metaindex.serve import Refusal
from tests.query.aggregates.lakes import HandDelta
from tests.serve.lake import PYICEBERG_0_12, planned
from tests.serve.lake import served as plans_of
from tests.serve.shown.seen import as_shown, catalog
from tests.tables import settled

SCATTERED = [17 * n % 101 for n in range(100)]


def indexed(path: Path) -> Path:
    mi.open_table(path).create_index("find", mi.ColumnStats(), mi.Values("id"), builder="local")
    return path


def delta(path: Path) -> Path:
    for place in range(10):
        content = {"id": SCATTERED[place::10], "p": [None if place == 3 else f"p{place % 4}"] * 10}
        write_deltalake(path, pa.table(content), mode="append", partition_by=["p"])
    return indexed(path)


def folder(path: Path) -> Path:
    ids = {f"p=p{place % 4}/{place}.parquet": pa.table({"id": SCATTERED[place::10]}) for place in range(10)}
    ids["p=__HIVE_DEFAULT_PARTITION__/3.parquet"] = ids.pop("p=p3/3.parquet")
    return indexed(settled(path, ids))


def vectors(path: Path) -> Path:
    path.parent.mkdir()
    lake = HandDelta(path, pa.schema([("id", pa.int64()), ("p", pa.string())]))
    for place in range(10):
        lake.append(pa.table({"id": SCATTERED[place::10], "p": [f"p{place % 4}"] * 10}, schema=lake.schema))
    for place in (0, 4, 9):
        lake.delete(place, {1, 2, 3})
    return indexed(path)


@pytest.mark.parametrize("make", [delta, folder, vectors])
def test_rows_and_counts(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path / "lake" / "t")
    conditions = [
        "id = 34",
        "id < 7",
        "p = 'p1'",
        "p IS NULL",
        "p = 'p2' AND id > 50",
        "p IS NOT NULL AND NOT (p = 'p1')",
        "id IN (3, 99)",
    ]
    with mi.open_server(tmp_path / "lake", cache=tmp_path / "cache") as server:
        as_shown(server.uri, path, "t", *conditions)


@pytest.mark.parametrize("make", [delta, folder])
def test_a_plan_names_the_files_that_may_match(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    plans = plans_of(make(tmp_path / "lake" / "t"))
    needle = {"type": "eq", "term": "id", "value": 34}
    assert len(planned(plans, needle)["file-scan-tasks"]) == 1
    assert len(planned(plans, {"type": "eq", "term": "p", "value": "p1"})["file-scan-tasks"]) == 3
    assert len(planned(plans, {"type": "is-null", "term": "p"})["file-scan-tasks"]) == 1
    assert len(planned(plans)["file-scan-tasks"]) == 10


def test_a_limit_is_met_whatever_the_log_says_of_rows(tmp_path: Path) -> None:
    lake = HandDelta(tmp_path / "t", pa.schema([("id", pa.int64())]))
    for place in range(12):
        lake.append(pa.table({"id": [place, place + 100]}), {"numRecords": 1000})
    plan = planned(plans_of(lake.root), min_rows_requested=5)
    assert [task["data-file"]["record-count"] for task in plan["tasks"]] == [2, 2, 2]
    assert len(planned(plans_of(lake.root), min_rows_requested=20)["tasks"]) == 10
    assert len(planned(plans_of(lake.root), min_rows_requested=500)["tasks"]) == 12


NEGATED = (
    *("p != 'a'", "NOT (p = 'a')", "v != 7", "NOT (v < 8)", "p != 'a' AND id > 1", "v != 7 AND v IS NOT NULL"),
    *("NOT (p = 'a' OR v = 9)", "v = 9 OR id = 1", "v IS NULL", "p NOT LIKE 'b%'", "id != 1", "NOT (v IS NOT NULL)"),
)
EITHER = ("v != 7 OR id = 1", "p != 'a' OR id = 1", "NOT (v < 8 AND p = 'a')")


def test_negated_conditions_on_columns_that_files_lack(tmp_path: Path) -> None:
    """Of such a file pyiceberg takes them for true."""
    path = tmp_path / "lake" / "t"
    old, new = {"id": [1, 2], "p": ["a", None]}, {"id": [3, 4, 5, 6], "p": ["a", "b", None, "a"], "v": [7, None, 9, 9]}
    write_deltalake(path, pa.table(old), partition_by=["p"])
    write_deltalake(path, pa.table(new), mode="append", schema_mode="merge", partition_by=["p"])
    indexed(path)
    with mi.open_server(tmp_path / "lake") as server:
        as_shown(server.uri, path, "t", *NEGATED)
        table = catalog(server.uri).load_table("lake.t")
        for condition in EITHER:
            with pytest.raises(BadRequestError, match="AND with IS NOT NULL"):
                table.scan(condition).to_arrow()
        whole = "(v != 7 AND v IS NOT NULL) OR id = 1"
        assert sorted(table.scan(whole).to_arrow()["id"].to_pylist()) == [1, 5, 6]


def test_a_negated_condition_that_cannot_be_read_may_be_on_a_column_that_files_lack(tmp_path: Path) -> None:
    path = tmp_path / "lake" / "t"
    write_deltalake(path, pa.table({"id": [1, 2]}))
    widened = {"id": [3, 4], "v": pa.array([decimal.Decimal("1.25"), None], pa.decimal128(9, 2))}
    write_deltalake(path, pa.table(widened), mode="append", schema_mode="merge")
    plans = plans_of(indexed(path))
    for op, files in (("eq", 2), ("not-eq", 0)):
        for turned in (False, True):
            unread = {"type": op, "term": "v", "value": "1.2345"}  # readers round it, each in its own way
            asked = {"type": "not", "child": unread} if turned else unread
            if turned or not files:
                with pytest.raises(Refusal, match="AND with IS NOT NULL"):
                    planned(plans, asked, PYICEBERG_0_12)
            else:
                assert len(planned(plans, asked, PYICEBERG_0_12)["tasks"]) == files
            assert len(planned(plans, asked)["tasks"]) == 2
