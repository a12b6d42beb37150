"""What a killed put leaves on a store: of an object that goes in one request, nothing. And what the store says of
versions."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from metaindex.storage import SupportsVersions, storage_for

from .server import S3Server

pytestmark = pytest.mark.slow

_PUT = """
import json, sys
from metaindex.storage.opening import storage_for
storage, _ = storage_for(sys.argv[1], json.loads(sys.argv[2]))
data = b"SECRETVALUE" * (4 << 20)
print("putting", flush=True)
storage.put("column_stats/run=r0/part-00000.mix", data)
"""


@pytest.mark.parametrize("wait", [0.05, 0.15, 0.3])
def test_a_writer_killed_in_a_put_leaves_nothing_on_the_store(s3: S3Server, bucket: str, wait: float) -> None:
    before = _large(s3)
    process = subprocess.Popen(
        [sys.executable, "-c", _PUT, f"s3://{bucket}/t/_metaindex/ix", json.dumps(s3.options)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(wait)  # where in the put it dies is the matter of the test
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 20
    while (left := {p for p in _large(s3) - before if "column_stats" not in p}) and time.monotonic() < deadline:
        time.sleep(0.2)  # the server hears of the end of the connection
    assert not left


def _large(s3: S3Server) -> set[str]:
    return {str(p.relative_to(s3.root)) for p in s3.root.rglob("*") if p.is_file() and p.stat().st_size > 1 << 20}


def test_a_bucket_without_versions_says_so(s3: S3Server, bucket: str) -> None:
    storage, _ = storage_for(f"s3://{bucket}/t", s3.options)
    storage.put("a", b"x")
    assert isinstance(storage, SupportsVersions)
    assert not storage.keeps_versions("a")
