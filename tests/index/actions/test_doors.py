"""Removal stays at home and takes what is its own: links, foreign objects, names that no writer gives, other writers'
runs, what killed puts left."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import StorageError, counted
from metaindex.index.actions.clean import clean, trim
from metaindex.index.actions.removal import GRACE_SECONDS, on_storage, remove_everything, remove_runs
from metaindex.index.log.entry import IndexLogEntry, UnderWay
from metaindex.index.log.liveness import heartbeat_path
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import Operation, State
from metaindex.index.store.layout import is_run, new_run_id
from metaindex.storage.own import OwnFolder, temporary_name
from metaindex.table import handle_of
from tests.tables import parquet_lake

from .faults import FaultStorage, MemoryStorage
from .index_bytes import everything
from .scenes import VERBS, Scene, check_reader, latest
from .scenes import scene as scene


@pytest.fixture
def table(tmp_path: Path) -> mi.Table:
    lake = parquet_lake(tmp_path)
    for number in range(3):
        lake.append(pa.table({"id": pa.array(range(number * 10, number * 10 + 10), pa.int64())}))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    return table


@pytest.fixture
def index(table: mi.Table) -> Path:
    return Path(table.indexes()[0].location)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    for name in ("doc.txt", "sub/other.txt", "deadbeefdeadbeef/part-00000.mix"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("precious")
    return folder


def files_of(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def answers(table: mi.Table) -> bool:
    """Is the query right?"""
    return mi.open_table(table.path).scan("id = 15").to_arrow().num_rows == 1


# -- links -------------------------------------------------------------------------------------------------------------

REMOVING: dict[str, Callable[[mi.Table], object]] = {
    "clean": lambda t: t.clean_index("stats", 0),
    "erase": lambda t: t.erase_index("stats"),
    "vacuum": lambda t: (t.drop_index("stats"), t.vacuum_index("stats")),
}


@pytest.mark.parametrize("verb", REMOVING)
@pytest.mark.parametrize(
    "link", ["column_stats/run=rdeadbeefdeadbeef", "evil", "column_stats/run=r0123456789abcdef/sub"]
)
def test_removal_follows_no_link(table: mi.Table, index: Path, victim: Path, link: str, verb: str) -> None:
    before = files_of(victim)
    (index / link).parent.mkdir(parents=True, exist_ok=True)
    (index / link).symlink_to(victim)
    with pytest.raises(StorageError, match="follows no link"):
        REMOVING[verb](table)
    assert files_of(victim) == before
    (index / link).unlink()
    if verb == "vacuum":
        table.vacuum_index("stats")
    else:
        REMOVING[verb](table)
    assert answers(table)


def test_cancel_follows_no_link(table: mi.Table, index: Path, victim: Path) -> None:
    before = files_of(victim)
    run = "rdeadbeefdeadbeef"
    mark(table, run)
    (index / "column_stats" / f"run={run}").symlink_to(victim)
    with pytest.raises(StorageError, match="follows no link"):
        table.cancel_index("stats")
    assert files_of(victim) == before
    (index / "column_stats" / f"run={run}").unlink()
    table.cancel_index("stats")
    assert table.indexes()[0].state == "ACTIVE"


@pytest.mark.parametrize("link", ["stats", "stats/_log", "stats/column_stats"])
def test_an_index_with_a_link_in_it_is_left_out_and_says_why(table: mi.Table, index: Path, link: str) -> None:
    where = index.parent / link
    elsewhere = where.with_name(where.name + "-elsewhere")
    where.rename(index.parent.parent / elsewhere.name)
    where.symlink_to(index.parent.parent / elsewhere.name)
    found = mi.open_table(table.path).prune("id = 15")
    assert found.kept_files == 3
    assert "follows no link" in found.indexes[0].reason
    assert answers(table)


@pytest.mark.parametrize("link", ["to itself", "to nothing", "under a file"])
def test_a_link_that_cannot_be_looked_through_takes_out_no_neighbour(table: mi.Table, index: Path, link: str) -> None:
    """Before, the whole listing failed, and with it every index of the table."""
    planted = index.parent / "planted"
    planted.symlink_to({"to itself": planted, "to nothing": index / "none", "under a file": f"{__file__}/x"}[link])
    again = mi.open_table(table.path)
    assert [one.name for one in again.indexes() if one.state == "ACTIVE"] == ["stats"]
    assert again.prune("id = 15").kept_files == 1
    again.create_index("other", mi.Values("id"), builder="local")
    again.refresh_index("stats", builder="local")


# -- what is not ours --------------------------------------------------------------------------------------------------


def test_what_no_index_writes_is_left_alone_and_told(table: mi.Table, index: Path) -> None:
    theirs = ("notes/to/self.txt", "column_stats/readme", "_manifests/old.json", "Upper/run=r0123456789abcdef/x")
    for name in theirs:
        (index / name).parent.mkdir(parents=True, exist_ok=True)
        (index / name).write_text("theirs")
    cleaned = table.clean_index("stats", 0)
    assert "4 objects that no index writes were left alone" in str(cleaned)
    table.drop_index("stats")
    assert "4 objects that no index writes were left alone" in str(table.vacuum_index("stats"))
    assert {name for name in files_of(index) if not name.startswith("_log/")} == set(theirs)


def test_every_name_that_is_given_to_a_run_is_known_as_one() -> None:
    assert all(is_run(new_run_id()) for _ in range(100))


# -- names that an entry says ------------------------------------------------------------------------------------------


def mark(table: mi.Table, *runs: str, nonce: str = "dead") -> IndexLogEntry:
    """An entry with a refresh under way whose writer is dead."""
    log = handle_of(table).indexes().log("stats")
    now = log.latest()
    under = UnderWay(Operation.REFRESH, now.id + 1, nonce, "somebody", 0, runs)
    entry = replace(now, id=now.id + 1, nonce=f"{nonce}.x", under_way=(under,))
    log.append(entry)
    return entry


@pytest.mark.parametrize("run", ["", ".", "..", "../x", "../../../victim", "/etc", "part-00000.mix", "r" * 17, "\n"])
def test_cancel_removes_nothing_by_a_name_that_no_writer_gives(
    table: mi.Table, index: Path, victim: Path, run: str
) -> None:
    before, theirs = files_of(index), files_of(victim)
    mark(table, run)
    assert table.cancel_index("stats").entry.state is State.ACTIVE
    assert {name for name in files_of(index) if not name.startswith("_log/")} >= {
        name for name in before if not name.startswith("_log/")
    }
    assert files_of(victim) == theirs
    assert mi.open_table(table.path).prune("id = 15").kept_files == 1


@pytest.mark.parametrize("nonce", ["../../../victim/doc.txt", "", "..", "a/b"])
def test_a_nonce_that_no_writer_gives_is_no_path(table: mi.Table, victim: Path, nonce: str) -> None:
    mark(table, nonce=nonce)
    table.indexes()
    assert table.cancel_index("stats").entry.state is State.ACTIVE
    assert (victim / "doc.txt").read_text() == "precious"


def test_cancel_removes_no_run_that_is_live(table: mi.Table, index: Path) -> None:
    run = handle_of(table).open_index("stats").entry.content.runs[0].run
    before = {name for name in files_of(index) if run in name}
    mark(table, run, "r0123456789abcdef")
    table.cancel_index("stats")
    assert {name for name in files_of(index) if run in name} == before
    assert mi.open_table(table.path).prune("id = 15").kept_files == 1


# -- others at work ----------------------------------------------------------------------------------------------------


def test_a_vacuum_that_was_cancelled_removes_nothing_of_the_index_created_since(scene: Scene) -> None:
    storage = scene.begin("deleted")
    done = False

    def others(number: int) -> None:
        nonlocal done
        if done or len([1 for name, _ in slow.calls if name == "put_if_absent"]) < 2:
            return  # the call behind the vacuum's begin
        done = True
        other = scene.open(storage)
        other.cancel_index("stats")
        other.create_index("stats", mi.ColumnStats(), builder="local")

    slow = FaultStorage(storage, between=others)
    with pytest.raises(mi.ConcurrentWriteError, match="was cancelled"):
        VERBS["vacuum"](scene.open(slow))
    assert done
    entry = latest(storage)
    assert entry.state is State.ACTIVE
    assert {run.run for run in entry.content.runs} <= set(on_storage(storage).runs)
    assert scene.open(storage).prune("id = 25").kept_files == 1


@pytest.mark.parametrize("nonce", ["", "0123456789abcdef"])
def test_everything_is_removed_by_the_operation_under_way_alone(scene: Scene, nonce: str) -> None:
    storage = scene.begin("active")
    before = dict(storage.objects)
    remove_everything(OperationLog(storage), nonce)
    assert storage.objects == before


def paused(scene: Scene, storage: MemoryStorage, verb: str, meanwhile: Callable[[], None]) -> None:
    """The verb, with something done by others just before its commit."""
    counting = FaultStorage(storage.copy())
    VERBS[verb](scene.open(counting))
    commit = max(n for n, (name, _) in enumerate(counting.calls) if name == "put_if_absent")
    VERBS[verb](scene.open(FaultStorage(storage, between=lambda n: meanwhile() if n == commit else None)))


def cleaned(storage: MemoryStorage) -> None:
    clean(OperationLog(storage), "stats", 0, 1)


@pytest.mark.parametrize("verb", ["refresh", "refresh full", "optimize full", "erase"])
def test_clean_spares_what_an_operation_under_way_wrote(scene: Scene, verb: str) -> None:
    storage = scene.begin("active")
    paused(scene, storage, verb, lambda: cleaned(storage))
    entry = latest(storage)
    assert {run.run for run in entry.content.runs} <= set(on_storage(storage).runs)
    check_reader(scene, storage)


def test_clean_spares_what_was_in_use_when_an_operation_under_way_began(scene: Scene) -> None:
    """An optimize reads the runs that it merges, whoever replaces them meanwhile."""
    storage = scene.begin("optimizing")
    entry = latest(storage)
    read = {run.run for run in entry.content.runs}
    VERBS["refresh full"](scene.open(storage))
    now = latest(storage)
    assert now.under_way
    assert not read & {run.run for run in now.content.runs}
    clean(OperationLog(storage), "stats", 0, 1)
    assert read <= set(on_storage(storage).runs)
    VERBS["cancel"](scene.open(storage))
    clean(OperationLog(storage), "stats", 0, 1)
    assert not read & set(on_storage(storage).runs)


@pytest.mark.parametrize("put_away", [lambda log: trim(log, 1), lambda log: clean(log, "stats", 0, 1)])
def test_entries_since_the_begin_of_an_operation_under_way_stay(
    scene: Scene, put_away: Callable[[OperationLog], object]
) -> None:
    """Its writer looks among them for its commit, where the answer was lost."""
    storage = scene.begin("refreshing")
    entry = latest(storage)
    (under,) = entry.under_way
    for _ in range(5):
        VERBS["disable"](scene.open(storage))
        VERBS["enable"](scene.open(storage))
    put_away(OperationLog(storage))
    numbers = OperationLog(storage).numbers()
    assert numbers[0] == under.began
    assert len(numbers) == 11


# -- what killed puts left ---------------------------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
import metaindex as mi
real = os.replace
def end(source, target, **more):
    if target.startswith(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)
    return real(source, target, **more)
os.replace = end
mi.open_table(sys.argv[1]).refresh_index("stats", mode="full", builder="local")
"""


@pytest.fixture
def killed(tmp_path: Path, request: pytest.FixtureRequest) -> mi.Table:
    """A table whose refresh was killed inside a put; in what that left stand values. The file that has them is then
    gone from the table, and the operation is cancelled."""
    root = tmp_path / "lake"
    root.mkdir()
    for name in ("alice", "barbara"):
        pq.write_table(pa.table({"name": [f"{name}-{n}" for n in range(5)]}), root / f"{name}.parquet")
        os.utime(root / f"{name}.parquet", (1_600_000_000, 1_600_000_000))
    table = mi.open_table(str(root))
    table.create_index("stats", mi.ColumnStats(), mi.Values("name", by="value"), builder="local")
    done = subprocess.run([sys.executable, "-c", _KILLED, str(root), request.param], check=False)
    assert done.returncode == -signal.SIGKILL
    (root / "alice.parquet").unlink()
    return mi.open_table(str(root))


def unfinished(table: mi.Table) -> list[Path]:
    return list(Path(table.path).parent.rglob("._put_*"))


@pytest.mark.parametrize("killed", ["part-"], indirect=True)
@pytest.mark.slow
def test_cancel_removes_what_the_killed_put_left(killed: mi.Table) -> None:
    assert unfinished(killed)
    killed.cancel_index("stats")
    assert not unfinished(killed)


@pytest.mark.parametrize("killed", ["part-"], indirect=True)
@pytest.mark.parametrize("verb", ["clean", "erase", "vacuum"])
@pytest.mark.slow
def test_every_removal_finds_what_a_killed_put_of_a_run_left(killed: mi.Table, verb: str) -> None:
    """Of a run that nobody writes any more, at once: here the entry of its writer is gone, too."""
    folder = Path(killed.path).parent / "_metaindex"
    assert "alice-0" in everything(folder)
    log = handle_of(killed).indexes().log("stats")
    now = log.latest()
    log.append(replace(now, id=now.id + 1, nonce="n", under_way=()))
    if verb == "clean":
        left = counted(len(unfinished(killed)), "killed write")
        assert f"what {left} left" in str(killed.clean_index("stats"))
    else:
        killed.refresh_index("stats", builder="local")
        REMOVING[verb](killed)
        assert "alice-0" not in everything(folder)
    assert not unfinished(killed)


@pytest.mark.parametrize("verb", ["clean", "erase"])
@pytest.mark.parametrize("name", ["_log/00000000000000000009.json", "column_stats/x"])
def test_what_may_be_a_put_under_way_goes_after_an_hour_and_is_told_until_then(
    table: mi.Table, index: Path, verb: str, name: str
) -> None:
    folder, _, last = name.rpartition("/")
    left = index / folder / temporary_name(last)
    left.write_bytes(b"x")
    outcome = REMOVING[verb](table)
    assert "1 writes are under way, or were killed within the hour" in str(outcome)
    assert left.exists()
    then = left.stat().st_mtime - GRACE_SECONDS - 60
    os.utime(left, (then, then))
    assert "killed within the hour" not in str(REMOVING[verb](table))
    assert not left.exists()


def test_a_put_that_is_under_way_is_left_alone(table: mi.Table, index: Path) -> None:
    run = "r0123456789abcdef"
    mark(table, run)
    left = index / "column_stats" / f"run={run}" / temporary_name("part-00000.mix")
    left.parent.mkdir()
    left.write_bytes(b"x")
    then = left.stat().st_mtime - GRACE_SECONDS - 60
    os.utime(left, (then, then))
    table.clean_index("stats", 0)
    assert left.exists()
    assert isinstance(handle_of(table).indexes().log("stats").storage, OwnFolder)


# -- who may read ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("location", [None, "elsewhere"])
def test_the_index_of_a_private_folder_is_private(tmp_path: Path, location: str | None) -> None:
    root = tmp_path / "parent/secret"
    root.mkdir(parents=True)
    pq.write_table(pa.table({"ssn": ["123-45-6789", "999-99-9999"]}), root / "f.parquet")
    os.utime(root / "f.parquet", (1_600_000_000, 1_600_000_000))
    root.chmod(0o700)
    (root / "f.parquet").chmod(0o600)
    config = mi.Config(index_location=str(tmp_path / location) if location else None)
    before = os.umask(0o022)
    try:
        table = mi.open_table(str(root), config=config)
        table.create_index("ix", mi.ColumnStats(), mi.Values("ssn"), builder="local")
    finally:
        os.umask(before)
    home = Path(table.indexes()[0].location).parent
    assert home.name.startswith("secret")
    found = [home, *home.rglob("*")]
    assert any(".listing" in path.name for path in found)
    for path in found:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert table.prune("ssn = 'x'").kept_files == 0


@pytest.mark.parametrize("name", ["", ".", "*", "deadbeef", "../victim"])
def test_of_a_name_that_no_writer_gives_nothing_is_removed(index: Path, name: str) -> None:
    kept = index / "_versions" / new_run_id() / "part-00000.bits"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"of another")
    before = files_of(index)
    remove_runs(OwnFolder(str(index)), [name])
    assert files_of(index) == before


def test_clean_leaves_the_heartbeat_of_who_is_writing(table: mi.Table, index: Path) -> None:
    log = handle_of(table).indexes().log("stats")
    mark(table, new_run_id(), nonce="alive")
    for nonce in ("alive", "ended"):
        log.storage.put(heartbeat_path(nonce), b"")
    clean(log, "stats", retention_seconds=0)
    assert {path for path in files_of(index) if path.startswith("_heartbeats")} == {heartbeat_path("alive")}


def test_clean_leaves_the_version_objects_of_who_is_writing(table: mi.Table, index: Path) -> None:
    log = handle_of(table).indexes().log("stats")
    writing, dead = new_run_id(), new_run_id()
    mark(table, writing, nonce="alive")
    for run in (writing, dead):
        log.storage.put(f"_versions/{run}/00000.bits", b"not committed yet")
    clean(log, "stats", retention_seconds=0)
    assert {path for path in files_of(index) if path.startswith("_versions")} == {f"_versions/{writing}/00000.bits"}


def test_temporary_files_of_a_build_are_hidden_even_in_the_tables_folder(
    table: mi.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no other folder can be written they are in Python's current folder, which may be the table's: readers of
    the table pass over `_...`, and none takes them for data."""
    root, seen = Path(table.path), set[str]()
    before = {path.name for path in root.iterdir()}
    made = tempfile.TemporaryDirectory

    def watched(*args: Any, **options: Any) -> tempfile.TemporaryDirectory[str]:
        folder = made(*args, **options)
        seen.update(path.name for path in root.iterdir())
        return folder

    monkeypatch.setattr(tempfile, "tempdir", table.path)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", watched)
    table.create_index("keys", mi.Values("id"))
    table.verify_index("keys")
    new = seen - before - {"_metaindex"}
    assert len(new) == 2  # of the build and of the verification
    assert all(name.startswith("_metaindex-") for name in new)
    assert {path.name for path in root.iterdir()} - before <= {"_metaindex"}
