"""One measurement in a process of its own: `python -m benchmarks.delta_once ours|deltalake TABLE`; prints one JSON
object. CPU is of the process, all threads."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

from .delta_table import COMMITS


def main() -> None:
    who, path = sys.argv[1:]
    print(json.dumps(_ours(path) if who == "ours" else _deltalake(path)))


def _timed(work: Callable[[], object], times: int = 1) -> tuple[float, float]:
    """CPU and wall milliseconds, each the least of some tries."""
    cpu, wall = [], []
    for _ in range(times):
        started, on_wall = time.process_time(), time.perf_counter()
        work()
        cpu.append((time.process_time() - started) * 1000)
        wall.append((time.perf_counter() - on_wall) * 1000)
    return min(cpu), min(wall)


def _ours(path: str) -> dict[str, float]:
    import metaindex
    from metaindex.formats import At, open_ref

    del metaindex
    format_, ref = open_ref(path, "delta")
    first, first_wall = _timed(lambda: format_.snapshot(ref, At()))
    again, _ = _timed(lambda: format_.snapshot(ref, At()), 5)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    base = format_.snapshot(ref, At(version=COMMITS - 1))
    diff_first, diff_first_wall = _timed(lambda: format_.diff(ref, base, At(version=COMMITS)))
    diff, _ = _timed(lambda: format_.diff(ref, base, At(version=COMMITS)), 20)
    found = format_.diff(ref, base, At(version=COMMITS))
    assert found is not None
    assert found.source == "log"
    return {
        "files": len(format_.snapshot(ref, At()).files),
        "cpu_ms": first,
        "wall_ms": first_wall,
        "warm_ms": again,
        "peak_mb": peak,
        "diff_first_ms": diff_first,
        "diff_ms": diff,
        "diff_wall_ms": diff_first_wall,
    }


def _deltalake(path: str) -> dict[str, float]:
    import deltalake
    import pyarrow as pa

    def snapshot() -> int:
        return int(pa.table(deltalake.DeltaTable(path).get_add_actions()).num_rows)

    first, first_wall = _timed(snapshot)
    again, _ = _timed(snapshot, 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    opened, _ = _timed(lambda: deltalake.DeltaTable(path), 3)
    return {
        "files": snapshot(),
        "cpu_ms": first,
        "wall_ms": first_wall,
        "warm_ms": again,
        "peak_mb": peak,
        "open_ms": opened,
    }


if __name__ == "__main__":
    main()
