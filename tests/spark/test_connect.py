"""A Spark Connect server whose configuration switches metaindex on: its clients' queries use indexes, and their SQL has
statements about them."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from metaindex.core import UnsupportedFeatureError
from metaindex.spark.optimizer import remote
from metaindex.spark.optimizer.settings import ENABLED, STATE
from tests.processes import free_port

from .applications import command, environment, serves, sidecars, wait_until_ended
from .test_extension import FILES, PRUNED, ROWS, jar, needle, users

__all__ = ["jar", "users"]  # fixtures

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("grpc_status") is None,
        reason="Spark Connect's client needs grpcio, grpcio-status, googleapis-common-protos and zstandard",
    ),
]
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture
def server(
    request: pytest.FixtureRequest, jar: Path, tmp_path: Path
) -> Iterator[tuple[str, subprocess.Popen[bytes], Path]]:
    """Its address, its process and its log. Its parameter: does it wait for its Python some seconds alone, which does
    not start as long as there is a file `held`?"""
    port = free_port()
    conf = {"spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1"}
    if getattr(request, "param", False):
        python = tmp_path / "python"
        python.write_text(
            f'#!/bin/sh\nwhile [ -e "{tmp_path}/held" ]; do sleep 0.1; done\nexec {sys.executable} "$@"\n'
        )
        python.chmod(0o755)
        conf |= {"spark.metaindex.python": str(python), "spark.metaindex.startSeconds": "4"}
    conf |= {"spark.sql.catalogImplementation": "in-memory", "spark.sql.artifact.isolation.enabled": "true"}
    words = command(jar, tmp_path, conf, "--class", _SERVER, "spark-internal")
    with serves(words, tmp_path, "Spark Connect server started") as (process, log):
        yield f"sc://127.0.0.1:{port}", process, log


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
    told = [said for name, said in found.items() if name.startswith("read")]
    assert len(told) == 2
    assert all("none can be read" in said for said in told)
    assert not any(secret in "".join(told) for secret in ("hunter2", "PATH=", "HOME="))
    assert (found["scan"], found["scanned files"], found["scan of nothing"]) == (ROWS, 1, [])
    assert "is given names of plain files" in found["scan of Delta"]
    assert (found["located"], found["listed"]) == (1, ["by_id"])
    assert found["here"] == len(ROWS)
    (sidecar,) = sidecars(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    wait_until_ended(sidecar)


@pytest.mark.parametrize("server", [True], ids=[""], indirect=True)
def test_sessions_are_switched_while_the_python_of_the_server_comes_and_goes(
    server: tuple[str, subprocess.Popen[bytes], Path], users: Path, tmp_path: Path
) -> None:
    address, process, log = server
    words = [address, needle(users), str(process.pid), str(tmp_path / "held")]
    client = [sys.executable, "-m", "tests.spark.connect_sessions", *words]
    ran = subprocess.run(client, env=environment(), capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:] + log.read_text()[-3000:]
    found = json.loads(ran.stdout.splitlines()[-1])
    looked = {name: seen for name, seen in found.items() if isinstance(seen, dict)}
    assert {name for name, seen in looked.items() if seen["rows"] != ROWS} == set()
    off = {"disabled at first", "disabled while it was away", "as it was"}
    assert {name for name, seen in looked.items() if not seen["is"]} == off
    assert {name for name, seen in looked.items() if "metaindex" not in seen["plan"]} == off
    assert {name for name, seen in looked.items() if PRUNED in seen["plan"]} == looked.keys() - off
    assert {name: said for name, said in found.items() if name.endswith("refused") and said} == {}
    for name in ("new in vain", "turned in vain"):
        assert "has ended: exit code 137; it is started again within 10 s; wait, and try again" in found[name]
        assert "spark.jars" not in found[name]
    ((key, state),) = found["state"]
    assert key == STATE
    assert state == "on" or state.endswith("wait, and try again")
    lines = log.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if "has ended: exit code 137" in line)
    assert [line for line in lines[first:] if "its Python is not ready within" in line] == []


def test_what_a_server_is_refused_with(spark: SparkSession) -> None:
    """By a session of this process, which has the same methods, and nothing of the jar."""
    session = spark.newSession()
    for before in (None, "false"):
        with pytest.raises(UnsupportedFeatureError, match=r"there is nothing of metaindex in this one; start it with"):
            remote.enable(session)
        assert session.conf.get(ENABLED, None) == before
        assert not remote.is_enabled(session)
        remote.disable(session)
    session.conf.set(STATE, "off: its Python does not start; set another")
    with pytest.raises(UnsupportedFeatureError, match=r"this one says off: its Python does not start; set another$"):
        remote.enable(session)
    assert session.conf.get(ENABLED) == "false"
    session.conf.set(STATE, "on")
    remote.enable(session)
    assert remote.is_enabled(session)
