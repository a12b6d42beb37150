"""Planning on made-up metadata. Cold: a new process, after imports, version given, nothing of the index read before
(the operating system's file cache is warm). Opened: the same by a table that is opened for the question, in a process
that has planned before. Warm: the same table handle asked again, answers not remembered, index columns cached. DuckDB
asks the same Parquet parts for the same files, in each of the three ways, in the same run, interleaved.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

import metaindex as mi

from .synthetic import Shape, SyntheticBuilder, synthetic_table

MIDDLE = 500_000_000
QUESTIONS = {
    "int equality": ("c00 = 500000000", ["c00"]),
    "double range": ("c01 >= 500000000 AND c01 < 500002000", ["c01"]),
    "string equality": ("c02 = '0500000000'", ["c02"]),
    "as many of one": ("c00 >= 500000000 AND c00 < 500517000", ["c00"]),
    "two columns": ("c00 >= 500000000 AND c00 < 501000000 AND c04 < 500000000", ["c00", "c04"]),
    "wide equality": ("c03 = 500000000", ["c03"]),
}


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    files, columns = (20_000, 8) if quick else (1_000_000, 20)
    figures = []
    for partitions in (1, files // 10):
        shape = Shape(files, columns, partitions)
        place = folder / f"prune-{files}-{columns}-{partitions}"
        if not (place / "_metaindex" / "stats" / "_log" / f"{2:020d}.json").exists():
            print(
                f"building the metadata of {files:,} files x {columns} columns in {partitions:,} partitions",
                file=sys.stderr,
            )
            place.mkdir(parents=True, exist_ok=True)
            synthetic_table(str(place), shape).create_index("stats", mi.ColumnStats(), builder=SyntheticBuilder(shape))
        figures += [_measure(place, shape, question, 3 if quick else 7) for question in QUESTIONS]
    return figures


def _measure(place: Path, shape: Shape, question: str, times: int) -> dict[str, object]:
    ours, theirs = [], []
    for _ in range(times):
        ours.append(_process("ours", place, shape, question))
        theirs.append(_process("duckdb", place, shape, question))
    assert {o["kept"] for o in ours} == {t["kept"] for t in theirs}, f"{question}: the two disagree"

    def median(found: list[dict[str, float]], key: str) -> float:
        return statistics.median(one[key] for one in found)

    return {
        "partitions": shape.partitions,
        "question": question,
        "kept": int(ours[0]["kept"]),
        "cold CPU ms": median(ours, "cold_cpu_ms"),
        "opened CPU ms": median(ours, "opened_cpu_ms"),
        "cold ms": median(ours, "cold_ms"),
        "min": min(o["cold_ms"] for o in ours),
        "max": max(o["cold_ms"] for o in ours),
        "warm ms": median(ours, "warm_ms"),
        "reads": int(ours[0]["reads"]),
        "KB read": ours[0]["bytes"] / 1000,
        "peak MB": median(ours, "peak_mb"),
        "DuckDB CPU": median(theirs, "cold_cpu_ms"),
        "DuckDB opened": median(theirs, "opened_cpu_ms"),
        "DuckDB cold": median(theirs, "cold_ms"),
        "DuckDB warm": median(theirs, "warm_ms"),
    }


def _process(who: str, place: Path, shape: Shape, question: str) -> dict[str, float]:
    arguments = [str(place), str(shape.files), str(shape.columns), str(shape.partitions), question]
    out = subprocess.run(
        [sys.executable, "-m", "benchmarks.prune_once", who, *arguments], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(out.stdout)
    return found
