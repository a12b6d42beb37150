"""Applications of Spark as their operators start them: processes of Spark's own launcher, configured and not written
for metaindex."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

from metaindex.spark.runtime import find_java
from tests.processes import ended

HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_SECONDS = 300.0
_QUIET = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"


def environment(**more: str) -> dict[str, str]:
    return {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part),
        **more,
    }


def command(jar: Path, folder: Path, conf: Mapping[str, str], *rest: str) -> list[str]:
    """Spark's launcher, with the jar and nothing else of metaindex."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.jars": str(jar),
        "spark.sql.extensions": "metaindex.spark.Extensions",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": f"{_QUIET} -Dderby.system.home={folder}",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.metaindex.startSeconds": "120",  # however busy the machine is
        "spark.metaindex.timeoutSeconds": "120",
        **conf,
    }
    words = [f"--conf={key}={value}" for key, value in settings.items()]
    return [str(HOME / "bin" / "spark-submit"), "--master", "local[2]", *words, *rest]


class Application:
    """One that is told what to do (`extension_job`)."""

    def __init__(self, connection: socket.socket, log: Path) -> None:
        self._told, self.log = connection.makefile("rw"), log

    def do(self, *words: object) -> Any:
        self._told.write(json.dumps(words) + "\n")
        self._told.flush()
        line = self._told.readline()
        assert line, f"an application answers; this one does not: {self.log.read_text()[-3000:]}"
        answer: dict[str, Any] = json.loads(line)
        assert "done" in answer, answer
        return answer["done"]

    def warnings(self) -> list[str]:
        """What metaindex says in the log of Spark."""
        return [line for line in self.log.read_text().splitlines() if " WARN metaindex: " in line]

    def close(self) -> None:
        self._told.close()


@contextmanager
def application(folder: Path, words: list[str]) -> Iterator[Application]:
    """Starts one, and ends it."""
    log = folder / "application.log"
    with socket.create_server(("127.0.0.1", 0)) as server, open(log, "w") as out:
        server.settimeout(_PATIENCE_SECONDS)
        words = [*words, str(server.getsockname()[1])]
        process = subprocess.Popen(words, env=environment(), cwd=folder, stdout=out, stderr=out)
        try:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(_PATIENCE_SECONDS)
                started = Application(connection, log)
                yield started
                started.close()
        finally:
            assert ended(process)


def sidecars(jvm: int) -> list[int]:
    """The processes of metaindex that a JVM has started, and that run."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            words = (entry / "cmdline").read_bytes()
        except (OSError, IndexError):  # it ended meanwhile
            continue
        if parent == jvm and b"metaindex.spark.optimizer.sidecar" in words:
            found.append(int(entry.name))
    return found


def listened_to(process: int) -> set[int]:
    """The ports of the loopback interface at which a process is called."""
    held = {os.readlink(entry) for entry in Path(f"/proc/{process}/fd").iterdir() if entry.is_symlink()}
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [line for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in held]
    return {int(line[1].rpartition(":")[2], 16) for line in listening}


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_ended(process: int) -> None:
    until = time.monotonic() + 60
    while is_running(process):
        assert time.monotonic() < until, f"process {process} ends; it runs on"
        time.sleep(0.05)


@contextmanager
def serves(words: list[str], folder: Path, ready: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A server that has said that it is ready, and its log."""
    log = folder / "server.log"
    with open(log, "wb") as out:
        process = subprocess.Popen(words, env=environment(), cwd=folder, stdout=out, stderr=out)
    try:
        until = time.monotonic() + 300
        while ready not in log.read_text():
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < until
            time.sleep(0.1)
        yield process, log
    finally:
        process.kill()
        process.wait()
