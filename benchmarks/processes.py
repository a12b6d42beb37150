"""CPU time of this process and of those that work for it: a JVM, and its Python workers."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path


def cpu_seconds() -> float:
    """Of this process, to the microsecond, and of all that descend from it."""
    return time.process_time() + children_cpu_seconds()


def children_cpu_seconds() -> float:
    """Of all that descend from this process and live, to the microsecond; children that have ended count for their
    parents, to a tick (10 ms)."""
    return sum(_own_seconds(one) + _ended_seconds(one) for one in _descendants())


def compiler_seconds() -> float:
    """Of the threads in which JVMs that descend from this process compile what they run often, as long as these threads
    live (`-XX:-UseDynamicNumberOfCompilerThreads`): it sinks as a program goes on, whatever it is asked."""
    total = 0
    for process in _descendants():
        for thread in Path("/proc", str(process), "task").glob("*"):
            with suppress(OSError):
                if (thread / "comm").read_text().startswith(("C1 Compiler", "C2 Compiler")):
                    total += sum(int(x) for x in _fields(thread)[11:13])
    return total / os.sysconf("SC_CLK_TCK")


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                children.setdefault(int(_fields(entry)[1]), []).append(int(entry.name))
    found, todo = [], list(children.get(os.getpid(), []))
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


def _own_seconds(process: int) -> float:
    with suppress(OSError):
        return time.clock_gettime(~process << 3 | 2)  # the clock of a process (clock_getcpuclockid)
    return 0.0  # it has ended


def _ended_seconds(process: int) -> float:
    """Of its children that have ended."""
    with suppress(OSError):
        return sum(int(x) for x in _fields(Path("/proc", str(process)))[13:15]) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _fields(of: Path) -> list[str]:
    return (of / "stat").read_text().rpartition(")")[2].split()
