"""A Thrift server whose configuration switches metaindex on: clients of JDBC have plain Beeline."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from metaindex.spark.runtime import find_java
from tests.processes import free_port

from .applications import HOME, command, environment, serves, sidecars, wait_until_ended
from .test_extension import PRUNED, jar, needle, users

__all__ = ["jar", "users"]  # fixtures

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(
        not list(HOME.glob("jars/spark-hive-thriftserver_*.jar")), reason="this Spark has no Thrift server"
    ),
]
_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


@pytest.fixture
def server(jar: Path, tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[bytes], Path]]:
    """Its port, its process and its log."""
    port = free_port()
    place = ["--hiveconf", f"hive.server2.thrift.port={port}", "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"]
    words = command(jar, tmp_path, {}, "--class", _SERVER, "spark-internal", *place)
    with serves(words, tmp_path, "ThriftBinaryCLIService on port") as (process, log):
        yield port, process, log


def beeline(port: int, *statements: str) -> str:
    java = str(find_java().home / "bin" / "java")
    words = [java, "-cp", str(HOME / "jars" / "*"), "org.apache.hive.beeline.BeeLine", "--silent=true"]
    words += ["--outputformat=tsv2", "-u", f"jdbc:hive2://127.0.0.1:{port}/", "-n", "me"]
    words += [word for statement in statements for word in ("-e", statement)]
    ran = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def test_the_sessions_of_a_thrift_server_use_indexes(
    server: tuple[int, subprocess.Popen[bytes], Path], users: Path
) -> None:
    port, process, log = server
    shown = beeline(port, f"SHOW INDEXES ON parquet.`{users}`", needle(users), f"EXPLAIN {needle(users)}")
    assert "find\tACTIVE" in shown
    assert "1\tuser-00007" in shown
    assert PRUNED in shown
    off = beeline(port, "SET spark.metaindex.enabled=false", needle(users), f"EXPLAIN {needle(users)}")
    assert "1\tuser-00007" in off
    assert PRUNED not in off
    assert " WARN metaindex: " not in log.read_text()
    (sidecar,) = sidecars(process.pid)
    process.terminate()
    wait_until_ended(sidecar)
