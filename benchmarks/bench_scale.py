"""The metadata of 10,000,000 files with 5 columns, through the product's own verbs over a real Delta log
(`scale_table`): created from the log's statistics, pruned cold, refreshed, optimized; with one partition, and with
10,000.

Every verb runs in a process of its own and is measured from behind its imports; nothing of the table or the index was
read in it before, the operating system's file cache is warm. What is kept is compared with a brute-force mask over the
bounds of all files. Times are medians with the least and the greatest; memory is the peak of the process.

    create       index every file
    add 10       refresh after a commit of 10 new files; remove 10; add 1% (100,000 new files)
    quick 10     refresh, quick, after a commit of 10 new files: recorded, not indexed
    optimize     quick: the small runs; full: all runs into one

The tables are kept for the next time. `python -m benchmarks.bench_scale create|prune|change FILES PARTITIONS` does a
piece of it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .scale_once import digest
from .scale_table import FIRST_SIZE, Numbers, commit, scale_table
from .synthetic import SPAN, Shape

COLUMNS = 5
MIDDLE = SPAN // 2 + 50_123  # inside a partition's stretch
WIDE = SPAN // 100  # in the bands of two files of a hundred
Figures = list[dict[str, object]]
Between = tuple[int, int, int]  # column, least, greatest

QUESTIONS: dict[str, tuple[str, Sequence[Between]]] = {
    "int equality": (f"c00 = {MIDDLE}", [(0, MIDDLE, MIDDLE)]),
    "double equality": (f"c01 = {MIDDLE}.0D", [(1, MIDDLE, MIDDLE)]),
    "string equality": (f"c02 = '{MIDDLE:010d}'", [(2, MIDDLE, MIDDLE)]),
    "int range": (f"c04 >= {MIDDLE} AND c04 < {MIDDLE + 10_000}", [(4, MIDDLE, MIDDLE + 9_999)]),
    "two columns, few": (
        f"c00 >= {MIDDLE} AND c00 < {MIDDLE + 100_000} AND c03 = {WIDE}",
        [(0, MIDDLE, MIDDLE + 99_999), (3, WIDE, WIDE)],
    ),
    "two columns, many": (
        f"c00 >= {MIDDLE} AND c00 < {MIDDLE + 3_000_000} AND c03 = {WIDE}",
        [(0, MIDDLE, MIDDLE + 2_999_999), (3, WIDE, WIDE)],
    ),
}


def run(folder: Path, quick: bool) -> Figures:
    files = 20_000 if quick else 10_000_000
    figures: Figures = []
    for partitions in (1, files // 1_000):
        lake = Lake(folder, Shape(files, COLUMNS, partitions), 2 if quick else 7)
        figures += [*lake.created(), *lake.pruned(0), *lake.changed()]
    return figures


@dataclass
class Lake:
    """The table of one shape, and what its files are now."""

    folder: Path
    shape: Shape
    times: int
    version: int = 0
    live: Numbers = field(init=False)

    def __post_init__(self) -> None:
        self.live = np.arange(self.shape.files)
        self.more = Shape(self.shape.files + self.shape.files // 4, COLUMNS, self.shape.partitions, self.shape.seed + 1)
        self.kept = self.folder / f"scale-{self.shape.files}-{self.shape.partitions}"
        self.table = self.kept
        self.added = self.shape.files  # the number of the next new file

    def created(self) -> Figures:
        """The index of version 0, made where it is not there yet, and what that took then."""
        took = self.kept / "created.json"
        if not took.exists():
            if not (self.kept / "_delta_log" / "_last_checkpoint").exists():
                shutil.rmtree(self.kept, ignore_errors=True)
                print(f"writing the log of {self.kept.name}", file=sys.stderr)
                scale_table(self.kept, self.shape)
            shutil.rmtree(self.kept / "_metaindex", ignore_errors=True)
            took.write_text(json.dumps(self._once("create")))
        return [self._figure("create", [json.loads(took.read_text())])]

    def pruned(self, version: int, word: str = "") -> Figures:
        """Every question, at a version whose live files are known."""
        expected = self._brute_force()
        figures = []
        for name, (text, _) in QUESTIONS.items():
            found = [self._once("prune", text, str(version)) for _ in range(self.times)]
            assert {one["digest"] for one in found} == {expected[name]}, (
                f"{self.kept.name}, {name}: not the files that may match"
            )
            figures.append(self._figure(word + name, found))
        return figures

    def changed(self) -> Figures:
        """Refreshes and optimizes, on a copy that shares the immutable files."""
        self.table = self.kept.with_name(self.kept.name + "-changing")
        shutil.rmtree(self.table, ignore_errors=True)
        shutil.copytree(self.kept, self.table, copy_function=os.link)
        try:
            return self._changes()
        finally:
            shutil.rmtree(self.table)

    def _changes(self) -> Figures:
        percent = self.shape.files // 100
        figures: Figures = []
        steps: list[tuple[str, Callable[[], None], str, int]] = [
            ("add 10", lambda: self._commit(10, 0), "incremental", 3),
            ("remove 10", lambda: self._commit(0, 10), "incremental", 3),
            ("quick 10", lambda: self._commit(10, 0), "quick", 1),
            ("add 1%", lambda: self._commit(percent, 0), "incremental", 3),
            ("remove 1%", lambda: self._commit(0, percent), "incremental", 1),
        ]
        for what, change, mode, times in steps:
            found = []
            for _ in range(times):
                change()
                found.append(self._once("refresh", mode))
            figures.append(self._figure(what, found))
        figures += self.pruned(self.version, "many runs: ")
        for mode in ("quick", "full"):
            figures.append(self._figure(f"optimize {mode}", [self._once("optimize", mode)]))
        return figures + self.pruned(self.version, "one run: ")

    def _commit(self, added: int, removed: int) -> None:
        self.version += 1
        new = np.arange(self.added, self.added + added)
        self.added += added
        old = self.live[self.live < self.shape.files]
        gone = np.random.default_rng(self.version).choice(old, removed, replace=False)
        commit(self.table, self.shape, self.more, self.version, new, gone)
        self.live = np.concatenate([np.setdiff1d(self.live, gone, assume_unique=True), new])

    def _brute_force(self) -> dict[str, str]:
        """The digest of the files that may match, for each question."""
        masks = {name: np.ones(self.added, np.bool_) for name in QUESTIONS}
        for column in range(COLUMNS):
            low, high = self.shape.bands(column)
            if self.added > self.shape.files:
                behind = slice(self.shape.files, self.added)
                low, high = (
                    np.concatenate([a, b[behind]]) for a, b in zip((low, high), self.more.bands(column), strict=True)
                )
            for name, (_, conditions) in QUESTIONS.items():
                for asked, least, greatest in conditions:
                    if asked == column:
                        masks[name] &= (low <= greatest) & (high >= least)
        live = np.zeros(self.added, np.bool_)
        live[self.live] = True
        return {name: digest(np.flatnonzero(mask & live) + FIRST_SIZE) for name, mask in masks.items()}

    def _once(self, verb: str, *arguments: str) -> dict[str, float]:
        words = [sys.executable, "-m", "benchmarks.scale_once", verb, str(self.table), *arguments]
        out = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
        found: dict[str, float] = json.loads(out)
        return found

    def _figure(self, what: str, found: list[dict[str, float]]) -> dict[str, object]:
        def median(key: str) -> float:
            return statistics.median(one[key] for one in found)

        first = found[-1]
        return {
            "partitions": self.shape.partitions,
            "what": what,
            "kept": int(first["kept"]) if "kept" in first else "",
            "wall ms": median("wall_ms"),
            "min": min(one["wall_ms"] for one in found),
            "max": max(one["wall_ms"] for one in found),
            "CPU ms": median("cpu_ms"),
            "reads": int(first["reads"]) if "reads" in first else "",
            "KB read": first["bytes"] / 1000 if "bytes" in first else "",
            "peak MB": max(one["peak_mb"] for one in found),
            "idle MB": first["idle_mb"],
            "runs": int(first["runs"]) if "runs" in first else "",
            "index MB": first.get("index_mb", ""),
            "entry KB": first.get("entry_kb", ""),
        }


def piece(what: str, folder: str, files: str, partitions: str) -> None:
    """One piece, where all of it at once takes too long."""
    from .telling import show

    lake = Lake(Path(folder).absolute(), Shape(int(files), COLUMNS, int(partitions)), 7)
    pieces = {"create": lake.created, "prune": lambda: lake.pruned(0), "change": lake.changed}
    show(f"scale, {what}", pieces[what]())


if __name__ == "__main__":
    piece(*sys.argv[1:])
