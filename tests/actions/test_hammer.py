"""Many processes on one index on a local disk, some of them killed at random: the log is some serial order of what they say they did, no query ever loses a row, nothing is left
behind. 8 processes for seconds; 64 for minutes in a soak (`METAINDEX_SOAK`)."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import metaindex as mi
from formats.storage_local import LocalStorage
from metaindex.actions.clean import clean
from metaindex.actions.removal import objects_by_run
from metaindex.log.entry import IndexLogEntry
from metaindex.log.operation_log import OperationLog
from metaindex.log.states import COMPATIBLE, LEAVES, ONCE, Operation, State

from .hammer import append

SOAK = bool(os.environ.get("METAINDEX_SOAK"))
PROCESSES, SECONDS = (64, 120.0) if SOAK else (8, 9.0)
ROOT = Path(__file__).parents[2]


@dataclass
class Worker:
    process: subprocess.Popen[str]
    output: Path
    killed: bool = False
    said: list[dict[str, object]] = field(default_factory=list)


def start(table: Path, seed: int, seconds: float) -> Worker:
    output = table.parent / f"out-{seed}"
    with output.open("w") as out, (table.parent / f"err-{seed}").open("w") as err:
        words = [sys.executable, "-m", "tests.actions.hammer", str(table), str(seed), str(seconds)]
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


@pytest.mark.slow
@pytest.mark.parametrize("killing", [False, True], ids=["all live", "some are killed"])
def test_many_processes_on_one_index_are_some_serial_order(tmp_path: Path, killing: bool) -> None:
    root = tmp_path / "lake"
    root.mkdir()
    for number in range(1, 4):
        append(root, number)
    mi.open_table(str(root)).create_index("stats", mi.ColumnStats(), builder="local")
    chance = random.Random(1 if killing else 2)
    until = time.monotonic() + SECONDS
    workers = {seed: start(root, seed, SECONDS) for seed in range(1, PROCESSES + 1)}
    kills = queries = 0
    while time.monotonic() < until:
        time.sleep(0.05)
        if killing and chance.random() < 0.15:
            seed = chance.choice([s for s, w in workers.items() if not w.killed])
            workers[seed].process.kill()
            workers[seed].killed = True
            kills += 1
            left = until - time.monotonic()
            workers[max(workers) + 1] = start(root, max(workers) + 1, max(left, 0.1))
        queries += 1
        found = mi.open_table(str(root)).prune("id IN (15, 35)")
        assert {Path(p).name for p in found.paths} >= {"f000001.parquet", "f000003.parquet"}
    for seed, worker in workers.items():
        finish(worker, seed)

    log = OperationLog(LocalStorage(mi.open_table(str(root)).indexes(all=True)[0].location))
    numbers = log.numbers()
    assert numbers == list(range(1, numbers[-1] + 1))
    entries = {n: log.entry(n) for n in numbers}
    for one, two in itertools.pairwise(entries.values()):
        follows(one, two)
    claims = [
        said for worker in workers.values() for said in worker.said if said.get("changed") and said["verb"] != "clean"
    ]
    claimed = [said["entry"] for said in claims]
    assert len(set(claimed)) == len(claimed)
    for said in claims:
        word = entries[int(str(said["entry"]))].written_by
        assert word.startswith(("commit ", "cancel ")) or word in ("enable", "disable")
        assert str(said["operation"]) in word
    commits = [e for e in entries.values() if e.written_by.startswith("commit")]
    if not killing:
        unclaimed = {entry.id for entry in commits[1:]} - {int(str(n)) for n in claimed}
        assert all(entries[n].written_by == "commit optimize" for n in unclaimed)  # a refresh merges by the way
    _ends_well(root, log)
    figures = f"{PROCESSES} processes, {len(entries)} entries, {len(commits)} commits, {kills} killed, {queries} queries, nothing lost"
    sys.stdout.write(f"\n{figures}\n")  # shown by -s, and by -rP


def _ends_well(root: Path, log: OperationLog) -> None:
    """Whatever happened, an operator brings the index back and nothing is left behind."""
    table = mi.open_table(str(root))
    latest = log.latest()
    assert latest is not None
    if latest.under_way:
        latest = table.cancel_index("stats").entry
    if latest.stable is State.DELETED:
        table.restore_index("stats")
    elif latest.stable is State.DOESNOTEXIST:
        table.create_index("stats", mi.ColumnStats(), builder="local")
    table.enable_index("stats")
    table.refresh_index("stats", builder="local")
    table.optimize_index("stats", mode="full")
    clean(log, "stats", 0, 1)
    latest = log.latest()
    assert latest is not None
    assert set(objects_by_run(log.storage)) == {run.run for run in latest.content.runs}
    assert not list(log.storage.list("_heartbeats"))
    table = mi.open_table(str(root))
    found = table.prune("id = 15")
    assert found.kept_files == 1
    assert found.total_files == len(list(root.iterdir()))
