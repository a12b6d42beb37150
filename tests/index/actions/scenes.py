"""A small table, its index in every state a verb begins from, and the verbs: shared by the crash tests and the
races."""

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import Progress
from metaindex.index.actions.clean import clean
from metaindex.index.actions.removal import on_storage
from metaindex.index.build.local import LocalBuilder
from metaindex.index.build.protocol import BuildReport, BuildRequest
from metaindex.index.log.entry import IndexLogEntry
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import Operation, State
from metaindex.index.store.writer import RunSink
from metaindex.table import Table, handle_of
from tests.tables import Lake, parquet_lake

from .faults import FaultStorage, Killed, MemoryStorage, opened

Verb = Callable[[Table], object]


def rows(number: int) -> pa.Table:
    return pa.table({"id": pa.array(range(number * 10, number * 10 + 10), pa.int64())})


def clean_now(table: Table) -> object:
    return clean(handle_of(table).indexes().log("stats"), "stats", retention_seconds=0, keep_entries=1)


VERBS: dict[str, Verb] = {
    "create": lambda t: t.create_index("stats", mi.ColumnStats(), builder="local"),
    "refresh": lambda t: t.refresh_index("stats", builder="local"),
    "refresh full": lambda t: t.refresh_index("stats", mode="full", builder="local"),
    "refresh quick": lambda t: t.refresh_index("stats", mode="quick", builder="local"),
    "optimize": lambda t: t.optimize_index("stats"),
    "optimize full": lambda t: t.optimize_index("stats", mode="full"),
    "delete": lambda t: t.drop_index("stats"),
    "restore": lambda t: t.restore_index("stats"),
    "vacuum": lambda t: t.vacuum_index("stats"),
    "cancel": lambda t: t.cancel_index("stats"),
    "enable": lambda t: t.enable_index("stats"),
    "disable": lambda t: t.disable_index("stats"),
    "clean": clean_now,
    "erase": lambda t: t.erase_index("stats"),
}

OPERATION = {
    verb: Operation[verb.partition(" ")[0].upper()]
    for verb in VERBS
    if verb not in ("enable", "disable", "clean", "erase")
} | {"erase": Operation.OPTIMIZE}


@dataclass
class Tended:
    """A folder of plain files, and in memory its index."""

    lake: Lake
    storage: MemoryStorage

    @property
    def path(self) -> str:
        return self.lake.path

    def open(self) -> Table:
        return opened(self.path, self.storage)

    def do(self, verb: str) -> object:
        return VERBS[verb](self.open())

    def append(self, number: int) -> None:
        self.lake.append(rows(number))

    def grow(self, *numbers: int, verb: str = "refresh") -> None:
        for number in numbers:
            self.append(number)
            self.do(verb)


def tended(folder: Path) -> Tended:
    """Of a file."""
    made = Tended(parquet_lake(folder), MemoryStorage())
    made.grow(0, verb="create")
    return made


@dataclass(frozen=True)
class Disturbed(LocalBuilder):
    """Something happens before it builds."""

    first: Callable[[], object] = lambda: None

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        self.first()
        return LocalBuilder.facts(self, request, sink, progress)


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)


@dataclass(frozen=True)
class Scene:
    """A table on disk (never changed), and storages with its index in several states."""

    path: str
    states: dict[str, MemoryStorage]

    def begin(self, state: str) -> MemoryStorage:
        return self.states[state].copy()

    def open(self, storage: MemoryStorage | FaultStorage) -> Table:
        return opened(self.path, storage)


STATE_OF = {
    "create": "none",
    "restore": "deleted",
    "vacuum": "deleted",
    "enable": "disabled",
    "cancel": "refreshing",
}
"""The state that a verb is begun from; `active` where not said."""

AFTER = {
    "create": State.ACTIVE,
    "delete": State.DELETED,
    "restore": State.ACTIVE,
    "vacuum": State.DOESNOTEXIST,
}


def make_scene(folder: Path) -> Scene:
    """Three runs of which one file has left the table, one file that no run knows, garbage of an optimize; also
    deleted, disabled, and with dead writers."""
    lake = tended(folder)
    lake.grow(1, 2)
    lake.do("optimize")
    lake.grow(3)
    lake.lake.remove(1)
    lake.append(4)
    states = {"none": MemoryStorage(), "active": lake.storage}

    def after(state: str, *verbs: str, kill: str = "") -> MemoryStorage:
        copy = states[state].copy()
        for verb in verbs:
            VERBS[verb](opened(lake.path, copy))
        if kill:
            halted = FaultStorage(copy, _half(lake.path, copy, kill), "kill after")
            with contextlib.suppress(Killed):
                VERBS[kill](opened(lake.path, halted))
            assert halted.dead
        return copy

    states["deleted"] = after("active", "delete")
    states["disabled"] = after("active", "disable")
    states["refreshing"] = after("active", kill="refresh full")
    states["optimizing"] = after("active", kill="optimize full")
    states["deleting"] = after("active", kill="delete")
    states["restoring"] = after("deleted", kill="restore")
    states["vacuuming"] = after("deleted", kill="vacuum")
    states["creating"] = after("none", kill="create")
    states["cancelling"] = after("refreshing", kill="cancel")
    return Scene(lake.path, states)


def _half(path: str, storage: MemoryStorage, verb: str) -> int:
    """The number of a call in the middle of a verb: behind its begin, before its commit."""
    counting = FaultStorage(storage.copy())
    VERBS[verb](opened(path, counting))
    puts = [i for i, (name, _) in enumerate(counting.calls) if name == "put_if_absent"]
    return (puts[0] + puts[-1]) // 2


def calls_of(scene: Scene, verb: str, state: str) -> list[tuple[str, str]]:
    counting = FaultStorage(scene.begin(state))
    VERBS[verb](scene.open(counting))
    return counting.calls


def latest(storage: MemoryStorage) -> IndexLogEntry | None:
    return OperationLog(storage).latest()


def check_reader(scene: Scene, storage: MemoryStorage) -> None:
    """A query never loses a row, whatever the index went through: of this version and of those that the index records;
    and the index is not damaged."""
    table = scene.open(storage)
    for predicate, files in (("id >= 0", {"f000", "f002", "f003", "f004"}), ("id = 25", {"f002"})):
        found = table.prune(predicate)
        names = {path.rpartition("/")[2].removesuffix(".parquet") for path in found.paths}
        assert names >= files
        for report in found.indexes:
            assert "as its manifest says" not in report.reason, report
            assert "digest" not in report.reason, report
    entry = latest(storage)
    if entry is not None and entry.readable:
        index = handle_of(table).open_index("stats")
        for run in entry.content.runs:
            assert len(index.identities(run)) == run.files
        for record, _ in index.versions.all():
            found_version = index.versions.resolve(record.version)
            assert found_version is not None
            assert sum(int(found_version.live.mask(run).sum()) for run in entry.content.runs) == record.files


def check_log(storage: MemoryStorage) -> None:
    """Entries have no gaps, and each follows from the one before by one step: a mark more, marks fewer, or flags."""
    log = OperationLog(storage)
    numbers = log.numbers()
    assert numbers == list(range(numbers[0], numbers[-1] + 1)) if numbers else True
    entries = [log.entry(number) for number in numbers]
    for before, after in itertools.pairwise(entries):
        came = {u.nonce for u in after.under_way} - {u.nonce for u in before.under_way}
        assert len(came) <= 1, after.written_by
        assert after.timestamp_ms >= before.timestamp_ms
        if came and not after.written_by.endswith("cancel") and "create" not in after.written_by:
            assert (after.content, after.stable) == (before.content, before.stable), after.written_by


def live_objects(storage: MemoryStorage) -> set[str]:
    """Runs and writers of version objects that some entry of the log names or has under way."""
    log = OperationLog(storage)
    out: set[str] = set()
    for number in log.numbers():
        entry = log.entry(number)
        out |= {run.run for run in entry.content.runs}
    return out


def runs_on(storage: MemoryStorage) -> set[str]:
    return set(on_storage(storage).runs)


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return make_scene(tmp_path_factory.mktemp("scene"))
