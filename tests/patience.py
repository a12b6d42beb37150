"""Waiting for what comes by itself: what another thread or process does, what Spark's listeners hear of later."""

import time
from collections.abc import Callable

LONGEST = 600.0  # seconds; only a test that fails waits so long


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
