"""What-if beside what comes: bytes that each query reads with each candidate, as they are estimated from a hundredth of
the table, and as they are once the candidate is really built."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

import metaindex as mi
from metaindex.advisor import Estimate
from metaindex.core import IndexExistsError
from metaindex.expressions import Predicate

from .subjects import Subject

Figures = list[dict[str, object]]
Floats = npt.NDArray[np.float64]


@dataclass
class Pairs:
    """Of every query and candidate: bytes that were expected, with their bounds, and that came; those read as it is."""

    low: list[float] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    came: list[float] = field(default_factory=list)
    now: list[float] = field(default_factory=list)

    def add(self, reads: Estimate, came: int, now: float) -> None:
        self.low.append(reads.low)
        self.expected.append(reads.expected)
        self.high.append(reads.high)
        self.came.append(float(came))
        self.now.append(now)

    def figures(self, floor: float) -> dict[str, object]:
        """`floor`: the bytes of a file, below which no difference counts: an answer of no file and of one differ by
        that."""
        low, expected, high, came, now = (
            np.array(some) for some in (self.low, self.expected, self.high, self.came, self.now)
        )
        told, true = np.maximum(expected, floor), np.maximum(came, floor)
        helped = (came < now) | (expected < now)
        errors = np.abs(told - true) / true
        twice = np.maximum(told, true) / np.minimum(told, true) <= 2
        inside = (low - 1 <= came) & (came <= high + 1)
        return {
            "pairs": len(came),
            "median error": float(np.median(errors)),
            "within 2x": float(twice.mean()),
            "in bounds": float(inside.mean()),
            "pairs that matter": int(helped.sum()),
            "their median error": float(np.median(errors[helped])) if helped.any() else 0.0,
            "theirs within 2x": float(twice[helped].mean()) if helped.any() else 1.0,
            "theirs in bounds": float(inside[helped].mean()) if helped.any() else 1.0,
        }


def beside_truth(subject: Subject, each: int, share: float) -> Figures:
    """The figures of a table, and those of its candidates' sizes."""
    queries = subject.queries(each)
    table = mi.open_table(str(subject.bare()))
    started, cpu = time.perf_counter(), time.process_time()
    told = table.what_if(queries, *subject.candidates.values(), sample=share)
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    built = build(subject)
    indexed = mi.open_table(str(subject.path))
    pairs, sizes = Pairs(), []
    for place, (name, cost) in enumerate(zip(subject.candidates, told.candidates, strict=True)):
        assert not cost.problem, cost.problem
        assert cost.size_bytes is not None
        sizes.append(cost.size_bytes.expected / built[name])
        came = really_read(indexed, queries, [index_of(name)])
        for weighed, size in zip(told.queries, came, strict=True):
            assert weighed.now is not None, weighed.problem
            pairs.add(weighed.effects[place].reads.size_bytes, size, weighed.now.size_bytes.expected)
    read = told.sampled.size_bytes / told.size_bytes
    more = {"queries": len(queries), "read": read, "CPU s": cpu, "wall s": wall}
    spread = {"size: least": min(sizes), "size: median": float(np.median(sizes)), "size: most": max(sizes)}
    return [{"what-if": subject.name, **more, **pairs.figures(told.size_bytes / told.files), **spread}]


def index_of(candidate: str) -> str:
    """Its name as an index."""
    return "".join(letter if letter.isalnum() else "_" for letter in candidate)


def build(subject: Subject) -> dict[str, int]:
    """Every candidate as an index beside the table; those that are there are taken as they are. Their bytes."""
    table = mi.open_table(str(subject.path))
    for name, kinds in subject.candidates.items():
        try:
            table.create_index(index_of(name), *kinds, builder="local")
        except IndexExistsError:
            continue
    sizes = {index.name: index.size_bytes for index in table.indexes()}
    return {name: sizes[index_of(name)] for name in subject.candidates}


def really_read(table: mi.Table, queries: Sequence[Predicate | str], indexes: Sequence[str]) -> list[int]:
    """Bytes of the files that each query reads with these indexes."""
    return [table.prune(query, indexes=indexes).kept_bytes for query in queries]
