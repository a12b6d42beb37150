"""A test that hangs says where, in Python and in Java, and fails; the run goes on without it. Pytest's own
`faulthandler_timeout` prints the stacks of Python and ends the process a little later (pyproject.toml)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator

import pytest

AHEAD_SECONDS = 30.0
_told: list[int] = []  # standard error as it is when nothing is captured


def pytest_configure() -> None:
    _told.append(os.dup(2))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    limit = float(item.config.getini("faulthandler_timeout"))
    timer = threading.Timer(limit - min(AHEAD_SECONDS, limit / 2), _tell, [item.nodeid, limit])
    timer.daemon = True
    timer.start()
    try:
        return (yield)
    finally:
        timer.cancel()


def _tell(name: str, limit: float) -> None:
    for line in (f"\nhanging: {name} has {limit:.0f} seconds", *java_threads()):
        os.write(_told[-1], f"{line}\n".encode())


def java_threads() -> list[str]:
    """What each thread of this process' Spark does; nothing where there is none."""
    spark = sys.modules.get("pyspark")
    jvm = spark.SparkContext._jvm if spark is not None else None
    if jvm is None:
        return []
    threads = jvm.java.lang.Thread.getAllStackTraces().entrySet().toArray()
    return [
        "\n    ".join([f"{one.getKey().toString()}", *(frame.toString() for frame in one.getValue())])
        for one in threads
        if len(one.getValue())
    ]
