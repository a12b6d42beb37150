"""CPU time of this process and of those that work for it: a JVM, and its Python workers."""

from __future__ import annotations

import os
import time
from pathlib import Path


def cpu_seconds() -> float:
    """Of this process, to the microsecond, and of all that descend from it."""
    return time.process_time() + children_cpu_seconds()


def children_cpu_seconds() -> float:
    """Of all that descend from this process and live, to a tick (10 ms); children that have ended count for their
    parents."""
    parents: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = sum(int(x) for x in fields[11:15])
    total, todo = 0, list(parents.get(os.getpid(), []))
    while todo:
        process = todo.pop()
        total += ticks.get(process, 0)
        todo += parents.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")
