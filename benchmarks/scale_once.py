"""One verb on the table of `scale`, in a process of its own: `python -m benchmarks.scale_once
create|prune|refresh|optimize TABLE [ARGUMENT]`; prints one JSON object.

Times are from behind the imports, those of a refresh and an optimize from behind the same verbs on a table of 20 files;
memory is the most that the process ever had, `idle` what it had before the verb.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import metaindex as mi
from metaindex.index import Outcome
from metaindex.query import PruneResult

from .scale_table import commit, scale_table
from .synthetic import Shape

NAME = "stats"


def main() -> None:
    verb, folder, *arguments = sys.argv[1:]
    if verb in ("refresh", "optimize"):
        _load_modules()
    table = mi.open_table(folder)
    work = _VERBS[verb](table, *arguments)
    idle = _peak_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    said = {"wall_ms": wall * 1000, "cpu_ms": cpu * 1000, "peak_mb": _peak_mb(), "idle_mb": idle}
    print(json.dumps(said | (_pruned(result) if isinstance(result, PruneResult) else _changed(folder, result))))


def _load_modules() -> None:
    """What a refresh and an optimize import, imported by those of a small table."""
    shape = Shape(20, 5)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "t"
        scale_table(folder, shape, 1)
        _create(mi.open_table(str(folder)))()
        for version in (1, 2):
            commit(folder, shape, Shape(30, 5), version, np.array([19 + version]), np.array([version]))
            _refresh(mi.open_table(str(folder)), "incremental")()
        _optimize(mi.open_table(str(folder)), "full")()


def digest(sizes: object) -> str:
    """Of a set of files, each known by its size."""
    return hashlib.sha256(np.sort(np.asarray(sizes, np.int64)).tobytes()).hexdigest()


def _create(table: mi.Table) -> Callable[[], Outcome]:
    return lambda: table.create_index(NAME, mi.ColumnStats(trust_log=True, scan_floats=False), builder="local")


def _refresh(table: mi.Table, mode: str) -> Callable[[], Outcome]:
    return lambda: table.refresh_index(NAME, mode=mode, builder="local")  # type: ignore[arg-type]


def _optimize(table: mi.Table, mode: str) -> Callable[[], Outcome]:
    return lambda: table.optimize_index(NAME, mode=mode)  # type: ignore[arg-type]


def _prune(table: mi.Table, question: str, version: str) -> Callable[[], PruneResult]:
    from metaindex.expressions import to_predicate

    predicate = to_predicate(question)
    return lambda: table.prune(predicate, version=int(version))


_VERBS: dict[str, Callable[..., Callable[[], object]]] = {
    "create": _create,
    "refresh": _refresh,
    "optimize": _optimize,
    "prune": _prune,
}


def _pruned(result: PruneResult) -> dict[str, object]:
    (report,) = result.indexes
    assert report.used, report.reason
    sizes = result.files.table.column("size_bytes").to_numpy()
    return {"kept": len(sizes), "digest": digest(sizes), "reads": report.reads, "bytes": report.bytes_read}


def _changed(folder: str, outcome: object) -> dict[str, object]:
    assert isinstance(outcome, Outcome)
    assert outcome.changed, str(outcome)
    runs = outcome.entry.content.runs
    entry = Path(folder) / "_metaindex" / NAME / "_log" / f"{outcome.entry.id:020d}.json"
    written = sum(run.size_bytes for run in runs)
    return {"runs": len(runs), "index_mb": written / 1e6, "entry_kb": entry.stat().st_size / 1000}


def _peak_mb() -> float:
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
