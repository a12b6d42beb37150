"""Gives Spark's Python workers this project where they may not have it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from metaindex.core import BuildError, check_running

from .worker_python import asked

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
    check_running(spark)
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
    worker = asked(context, only_spark)
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
