"""An index that does not know all files says so where a query is answered, with the cure."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.cli import main
from metaindex.index import Kind
from tests.index.kinds.covering.arrow_builder import ArrowBuilder


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


def test_kinds_that_answer_other_questions_are_not_said_to_lack_a_column(tmp_path: Path) -> None:
    _append(tmp_path / "t", 0)
    table = mi.open_table(tmp_path / "t")
    table.create_index("i", mi.Covering(["a"], []), builder=ArrowBuilder())
    assert _reason(table, "a = 1") == "an index of covering leaves no files out"
    assert "known in none" not in str(table.explain("a = 1"))
    table.drop_index("i")
    table.vacuum_index("i")
    table.create_index("i", mi.Sums("a"))
    assert _reason(table, "a = 1") == "an index of sums leaves no files out"


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


def test_files_of_older_versions_need_an_index_with_history(tmp_path: Path) -> None:
    _append(tmp_path / "t", 0)
    write_deltalake(str(tmp_path / "t"), pa.table({"a": [5, 6]}), mode="overwrite")
    now = mi.open_table(tmp_path / "t")
    now.create_index("i", mi.Values("a"))
    for _ in range(2):
        (report,) = [one for one in now.prune("a = 1", version=0).indexes if one.name == "i"]
        assert report.reason == "it lacks 1 of 1 file; one created with history=True knows files of older versions"
        now.refresh_index("i", mode="full")
    now.create_index("past", mi.Values("a"), history=True)
    assert {one.name: one.reason for one in now.prune("a = 1", version=0).indexes}["past"] == ""


KINDS: dict[str, tuple[Kind, ...]] = {
    "statistics": (mi.ColumnStats("a"),),
    "values": (mi.Values("a"),),
    "bloom": (mi.Bloom("a"),),
    "value list": (mi.ValueList("a"),),
    "covering": (mi.Covering(["a"], []),),
    "sums": (mi.Sums("a"),),
    "sketches": (mi.Sketches("a"),),
    "all that tell of whole files": (mi.Sums("a"), mi.Sketches("a"), mi.Covering(["a"], [])),
}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 files, of which the table's own log knows the bounds."""
    path = tmp_path_factory.mktemp("many") / "t"
    for file in range(24):
        _append(path, file * 10)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_hides_what_the_tables_own_log_proves(kind: str, many: Path, tmp_path: Path) -> None:
    """But for a quarter of the files: so few are read rather than the log is asked (decision 10)."""
    shutil.copytree(many, tmp_path / "t")
    alone = mi.open_table(tmp_path / "t")
    questions = ("a = 1", "a IN (1, 40)", "a < 15", "a = 1 OR a > 225", "a IS NULL", "NOT a >= 20")
    before = {asked: alone.prune(asked).kept_files for asked in questions}
    assert max(before.values()) <= 3
    builder = ArrowBuilder() if any(isinstance(one, mi.Covering) for one in KINDS[kind]) else "local"
    alone.create_index("i", *KINDS[kind], builder=builder)
    table = mi.open_table(tmp_path / "t")
    assert {asked: kept for asked in questions if (kept := table.prune(asked).kept_files) > max(before[asked], 6)} == {}


def test_an_index_of_a_composite_key_says_that_all_of_its_columns_are_asked_together(tmp_path: Path) -> None:
    _append(tmp_path / "t", 0, extra=[5, 6])
    table = mi.open_table(tmp_path / "t")
    table.create_index("i", mi.Values(("a", "extra")), mi.Sums("a"))
    why = "its key is (a, extra), which is asked only where = or IN fixes all of these columns"
    assert [_reason(table, asked) for asked in ("a = 1", "a > 1 AND extra = 5", "extra IS NULL")] == [why] * 3
    assert _reason(table, "a = 1 AND extra = 5") == ""
    info = table.indexes()["i"]
    assert (info.columns, info.statistics, info.keys[0]) == (("a", "extra"), (), "values(a, extra)")
    assert "(a, extra), a" in str(table.indexes())
