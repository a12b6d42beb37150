"""Many processes on one index, some of them killed at random: the log is some serial order of what they say they did,
no query ever loses a row, nothing is left behind."""

import itertools
import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import metaindex as mi
from metaindex.index.actions.clean import clean
from metaindex.index.actions.removal import on_storage
from metaindex.index.log.entry import IndexLogEntry
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import COMPATIBLE, LEAVES, ONCE, Operation, State
from metaindex.table import handle_of
from tests.figures import count

from .hammer import append, opened

ROOT = Path(__file__).parents[3]


def hammer(folder: Path, location: str, processes: int, seconds: float, *, killing: bool) -> None:
    """A table in the folder, its index at the location, processes that do what they like to it. Raises AssertionError
    where what they leave is no serial order of it."""
    root = folder / "lake"
    root.mkdir()
    for number in range(1, 4):
        append(root, number)
    opened(str(root), location).create_index("stats", mi.ColumnStats(), builder="local")
    workers = _let_loose(root, location, processes, seconds, killing=killing)
    for seed, worker in workers.items():
        finish(worker, seed)
    log = handle_of(opened(str(root), location)).indexes().log("stats")
    entries = _legal_steps(log)
    _claims_stand_in_the_log(list(workers.values()), entries, all_lived=not killing)
    _ends_well(opened(str(root), location), log)
    count("log entries", len(entries))
    count("verbs", sum(len(worker.said) for worker in workers.values()))


def _let_loose(root: Path, location: str, processes: int, seconds: float, *, killing: bool) -> dict[int, "Worker"]:
    """Starts the processes, asks queries while they run, and kills some; another takes the place of each."""
    chance = random.Random(1 if killing else 2)
    until = time.monotonic() + seconds
    workers = {seed: start(root, seed, seconds, location) for seed in range(1, processes + 1)}
    count(f"processes, {processes} at once", processes)
    while time.monotonic() < until:
        time.sleep(0.05)
        if killing and chance.random() < 0.15:
            seed = chance.choice([s for s, w in workers.items() if not w.killed])
            workers[seed].process.kill()
            workers[seed].killed = True
            count("of them killed")
            left = until - time.monotonic()
            workers[max(workers) + 1] = start(root, max(workers) + 1, max(left, 0.1), location)
        count("queries compared")
        found = opened(str(root), location).prune("id IN (15, 35)")
        assert {Path(p).name for p in found.paths} >= {"f000001.parquet", "f000003.parquet"}
    return workers


def _legal_steps(log: OperationLog) -> dict[int, IndexLogEntry]:
    """All entries, each of which follows from the one before."""
    numbers = log.numbers()
    assert numbers == list(range(1, numbers[-1] + 1))
    entries = {n: log.entry(n) for n in numbers}
    for one, two in itertools.pairwise(entries.values()):
        follows(one, two)
    return entries


def _claims_stand_in_the_log(workers: list["Worker"], entries: dict[int, IndexLogEntry], *, all_lived: bool) -> None:
    claims = [said for worker in workers for said in worker.said if said.get("changed") and said["verb"] != "clean"]
    claimed = [said["entry"] for said in claims]
    assert len(set(claimed)) == len(claimed)
    for said in claims:
        word = entries[int(str(said["entry"]))].written_by
        assert word.startswith(("commit ", "cancel ")) or word in ("enable", "disable")
        assert str(said["operation"]).replace("drop", "delete") in word  # the stored word
    commits = [entry for entry in entries.values() if entry.written_by.startswith("commit")]
    count("commits", len(commits))
    if all_lived:
        unclaimed = {entry.id for entry in commits[1:]} - {int(str(n)) for n in claimed}
        assert all(entries[n].written_by == "commit optimize" for n in unclaimed)  # a refresh merges by the way


@dataclass
class Worker:
    process: subprocess.Popen[str]
    output: Path
    killed: bool = False
    said: list[dict[str, object]] = field(default_factory=list)


def start(table: Path, seed: int, seconds: float, location: str) -> Worker:
    output = table.parent / f"out-{seed}"
    with output.open("w") as out, (table.parent / f"err-{seed}").open("w") as err:
        words = [sys.executable, "-m", "tests.index.actions.hammer", str(table), str(seed), str(seconds), location]
        return Worker(subprocess.Popen(words, stdout=out, stderr=err, cwd=ROOT, text=True), output)


def finish(worker: Worker, seed: int) -> None:
    code = worker.process.wait(timeout=600)
    errors = (worker.output.parent / f"err-{seed}").read_text()
    assert worker.killed or code == 0, errors
    for line in worker.output.read_text().splitlines():
        if line.endswith("}"):  # a killed one may have been in the middle of it
            worker.said.append(json.loads(line))


def follows(before: IndexLogEntry, after: IndexLogEntry) -> None:
    """One legal step of the protocol."""
    word = after.written_by
    old = {mark.nonce: mark for mark in before.under_way}
    new = {mark.nonce: mark for mark in after.under_way}
    came, went = new.keys() - old.keys(), old.keys() - new.keys()
    verb, _, name = word.partition(" ")
    if verb == "begin" and name == "cancel":
        assert len(came) == 1
        assert went == old.keys() != set()
        return
    if verb == "begin":
        (nonce,) = came
        mark = new[nonce]
        assert mark.operation is Operation(name)
        assert not went
        assert all(mark.operation in COMPATIBLE[other.operation] for other in old.values())
        assert after.stable is before.stable
        assert after.content == before.content or name == "create"
    elif verb in ("commit", "abandon", "nothing"):
        operation = Operation(name.removeprefix("to "))
        assert not came
        assert went
        assert {old[n].operation for n in went} == {operation}
        assert len(went) == 1 or (verb == "commit" and operation in ONCE)
        if verb == "commit":
            assert after.stable in (LEAVES[operation], before.stable)
        else:
            assert (after.stable, after.content) == (before.stable, before.content)
    elif verb == "cancel":
        assert not came
        assert {old[n].operation for n in went} == {Operation.CANCEL}
        assert after.stable is before.stable
    else:
        assert word in ("enable", "disable")
        assert not came
        assert not went
        assert (after.stable, after.content) == (before.stable, before.content)


def _ends_well(table: mi.Table, log: OperationLog) -> None:
    """Whatever happened, an operator brings the index back and nothing is left behind."""
    latest = log.latest()
    if latest.under_way:
        latest = table.cancel_index("stats").entry
    if latest.stable is State.DELETED:
        table.restore_index("stats")
    elif latest.stable is State.DOESNOTEXIST:
        table.create_index("stats", mi.ColumnStats(), builder="local")
    table.enable_index("stats")
    table.refresh_index("stats", builder="local")
    table.optimize_index("stats", mode="full")
    clean(log, "stats", -3600, 1)  # an hour into the future, for stores that count in seconds
    latest = log.latest()
    assert set(on_storage(log.storage).runs) == {run.run for run in latest.content.runs}
    assert not list(log.storage.list("_heartbeats"))
    table = table.reopened()
    found = table.prune("id = 15")
    assert found.kept_files == 1
    assert found.total_files == len(list(Path(table.path).iterdir()))
