"""Gives Spark's Python workers this project where they may not have it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from metaindex.errors import BuildError
from metaindex.spark.running import check_running

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_shipped: set[str] = set()
"""Applications that have the archive."""


def ship(spark: SparkSession) -> None:
    """Adds the project's sources to the application once. Local workers share this interpreter's installed packages, so
    an installed project needs no archive there."""
    check_running(spark)
    try:
        context = spark.sparkContext
    except Exception as error:
        raise BuildError(
            "the Spark builder needs a session with a JVM of its own; this one is Spark Connect; build without Spark"
        ) from error
    if context.applicationId in _shipped or (_is_local(context) and _is_installed()):
        return
    folder = tempfile.mkdtemp(prefix="metaindex-")
    atexit.register(
        shutil.rmtree, folder, ignore_errors=True
    )  # the driver serves the file to executors from where it lies, whenever one starts
    archive = Path(folder) / "metaindex-sources.zip"
    write_archive(archive)
    context.addPyFile(str(archive))
    _shipped.add(context.applicationId)


def write_archive(archive: Path) -> None:
    """The package as an importable archive."""
    package = Path(__file__).parents[1]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for source in sorted(package.rglob("*.py")):
            file.write(source, source.relative_to(package.parent).as_posix())


def _is_local(context: SparkContext) -> bool:
    master: str = context.master
    return master.startswith("local") and not master.startswith("local-cluster")


def _is_installed() -> bool:
    try:
        distribution("metaindex")
    except PackageNotFoundError:
        return False
    return True
