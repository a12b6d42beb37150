"""A real standalone cluster on loopback: a master and workers in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.processes import free_port

_STARTED = "I have been elected leader"
_REGISTERED = "Successfully registered with master"
_PATIENCE_SECONDS = 600.0


@dataclass(frozen=True)
class Cluster:
    """`master` is what a session names. Each worker has one core and its executors' whole memory."""

    master: str
    workers: list[subprocess.Popen[bytes]]
    start: Callable[[int], subprocess.Popen[bytes]]

    def lose_worker(self, number: int) -> None:
        """As a machine that is lost: the worker and its executors end at once."""
        _end(self.workers[number])

    def make_whole(self) -> None:
        """New workers in place of those that were lost."""
        for number, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self.workers[number] = self.start(number)


@contextmanager
def cluster(folder: Path, workers: int = 2, environment: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Starts it, and ends every process of it. `environment`: what workers, and so executors, have besides this
    process's own."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        master = ["master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())]
        stack.enter_context(_daemon(folder, "master", master, _STARTED, {}))

        def start(number: int) -> subprocess.Popen[bytes]:
            arguments = ["worker", "--host", "127.0.0.1", "--webui-port", str(free_port())]
            arguments += ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"worker-{number}"), address]
            daemon = _daemon(folder, f"worker-{number}", arguments, _REGISTERED, environment or {})
            return stack.enter_context(daemon)

        yield Cluster(address, [start(number) for number in range(workers)], start)


@contextmanager
def _daemon(
    folder: Path, name: str, arguments: list[str], ready: str, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """One of the cluster's processes, from the moment when its log says that it is ready."""
    settings = {**os.environ, **environment, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    log = folder / f"{name}.log"
    command = [sys.executable, "-m", "metaindex.spark", "daemon", *arguments]
    with open(log, "wb") as out:  # anew for a worker that stands in for a lost one
        process = subprocess.Popen(command, env=settings, stdout=out, stderr=out, start_new_session=True)
    try:
        _wait_for(ready, log, process)
        yield process
    finally:
        _end(process)


def _wait_for(ready: str, log: Path, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while ready not in log.read_text():
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"a Spark daemon says {ready!r} when it is ready; its log: {log.read_text()[-2000:]}")
        time.sleep(0.1)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and all that it started: they are a group of their own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
