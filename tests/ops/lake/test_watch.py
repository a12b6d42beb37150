"""`watch`: follows tables, tells what it does, backs off, and ends cleanly."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.ops.lake.upkeep import Event, Pace
from metaindex.ops.lake.watching import Watcher
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.index.marks import begun
from tests.tables import delta_lake, indexed, parquet_lake, rows, settled

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("place", [0, 1])
def test_a_table_that_is_not_there_does_not_stop_the_others(tmp_path: Path, call: Call, place: int) -> None:
    lake = parquet_lake(tmp_path)
    indexed(lake)
    lake.append(rows(10))
    words = [lake.path]
    words.insert(place, str(tmp_path / "nope"))
    done = call("watch", *words, "--once")
    assert done.code == 1
    assert "nope  cannot be asked" in done.out
    assert lake.open().indexes()[0].fresh
    assert call("watch", str(tmp_path / "nope"), "--once").code == 1
    assert call("watch", lake.path, lake.path, "--once").code == 0


@pytest.mark.slow
def test_what_is_behind_is_refreshed_once_and_told(tmp_path: Path) -> None:
    lakes = [delta_lake(tmp_path / "a"), parquet_lake(tmp_path / "b")]
    tables = [indexed(lake) for lake in lakes]
    events: list[Event] = []
    watcher = Watcher([lake.open() for lake in lakes], events.append)
    lakes[0].append(rows(10))
    assert watcher.once()
    assert [(e.kind, e.index) for e in events] == [("refreshed", "stats"), ("fresh", ""), ("fresh", "")]
    events.clear()
    assert watcher.once()
    assert events == []
    lakes[1].append(rows(10))
    assert watcher.once()
    assert [e.kind for e in events] == ["refreshed", "fresh"]
    assert all(table.indexes()[0].fresh for table in tables)
    tables[0].create_index("late", mi.ColumnStats(), builder="local")
    lakes[0].append(rows(20))
    tables[0].refresh_index("stats", builder="local")
    events.clear()
    assert watcher.once()
    assert [(e.kind, e.index) for e in events] == [("refreshed", "late"), ("fresh", "")]


@pytest.mark.parametrize("of_lake", [False, True])
def test_a_mark_of_a_dead_writer_is_taken_away_and_one_of_a_living_writer_stays(
    tmp_path: Path, call: Call, of_lake: bool
) -> None:
    lake = parquet_lake(tmp_path)
    table = indexed(lake)
    begun(table, "stats", refresh=5, optimize=int(time.time() * 1000))
    assert lake.open().indexes()[0].suspected
    words = ["watch", *(["--lake", str(tmp_path)] if of_lake else [lake.path]), "--once"]
    done = call(*words)
    assert (done.code, "ended what a dead writer had begun" in done.out) == (0, True)
    (info,) = lake.open().indexes()
    assert (info.suspected, len(info.under_way), info.fresh) == ((), 1, True)
    assert "who began optimize" in info.under_way[0]
    assert "ended what" not in call(*words).out
    assert lake.open().verify_index("stats").sound


@pytest.mark.slow
def test_an_index_restored_while_the_table_stands_still_is_brought_up(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    table.drop_index("stats")
    lake.append(rows(10))
    events: list[Event] = []
    watcher = Watcher([lake.open()], events.append)
    assert watcher.once()
    table.restore_index("stats")
    events.clear()
    assert watcher.once()
    assert [e.kind for e in events] == ["refreshed"]


@pytest.mark.slow
def test_a_table_that_cannot_be_read_is_told_and_the_others_are_watched(tmp_path: Path) -> None:
    lakes = [delta_lake(tmp_path / "a"), delta_lake(tmp_path / "b")]
    tables = [indexed(lake) for lake in lakes]
    for lake in lakes:
        lake.append(rows(10))
    log = Path(lakes[0].path) / "_delta_log"
    log.rename(log.with_name("away"))
    events: list[Event] = []
    watcher = Watcher(tables, events.append)
    assert not watcher.once()
    assert [e.kind for e in events] == ["unreadable", "refreshed", "fresh", "summed"]
    log.with_name("away").rename(log)
    events.clear()
    assert watcher.once()
    assert tables[0].indexes()[0].fresh
    assert [e.kind for e in events] == ["refreshed", "fresh", "summed"]
    log.rename(log.with_name("away"))
    assert not watcher.once()
    log.with_name("away").rename(log)
    events.clear()
    assert watcher.once()
    assert [(e.kind, e.version) for e in events] == [("fresh", "1"), ("summed", "")], "the version is the one before"


def test_that_an_index_is_mended_is_told(tmp_path: Path, call: Call) -> None:
    lake = delta_lake(tmp_path)
    indexed(lake).create_index("other", mi.ColumnStats(), builder="local")
    lake.open(config=mi.Config(namespace="mine")).create_index("other", mi.ColumnStats(), builder="local")
    logs = {name: Path(lake.path, "_metaindex", name, "_log") for name in ("stats", "other")}
    mine = next(log for log in Path(lake.path).rglob("other/_log") if log not in logs.values())
    events: list[Event] = []
    watcher = Watcher([lake.open()], events.append)

    def told() -> list[tuple[str, str, str | None]]:
        events.clear()
        watcher.once()
        return [(e.kind, e.index, e.namespace) for e in events]

    assert told() == [("fresh", "", None)]
    for log in (*logs.values(), mine):
        log.rename(log.with_name("away"))
        settled(log, {f"{1:020}.json": "{"})
    assert told() == [("failed", "other", None), ("failed", "stats", None), ("failed", "other", "mine")]
    assert told() == []
    assert "(namespace mine): fails" in call("watch", lake.path, "--once").out
    for log, expected in ((mine, ("fresh", "other", "mine")), (logs["other"], ("fresh", "other", None))):
        mend(log)
        assert told() == [expected], "others still fail"
    mend(logs["stats"])
    assert told() == [("fresh", "", None)]
    assert told() == []


def mend(log: Path) -> None:
    shutil.rmtree(log)
    log.with_name("away").rename(log)


def test_an_index_whose_log_is_damaged_is_told_once_and_fails(tmp_path: Path, call: Call) -> None:
    lakes = [delta_lake(tmp_path / "a"), delta_lake(tmp_path / "b")]
    for lake in lakes:
        indexed(lake)
        lake.append(rows(10))
    for entry in (tmp_path / "a").rglob("stats/_log/*.json"):
        entry.write_text("{")
    events: list[Event] = []
    watcher = Watcher([lake.open() for lake in lakes], events.append)
    assert not watcher.once()
    assert [(e.kind, e.table) for e in events] == [
        ("failed", lakes[0].path),
        ("refreshed", lakes[1].path),
        ("fresh", lakes[1].path),
        ("summed", ""),
    ]
    assert "a log entry is a line of JSON" in events[0].message
    assert events[-1].message == f"2 tables, 1 fails ({lakes[0].path})"
    events.clear()
    assert not watcher.once()
    assert events == [], "nothing is new"
    assert [table.failures for table in watcher._tables.values()] == [2, 0], "it has no other index to follow"
    told = call("watch", *(lake.path for lake in lakes), "--once")
    assert told.code == 1
    assert told.out.count("log entry is a line") == 1
    assert told.err == ""


def test_pauses_grow_while_nothing_happens_and_more_where_it_fails() -> None:
    pace = Pace(every=1, idle=8, error=100)

    def between(quiet: int, failures: int, asking: float = 0.0) -> tuple[float, float]:
        pauses = [pace.after(quiet, failures, asking) for _ in range(50)]
        return min(pauses), max(pauses)

    for (low, high), pause in [
        (between(0, 0), 1),
        (between(2, 0), 4),
        (between(99, 0), 8),
        (between(0, 99), 100),
        (between(0, 0, 0.5), 10),
    ]:
        assert 0.75 * pause <= low < high <= 1.25 * pause


def test_a_watcher_runs_until_it_is_stopped(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    refreshed = threading.Event()
    watcher = Watcher(
        [lake.open()], lambda e: refreshed.set() if e.kind == "refreshed" else None, pace=Pace(0.02, 0.05)
    )
    thread = threading.Thread(target=watcher.run)
    thread.start()
    lake.append(rows(10))
    assert refreshed.wait(20)
    watcher.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert table.indexes()[0].fresh
    with pytest.raises(ValueError, match="at least one table"):
        Watcher([])


def test_once_on_the_command_line(tmp_path: Path, call: Call) -> None:
    lake = delta_lake(tmp_path)
    indexed(lake)
    lake.append(rows(10))
    answer = call("watch", lake.path, "--once", "--json")
    assert answer.code == 0
    assert [json.loads(line)["kind"] for line in answer.out.splitlines()] == ["refreshed", "fresh"]
    answer = call("watch", lake.path, "--once")
    assert (answer.code, answer.out.count("fresh at version 1")) == (0, 1)
    assert call("watch", lake.path, "--every", "0").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    words = [sys.executable, "-m", "metaindex", "watch", lake.path, "--json", "--every", "0.05", "--idle", "0.1"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["kind"] == "fresh"
        lake.append(rows(10))
        assert json.loads(process.stdout.readline())["kind"] == "refreshed"
        assert json.loads(process.stdout.readline())["kind"] == "fresh"
        process.send_signal(number)
        assert json.loads(process.stdout.readline())["kind"] == "stopped"
        assert process.stdout.read() == "", "nothing more was done"
        assert process.wait() == 0
        assert "Traceback" not in process.stderr.read()
    assert table.indexes()[0].fresh


def test_what_several_indexes_fail_of_is_said_once(tmp_path: Path, call: Call) -> None:
    """In words; each is an event of its own for machines. With --once nothing is tried again."""
    lake = settled(tmp_path / "lake", {"0.csv": "id,n\n1,2\n"})
    for name in ("a", "b", "c"):
        mi.open_table(lake).create_index(name, mi.Values("id"), builder="local")
    (lake / "1.csv").write_text("id;n\n3;4\n")
    os.utime(lake / "1.csv", (1.8e9, 1.8e9))
    told = call("watch", lake, "--once")
    lines = [line for line in told.out.splitlines() if ": fails" in line]
    assert told.code == 1
    assert [line.split("  ")[2].split(":")[0] for line in lines] == ["a", "b", "c"], told.out
    assert "tried again" not in told.out
    assert [line.endswith(": fails, as the one before") for line in lines] == [False, True, True]
    events = [json.loads(line) for line in call("watch", lake, "--once", "--json").out.splitlines()]
    assert len({event["message"] for event in events}) == 1
    assert [event["index"] for event in events] == ["a", "b", "c"]


def test_a_name_that_no_index_has_is_told_and_fails(tmp_path: Path, call: Call) -> None:
    lakes = [delta_lake(tmp_path / "a"), delta_lake(tmp_path / "b")]
    table = indexed(lakes[0])
    for lake in lakes:
        lake.append(rows(10))
    done = call("watch", lakes[0].path, "--once", "--index", "stat")
    assert done.code == 1
    assert "stat: fails: there is no index named stat; there are: stats" in done.out
    assert "fresh at" not in done.out
    assert call("watch", lakes[0].path, lakes[1].path, "--once", "--index", "stats").code == 0, "one of them has it"
    events: list[Event] = []
    watcher = Watcher([lake.open() for lake in lakes], events.append, indexes=["late"])
    assert not watcher.once()
    assert not watcher.once()
    assert [(e.kind, e.index, e.message) for e in events] == [
        ("failed", "late", "there is no index named late; there are: stats")
    ], "told once"
    table.create_index("late", mi.ColumnStats(), builder="local")
    events.clear()
    assert watcher.once()
    assert [(e.kind, e.index) for e in events] == [("fresh", "late")]
