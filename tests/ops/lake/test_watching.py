"""`watch --lake`: what is worth most comes first, within a budget; watchers share, and one that dies loses nothing."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.ops.lake.opening import LakeAsked
from metaindex.ops.lake.upkeep import Event, TokenBucket, UpkeepBudget
from metaindex.ops.lake.watching import Watcher
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.tables import Lake, delta_lake, indexed, parquet_lake, rows

ROOT = Path(__file__).parents[3]


WATCHED = """
import sys
from metaindex.cli import main
from metaindex.ops.lake.watching import Watcher

take, asked = Watcher._take, open(sys.argv.pop(1), "a", buffering=1)

def taken(self, table, state):
    take(self, table, state)
    print(table.place.name, file=asked)

Watcher._take = taken
sys.exit(main(sys.argv[1:]))
"""
"""The command, which writes into a file which table it has asked."""


def tables(root: Path, count: int, behind: bool = True) -> list[Lake]:
    """Indexed tables of several formats below `root`, a commit behind."""
    made = []
    for number in range(count):
        lake = (delta_lake, parquet_lake)[number % 2](root / f"t{number}")
        indexed(lake)
        if behind:
            lake.append(rows(100))
        made.append(lake)
    return made


def watched(root: Path, **options: object) -> tuple[bool, list[Event]]:
    """One round, and its events."""
    events: list[Event] = []
    return Watcher(LakeAsked(str(root)), events.append, **options).once(), events


def fresh(lakes: list[Lake]) -> list[bool | None]:
    return [lake.open().indexes()[0].fresh for lake in lakes]


def test_every_index_of_the_lake_is_brought_up(tmp_path: Path) -> None:
    lakes = tables(tmp_path, 4)
    delta_lake(tmp_path / "bare").append(rows(1))
    done, events = watched(tmp_path)
    assert done
    assert fresh(lakes) == [True] * 4
    assert Counter(event.kind for event in events) == {"looked": 1, "refreshed": 4, "summed": 1}
    assert events[-1].message == "5 tables, 4 indexes refreshed, 1 without an index that is followed"
    done, events = watched(tmp_path)
    assert done
    assert [event.kind for event in events] == ["looked", "summed"], "nothing is behind"
    assert events[-1].message == "5 tables, 1 without an index that is followed"
    for lake in lakes:
        assert lake.open().verify_index("stats").sound


@pytest.mark.slow
def test_what_a_byte_of_upkeep_spares_most_comes_first_then_what_is_most_behind(tmp_path: Path) -> None:
    lakes = tables(tmp_path, 6)
    lakes[2].append(rows(200))  # more behind than the others
    for lake, queries in ((lakes[4], 5), (lakes[0], 1)):
        noted = lake.open(config=mi.Config(query_log=True))
        for at in range(queries):
            noted.prune(f"id = {2000 + at}")
        noted.savings()
    _, events = watched(tmp_path)
    order = [Path(event.table).parent.name for event in events if event.kind == "refreshed"]
    assert order[:2] == ["t4", "t0"]
    assert order[2] == "t2"
    assert sorted(order[3:]) == ["t1", "t3", "t5"]


def test_no_more_is_spent_than_the_budget_and_what_is_left_is_told(tmp_path: Path) -> None:
    lakes = tables(tmp_path, 4)
    done, events = watched(tmp_path, budget=UpkeepBudget(bytes_per_hour=1000))
    assert done, "what is left for the budget's sake is no failure"
    assert [event.kind for event in events] == ["looked", "refreshed", "left", "summed"]
    assert events[-2].message == "3 indexes behind: the budget of an hour is used up"
    assert fresh(lakes).count(True) == 1
    done, events = watched(tmp_path, budget=UpkeepBudget(cpu_seconds_per_hour=1e-6))
    assert [event.kind for event in events] == ["looked", "left", "summed"], "looking has used it up"


@given(
    per_hour=st.floats(1, 1e9),
    steps=st.lists(st.tuples(st.floats(0, 7200), st.floats(0, 1e9)), max_size=30),
)
def test_over_any_time_a_purse_gives_its_budget_and_one_thing_besides(
    per_hour: float, steps: list[tuple[float, float]]
) -> None:
    now = 0.0
    purse = TokenBucket(per_hour, lambda: now)
    spent = []
    for pause, cost in steps:
        now += pause
        if purse.wait_seconds(cost) == 0:
            purse.spend(cost)
            spent.append((now, cost))
        else:
            now += purse.wait_seconds(cost) * (1 + 1e-6) + 1e-3
            assert purse.wait_seconds(cost) == 0, "it is waited for just so long"
    for first, (begin, _) in enumerate(spent):
        for last in range(first, len(spent)):
            costs = [cost for _, cost in spent[first : last + 1]]
            hours = (spent[last][0] - begin) / 3600
            assert sum(costs) <= per_hour * (1 + hours) * 1.001 + max(costs)


def test_a_table_that_cannot_be_read_keeps_the_others_from_nothing(tmp_path: Path) -> None:
    lakes = tables(tmp_path, 3)
    (tmp_path / "t0" / "lake" / "_delta_log" / f"{1:020}.json").write_text("{")
    done, events = watched(tmp_path)
    assert not done
    assert fresh(lakes[1:]) == [True, True]
    assert [Path(e.table).parent.name for e in events if e.kind in ("unreadable", "failed")] == ["t0"]
    assert not Watcher(LakeAsked(str(tmp_path / "none"))).once()


def test_an_index_that_stays_damaged_is_tried_less_and_less_often(tmp_path: Path) -> None:
    tables(tmp_path, 1)
    for manifest in tmp_path.rglob("_manifests/*.json"):
        manifest.write_text("{")
    events: list[Event] = []
    watcher = Watcher(LakeAsked(str(tmp_path)), events.append)
    assert not watcher.once()
    (followed,) = watcher._tables.values()
    first = followed.failures
    watcher._ask([followed])
    while watcher._needs:
        watcher._refresh(watcher._next())
    assert followed.failures > first


def damage_log(root: Path) -> None:
    for entry in root.rglob("stats/_log/*.json"):
        entry.write_text("{")


def damage_manifests(root: Path) -> None:
    for manifest in root.rglob("_manifests/*.json"):
        manifest.write_text("{")


def damage_table(root: Path) -> None:
    for commit in root.rglob("_delta_log/*.json"):
        commit.write_text("{")


DAMAGE = [
    (damage_log, True, "a log entry is a line of JSON"),
    (damage_manifests, True, "a part of an index is as its manifest says"),
    (damage_manifests, False, "a part of an index is as its manifest says"),
    (damage_table, True, "the log is damaged"),
]


@pytest.mark.parametrize(("damage", "behind", "said"), DAMAGE)
def test_one_line_tells_of_each_table_that_fails_and_a_last_one_how_many(
    tmp_path: Path, call: Call, damage: Callable[[Path], None], behind: bool, said: str
) -> None:
    lakes = tables(tmp_path, 3, behind=False)
    for lake in lakes if behind else lakes[1:]:
        lake.append(rows(100))
    damage(tmp_path / "t0")
    told = call("watch", "--lake", tmp_path, "--once")
    assert told.code == 1
    (failing,) = [line for line in told.out.splitlines() if f"{tmp_path}/t0" in line]
    assert said in failing
    assert told.out.splitlines()[-1].endswith("summary: 3 tables, 1 fails (t0/lake), 2 indexes refreshed")
    assert told.err == "", "no warning says once more what the line says"
    assert fresh(lakes[1:]) == [True, True]
    events = [json.loads(line) for line in call("watch", "--lake", tmp_path, "--once", "--json").out.splitlines()]
    assert [event["kind"] in ("failed", "unreadable") for event in events].count(True) == 1
    assert (events[-1]["kind"], events[-1]["message"]) == ("summed", "3 tables, 1 fails (t0/lake)")


@pytest.mark.parametrize(("damage", "behind", "said"), DAMAGE)
def test_what_still_fails_alike_is_not_told_again_and_what_is_mended_is(
    tmp_path: Path, damage: Callable[[Path], None], behind: bool, said: str
) -> None:
    lakes = tables(tmp_path / "lake", 2, behind=False)
    if behind:
        lakes[0].append(rows(100))
    for copy in ("sound", "sound again"):
        shutil.copytree(tmp_path / "lake" / "t0", tmp_path / copy)
    damage(tmp_path / "lake" / "t0")
    events: list[Event] = []
    watcher = Watcher(LakeAsked(str(tmp_path / "lake")), events.append)
    assert not watcher.once()
    assert [said in event.message for event in events if event.kind in ("failed", "unreadable")] == [True]
    assert list(watcher.failing) == ["t0/lake"]
    events.clear()
    assert not watcher.once()
    assert [event.kind for event in events] == ["summed"]
    shutil.rmtree(tmp_path / "lake" / "t0")
    (tmp_path / "sound").rename(tmp_path / "lake" / "t0")
    events.clear()
    assert watcher.once()
    assert not list(watcher.failing)
    assert events[-1].message in ("2 tables", "2 tables, 1 index refreshed")
    told = [(event.kind, Path(event.table).parent.name) for event in events if event.kind in ("fresh", "refreshed")]
    assert told == [("refreshed" if behind else "fresh", "t0")], "it is mended"
    events.clear()
    assert watcher.once()
    assert [event.kind for event in events] == ["summed"]
    if behind:
        shutil.rmtree(tmp_path / "lake" / "t0")
        (tmp_path / "sound again").rename(tmp_path / "lake" / "t0")
        damage(tmp_path / "lake" / "t0")
        events.clear()
        assert not watcher.once()
        assert any(said in event.message for event in events), "it fails anew"


def test_an_index_that_is_damaged_keeps_the_others_of_its_table_from_nothing(tmp_path: Path) -> None:
    (lake,) = tables(tmp_path, 1, behind=False)
    lake.open().create_index("other", mi.Values("id"), builder="local")
    lake.append(rows(100))
    damage_manifests(tmp_path / "t0" / "lake" / "_metaindex" / "stats")
    events: list[Event] = []
    watcher = Watcher(LakeAsked(str(tmp_path)), events.append)
    assert not watcher.once()
    assert [(event.kind, event.index) for event in events[1:]] == [
        ("failed", "stats"),
        ("refreshed", "other"),
        ("summed", ""),
    ]
    assert [followed.failures for followed in watcher._tables.values()] == [0]
    table = lake.open()
    for name in ("other", "stats"):
        table.repair_index(name, builder="local")
    damage_manifests(tmp_path / "t0" / "lake" / "_metaindex" / "other")
    events.clear()
    assert not watcher.once()
    assert sorted((event.kind, event.index) for event in events if event.kind != "summed") == [
        ("failed", "other"),
        ("fresh", "stats"),
    ]


def test_a_lake_that_cannot_be_listed_is_told_once(tmp_path: Path, call: Call) -> None:
    events: list[Event] = []
    watcher = Watcher(LakeAsked(str(tmp_path / "none")), events.append)
    assert not watcher.once()
    assert not watcher.once()
    assert [event.kind for event in events].count("unreadable") == 1
    assert watcher.failing == (str(tmp_path / "none"),)
    (tmp_path / "none").mkdir()
    assert watcher.once()
    assert call("watch", "--lake", tmp_path / "nowhere", "--once").code == 1


@pytest.mark.slow
def test_one_that_is_stopped_while_a_table_fails_has_told_of_it_once(tmp_path: Path) -> None:
    tables(tmp_path / "lake", 2, behind=False)
    damage_log(tmp_path / "lake" / "t0")
    asked = tmp_path / "asked"
    pace = ["--every", "0.05", "--idle", "0.1", "--find-every", "0.1"]
    words = [sys.executable, "-c", WATCHED, str(asked), "watch", "--lake", str(tmp_path / "lake"), *pace]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        lines = [watching.stdout.readline() for _ in range(3)]
        assert [word in line for word, line in zip(("looked", "stats", "summary"), lines, strict=True)] == [True] * 3
        while asked.read_text().splitlines().count("t0/lake") < 4:
            assert watching.poll() is None
            time.sleep(0.02)
        watching.send_signal(signal.SIGTERM)
        out, err = watching.communicate()
    assert len(out.splitlines()) == 1, "stopped; nothing else was news"
    assert "warning" not in err
    assert watching.returncode == 0, "it was asked to end"


@pytest.mark.slow
def test_two_watchers_side_by_side_bring_up_every_index_once_or_share(tmp_path: Path) -> None:
    lakes = tables(tmp_path, 12)
    words = [sys.executable, "-m", "metaindex", "watch", "--lake", str(tmp_path), "--once", "--json"]
    both = [subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [watcher.communicate()[0] for watcher in both]
    assert [watcher.returncode for watcher in both] == [0, 0], told
    events = [json.loads(line) for out in told for line in out.splitlines()]
    assert not [event for event in events if event["kind"] in ("failed", "unreadable")]
    refreshed = Counter(event["table"] for event in events if event["kind"] == "refreshed")
    assert len(refreshed) + len({e["table"] for e in events if e["kind"] == "shared"} - refreshed.keys()) == 12
    # What one had begun when the other ended is done by now.
    assert fresh(lakes) == [True] * 12
    for lake in lakes:
        table = lake.open()
        assert table.verify_index("stats").sound
        assert table.prune("id = 100").kept_files == 1


@pytest.mark.slow
def test_it_follows_commits_and_tables_that_come_later_until_it_is_stopped(tmp_path: Path) -> None:
    lakes = tables(tmp_path, 2, behind=False)
    pace = ["--every", "0.1", "--idle", "0.2", "--find-every", "0.2"]
    words = [sys.executable, "-m", "metaindex", "watch", "--lake", str(tmp_path), "--json", *pace]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None

        def until(kind: str, table: str) -> None:
            for line in watching.stdout:
                event = json.loads(line)
                if (event["kind"], event["table"]) == (kind, table):
                    return
            raise AssertionError("it has ended")

        until("looked", str(tmp_path))
        lakes[0].append(rows(100))
        until("refreshed", lakes[0].path)
        late = delta_lake(tmp_path / "late")
        indexed(late)
        late.append(rows(100))
        until("refreshed", late.path)
        watching.send_signal(signal.SIGTERM)
        until("stopped", str(tmp_path))
    assert watching.returncode == 0
    assert fresh([*lakes, late]) == [True] * 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "got neither"),
        (["x", "--lake", "y"], "got both"),
        (["x", "--bytes-per-hour", "1GB"], "are for a lake"),
        (["--lake", "y", "--format", "delta"], "opened as they are found"),
        (["--lake", ""], "a lake is a folder"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(call: Call, words: list[str], said: str) -> None:
    told = call("watch", *words)
    assert told.code == 1
    assert said in told.err


def test_a_table_whose_files_were_all_emptied_is_followed_by_the_watch(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    indexed(lake)
    for file in Path(lake.path).glob("*.parquet"):
        file.write_bytes(b"")
    events: list[Event] = []
    watcher = Watcher(LakeAsked(str(tmp_path)), events.append)
    assert not watcher.once()
    assert watcher.failing == ("lake",)
    assert any("empty files such as" in event.message for event in events if event.kind == "unreadable")
    shutil.rmtree(lake.path)
    assert watcher.once(), "a folder that is gone is no table any more"
    assert watcher.failing == ()


def test_a_name_that_no_index_of_the_lake_has_is_told_once_and_fails(tmp_path: Path) -> None:
    lakes = tables(tmp_path, 2)
    done, events = watched(tmp_path, indexes=["stat"])
    assert not done
    assert [e.message for e in events if e.kind == "failed"] == ["there is no index named stat; there are: stats"]
    lakes[0].open().create_index("late", mi.ColumnStats(), builder="local")
    assert watched(tmp_path, indexes=["late"])[0], "one of the tables has it"
    told: list[Event] = []
    watcher = Watcher(LakeAsked(str(tmp_path)), told.append, indexes=["later"])
    assert not watcher.once()
    assert not watcher.once()
    assert [e.kind for e in told].count("failed") == 1
    lakes[1].open().create_index("later", mi.ColumnStats(), builder="local")
    assert watcher.once()
