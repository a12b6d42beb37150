"""What hooks cost the writer. Delta tables of the same rows, written by `deltalake` in this process, commit by commit,
interleaved in random order: without an index hook, with the hook in the background, with the synchronous one (the index
from footers; and from the log's statistics, `trust_log`). Each commit appends one file; the tables have some hundred
files and an index over all columns.

* "ms waited": wall time of the write call as the user sees it, median; "over none": median of the differences to the
  same round's commit without a hook, as a share of that commit. apart: the refresh in the background is over before the
  next commit begins; back to back: twelve commits follow each other at once, so that refreshes run beside some of them.
* "CPU ms": of the whole process until the index stands at the commit (user and system), the mean: every third refresh
  also merges small runs, and a median would hide those. "CPU over none": the CPU of three rounds over that of the same
  rounds without a hook: the median of such blocks, the least and the most.
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa

import metaindex as mi
from metaindex.ops import hooks

MODES = ("none", "background", "synchronous", "synchronous, log")
BLOCK = 3
"""Rounds that are taken together: a merge is due in every third."""


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    files, rounds, sizes = (20, 3, (20_000,)) if quick else (300, 18, (100_000, 1_000_000, 5_000_000))
    figures: list[dict[str, object]] = []
    place = folder / "hooks"
    shutil.rmtree(place, ignore_errors=True)
    for rows in sizes:
        tables = {mode: str(place / f"{rows}-{mode}") for mode in MODES}
        print(f"writing {files} files to each of {len(tables)} tables", file=sys.stderr)
        for mode, path in tables.items():
            _prepare(path, files, mi.ColumnStats(trust_log="log" in mode))
        for how in ("apart", "back to back") if rows <= 1_000_000 else ("apart",):
            figures += _measure(tables, rows, rounds, how)
    shutil.rmtree(place, ignore_errors=True)
    return figures


@dataclass
class _Times:
    waited: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def _measure(tables: dict[str, str], rows: int, rounds: int, how: str) -> list[dict[str, object]]:
    times = {mode: _Times() for mode in MODES}
    order = list(MODES)
    chance = random.Random(7)
    for number in range((rounds if how == "apart" else rounds // 3) + 1):
        data = _rows(rows, number)
        chance.shuffle(order)
        for mode in order:
            for _ in range(1 if how == "apart" else 12):
                waited, cpu = _commit(tables[mode], data, mode, how == "apart")
                if number:  # the first round warms up
                    times[mode].waited.append(waited)
                    times[mode].cpu.append(cpu)
            hooks.flush()
    assert not hooks.counts().failed, hooks.counts().last_error
    assert all(mi.open_table(tables[mode]).indexes(staleness=False)[0].fresh for mode in MODES[1:])
    return [_figure(mode, times, rows, how) for mode in MODES]


def _commit(path: str, data: pa.Table, mode: str, apart: bool) -> tuple[float, float]:
    cpu, started = time.process_time(), time.perf_counter()
    if mode == "none":
        deltalake.write_deltalake(path, data, mode="append")
    else:
        hooks.deltalake.write_deltalake(path, data, mode="append", hook=mode.partition(",")[0])  # type: ignore[arg-type]
    waited = time.perf_counter() - started
    if apart:
        hooks.flush()
    return waited * 1000, (time.process_time() - cpu) * 1000


def _figure(mode: str, times: dict[str, _Times], rows: int, how: str) -> dict[str, object]:
    mine, none = times[mode], times["none"]

    def over(own: list[float], base: list[float]) -> float:
        return 100 * statistics.median((a - b) / b for a, b in zip(own, base, strict=True))

    blocks = [slice(start, start + BLOCK) for start in range(0, len(mine.cpu), BLOCK)]
    shares = sorted(100 * (sum(mine.cpu[b]) / sum(none.cpu[b]) - 1) for b in blocks)
    apart = how == "apart"
    return {
        "rows a commit": rows,
        "commits": how,
        "hook": mode,
        "ms waited": statistics.median(mine.waited),
        "p90": sorted(mine.waited)[len(mine.waited) * 9 // 10],
        "over none %": over(mine.waited, none.waited),
        "CPU ms": statistics.mean(mine.cpu),
        "CPU over none %": statistics.median(shares) if apart else "",
        "least": shares[0] if apart else "",
        "most": shares[-1] if apart else "",
    }


def _prepare(path: str, files: int, kind: mi.ColumnStats) -> None:
    for number in range(files):
        deltalake.write_deltalake(path, _rows(1000, number), mode="append")
    mi.open_table(path).create_index("stats", kind, builder="local")


def _rows(count: int, seed: int) -> pa.Table:
    """As in a table of events: ids, times, categories, two measures, a text."""
    numbers = np.random.default_rng(seed)
    return pa.table(
        {
            "id": numbers.integers(0, 1 << 60, count),
            "at": pa.array(1_700_000_000_000_000 + np.sort(numbers.integers(0, 10**10, count)), pa.timestamp("us")),
            "user": numbers.integers(0, 100_000, count),
            "kind": pa.array([f"kind {n}" for n in range(40)]).take(pa.array(numbers.integers(0, 40, count))),
            "price": np.round(numbers.gamma(2.0, 30.0, count), 2),
            "weight": numbers.random(count),
            "flag": pa.array(numbers.integers(0, 2, count).astype(bool)),
            "url": pa.array([f"https://example.org/items/{n}" for n in range(5000)]).take(
                pa.array(numbers.integers(0, 5000, count))
            ),
        }
    )
