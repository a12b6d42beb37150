"""Times of several that do the same, taken in turns: what else the machine does meets all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.processes import children_cpu_seconds

from .lake import Needle

Find = Callable[[Needle], int]
"""Finds the rows of a needle and says how many they are."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One that is asked. `a_turn`: how many needles, one behind the other, in a turn; fast ones get more, so that their
    times say something."""

    name: str
    engine: str
    find: Find
    a_turn: int = 1
    oracle: bool = False  # of its engine: reads what an all-knowing index would
    held: bool = False  # keeps something in memory from query to query: it has answered others before

    @property
    def jvm(self) -> bool:
        return self.engine == "Spark"


@dataclass(slots=True)
class Times:
    """Wall and CPU seconds of each needle."""

    wall: list[float] = field(default_factory=list)
    cpu: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def mean_cpu(self) -> float:
        return self.cpu / len(self.wall)


def in_turns(peers: Sequence[Peer], needles: Sequence[Needle], turns: int) -> dict[str, Times]:
    """Each peer's times. A peer that does not find exactly the rows that are there fails the benchmark."""
    found = {peer.name: Times() for peer in peers}
    asked = dict.fromkeys(found, 0)
    for turn in range(turns):
        first = turn % len(peers)
        for peer in (*peers[first:], *peers[:first]):
            times = found[peer.name]
            # A JVM is never quite idle: what it does meanwhile is not those peers' that do without.
            before = children_cpu_seconds() if peer.jvm else 0.0
            for _ in range(peer.a_turn):
                needle = needles[asked[peer.name] % len(needles)]
                asked[peer.name] += 1
                started, own = time.perf_counter(), time.process_time()
                rows = peer.find(needle)
                times.wall.append(time.perf_counter() - started)
                times.cpu += time.process_time() - own
                assert rows == needle.rows, f"{peer.name} finds {rows} rows of {needle.sql}, not {needle.rows}"
            times.cpu += children_cpu_seconds() - before if peer.jvm else 0.0
    return found


def figures(sort: str, peers: Sequence[Peer], found: dict[str, Times]) -> list[dict[str, object]]:
    """Rows of the report. `x oracle`: the median over that of the engine's oracle, where that has anything to read;
    `CPU x` likewise."""
    told = [(peer.engine, found[peer.name]) for peer in peers if peer.oracle and found[peer.name].median > 1e-4]
    told.sort(key=lambda each: -each[1].median)  # the best of an engine comes last
    oracles = dict(told)
    out: list[dict[str, object]] = []
    for peer in peers:
        times = found[peer.name]
        wall = sorted(times.wall)
        oracle = oracles.get(peer.engine)
        out.append(
            {
                "needle": sort,
                "engine": peer.engine,
                "who": peer.name,
                "asked": len(wall),
                "wall ms": times.median * 1000,
                "10th": wall[len(wall) // 10] * 1000,
                "90th": wall[-1 - len(wall) // 10] * 1000,
                "CPU ms": times.mean_cpu * 1000,
                "x oracle": times.median / oracle.median if oracle is not None else "",
                "CPU x": times.mean_cpu / oracle.mean_cpu if oracle is not None else "",
            }
        )
    return out
