"""What a test asks of a process."""

from __future__ import annotations

import re
from pathlib import Path


def peak_bytes() -> int:
    """The most memory that this process itself has held. `ru_maxrss` would begin with what the process held that
    started it: a worker that ran some thousand tests."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found.group(1)) << 10
