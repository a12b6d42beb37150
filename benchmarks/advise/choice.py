"""What is recommended beside the best there is: of a dozen candidates all subsets are tried by what each really leaves
out, under the same budget of bytes; beside sets that a person may choose; and whether a query is slower for it."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt

import metaindex as mi
from metaindex.core import IndexExistsError
from metaindex.expressions import Predicate
from metaindex.index import Kind

from .subjects import Subject
from .truth import build, index_of

Figures = list[dict[str, object]]
Numbers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
_LEAST = 24
"""Queries that are run, of those that indexes spare least: a scan of everything takes its time."""
_ROOM = 1.02
"""Sets by hand are built over a copy of the table: indexes keep the paths of its files, which are of another length."""
SHARES = (0.1, 0.02, 1.0)
"""Of the table's bytes, what indexes may take together."""


class Measured:
    """Candidates that were really built: their bytes, and of each query the files that they keep."""

    def __init__(self, subject: Subject, queries: Sequence[Predicate | str]) -> None:
        self.table = mi.open_table(str(subject.path))
        self.queries = queries
        files = self.table.snapshot().files
        self.paths: list[str] = files.paths.to_pylist()
        self.file_bytes: Numbers = files.table.column("size_bytes").to_numpy()
        self.sizes: dict[str, int] = {}
        self.kept: dict[str, Truths] = {}
        for name, size in build(subject).items():
            self.add(name, index_of(name), size)

    def add(self, name: str, index: str, size: int) -> None:
        at = {path: place for place, path in enumerate(self.paths)}
        kept = np.zeros((len(self.queries), len(self.paths)), np.bool_)
        for row, query in zip(kept, self.queries, strict=True):
            row[[at[path] for path in self.table.prune(query, indexes=[index]).files.paths.to_pylist()]] = True
        self.sizes[name], self.kept[name] = size, kept

    def named(self, candidates: Mapping[str, Sequence[Kind]], kinds: Sequence[Kind], title: str) -> str:
        """The candidate that it is; what is none of them, as a kind that was narrowed to the columns that are asked, is
        built, too."""
        for name, some in candidates.items():
            if tuple(some) == tuple(kinds):
                return name
        index = f"own_{zlib.crc32(title.encode()):08x}"
        if index not in self.sizes:
            with suppress(IndexExistsError):
                self.table.create_index(index, *kinds, builder="local")
            self.add(index, index, {there.name: there.size_bytes for there in self.table.indexes()}[index])
        return index

    def saved(self, names: Sequence[str]) -> int:
        """Bytes that the queries do not read: a file is read where each of them keeps it."""
        kept = np.ones((len(self.queries), len(self.paths)), np.bool_)
        for name in names:
            kept &= self.kept[name]
        return int(((~kept) @ self.file_bytes).sum())

    def size(self, names: Sequence[str]) -> int:
        return sum(self.sizes[name] for name in names)

    def subsets(self, names: Sequence[str]) -> list[tuple[list[str], int, int]]:
        """All of them, with their bytes and what they save."""
        many = ([name for place, name in enumerate(names) if number >> place & 1] for number in range(1 << len(names)))
        return [(some, self.size(some), self.saved(some)) for some in many]

    def slower(self, chosen: Sequence[str]) -> int:
        """Of the queries that these indexes spare least, those whose rows take more processor time to find and read
        with them than without any, by a tenth and ten milliseconds, each time of three."""
        indexes = [index_of(name) for name in chosen]
        kept = np.ones((len(self.queries), len(self.paths)), np.bool_)
        for name in chosen:
            kept &= self.kept[name]
        order = np.argsort(-kept.sum(axis=1), kind="stable").tolist()
        least = [at for at in order if not self.table.prune(self.queries[at]).not_understood][:_LEAST]
        return sum(
            all(self._cpu(query, indexes) > 1.1 * self._cpu(query, []) + 0.01 for _ in range(3))
            for query in (self.queries[at] for at in least)
        )

    def _cpu(self, query: Predicate | str, indexes: Sequence[str]) -> float:
        started = time.process_time()
        self.table.scan(query, columns=[self.table.schema.names[0]], indexes=indexes).to_arrow()
        return time.process_time() - started


def beside_best(subject: Subject, each: int, share: float, most: int = 3) -> Figures:
    """A line a budget: those of SHARES, and the sizes of the sets by hand; of each at `most` so many."""
    queries = subject.queries(each)
    measured = Measured(subject, queries)
    names = list(subject.candidates)
    table = mi.open_table(str(subject.bare()))
    total = float(measured.file_bytes.sum())
    read = total * len(queries)
    by_hand = {f"as by hand: {name}": some for name, some in list(subject.by_hand.items())[:most]}
    budgets = {f"{part:.0%} of the table": total * part for part in SHARES[:most]}
    budgets |= {name: _ROOM * measured.size(some) for name, some in by_hand.items()}
    subsets = measured.subsets(names)
    out: Figures = []
    for budget_name, budget in budgets.items():
        cpu, wall = time.process_time(), time.perf_counter()
        told = table.recommend(queries, candidates=list(subject.candidates.values()), budget_bytes=budget, sample=share)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        chosen = [measured.named(subject.candidates, index.kinds, index.title) for index in told.indexes]
        free = table.recommend(queries, budget_bytes=budget, sample=share, copies=False)
        own = [measured.named({}, index.kinds, index.title) for index in free.indexes]
        saved = max(saved for _, size, saved in subsets if size <= budget)
        sampled = told.tables[0].sampled
        out.append(
            {
                "recommend": subject.name,
                "budget": budget_name,
                "best of all subsets": saved / read,
                "by hand": measured.saved(by_hand[budget_name]) / read if budget_name in by_hand else "",
                "chosen of the dozen": measured.saved(chosen) / read,
                "of the best": measured.saved(chosen) / saved if saved else 1.0,
                "its own": measured.saved(own) / read,
                "size over budget": measured.size(chosen) / budget,
                "own size over budget": measured.size(own) / budget,
                "slower": measured.slower(chosen) if not out else "",
                "read": sampled.size_bytes / total,
                "templates": told.templates,
                "CPU s": cpu,
                "wall s": wall,
            }
        )
    return out
