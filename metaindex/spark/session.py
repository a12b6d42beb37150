"""A Spark session with Delta and Iceberg side by side, on any machine that has Python.

`spark_session()` finds Java, fetches the jars once, and sets what both formats need; everything else stays Spark's
default and the caller's choice (`conf`), the time zone too.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from metaindex.core import MetaIndexError, MissingDependencyError, SparkRelease

from .jars import JarGroup, is_pinned, jar_paths, not_published
from .runtime import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


logger = logging.getLogger("metaindex")
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
ICEBERG_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


class SparkSessionError(MetaIndexError, RuntimeError):
    """The session that is wanted cannot be had beside the one that runs."""


def spark_session(
    app_name: str = "metaindex",
    *,
    master: str = "local[*]",
    delta: bool | None = None,
    iceberg: bool | None = None,
    s3: bool = False,
    warehouse: str | os.PathLike[str] | None = None,
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark, or give the running session when it has what is asked for.

    With `delta`, Spark's own catalog is Delta's. With `iceberg` and a `warehouse`, the catalog `iceberg` keeps its
    tables there by path (a Hadoop catalog). Both are on by default where they have been published for this Spark. With
    `s3`, Spark's own readers and writers know `s3://` and `s3a://`, by Hadoop's connector (12 MB are fetched once);
    endpoint and region are those of the environment, as metaindex has them, and so are the credentials, on every
    machine. `conf` comes last and wins; its jars and extensions are added to ours.
    """
    try:
        from pyspark import SparkContext
        from pyspark import __version__ as spark_version
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingDependencyError.lacking("a Spark session", "pyspark") from error

    release = SparkRelease.known(spark_version)
    delta, iceberg = (
        is_published(group, release) if on is None else on
        for group, on in ((JarGroup.DELTA, delta), (JarGroup.ICEBERG, iceberg))
    )
    settings = (s3_settings(os.environ) if s3 else {}) | _settings(delta, iceberg, warehouse, dict(conf or {}))
    # A session of another thread counts too: one process has one SparkContext, and one JVM with one class path.
    if SparkContext._active_spark_context is not None:
        _check_running(SparkSession.builder.getOrCreate(), settings)
    else:
        wanted = ((JarGroup.DELTA, delta), (JarGroup.ICEBERG, iceberg), (JarGroup.S3, s3))
        groups = [group for group, on in wanted if on]
        if groups and release is None:
            raise SparkSessionError(
                f"jars of Delta, Iceberg and S3 are pinned for Spark {SparkRelease.known_names()}; pyspark is"
                f" {spark_version}; pass delta=False, iceberg=False, s3=False and name jars of your own in"
                " conf['spark.jars']"
            )
        ours = [str(path) for path in jar_paths(groups, verify=True, release=release)]
        if jars := _joined([*ours, settings.get("spark.jars", "")]):
            settings["spark.jars"] = jars
        _prepare_environment(master, release, iceberg=iceberg)

    builder = SparkSession.builder.appName(app_name).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def s3_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of Hadoop's connector to S3 from the environment, which every client of AWS but this one
    reads itself."""
    prefix = "spark.hadoop.fs.s3a."
    settings = {"spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem"}
    endpoint = next((environ[name] for name in _ENDPOINTS if environ.get(name)), None)
    if endpoint is not None:
        # A server of one's own seldom has a name for each bucket.
        settings |= {f"{prefix}endpoint": endpoint, f"{prefix}path.style.access": "true"}
        settings[f"{prefix}connection.ssl.enabled"] = str(endpoint.startswith("https:")).lower()
    if region := environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"):
        settings[f"{prefix}endpoint.region"] = region
    return settings


def _settings(
    delta: bool, iceberg: bool, warehouse: str | os.PathLike[str] | None, conf: dict[str, str]
) -> dict[str, str]:
    settings: dict[str, str] = {}
    extensions: list[str] = []
    if delta:
        extensions.append(DELTA_EXTENSION)
        settings["spark.sql.catalog.spark_catalog"] = DELTA_CATALOG
    if iceberg:
        extensions.append(ICEBERG_EXTENSION)
        if warehouse is not None:
            settings["spark.sql.catalog.iceberg"] = ICEBERG_CATALOG
            settings["spark.sql.catalog.iceberg.type"] = "hadoop"
            settings["spark.sql.catalog.iceberg.warehouse"] = _location(warehouse)
    extensions.append(conf.pop("spark.sql.extensions", ""))
    if joined := _joined(extensions):
        settings["spark.sql.extensions"] = joined
    return settings | conf


def _location(warehouse: str | os.PathLike[str]) -> str:
    """An address stays as it is; a local path becomes absolute, for the JVM may see another working folder."""
    text = os.fspath(warehouse)
    return text if "://" in text or text.startswith("file:") else str(Path(text).expanduser().absolute())


def _joined(parts: list[str]) -> str:
    """Join the parts to one comma-separated list without empties and repetitions, in the order given."""
    return ",".join(dict.fromkeys(name.strip() for part in parts for name in part.split(",") if name.strip()))


def _check_running(running: SparkSession, settings: Mapping[str, str]) -> None:
    """Extensions are fixed when Spark starts: a session without ours must not pass for one that has them."""
    present = (running.conf.get("spark.sql.extensions", "") or "").split(",")
    missing = [name for name in settings.get("spark.sql.extensions", "").split(",") if name and name not in present]
    if missing:
        raise SparkSessionError(
            f"Spark's extensions are fixed when it starts; the running session lacks {', '.join(missing)}; "
            "stop it first: spark.stop()"
        )


def _prepare_environment(master: str, release: SparkRelease | None, *, iceberg: bool) -> None:
    """Set what Spark's launcher and its Python workers read from the environment. A user's choice stays."""
    os.environ["JAVA_HOME"] = str(find_java(release=release, iceberg=iceberg).home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        # One host: a name that resolves to an outside address would make Spark talk to itself over the network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def is_published(group: JarGroup, release: SparkRelease | None) -> bool:
    """Return whether there are jars of a format for a Spark; if not, the log says which are waited for."""
    if release is not None and not is_pinned(group, release):
        logger.warning("Spark %s starts without %s%s", release.name, group, not_published(group, release))
    return is_pinned(group, release)


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
