"""Random lives of an index against a perfect model of its log, with writers that die at any storage call between the
steps.

The model knows three things: the stable state, whether the index is enabled, and which operations are under way. It
says what every verb must answer; where a writer dies, it says which outcomes there can be (nothing happened, begun,
done) and takes the one that the log shows. After every step the log is a sequence of legal steps, and every query, of
every version that the index records, gives the files that a listing of that version would.
"""

import os
import tempfile
from pathlib import Path
from random import Random
from typing import Final
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from metaindex.core import ConcurrentWriteError, IndexExistsError, IndexNotFoundError, IndexStateError
from metaindex.index.log.states import CANCELLED, COMPATIBLE, LEAVES, NEEDS, ONCE, Operation, State
from metaindex.table import handle_of
from tests.figures import count
from tests.histories.driver import RANDOM, History, run
from tests.tables import settle

from .faults import Fault, FaultStorage, Killed, MemoryStorage, opened
from .scenes import OPERATION, VERBS, check_log, latest, rows, runs_on

REFUSED = (IndexStateError, IndexExistsError, IndexNotFoundError, ConcurrentWriteError)
KILLS: Final[tuple[Fault, ...]] = ("kill before", "kill after")
PARTS, LIVES = (20, 100) if os.environ.get("METAINDEX_SOAK") else (1, 20)


class Life(History):
    verbs = "append remove any_verb possible_verb cancel die"

    def __init__(self, folder: str, random: Random) -> None:
        super().__init__(random)
        count("lives")
        self.root = Path(folder) / "lake"
        self.root.mkdir()
        self.storage = MemoryStorage()
        self.stable, self.enabled = State.DOESNOTEXIST, True
        self.under_way: list[Operation] = []
        self.exists = False  # has the log an entry
        self.number = 0
        self.files: set[int] = set()
        self.versions: dict[str, frozenset[int]] = {}  # what every listing held
        self.append()
        self._run("create")

    # -- the table ------------------------------------------------------------------------------------------------

    def append(self) -> None:
        pq.write_table(rows(self.number), self.root / f"f{self.number:03d}.parquet")
        self.files.add(self.number)
        self.number += 1
        self._listed()

    def remove(self) -> None:
        if len(self.files) > 1:
            gone = self.random.choice(sorted(self.files))
            (self.root / f"f{gone:03d}.parquet").unlink()
            self.files.discard(gone)
            self._listed()

    def _listed(self) -> None:
        settle(self.root)
        self.versions[opened(str(self.root), self.storage).snapshot().version.id] = frozenset(self.files)

    # -- the index ------------------------------------------------------------------------------------------------

    def any_verb(self) -> None:
        self._run(self.random.choice(sorted(set(VERBS) - {"cancel"})))

    def possible_verb(self) -> None:
        self._run(self.random.choice([verb for verb in sorted(set(VERBS) - {"cancel"}) if self._refusal(verb) is None]))

    def _run(self, verb: str) -> None:
        count("verbs")
        self.statements.append(f"  {verb}")
        should = self._refusal(verb)
        try:
            VERBS[verb](opened(str(self.root), self.storage))
        except REFUSED as error:
            if type(error) is not should:
                raise
            return
        assert should is None, (verb, should)
        self._done(verb)

    def cancel(self) -> None:
        if not self.exists:
            error: type[Exception] | None = IndexNotFoundError
        else:
            error = None if self.under_way else IndexStateError
        if error is not None:
            with pytest.raises(error):
                VERBS["cancel"](opened(str(self.root), self.storage))
            return
        VERBS["cancel"](opened(str(self.root), self.storage))
        self._cancelled()

    def die(self) -> None:
        verb, at, how = self.random.choice(sorted(VERBS)), self.random.randint(0, 40), self.random.choice(KILLS)
        self.statements.append(f"  {verb} {how} {at}")
        before = (self.stable, self.enabled, tuple(self.under_way), self.exists)
        should = self._refusal(verb)
        broken = FaultStorage(self.storage, at, how)
        try:
            VERBS[verb](opened(str(self.root), broken))
        except REFUSED as error:
            if type(error) is not should and not (verb == "cancel" and not self.under_way):
                raise
            return
        except Killed:
            count("writers killed")
        outcomes = [before]
        if should is None or verb == "cancel":
            operation = OPERATION.get(verb)
            if operation is not None and verb != "cancel":
                outcomes.append(
                    (self.stable, True if verb == "create" else self.enabled, (*self.under_way, operation), True)
                )
            if verb == "cancel" and self.under_way:
                stable = self._after_cancel()
                outcomes.append((stable, self.enabled, (Operation.CANCEL,), True))
            if verb != "cancel":
                self._done(verb)
            elif self.under_way:
                self._cancelled()
            outcomes.append((self.stable, self.enabled, tuple(self.under_way), self.exists))
        entry = latest(self.storage)
        seen = (State.DOESNOTEXIST, True, (), False)
        if entry is not None:
            seen = (entry.stable, entry.enabled, tuple(u.operation for u in entry.under_way), True)
        assert seen in outcomes, (verb, broken.calls[-1])
        self.stable, self.enabled, self.exists = seen[0], seen[1], seen[3]
        self.under_way = list(seen[2])

    # -- the model ------------------------------------------------------------------------------------------------

    def _refusal(self, verb: str) -> type[Exception] | None:
        operation = OPERATION.get(verb)
        if verb == "clean":
            return None if self.exists else IndexNotFoundError
        if operation is None:
            if self.stable is State.DOESNOTEXIST:
                return IndexNotFoundError
            return None if self.stable is State.ACTIVE else IndexStateError
        if not self.exists and verb != "create":
            return IndexNotFoundError
        if any(operation not in COMPATIBLE[other] or verb == "erase" for other in self.under_way):
            return IndexStateError
        if operation is Operation.CANCEL or NEEDS[operation] is self.stable:
            return None
        if verb == "create":
            return IndexExistsError
        return IndexNotFoundError if self.stable is State.DOESNOTEXIST else IndexStateError

    def _done(self, verb: str) -> None:
        operation = OPERATION.get(verb)
        if verb in ("enable", "disable"):
            self.enabled = verb == "enable"
        if operation is not None:
            self.stable = LEAVES[operation] or self.stable
            self.exists = True
            if operation in ONCE:
                self.under_way = [other for other in self.under_way if other is not operation]
            if verb == "create":
                self.enabled = True

    def _after_cancel(self) -> State:
        gone = any(CANCELLED[o] is State.DOESNOTEXIST for o in self.under_way) and self.stable is not State.ACTIVE
        return State.DOESNOTEXIST if gone else self.stable

    def _cancelled(self) -> None:
        self.stable = self._after_cancel()
        self.under_way = []

    # -- what always holds ----------------------------------------------------------------------------------------

    def the_log_is_as_the_model(self) -> None:
        entry = latest(self.storage)
        assert (entry is not None) == self.exists
        if entry is not None:
            assert (entry.stable, [u.operation for u in entry.under_way]) == (self.stable, self.under_way)
            assert self.stable is not State.ACTIVE or entry.enabled is self.enabled
            assert {run.run for run in entry.content.runs} <= runs_on(
                self.storage
            ) or Operation.VACUUM in self.under_way
            check_log(self.storage)

    def queries_are_those_of_a_listing(self) -> None:
        table = opened(str(self.root), self.storage)
        count("queries compared")
        asked = sorted(self.files)[-1]
        now = table.prune(f"id = {asked * 10 + 3}")
        assert self._numbers(now.paths) >= {asked}
        assert now.total_files == len(self.files)
        entry = latest(self.storage)
        if entry is None or not entry.readable:
            assert not any(report.used for report in now.indexes if report.name == "stats")
            return
        index = handle_of(table).open_index("stats")
        for record, _ in index.versions.all():
            held = self.versions[record.version.id]
            for needle in (min(held), max(held)):
                count("queries compared")
                result = table.prune(f"id = {needle * 10 + 3}", version=record.version.id)
                assert self._numbers(result.paths) == {needle} or record.unknown
                assert needle in self._numbers(result.paths)
                assert result.total_files == len(held)

    @staticmethod
    def _numbers(paths: list[str]) -> set[int]:
        return {int(path.rpartition("/f")[2].removesuffix(".parquet")) for path in paths}


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=LIVES)
@given(random=RANDOM)
def test_random_lives(part: int, random: Random) -> None:
    live(random, 25)


@settings(max_examples=3)
@given(random=RANDOM)
def test_a_few_random_lives(random: Random) -> None:
    live(random, 12)


def live(random: Random, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder, patch("time.sleep", lambda _: None):
        life = Life(folder, random)
        run(steps, life, always=[life.the_log_is_as_the_model, life.queries_are_those_of_a_listing])
