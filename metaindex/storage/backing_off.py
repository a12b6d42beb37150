"""Delay before the next try: random below a limit that doubles, so that writers who collided do not meet again ("full
jitter", as object stores ask of their clients)."""

from __future__ import annotations

import time


def back_off(attempt: int, first_seconds: float, most_seconds: float = 60.0) -> None:
    """Sleeps at random between nothing and `first_seconds` after attempt 0, twice as long after each further one,
    `most_seconds` at most."""
    import random  # where all goes well, nobody waits

    time.sleep(random.uniform(0, min(first_seconds * 2**attempt, most_seconds)))  # noqa: S311 - no secret
