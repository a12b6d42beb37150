"""Spark for the command line: started only when it is needed, and silent.

What the JVM writes (its own warnings, log4j's) would drown an answer and, on stdout, spoil it for machines: it goes to
a file that errors name.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def quiet_session(
    app_name: str,
    *,
    master: str = "local[*]",
    log: Path | None = None,
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session whose JVM writes to `log` (default: a file in the temporary folder) and not to this process's stdout
    and stderr."""
    from .session import spark_session

    with _streams_to(log or _private_log()):
        return spark_session(app_name, master=master, conf={**_QUIET, **(conf or {})})


def _private_log() -> Path:
    """Return a new file in the shared temporary folder, of a name that cannot be guessed, so that nobody has put a link
    there."""
    handle, name = tempfile.mkstemp(prefix=f"metaindex-spark-{os.getpid()}-", suffix=".log")
    os.close(handle)
    return Path(name)


@contextmanager
def _streams_to(log: Path) -> Iterator[None]:
    """A child that is started inside inherits the file as its stdout and stderr; this process has its own back
    afterwards."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        os.dup2(target, 1)
        os.dup2(target, 2)
        yield
    finally:
        for number, fd in zip((1, 2), kept, strict=True):
            os.dup2(fd, number)
            os.close(fd)
        os.close(target)
