"""A driver in a process of its own, told what to do: `cluster_job`."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.patience import until
from tests.processes import ended

_PATIENCE_SECONDS = 600.0


class DriverProcess:
    """Does one command after the other."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.master: str = self._answer()["master"]

    def start(self, *command: object) -> None:
        """Begins with it, and does not wait."""
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def sees(self, condition: Callable[[], object]) -> bool:
        """Does it come while the command goes on? Not where that was done, or failed, before anybody looked."""
        until(lambda: condition() or not self._answers.empty())
        return bool(condition())

    def finish(self) -> Any:
        """What came of the command that was begun."""
        answer = self._answer()
        assert "done" in answer, answer.get("failed")
        return answer["done"]

    def do(self, *command: object) -> Any:
        self.start(*command)
        return self.finish()

    def _answer(self) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=_PATIENCE_SECONDS)
        except queue.Empty:
            line = ""
        if not line:
            raise AssertionError(f"a driver answers; this one does not: {self._log.read_text()[-3000:]}")
        found: dict[str, Any] = json.loads(line)
        return found

    def _read(self) -> None:
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")  # it ended


@contextmanager
def driver(folder: Path, master: str, *, s3: bool, environment: Mapping[str, str]) -> Iterator[DriverProcess]:
    """Starts a driver, and ends it."""
    log = folder / "driver.log"
    words = [
        sys.executable,
        "-W",
        "error::UserWarning",
        "-m",
        "tests.spark.cluster_job",
        master,
        *(["s3"] if s3 else []),
    ]
    with open(log, "w") as errors:
        process = subprocess.Popen(
            words,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        yield DriverProcess(process, log)
    finally:
        process.stdin.close()
        ended(process)
        process.stdout.close()
