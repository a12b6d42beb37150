"""Two writers at once: every pair of verbs, one running whole at every storage call of the other. Compatible ones both
succeed, incompatible ones are refused with who holds what; the outcome is some serial order; no reader loses a row."""

import itertools
import os
import threading

import pytest

import metaindex as mi
from metaindex.core import ConcurrentWriteError, IndexExistsError, IndexNotFoundError, IndexStateError
from metaindex.index.actions.action import validate
from metaindex.index.log.entry import IndexLogEntry
from metaindex.index.log.liveness import Heartbeat, heartbeat_path
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import CANCELLED, TRANSIENT, Operation, State
from tests.figures import count

from .faults import FaultStorage, MemoryStorage, turning_points
from .scenes import OPERATION, STATE_OF, VERBS, Scene, calls_of, check_log, check_reader, clean_now, latest, runs_on
from .scenes import no_waiting as no_waiting
from .scenes import scene as scene

FEW, SOAK, WHOLE = (bool(os.environ.get(f"METAINDEX_{name}")) for name in ("FAST", "SOAK", "WHOLE"))
STEP = 3 if WHOLE else 12
QUICK = ("refresh", "optimize full", "delete", "cancel", "clean")
REFUSED = (IndexStateError, IndexExistsError, IndexNotFoundError, ConcurrentWriteError)
SIDE_BY_SIDE = ("refresh", "refresh full", "refresh quick", "optimize", "optimize full", "delete")
HARMLESS = ("clean", "enable", "disable", "refresh", "refresh quick")
PAIRS = list(itertools.product(VERBS, VERBS))
pytestmark = pytest.mark.usefixtures("no_waiting")


def expected(verb: str, entry: IndexLogEntry | None) -> type[Exception] | None:
    """What a verb that begins now and is not disturbed says."""
    try:
        if verb in ("enable", "disable", "clean", "cancel"):
            if entry is None or (entry.stable is State.DOESNOTEXIST and verb in ("enable", "disable")):
                return IndexNotFoundError
            if verb == "cancel":
                return None if entry.under_way else IndexStateError
            return None if entry.stable is State.ACTIVE or verb == "clean" else IndexStateError
        if verb == "erase" and entry is not None and entry.under_way:
            return IndexStateError
        validate(OPERATION[verb], entry, "stats")
    except REFUSED as error:
        return type(error)
    return None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(a, b, id=f"{a} + {b}", marks=() if a == "refresh" and b in QUICK else pytest.mark.slow)
        for a, b in PAIRS
    ],
)
def test_a_pair_of_verbs_at_every_interleaving(scene: Scene, first: str, second: str) -> None:
    count("pairs of verbs")
    state = STATE_OF.get(first, "active")
    calls = calls_of(scene, first, state)
    turns = turning_points(calls)
    some = turns[hash_of(first, second) % min(STEP, len(turns)) :: STEP]
    for at in [len(calls) * 2 // 3] if FEW else range(len(calls)) if SOAK else some:
        count("races")
        storage = scene.begin(state)
        happened: list[object] = []
        try:
            _race(scene, storage, first, second, at, happened)
        except AssertionError as error:
            raise AssertionError(f"{second} at call {at} of {first}: {error} {happened}") from error


def hash_of(first: str, second: str) -> int:
    """Pairs take every third turning point, some from the first on, some from the second, some from the third; of
    those every fourth at each commit."""
    return len(first) + 5 * len(second)


def _race(scene: Scene, storage: MemoryStorage, first: str, second: str, at: int, happened: list[object]) -> None:
    began = {"under way": False}

    def turn(number: int) -> None:
        if number != at:
            return
        before = latest(storage)
        began["under way"] = before is not None and any(
            mark.operation is OPERATION.get(first) and mark.who for mark in before.under_way
        )
        should = expected(second, before)
        said: list[bool] = []
        try:
            VERBS[second](scene.open(storage))
            happened.append(None)
        except REFUSED as error:
            happened.append(error)
            holders = before.under_way if before is not None and second in OPERATION and second != "cancel" else ()
            said = [mark.who in str(error) for mark in holders]
        assert all(said)
        assert (type(happened[0]) if happened[0] is not None else None) is should
        check_reader(scene, storage)

    try:
        VERBS[first](scene.open(FaultStorage(storage, between=turn)))
        happened.append(None)
    except REFUSED as error:
        happened.append(error)
    second_failed, first_failed = happened[0] is not None, happened[-1] is not None
    together = first in SIDE_BY_SIDE and second in SIDE_BY_SIDE and began["under way"]
    lost = first.startswith("optimize") and second in ("optimize", "optimize full", "refresh full")
    if second_failed or second in HARMLESS or (together and not lost) or first == "clean":
        assert not first_failed
    if second == "cancel" and not second_failed and began["under way"] and first not in ("cancel",):
        entry = latest(storage)
        assert first_failed or (entry is not None and entry.written_by.startswith("cancel"))
    entry = latest(storage)
    assert entry is not None
    if state_left_by_scene(entry):
        VERBS["cancel"](scene.open(storage))
    check_log(storage)
    check_reader(scene, storage)
    clean_now(scene.open(storage))
    entry = latest(storage)
    assert runs_on(storage) == {run.run for run in entry.content.runs}
    check_reader(scene, storage)


def state_left_by_scene(entry: IndexLogEntry) -> bool:
    """Only the writer that the scene killed may be under way still."""
    assert all("refresh" in mark.operation.value for mark in entry.under_way), entry.under_way
    return bool(entry.under_way)


@pytest.mark.parametrize(
    ("state", "operation", "before"),
    [
        ("creating", Operation.CREATE, State.DOESNOTEXIST),
        ("refreshing", Operation.REFRESH, State.ACTIVE),
        ("optimizing", Operation.OPTIMIZE, State.ACTIVE),
        ("deleting", Operation.DELETE, State.ACTIVE),
        ("restoring", Operation.RESTORE, State.DELETED),
        ("vacuuming", Operation.VACUUM, State.DELETED),
        ("cancelling", Operation.CANCEL, State.ACTIVE),
    ],
)
def test_cancel_leads_from_every_transient_state_where_the_table_says(
    scene: Scene, state: str, operation: Operation, before: State
) -> None:
    storage = scene.begin(state)
    entry = latest(storage)
    assert (entry.state, entry.stable) == (TRANSIENT[operation], before)
    outcome = scene.open(storage).cancel_index("stats")
    assert outcome.entry.state is (CANCELLED[operation] or before)
    assert outcome.entry.under_way == ()
    assert runs_on(storage) == {run.run for run in outcome.entry.content.runs} | _outdated(scene, outcome.entry.state)
    check_log(storage)
    check_reader(scene, storage)


def _outdated(scene: Scene, state: State) -> set[str]:
    """Runs that wait for `clean`, and those of a deleted index."""
    return set() if state is State.DOESNOTEXIST else runs_on(scene.begin("active"))


def test_a_stalled_writer_cannot_create_an_entry_that_was_cleaned_away(scene: Scene) -> None:
    storage = scene.begin("active")
    before = latest(storage)
    assert before is not None
    went = []

    def turn(number: int) -> None:
        name, path = broken.calls[number]
        if name == "put_if_absent" and not went:
            went.append(path)
            for verb in ("refresh", "optimize full"):
                VERBS[verb](scene.open(storage))
            clean_now(scene.open(storage))
            assert path not in storage.objects

    broken = FaultStorage(storage, between=turn)
    outcome = scene.open(broken).drop_index("stats")
    assert outcome.entry.state is State.DELETED
    entry = latest(storage)
    assert entry.stable is State.DELETED
    assert outcome.entry.id == entry.id > before.id + 5
    check_log(storage)


def test_clean_keeps_the_entries_since_a_writer_began(scene: Scene) -> None:
    """That may still be at work: it looks for them."""
    storage = scene.begin("refreshing")
    before = latest(storage)
    (mark,) = before.under_way
    for verb in ("disable", "enable"):
        VERBS[verb](scene.open(storage))
    clean_now(scene.open(storage))
    numbers = OperationLog(storage).numbers()
    assert numbers == list(range(mark.began, before.id + 3))


def test_a_woken_writer_fails_cleanly_after_cancel(scene: Scene) -> None:
    storage = scene.begin("active")
    commit = max(i for i, (name, _) in enumerate(calls_of(scene, "refresh", "active")) if name == "put_if_absent")

    def turn(number: int) -> None:
        if number == commit:
            VERBS["cancel"](scene.open(storage))

    with pytest.raises(ConcurrentWriteError, match="was cancelled; run it again"):
        VERBS["refresh"](scene.open(FaultStorage(storage, between=turn)))
    entry = latest(storage)
    assert runs_on(storage) == {run.run for run in entry.content.runs} | (runs_on(scene.begin("active")))
    check_reader(scene, storage)


def test_both_refreshes_are_there_and_a_file_indexed_twice_counts_once(scene: Scene) -> None:
    storage = scene.begin("active")
    runs = len(calls_of(scene, "refresh", "active")) // 2

    def turn(number: int) -> None:
        if number == runs:
            VERBS["refresh"](scene.open(storage))

    VERBS["refresh"](scene.open(FaultStorage(storage, between=turn)))
    table = scene.open(storage)
    assert table.prune("id >= 0").total_files == 4
    assert table.prune("id = 45").kept_files == 1


def test_a_dead_writer_is_suspected_only_without_a_sign_of_life(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = scene.begin("refreshing")
    entry = latest(storage)
    (mark,) = entry.under_way
    log = OperationLog(storage)
    assert not log.suspected(mark, mark.since_ms + 60_000)
    assert log.suspected(mark, mark.since_ms + 600_000)
    storage.now_ns = (mark.since_ms + 590_000) * 10**6
    storage.put(heartbeat_path(mark.nonce), b"")
    assert not log.suspected(mark, mark.since_ms + 600_000)
    monkeypatch.setattr(OperationLog, "SUSPECT_SECONDS", -1e9)
    info = scene.open(storage).indexes()[0]
    assert info.suspected == info.under_way != ()


def test_a_long_operation_beats_and_leaves_no_beat_behind() -> None:
    beaten = threading.Event()

    class Watched(MemoryStorage):
        def put(self, path: str, data: bytes) -> None:
            super().put(path, data)
            beaten.set()

    storage = Watched()
    with Heartbeat(storage, "n", interval_seconds=0.001):
        assert beaten.wait(10)
        assert heartbeat_path("n") in storage.objects
    assert storage.objects == {}


def test_a_busy_index_is_given_up_after_some_tries(scene: Scene) -> None:
    storage = scene.begin("active")

    def turn(number: int) -> None:
        if broken.calls[number][0] == "put_if_absent":
            VERBS[["enable", "disable"][number % 2]](scene.open(storage))
            VERBS[["disable", "enable"][number % 2]](scene.open(storage))

    broken = FaultStorage(storage, between=turn)
    with pytest.raises(mi.ConcurrentWriteError, match="is busy; try again later"):
        scene.open(broken).drop_index("stats")
