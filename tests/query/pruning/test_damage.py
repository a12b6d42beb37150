"""Any doubt makes the answer wider, never wrong: each cause is injected into every format, and the rows stay the same.

An index that cannot be used says why in the report.
"""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.index.log import codec
from metaindex.table import Table
from tests.hostile.changes import DAMAGES
from tests.hostile.driver import put
from tests.tables import FORMATS, Lake

FILES, ROWS = 6, 10


_LANES = {"csv": pytest.mark.exhaustive, "delta": pytest.mark.slow}


@pytest.fixture(params=[pytest.param(one, marks=_LANES.get(one, ())) for one in FORMATS])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    found = FORMATS[request.param](tmp_path)
    for number in range(FILES):
        found.append(rows(number))
    return found


def rows(number: int) -> pa.Table:
    ids = range(number * ROWS, number * ROWS + ROWS)
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i:04d}" for i in ids]})


def indexed(lake: Lake) -> Table:
    table = lake.open()
    table.create_index("stats", mi.ColumnStats("id"), builder="local")
    return table


def index_files(table: Table, kind: str) -> list[Path]:
    folder = Path(table.indexes()[0].location)
    return sorted(p for p in folder.rglob("*") if p.is_file() and kind in str(p.relative_to(folder)))


PARTS = ["column_stats", "files/", "_manifests", "_log", "file_ids", "partitions/", "partition_stats"]


def check(lake: Lake, table: Table) -> None:
    """Every answer holds what it must, whatever happened to the index; a scan gives exactly the rows."""
    for predicate, wanted in [
        ("id = 23", {23}),
        ("id >= 55 AND id < 60", set(range(55, 60))),
        ("id < 0", set()),
        ("name = 'n0042'", {42}),
    ]:
        scanned = table.scan(predicate, columns=["id"]).to_arrow()
        assert set(scanned.column("id").to_pylist()) == wanted
        assert scanned.num_rows == len(wanted)


def test_a_fresh_index_drops_all_files_but_one(lake: Lake) -> None:
    table = indexed(lake)
    result = table.prune("id = 23")
    assert result.kept_files == 1
    assert result.indexes[0].used
    assert table.prune("id < 0").kept_files == 0
    check(lake, table)


@pytest.mark.exhaustive(but=("parquet", "_log"))
@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_makes_the_answer_wider_and_says_why(lake: Lake, part: str, damage: str) -> None:
    for path in index_files(indexed(lake), part):
        put(path, DAMAGES[damage](path.read_bytes()))
    table = lake.open()  # nothing is cached
    result = table.prune("id = 23")
    assert result.total_files == FILES
    assert 1 <= result.kept_files <= FILES
    check(lake, table)
    unused = [report for report in result.indexes if report.name == "stats" and not report.used]
    assert all(report.reason for report in unused)
    if part in ("_log", "_manifests") and damage != "removed":
        assert unused


def test_an_index_without_its_folder_is_no_index(lake: Lake) -> None:
    table = indexed(lake)
    shutil.rmtree(table.indexes()[0].location)
    table = lake.open()
    assert table.indexes() == []
    check(lake, table)


def test_a_file_appended_after_the_index_is_read(lake: Lake) -> None:
    indexed(lake)
    lake.append(rows(FILES))
    table = lake.open()
    result = table.prune("id = 23")
    assert result.total_files == FILES + 1
    assert result.kept_files <= 2  # the one that holds it, and the one that is not known
    assert table.scan("id = 65").to_arrow().column("id").to_pylist() == [65]
    assert not table.indexes()[0].fresh
    check(lake, table)


def test_an_index_of_another_format_is_not_used(lake: Lake, tmp_path: Path) -> None:
    table = indexed(lake)
    log = Path(table.indexes()[0].location) / "_log"
    newest = sorted(log.iterdir())[-1]
    entry = codec.decode(newest.read_bytes(), "here")
    other = "iceberg" if entry.table.format != "iceberg" else "delta"
    os.unlink(newest)
    newest.write_bytes(codec.encode(replace(entry, table=replace(entry.table, format=other))))
    table = lake.open()
    report = next(r for r in table.prune("id = 23").indexes if r.name == "stats")
    assert not report.used
    assert other in report.reason
    check(lake, table)


def test_no_index_at_all_reads_what_the_table_says(lake: Lake) -> None:
    check(lake, lake.open())
    check(lake, lake.open(config=mi.Config(use_indexes=False)))


def test_a_text_index_built_under_other_options_is_not_used(tmp_path: Path) -> None:
    lake = FORMATS["csv"](tmp_path)
    for number in range(FILES):
        lake.append(rows(number))
    indexed(lake)
    schema = pa.schema([("id", pa.string()), ("name", pa.string())])
    table = mi.open_table(lake.path, header=False, schema=schema)
    result = table.prune("id = '23'")
    assert result.kept_files == FILES
    assert "header" in result.indexes[0].reason
    assert table.scan("id = 'id'").to_arrow().num_rows == FILES


def test_parts_of_two_runs_that_changed_places_are_not_believed(tmp_path: Path) -> None:
    """Each as whole as it was: only the digests in the manifests tell them apart."""
    lake = FORMATS["parquet"](tmp_path)
    lake.append(rows(0))
    table = indexed(lake)
    lake.append(rows(1))
    table.refresh_index("stats", builder="local")
    first, second = index_files(table, "column_stats")
    data = first.read_bytes()
    assert len(data) == second.stat().st_size
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)
    for asked in ("id = 5", "id = 15"):
        found = lake.open()
        assert found.scan(asked).to_arrow().num_rows == 1
        assert found.prune(asked).kept_files == 2
