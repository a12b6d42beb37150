"""A Spark Connect server whose configuration switches metaindex on: its clients' queries use indexes, and their SQL has
statements about them."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .applications import command, environment, free_port, sidecars, wait_until_ended
from .test_extension import FILES, PRUNED, ROWS, jar, needle, users

__all__ = ["jar", "users"]  # fixtures

pytestmark = [
    pytest.mark.rotating(commits=3),
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("grpc_status") is None,
        reason="Spark Connect's client needs grpcio, grpcio-status, googleapis-common-protos and zstandard",
    ),
]
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture
def server(jar: Path, tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes], Path]]:
    """Its address, its process and its log."""
    port, log = free_port(), tmp_path / "server.log"
    conf = {"spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1"}
    conf |= {"spark.sql.catalogImplementation": "in-memory", "spark.sql.artifact.isolation.enabled": "true"}
    words = command(jar, tmp_path, conf, "--class", _SERVER, "spark-internal")
    with open(log, "wb") as out:
        process = subprocess.Popen(words, env=environment(), cwd=tmp_path, stdout=out, stderr=out)
    try:
        until = time.monotonic() + 300
        while "Spark Connect server started" not in log.read_text():
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < until
            time.sleep(0.1)
        yield f"sc://127.0.0.1:{port}", process, log
    finally:
        process.kill()
        process.wait()


def test_a_client_of_a_server_that_is_configured_for_it(
    server: tuple[str, subprocess.Popen[bytes], Path], users: Path
) -> None:
    address, process, log = server
    client = [sys.executable, "-m", "tests.spark.connect_client", address, str(users), needle(users)]
    ran = subprocess.run(client, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:] + log.read_text()[-3000:]
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["rows"] == ROWS
    assert PRUNED in found["plan"]
    assert found["was"]
    assert (found["enabling"], found["enabled"], found["disabled"]) == ("", True, False)
    assert "metaindex" not in found["plan without"]
    assert found["statement first"] == ""
    assert [row[0] for row in found["shown"]] == ["find"]
    assert found["frame"] == ROWS
    assert PRUNED in found["frame's plan"]
    assert [1, FILES] in [row[4:6] for row in found["explained"]]
    assert (found["created, refused"], found["dropped, refused"]) == ("", "")
    assert (found["scan"], found["scanned files"], found["scan of nothing"]) == (ROWS, 1, [])
    assert "is given names of plain files" in found["scan of Delta"]
    assert (found["located"], found["listed"]) == (1, ["by_id"])
    assert found["here"] == len(ROWS)
    (sidecar,) = sidecars(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    wait_until_ended(sidecar)
