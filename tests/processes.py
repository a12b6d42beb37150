"""What a test asks of a process."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest


def peak_bytes() -> int:
    """The most memory that this process itself has held. `ru_maxrss` would begin with what the process held that
    started it: a worker that ran some thousand tests."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found.group(1)) << 10


def terminal() -> tuple[int, int]:
    """Both ends of a terminal that is none; the test is skipped where the system gives none."""
    try:
        return os.openpty()
    except OSError as error:
        pytest.skip(f"no terminals here (is /dev/pts mounted?): {error}")


def say(line: str) -> None:
    """At once, whoever reads."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
