"""Many processes on one index on a local disk, as `many_processes` has it: 8 for seconds, 64 for minutes in a soak
(`METAINDEX_SOAK`)."""

import os
from pathlib import Path

import pytest

from .many_processes import hammer

PROCESSES, SECONDS = (64, 120.0) if os.environ.get("METAINDEX_SOAK") else (8, 9.0)


@pytest.mark.exhaustive(but="some are killed")
@pytest.mark.slow
@pytest.mark.parametrize("killing", [False, True], ids=["all live", "some are killed"])
def test_many_processes_on_one_index_are_some_serial_order(tmp_path: Path, killing: bool) -> None:
    hammer(tmp_path, "", PROCESSES, SECONDS, killing=killing)
