"""A writer dies, or its storage fails, at every call of every verb, before and after the call took effect. Afterwards
readers see stable content, the verb can be run again or cancelled, clean removes what was left, and nothing within the
retention is removed."""

import os

import pytest

import metaindex as mi
from metaindex.core import MetaIndexError, StorageError
from metaindex.index.actions import action as actions
from metaindex.index.actions.refresh import Refresh
from metaindex.index.log.states import State
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.cache import StoreCache
from metaindex.table import handle_of
from tests.figures import count

from .faults import FAULTS, WRITES, Fault, FaultStorage, Killed, MemoryStorage, turning_points
from .scenes import (
    AFTER,
    STATE_OF,
    VERBS,
    Scene,
    calls_of,
    check_log,
    check_reader,
    clean_now,
    latest,
    live_objects,
    runs_on,
)
from .scenes import no_waiting as no_waiting
from .scenes import scene as scene

pytestmark = pytest.mark.usefixtures("no_waiting")
FEW, SOAK = (bool(os.environ.get(f"METAINDEX_{name}")) for name in ("FAST", "SOAK"))
QUICK = [
    ("refresh", "active"),
    ("optimize full", "active"),
    ("vacuum", "deleted"),
    ("clean", "active"),
    ("cancel", "vacuuming"),
]
CASES = [
    *((verb, STATE_OF.get(verb, "active")) for verb in VERBS),
    *(("cancel", state) for state in ("creating", "optimizing", "deleting", "restoring", "vacuuming", "cancelling")),
    ("vacuum", "vacuuming"),
    ("delete", "deleting"),
    ("restore", "restoring"),
    ("create", "creating"),
    ("clean", "optimizing"),
]


@pytest.mark.exhaustive(but="create from none, kill before")
@pytest.mark.parametrize(
    ("verb", "state", "fault"),
    [
        pytest.param(
            *case,
            fault,
            id=f"{case[0]} from {case[1]}, {fault}",
            marks=() if case in QUICK and fault == "kill after" else pytest.mark.slow,
        )
        for case in CASES
        for fault in FAULTS
    ],
)
def test_every_call_of_every_verb_may_be_the_last(scene: Scene, verb: str, state: str, fault: Fault) -> None:
    for at in _chosen(calls_of(scene, verb, state), fault):
        count("crashes" if fault.startswith("kill") else "failing storages")
        storage = scene.begin(state)
        before = live_objects(storage)
        broken = FaultStorage(storage, at, fault)
        done = False
        try:
            VERBS[verb](scene.open(broken))
            done = True
        except (Killed, StorageError, mi.ConcurrentWriteError, mi.DamagedIndexError):
            pass
        _survived(scene, storage, verb, before, done, f"{verb} from {state}, {fault} at call {at}: {broken.calls[-1]}")


@pytest.mark.parametrize("fault", FAULTS)
def test_every_call_of_a_refresh_of_a_store_may_be_the_last(
    scene: Scene, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a disk does in a row, a store does side by side: each time another call is the one that fails."""
    monkeypatch.setattr(MemoryStorage, "root", "s3://in-memory")
    test_every_call_of_every_verb_may_be_the_last(scene, "refresh", "active", fault)


def test_an_interrupt_beside_the_begin_ends_the_operation(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryStorage, "root", "s3://in-memory")
    storage = scene.begin("active")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Refresh, "look_ahead", interrupted)
    with pytest.raises(KeyboardInterrupt):
        VERBS["refresh"](scene.open(storage))
    assert (entry := latest(storage)) is not None
    assert not entry.under_way


def _chosen(calls: list[tuple[str, str]], fault: Fault) -> list[int]:
    """Dying before a call is dying after the one before it, and a failed read is much as the next: one in three of
    those, of the calls that differ. In a soak all."""
    everywhere = range(len(calls))
    if SOAK:
        return list(everywhere)
    if FEW:
        return list(everywhere[1 :: max(1, len(calls) // 3)])
    rare = fault == "kill before" or fault in ("gone", "read-only")
    turns = enumerate(turning_points(calls))
    return [at for i, at in turns if fault == "kill after" or (calls[at][0] in WRITES and not rare) or i % 3 == 0]


def _survived(scene: Scene, storage: MemoryStorage, verb: str, before: set[str], done: bool, what: str) -> None:
    try:
        check_log(storage)
        check_reader(scene, storage)
        if verb not in ("vacuum", "clean", "cancel", "erase"):
            present = runs_on(storage)
            scene.open(storage).clean_index("stats") if latest(storage) is not None else None
            gone = present - runs_on(storage)
            assert not gone & (before | live_objects(storage)), "removed within the retention"
        if not done:
            _again(scene, storage, verb)
        entry = latest(storage)
        if entry is not None:
            if entry.under_way and verb != "clean":
                VERBS["cancel"](scene.open(storage))
            clean_now(scene.open(storage))
            entry = latest(storage)
            named = {run.run for run in entry.content.runs} | {run for mark in entry.under_way for run in mark.runs}
            assert runs_on(storage) <= named, "garbage is left"
            assert entry.under_way or runs_on(storage) == named
            assert entry.stable is AFTER.get(verb, entry.stable)
        check_reader(scene, storage)
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from error


def _again(scene: Scene, storage: MemoryStorage, verb: str) -> None:
    """The operator's way: run it again; where that is refused, cancel first."""
    for _ in range(2):
        try:
            VERBS[verb](scene.open(storage))
            return
        except mi.IndexExistsError:
            assert verb == "create"
            return
        except mi.IndexStateError:
            entry = latest(storage)
            if not entry.under_way:  # it had taken effect
                if entry.stable is not AFTER.get(verb, entry.stable):
                    raise
                return
            VERBS["cancel"](scene.open(storage))
            if verb == "vacuum" or entry.stable is State.DOESNOTEXIST:
                return
        except mi.IndexNotFoundError:
            assert verb in ("vacuum", "cancel")
            return
    raise AssertionError("neither again nor after cancel")


@pytest.mark.parametrize("verb", ["refresh", "erase"])
def test_an_answer_to_the_commit_that_is_lost_for_good_is_found_in_the_log(scene: Scene, verb: str) -> None:
    storage = scene.begin("active")

    class Deaf(FaultStorage):
        """Every put of the commit's entry fails, the first one after it took effect."""

        def put_if_absent(self, path: str, data: bytes) -> None:
            if f'"commit {verb}"'.encode() in data:
                if path not in storage.objects:
                    storage.put_if_absent(path, data)
                raise StorageError("no answer")
            super().put_if_absent(path, data)

    outcome = VERBS[verb](scene.open(Deaf(storage)))
    assert isinstance(outcome, actions.Outcome)
    assert outcome.changed
    entry = latest(storage)
    assert entry.under_way == ()
    assert {run.run for run in entry.content.runs} <= runs_on(storage)
    check_reader(scene, storage)


@pytest.mark.parametrize("hours", [-30, -5, 5, 30])
def test_writers_clocks_decide_nothing(scene: Scene, hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = scene.begin("active")
    right = actions.now_ms

    def off(hours: int) -> None:
        monkeypatch.setattr(actions, "now_ms", lambda: right() + hours * 3600_000)

    off(hours)
    VERBS["refresh"](scene.open(storage))
    off(0)
    VERBS["optimize full"](scene.open(storage))
    off(-hours)
    held = runs_on(storage)
    scene.open(storage).clean_index("stats")
    assert runs_on(storage) == held
    check_log(storage)
    check_reader(scene, storage)


def test_a_reader_of_an_old_entry_finds_its_files_within_the_retention(scene: Scene) -> None:
    storage = scene.begin("active")
    reader = scene.open(storage)
    index = handle_of(reader).open_index("stats")
    for verb in ("refresh", "optimize full", "refresh full"):
        VERBS[verb](scene.open(storage))
    scene.open(storage).clean_index("stats")
    for run in index.entry.content.runs:
        assert len(index.identities(run)) == run.files
    storage.now_ns += 8 * 86400 * 10**9
    scene.open(storage).clean_index("stats")
    later = OpenIndex("stats", index.entry, storage, StoreCache())
    with pytest.raises(mi.DamagedIndexError):
        _ = [later.identities(run) for run in index.entry.content.runs]
    check_reader(scene, storage)


def test_errors_of_a_broken_store_are_ours(scene: Scene) -> None:
    broken = FaultStorage(scene.begin("active"), 0, "gone")
    with pytest.raises(MetaIndexError):
        VERBS["refresh"](scene.open(broken))
