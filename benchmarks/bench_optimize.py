"""optimize on made-up metadata: 1,000,000 files x 5 columns in 16 runs become one. What it costs (time, peak memory of
a process that does nothing else), and what a cold prune costs before and after.

    in order      each run has a stretch of the paths, as days are appended
    interleaved   neighbouring files are in different runs, as hashed names are: the windows of all runs are open at
                  once
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from metaindex import ColumnStats
from metaindex.formats import At, TableRef
from metaindex.index import IndexLogEntry
from metaindex.index.actions.create import build_run
from metaindex.index.log.entry import Content, TableInfo, VersionRecord
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import State
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage

from .synthetic import Shape, SyntheticBuilder, SyntheticFormat, synthetic_table

COLUMNS, RUNS = 5, 16


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    figures: list[dict[str, object]] = []
    for layout in ("in order", "interleaved"):
        shape = Shape(10_000 if quick else 1_000_000, COLUMNS)
        root = folder / f"optimize-{layout.replace(' ', '-')}-{shape.files}"
        shutil.rmtree(root, ignore_errors=True)
        prepare(root, shape, layout)
        before = _once(root, shape, "prune")
        cost = _once(root, shape, "optimize")
        after = _once(root, shape, "prune")
        figures.append(
            {
                "layout": layout,
                "files": shape.files,
                "seconds": cost["seconds"],
                "cpu": cost["cpu"],
                "peak MB": cost["peak"],
                "idle MB": after["idle"],
                "prune before ms": before["seconds"] * 1000,
                "prune after ms": after["seconds"] * 1000,
            }
        )
        shutil.rmtree(root, ignore_errors=True)
    return figures


def prepare(root: Path, shape: Shape, layout: str) -> None:
    """An index of RUNS runs."""
    ref = TableRef(LocalStorage(str(root)), str(root))
    snapshot = SyntheticFormat(shape).snapshot(ref, At())
    storage = LocalStorage(str(root / "_metaindex" / "s"))
    rows = np.arange(shape.files)
    refs = []
    for number in range(RUNS):
        mine = rows[number::RUNS] if layout == "interleaved" else np.array_split(rows, RUNS)[number]
        sink = RunSink(storage, new_run_id())
        refs.append(build_run(ref, snapshot, mine, (ColumnStats().spec(),), SyntheticBuilder(shape), sink).ref)
    added = tuple(one.run for one in refs)
    record = VersionRecord(snapshot.version, 0, 0, None, added, files=shape.files, size_bytes=1)
    content = Content(tuple(refs), (record,), (snapshot.schema,))
    kinds = (ColumnStats().spec(),)
    OperationLog(storage).append(
        IndexLogEntry(1, "s", "u", "n", State.ACTIVE, TableInfo(str(root), "delta"), kinds, content)
    )


def _once(root: Path, shape: Shape, what: str) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks.bench_optimize", str(root), str(shape.files), what]
    found: dict[str, float] = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return found


def once(root: str, files: str, what: str) -> None:
    """In a process of its own: one verb, and what it took."""
    table = synthetic_table(root, Shape(int(files), COLUMNS))
    idle = _peak_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    if what == "optimize":
        assert table.optimize_index("s", mode="full").changed
    else:
        table.prune("c00 = 500000000")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"seconds": wall, "cpu": cpu, "peak": _peak_mb(), "idle": idle}))


def _peak_mb() -> float:
    """The most memory that this process has had: not, as `getrusage` says it, that of the one that started it."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    once(*sys.argv[1:])
