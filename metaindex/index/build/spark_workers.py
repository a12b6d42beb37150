"""Checks the Python of Spark's workers and its packages by one task an application, before another fails with pages of
traces, and gives them this project where they may not have it."""

from __future__ import annotations

import atexit
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaindex.core import BuildError, Cure, SparkDriver, WorkerError, one_line

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


_shipped: set[str] = set()
"""Applications that have the archive."""
_ready: set[str] = set()
"""Those of which a worker was asked."""


def ship(spark: SparkSession, only_spark: bool) -> None:
    """Make sure that workers can build: one task per application checks their packages, and the project's sources are
    added to the application if workers have none, or others. WorkerError for a missing package that cannot be sent.
    `only_spark`: no other builder can build it."""
    SparkDriver(spark).check_running()
    try:
        context = spark.sparkContext
    except Exception as error:
        elsewhere = "open the table with spark= such a one" if only_spark else "build without Spark"
        raise BuildError(
            f"the Spark builder needs a session with a JVM of its own; this one is Spark Connect; {elsewhere}"
        ) from error
    if context.applicationId in _ready:
        return
    if not _is_local(context):  # executors may have what the one that is asked has, or not
        _add_sources(context)
    worker = asked(spark, only_spark)
    worker.check(only_spark)
    if not worker.has_ours:
        _add_sources(context)
    _ready.add(context.applicationId)


def _add_sources(context: SparkContext) -> None:
    if context.applicationId in _shipped:
        return
    folder = tempfile.mkdtemp(prefix="_metaindex-")
    atexit.register(
        shutil.rmtree, folder, ignore_errors=True
    )  # the driver serves the file to executors from where it lies, whenever one starts
    archive = Path(folder) / "metaindex-sources.zip"
    write_archive(archive)
    context.addPyFile(str(archive))
    _shipped.add(context.applicationId)


def write_archive(archive: Path) -> None:
    """The package as an importable archive."""
    package = Path(__file__).parents[2]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for source in sorted(package.rglob("*.py")):
            file.write(source, source.relative_to(package.parent).as_posix())


def _is_local(context: SparkContext) -> bool:
    master: str = context.master
    return master.startswith("local") and not master.startswith("local-cluster")


PACKAGES = ("numpy", "pyarrow", "xxhash", "pyroaring")
"""What tasks import, beside metaindex itself."""
_LEAST_ARROW = 19
_NOT_STARTED = (
    "Error from python worker",
    "pyspark.daemon's stdout",
    "Python worker exited unexpectedly",
    "Python worker failed to connect back",
)
_QUESTION = f"""
def answers(_):
    import importlib, json, sys
    told = {{"executable": sys.executable, "missing": [], "versions": {{}}}}
    for name in ("metaindex", *{PACKAGES!r}):
        try:
            told["versions"][name] = str(getattr(importlib.import_module(name), "__version__", ""))
        except Exception:
            told["missing"].append(name)
    return iter([json.dumps(told)])
"""


@dataclass(frozen=True, slots=True)
class WorkerPython:
    """Answer of a worker. `missing`: packages that it cannot import. `metaindex_version`: empty if not installed."""

    executable: str
    missing: tuple[str, ...]
    metaindex_version: str
    arrow: str

    @property
    def has_ours(self) -> bool:
        return self.metaindex_version == getattr(sys.modules["metaindex"], "__version__", None)

    def check(self, only_spark: bool) -> None:
        """WorkerError where tasks would fail. `only_spark`: see `cure`."""
        if self.missing:
            raise WorkerError(
                f"Spark's workers run a Python that has {', '.join(PACKAGES)}; {self.executable} lacks"
                f" {', '.join(self.missing)}; {cure(only_spark)}"
            )
        major = re.match(r"\d+", self.arrow)
        if major is not None and int(major[0]) < _LEAST_ARROW:
            raise WorkerError(
                f"Spark's workers need pyarrow {_LEAST_ARROW} or newer; that of {self.executable} is {self.arrow};"
                f" {cure(only_spark)}"
            )


def cure(only_spark: bool) -> str:
    """Return the cure. `only_spark`: no other builder can build one of the kinds."""
    elsewhere = (
        "covering indexes are built by them alone"
        if only_spark
        else f"or build with {Cure('argument', 'builder', 'local')}"
    )
    return (
        f"before the session starts set PYSPARK_PYTHON={sys.executable} (on a cluster spark.pyspark.python, a Python"
        f" with metaindex on every node), {elsewhere}"
    )


def asked(spark: SparkSession, only_spark: bool) -> WorkerPython:
    """Ask a worker by one task. Raises WorkerError if none of this Python can be started. `only_spark`: see `cure`."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with SparkDriver.interrupts_first(), SparkDriver(spark).tagged():
            (line,) = spark.sparkContext.parallelize([0], 1).mapPartitions(_question()).collect()
    except (Py4JError, PySparkException) as error:
        reason = _reason(str(error))
        if reason is None:  # Spark itself failed, and says so when it builds
            raise
        raise WorkerError(f"Spark's workers run the Python of the driver; {reason}; {cure(only_spark)}") from error
    told: dict[str, Any] = json.loads(line)
    versions: dict[str, str] = told["versions"]
    return WorkerPython(
        str(told["executable"]),
        tuple(name for name in told["missing"] if name != "metaindex"),
        versions.get("metaindex", ""),
        versions.get("pyarrow", ""),
    )


def _question() -> Callable[[Any], Any]:
    """Return a function of no importable module, so that it is pickled by value and not by name."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(_QUESTION, names)  # noqa: S102 - a text of this file
    function: Callable[[Any], Any] = names["answers"]
    return function


def _reason(said: str) -> str | None:
    """Why no worker could be started; None: that was not it."""
    if match := re.search(r"Python in worker has different version:? \(?'?([\d., ]+)'?\)?", said):
        return f"they run Python {match[1].strip(' ,').replace(', ', '.')}, the driver {sys.version.split()[0]}"
    if match := re.search(r"Python in worker has different version ([\d.]+)", said):
        return f"they run Python {match[1]}, the driver {sys.version.split()[0]}"
    if match := re.search(r'Cannot run program "([^"]{1,200})"', said):
        return f"{match[1]} cannot be started"
    if any(sign in said for sign in _NOT_STARTED):
        raised = re.search(
            r"^\s*(\w+(?:Error|Exception): .*)$", said.partition("Error from python worker")[2], re.MULTILINE
        )
        return f"theirs does not start a worker{f' ({one_line(raised[1])[:200]})' if raised else ''}"
    return None
