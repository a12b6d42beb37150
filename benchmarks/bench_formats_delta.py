"""Delta: the snapshot of a table with a checkpoint and ten commits behind it, and the difference to the version before,
beside `deltalake` on the same table in the same run.

Every measurement is a process of its own, the two readers in turns. "cold": the first snapshot of the process, imports
of libraries that only it needs included; "warm": the least of five more. CPU of all threads, in milliseconds.
`deltalake` gives what ours gives: paths, sizes, record counts and partition values of all live files.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

from .delta_table import delta_table

SHAPES = ((100_000, 0), (100_000, 1000), (1_000_000, 0))


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    shapes = ((2_000, 0), (2_000, 50)) if quick else SHAPES
    return [_measured(delta_table(folder, files, days), days, 1 if quick else 5) for files, days in shapes]


def _measured(table: Path, days: int, times: int) -> dict[str, object]:
    ours, theirs = [], []
    for _ in range(times):
        ours.append(_process("ours", table))
        theirs.append(_process("deltalake", table))
    assert {one["files"] for one in ours} == {one["files"] for one in theirs}, "the two readers disagree"

    def median(found: list[dict[str, float]], key: str) -> float:
        return statistics.median(one[key] for one in found)

    cold, warm = median(ours, "cpu_ms"), median(ours, "warm_ms")
    return {
        "files": int(ours[0]["files"]),
        "partitions": days,
        "cold CPU ms": cold,
        "warm": warm,
        "peak MB": median(ours, "peak_mb"),
        "diff CPU ms": median(ours, "diff_ms"),
        "first diff": median(ours, "diff_first_ms"),
        "deltalake cold": median(theirs, "cpu_ms"),
        "deltalake warm": median(theirs, "warm_ms"),
        "deltalake MB": median(theirs, "peak_mb"),
        "ratio cold": median(theirs, "cpu_ms") / cold,
        "ratio warm": median(theirs, "warm_ms") / warm,
    }


def _process(who: str, table: Path) -> dict[str, float]:
    out = subprocess.run(
        [sys.executable, "-m", "benchmarks.delta_once", who, str(table)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(out.stdout)
    return found
