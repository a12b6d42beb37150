"""Plain files that were replaced by others of the same path, size and time, as `cp -p` and `rsync -t` leave them: of
what an index knew of the old bytes nothing is left out, and no row is taken."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from tests.spark.optimizer.lakes import ruled
from tests.spark.optimizer.test_text_scans import read_files

pytestmark = pytest.mark.spark
FILES, ROWS = 5, 200
THEN = 1_700_000_000
FORMATS = ["parquet", "csv", "json"]
SCHEMA = "id BIGINT, v BIGINT"


def write(path: Path, first: int) -> None:
    """A file of the same size, whatever five-digit number its ids begin with, and of the same time."""
    rows = [(i, 2 * i) for i in range(first, first + ROWS)]
    path.unlink(missing_ok=True)
    if path.suffix == ".parquet":
        ids, values = (pa.array(one, pa.int64()) for one in zip(*rows, strict=True))
        pq.write_table(pa.table({"id": ids, "v": values}), path, compression="none", use_dictionary=False)
    elif path.suffix == ".csv":
        path.write_text("id,v\n" + "".join(f"{i},{v:06}\n" for i, v in rows))
    else:
        path.write_text("".join(f'{{"id": {i}, "v": "{v:06}"}}\n'.replace(f'"{v:06}"', f"{v:6}") for i, v in rows))
    os.utime(path, (THEN, THEN))


@pytest.fixture(params=FORMATS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Files of 10,000 ids apart; the name says the format."""
    found = tmp_path / str(request.param)
    found.mkdir()
    for number in range(FILES):
        write(file_of(found, number), 10_000 * (number + 1))
    return found


def file_of(folder: Path, number: int) -> Path:
    return folder / f"f{number}.{folder.name}"


def replaced(folder: Path, number: int, first: int) -> None:
    path = file_of(folder, number)
    before = path.stat()
    write(path, first)
    now = path.stat()
    assert (before.st_size, before.st_mtime_ns) == (now.st_size, now.st_mtime_ns)


def indexed(folder: Path, *kinds: Any, spark: SparkSession | None = None) -> mi.Table:
    options: dict[str, Any] = {} if folder.name == "parquet" else {"format": folder.name, "schema": SCHEMA}
    table = mi.open_table(str(folder), spark=spark, **options)
    table.create_index("ix", *kinds, builder="local" if spark is None else "spark")
    return table


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    found = spark.newSession()
    with ruled(found, rule=mi.RuleConfig(max_appended_ratio=1.0, max_deleted_ratio=1.0)):
        yield found


def reading(session: SparkSession, folder: Path) -> DataFrame:
    reader = session.read.format(folder.name)
    if folder.name != "parquet":
        reader = reader.schema(SCHEMA)
    return (reader.option("header", True) if folder.name == "csv" else reader).load(str(folder))


def alike(session: SparkSession, ask: Callable[[], DataFrame]) -> tuple[list[Any], DataFrame]:
    """The rows, which are those without the rule."""
    query = ask()
    found = sorted(query.collect())
    session.conf.set("spark.metaindex.enabled", "false")
    assert found == sorted(ask().collect())
    session.conf.unset("spark.metaindex.enabled")
    return found, query


def test_a_file_replaced_under_the_same_size_and_time_is_read(session: SparkSession, folder: Path) -> None:
    table = indexed(folder, mi.ColumnStats(), mi.Values("id"))

    def asked(id_: int) -> tuple[list[Any], DataFrame]:
        return alike(session, lambda: reading(session, folder).where(f"id = {id_}").select("id", "v"))

    rows, query = asked(30_050)
    assert (len(rows), read_files(query)) == (1, 1)
    old = reading(session, folder).where("id = 90050")  # listed before
    replaced(folder, 2, 90_000)
    assert len(old.collect()) == 1
    rows, query = asked(90_050)
    assert (rows, read_files(query)) == ([(90_050, 180_100)], 1)
    assert asked(30_050)[0] == []
    rows, query = asked(10_050)
    assert (len(rows), read_files(query)) == (1, 2)
    (scan,) = mi.explain(query).scans
    assert (scan.result.kept_files, scan.result.changed_files) == (2, 1)
    assert "1 more were changed since" in str(mi.explain(query))
    table.refresh_index("ix", builder="local")
    rows, query = asked(90_050)
    assert (len(rows), read_files(query)) == (1, 1)


def test_a_covering_index_gives_no_row_of_a_replaced_file(session: SparkSession, folder: Path) -> None:
    indexed(folder, mi.Covering(["id"], ["v"]), spark=session)

    def asked(condition: str) -> tuple[list[Any], DataFrame]:
        return alike(session, lambda: reading(session, folder).where(condition).select("id", "v"))

    rows, query = asked("id = 30050")
    (scan,) = mi.explain(query).scans
    assert len(rows) == 1
    assert scan.cover is not None, scan
    old = reading(session, folder).where("id IN (30050, 90050, 10050)").select("id", "v")
    replaced(folder, 2, 90_000)
    assert sorted(old.collect()) == [(10_050, 20_100), (90_050, 180_100)]
    assert asked("id = 90050")[0] == [(90_050, 180_100)]
    assert asked("id = 30050")[0] == []
    rows, query = asked("id IN (10050, 30050, 50050, 90050)")
    assert [one.id for one in rows] == [10_050, 50_050, 90_050]
    (scan,) = mi.explain(query).scans
    assert scan.cover is not None
    assert "read from the table, as it lacks them: 1 file" in str(scan)
    for number in range(FILES):
        replaced(folder, number, 10_000 * (number + 1) + 1_000)
    assert asked("id = 30050")[0] == []
    rows, query = asked("id = 31050")
    assert len(rows) == 1
    assert [scan.refused["ix"] for scan in mi.explain(query).scans] == [rule.Reason.NOTHING_SERVED]


def test_files_that_were_only_touched_are_said_to_be_read(session: SparkSession, folder: Path) -> None:
    indexed(folder, mi.ColumnStats())
    for number in range(FILES):
        os.utime(file_of(folder, number), (THEN + 5, THEN + 5))
    rows, query = alike(session, lambda: reading(session, folder).where("id = 30050"))
    assert (len(rows), read_files(query)) == (1, FILES)
    (scan,) = mi.explain(query).scans
    assert (scan.reason, scan.refused) == (rule.Reason.CHANGED, {"ix": rule.Reason.CHANGED})
    assert "refresh it" in str(mi.explain(query))
