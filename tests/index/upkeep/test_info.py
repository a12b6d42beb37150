"""What an operator is told: state, versions, staleness in files and bytes, size, dead writers; and the history of an
index, with its lag."""

import os
import time
from dataclasses import replace
from pathlib import Path

import deltalake
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

import metaindex as mi
from metaindex.cli import main
from metaindex.index.log.entry import UnderWay
from metaindex.index.log.states import Operation
from metaindex.ops import hooks
from metaindex.table import IndexList, handle_of
from metaindex.table.views.history import HistoryEntry, Lag
from tests.disks import someone_elses_folder
from tests.tables import FORMATS, delta_lake, indexed, parquet_lake, rows


def behind(table: mi.Table) -> tuple[int | None, ...]:
    (info,) = table.indexes()
    return (info.new_files, info.new_bytes, info.gone_files, info.gone_bytes)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "delta" else pytest.mark.exhaustive) for n in FORMATS]
)
def test_staleness_is_what_changed_since(tmp_path: Path, name: str) -> None:
    lake = FORMATS[name](tmp_path)
    table = indexed(lake)
    assert behind(table) == (0, 0, 0, 0)
    first = table.versions()[-1].id
    lake.append(rows(10))
    lake.append(rows(20))
    if lake.remove is not None:
        lake.remove(0)
    elif name == "delta":
        deltalake.DeltaTable(lake.path).delete("id < 5")
    diff = table.diff(first)
    assert behind(lake.open()) == (
        len(diff.appended),
        diff.appended.size_bytes,
        len(diff.deleted),
        diff.deleted.size_bytes,
    )
    (info,) = table.indexes()
    assert (info.fresh, info.newest_version, info.versions) == (False, first, (first,))
    (quick,) = table.indexes(staleness=False)
    assert (quick.fresh, quick.new_files, quick.stored_bytes) == (False, None, None)
    if name != "csv":
        table.refresh_index("stats", "quick")
        assert behind(table)[:2] == (len(diff.appended), diff.appended.size_bytes)
    table.refresh_index("stats", builder="local")
    assert behind(table) == (0, 0, 0, 0)


def test_size_on_storage_is_all_that_lies_there(tmp_path: Path) -> None:
    table = indexed(delta_lake(tmp_path))
    (info,) = table.indexes()
    there = sum(p.stat().st_size for p in Path(info.location).rglob("*") if p.is_file())
    assert info.stored_bytes == there > info.size_bytes > 0


def test_runs_that_were_merged_are_told_apart_until_clean_removes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    lake.append(rows(10))
    table.refresh_index("stats", builder="local")
    (info,) = table.indexes()
    assert info.old_bytes == 0
    assert "old" not in str(table.indexes())
    assert "old" not in str(info)
    before = info.size_bytes
    said = str(table.optimize_index("stats", mode="full"))
    assert "stays on storage for queries that began before, until clean removes it" in said
    (info,) = table.indexes()
    assert info.old_bytes == before
    assert " old  " in str(table.indexes())
    assert "clean removes them" in str(table.indexes()).splitlines()[-1]
    assert "of that is of old runs" in str(info)
    assert main(["clean", str(lake.path), "stats"]) == 0
    said = capsys.readouterr().out
    assert "2 runs out of use (merged or replaced) stay for 7 days" in said
    assert "(--retention 0s is none)" in said
    assert "nothing is out of use" not in said
    cleaned = str(table.clean_index("stats", retention=0))
    assert "2 runs" in cleaned
    assert "stay for" not in cleaned
    assert table.indexes()[0].old_bytes == 0
    assert "nothing is out of use" in str(table.clean_index("stats"))


def test_indexes_as_arrow_and_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    lake.append(rows(10))
    log = handle_of(table).indexes().log("stats")
    entry = log.latest()
    dead = UnderWay(Operation.REFRESH, entry.id + 1, "dead", "elsewhere:7", int(time.time() * 1000) - 3_600_000)
    log.append(replace(entry, id=entry.id + 1, nonce="dead", under_way=(dead,)))
    found = table.indexes()
    arrow = found.to_arrow()
    assert arrow.to_pylist() == [
        {k: list(v) if isinstance(v, tuple) else v for k, v in info.items()} for info in found.to_json()
    ]
    assert arrow.slice(0, 0).schema == IndexList().to_arrow().schema
    assert main(["indexes", lake.path]) == 0
    said = capsys.readouterr()
    assert "REFRESHING, its writer seems dead" in said.out
    assert "no (1 file, " in said.out
    assert f"metaindex cancel {lake.path} stats ends it" in said.err
    assert main(["indexes", lake.path, "stats"]) == 0
    assert "refresh by elsewhere:7" in capsys.readouterr().out


def test_history_tells_every_entry_and_the_lag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    for number in (1, 2):
        lake.append(rows(number * 10))
        table.refresh_index("stats", builder="local")
    table.optimize_index("stats", "full")
    table.disable_index("stats")
    found = table.history("stats")
    operations = ["create", "refresh", "refresh", "optimize"]
    verbs = [f"{step} {operation}" for operation in operations for step in ("begin", "commit")]
    assert [entry.verb for entry in found.entries] == [*verbs, "disable"]
    commits = [entry for entry in found.entries if entry.verb.startswith("commit")]
    assert all(entry.duration_ms is not None and entry.who.endswith(f":{os.getpid()}") for entry in commits)
    assert [entry.version for entry in commits] == ["0", "1", "2", ""]
    changes = [(entry.runs_added, entry.runs_removed, entry.files_added) for entry in commits]
    assert changes == [*[(1, 0, 1)] * 3, (1, 3, 3)]
    assert [entry.lag_ms is not None for entry in commits] == [False, True, True, False]
    assert found.lag.versions == 2
    assert 0 <= found.lag.median_ms <= found.lag.longest_ms < 60_000
    assert found.to_arrow().num_rows == 9
    last = table.history("stats", last=2)
    assert ([entry.entry for entry in last.entries], last.earlier) == ([8, 9], 7)
    assert last.entries[0].runs_removed == 3
    Path(handle_of(table).indexes().log("stats").storage.uri("_log/00000000000000000003.json")).write_bytes(b"{}")
    assert main(["history", lake.path, "stats"]) == 0
    said = capsys.readouterr().out
    assert "lag from the table's commit" in said
    assert "DAMAGED" not in said.splitlines()[3]
    assert main(["history", lake.path, "nothing"]) == 1


def test_what_is_printed_is_what_the_command_line_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = delta_lake(tmp_path)
    assert str(IndexList()) == "no index"
    table = indexed(lake)
    lake.append(rows(10))
    table.refresh_index("stats", builder="local")
    lake.append(rows(20))
    asked = {
        ("indexes", lake.path): table.indexes(),
        ("indexes", lake.path, "stats"): table.indexes()[0],
        ("history", lake.path, "stats", "--last", "2"): table.history("stats", last=2),
    }
    for words, found in asked.items():
        assert main(list(words)) == 0
        assert capsys.readouterr().out == f"{found}\n"
    listed, one, told = (str(found) for found in asked.values())
    assert "no (1 file, " in listed
    assert "newest    version 1, committed " in one
    assert "size      " in one
    assert "2 earlier entries (--last 0, or last=None, shows all)" in told
    assert "version 1 recorded, 1 run of 1 file added" in told
    assert "over 1 recorded version" in told
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table.history("stats"), table.indexes(), IndexList())
    drawn = captured.get()
    assert "commit refresh" in drawn
    assert "lag from the table's commit" in drawn
    assert "no (1 file, " in drawn


def test_percentiles_of_lag_are_values_that_occurred() -> None:
    def lag(*values: int) -> Lag:
        return Lag.of([HistoryEntry(1, "commit refresh", "ACTIVE", 0, lag_ms=value) for value in values])

    assert lag() == Lag(0)
    assert lag(7) == Lag(1, 7, 7, 7)
    assert lag(3, 1, 2, 100) == Lag(4, 2, 100, 100)
    assert lag(*range(1, 201)) == Lag(200, 100, 198, 200)


@pytest.mark.spark
def test_indexes_as_a_spark_data_frame(spark: SparkSession, tmp_path: Path) -> None:
    table = indexed(delta_lake(tmp_path))
    (row,) = table.indexes().to_spark(spark).select("name", "state", "fresh", "versions", "new_files").collect()
    assert tuple(row) == ("stats", "ACTIVE", True, ["0"], 0)


@pytest.mark.slow
def test_a_namespace_is_seen_by_who_names_it_and_kept_fresh_by_hooks(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    common = indexed(lake)
    theirs = lake.open(config=mi.Config(namespace="team-a"))
    assert theirs.indexes() == []
    theirs.create_index("stats", mi.ColumnStats("id"), builder="local")
    theirs.create_index("more", mi.ColumnStats(), builder="local")
    assert [info.name for info in common.indexes()] == ["stats"]
    assert [info.name for info in theirs.indexes()] == ["more", "stats"]
    assert common.namespaces() == ["team-a"]
    common.drop_index("stats")
    common.vacuum_index("stats")
    assert [report.name for report in theirs.prune("id = 2").indexes if report.used] == ["more", "stats"]
    assert [report.name for report in theirs.prune("id = 2", indexes=["stats"]).indexes if report.used] == ["stats"]
    lake.append(rows(10))
    assert [one.index for one in hooks.after_commit(lake.path, mode="synchronous")] == ["more", "stats"]
    assert all(info.fresh for info in theirs.indexes())
    assert main(["indexes", lake.path, "more", "--namespace", "team-a"]) == 0
    with pytest.raises(ValueError, match="1 to 128"):
        lake.open(config=mi.Config(namespace="../x")).indexes()
    deltalake.DeltaTable(lake.path).vacuum(0, enforce_retention_duration=False, dry_run=False, full=True)
    assert theirs.verify_index("stats").sound


@pytest.mark.parametrize("closed", ["_log", "_log/00000000000000000002.json", "."])
def test_an_index_that_may_not_be_read_is_not_called_damaged(closed: str) -> None:
    with someone_elses_folder() as folder:
        lake = delta_lake(folder)
        table = indexed(lake)
        place = Path(table.indexes()[0].location.removeprefix("file://")) / closed
        assert place.exists()
        place.chmod(0)
        try:
            (info,) = lake.open().indexes()
            assert info.state == "UNREADABLE"
            assert "permission denied" in info.problem
            assert "DAMAGED" not in str(lake.open().indexes())
            assert lake.open().scan("id = 3").to_arrow().num_rows == 1
        finally:
            place.chmod(0o700)
        assert lake.open().indexes()[0].state == "ACTIVE"


def test_a_file_that_no_builder_could_read_is_told_where_it_is_kept(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    for number in range(3):
        lake.append(rows(number))
    (_, damaged, _) = sorted(Path(lake.path).glob("*.parquet"))
    damaged.write_bytes(b"PAR1 no footer PAR1")
    os.utime(damaged, (1e9, 1e9))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    result = table.prune("id < 0")
    assert [Path(path).name for path in result.files.paths.to_pylist()] == [damaged.name]
    told = "1 file could not be read when indexed, and is kept in every version that has it: verify says which"
    assert told in str(result)
    assert f"data file {damaged.name!r} cannot be read" in str(table.verify_index("stats", files=None))
    os.utime(damaged)  # the newest
    with pytest.raises(mi.MetaIndexError, match=r"first and the newest of them; .* write it again, remove it, or name"):
        lake.open().prune("id < 0")


def test_what_was_erased_is_told_as_that(tmp_path: Path) -> None:
    table = indexed(delta_lake(tmp_path))
    table.erase_index("stats", builder="local")
    told = table.history("stats")
    assert [entry.verb for entry in told.entries] == ["nothing to erase"]
    assert "entries before 4 are not kept" in str(told)
