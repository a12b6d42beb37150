"""Many processes on one index on the S3 server: 6 for seconds, 64 for minutes in a soak (`METAINDEX_SOAK`)."""

import os
from pathlib import Path

import pytest

from tests.index.actions.many_processes import hammer

from .server import S3Server

PROCESSES, SECONDS = (64, 120.0) if os.environ.get("METAINDEX_SOAK") else (6, 9.0)


@pytest.mark.slow
@pytest.mark.parametrize("killing", [False, True], ids=["all live", "some are killed"])
def test_many_processes_on_one_index_are_some_serial_order(
    s3: S3Server, bucket: str, tmp_path: Path, killing: bool
) -> None:
    hammer(tmp_path, f"s3://{bucket}/indexes", PROCESSES, SECONDS, killing=killing)
