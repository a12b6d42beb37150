"""An index that does not know all files says so where a query is answered, with the cure."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.cli.main import main


def _append(path: Path, first: int, **more: list[int]) -> None:
    rows = pa.table({"a": [first, first + 1], **{name: pa.array(values) for name, values in more.items()}})
    write_deltalake(str(path), rows, mode="append", schema_mode="merge")


def _reason(table: mi.Table, condition: str) -> str:
    (report,) = [report for report in table.prune(condition).indexes if report.name == "i"]
    return report.reason


def test_a_stale_index_says_how_many_files_it_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _append(tmp_path / "t", 0)
    table = mi.open_table(tmp_path / "t")
    table.create_index("i", mi.Values("a"))
    assert _reason(table, "a = 1") == ""
    for first in (10, 20):
        _append(tmp_path / "t", first)
    assert _reason(table, "a = 1") == "it lacks 2 of 3 files; refresh it"
    assert "it lacks 2 of 3 files; refresh it" in str(table.prune("a = 1"))
    report, *_ = json.loads(json.dumps(table.prune("a = 1").to_json()))["indexes"]
    assert report["reason"] == "it lacks 2 of 3 files; refresh it"
    assert main(["prune", str(tmp_path / "t"), "a = 1"]) == 0
    assert "it lacks 2 of 3 files; refresh it" in capsys.readouterr().out
    table.refresh_index("i")
    assert _reason(table, "a = 1") == ""


def test_another_index_may_know_the_files(tmp_path: Path) -> None:
    _append(tmp_path / "t", 0)
    table = mi.open_table(tmp_path / "t")
    table.create_index("i", mi.Values("a"))
    _append(tmp_path / "t", 10)
    table.create_index("fresh", mi.ColumnStats("a"))
    told = {report.name: report.reason for report in table.prune("a = 1").indexes}
    assert (told["i"], told["fresh"]) == ("it lacks 1 of 2 files; refresh it", "")
    assert "covered" in _reason(mi.open_table(tmp_path / "t"), "TRUE")


def test_files_that_an_index_read_before_it_had_the_column_need_a_full_refresh(tmp_path: Path) -> None:
    _append(tmp_path / "t", 0)
    table = mi.open_table(tmp_path / "t")
    table.create_index("i", mi.ColumnStats())
    _append(tmp_path / "t", 10, extra=[5, 6])
    assert _reason(table, "extra = 5") == "none of the predicate's columns is covered"
    refreshed = table.refresh_index("i")
    assert _reason(table, "extra = 5") == "it lacks 1 of 2 files; refresh it with mode='full'"
    assert any("'extra' is not covered in 1 older file; mode='full' covers it" in note for note in refreshed.notes)
    assert not any("covers it" in note for note in table.refresh_index("i", mode="full").notes)
    assert _reason(table, "extra = 5") == ""
