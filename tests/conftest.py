"""What every test may use: a Spark session with Delta and Iceberg, started by the first test that asks for it; with
several workers each has its own."""

import gc
import os
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests import compiling, each_spark, hanging, lanes
from tests.facts import Facts
from tests.processes import ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:MetaspaceSize=256m"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """Small and quiet: two threads, two shuffle partitions, UTC, catalog `iceberg` and Spark's warehouse in temporary
    folders. Tests share it, so each names its own tables and puts back any setting that it changes."""
    from metaindex.spark import spark_session

    warehouse = tmp_path_factory.mktemp("warehouse")
    session = spark_session(
        "metaindex tests",
        master="local[2]",
        warehouse=warehouse / "iceberg",
        conf={
            "spark.driver.memory": "2g",
            "spark.driver.extraJavaOptions": "-XX:NewSize=256m",  # else it is collected twice as often
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(warehouse / "spark"),
            # Delta replays its log in this many partitions; its default of 50 makes every small table slow.
            "spark.databricks.delta.snapshotPartitions": "2",
            # The rule waits for an answer however busy the machine is; what it does when one is late has its own test.
            "spark.metaindex.timeoutSeconds": "600",
            # Delta's VACUUM lists folders in this many tasks; Spark's default of 10,000 takes more than a minute.
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
            # As Spark 4 has them by itself; 3.5 would not write days of before 1582.
            "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
            "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
        },
    )
    yield session
    _stop(session)


@pytest.fixture(params=["kept", pytest.param("asked", marks=pytest.mark.spark)])
def facts(request: pytest.FixtureRequest) -> Facts:
    """What Spark says in matters of fact: kept answers, and in `make test-all` Spark itself (`tests/facts.py`)."""
    spark = request.getfixturevalue("spark") if request.param == "asked" else None
    for name, value in compiling.COMPILED.items() if spark is not None else ():
        spark.conf.set(name, value)
    return Facts(request.node.nodeid.partition("[")[0], request.config.rootpath, spark)


@pytest.fixture(autouse=True)
def _compiled_or_not(request: pytest.FixtureRequest) -> None:
    if "spark" in request.fixturenames:
        marked = request.node.get_closest_marker("uncompiled") is not None
        for name, value in compiling.settings_of(marked=marked).items():
            request.getfixturevalue("spark").conf.set(name, value)


def _stop(session: "SparkSession") -> None:
    """Stop Spark and its JVM here, where what they leave open cannot fail some unrelated test."""
    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    process: subprocess.Popen[bytes] = gateway.proc
    # The JVM ends when the pipe to its standard input does.
    if process.stdin is not None:
        process.stdin.close()
    ended(process)
    from pyspark import SparkContext

    SparkContext._gateway = None
    SparkContext._jvm = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del gateway, session
        gc.collect()


def _left_to_the_system(descriptor: int) -> None:
    """What is written would be lost with the machine alone, which no test ends; some twenty a test took a tenth of the
    quick ones' time."""


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(lanes, "metaindex lanes")
    config.pluginmanager.register(hanging, "metaindex hanging")
    each_spark.pytest_configure(config)
    # py4j closes the socket of an ended thread only when the garbage collector finds it, in whatever test runs then.
    # Only sockets to this host are let through; a file that a test left open is still an error.
    config.addinivalue_line(
        "filterwarnings", r"ignore:unclosed <socket\.socket .*(laddr|raddr)=\('127\.0\.0\.1':ResourceWarning"
    )
    # PySpark 3.5 compares versions by what Python 3.12 has no more.
    config.addinivalue_line(
        "filterwarnings", r"ignore:(The distutils package|distutils Version classes):DeprecationWarning"
    )
    # From 4.2 on PySpark says of pandas 3 that it does not know it well.
    config.addinivalue_line("filterwarnings", "ignore:PySpark does not yet fully support pandas:FutureWarning")
    # A shared or busy machine makes any single example slow: only wrong answers fail a property, never time.
    common = {
        "deadline": None,
        "print_blob": True,
        "suppress_health_check": [hypothesis.HealthCheck.too_slow],
    }
    # A commit is judged by the same examples each time; every run of the whole and of a soak draws others.
    hypothesis.settings.register_profile("default", **common, max_examples=10, derandomize=True)
    hypothesis.settings.register_profile("whole", **common, max_examples=60)
    hypothesis.settings.register_profile("soak", **common, max_examples=5000)
    wanted = [name for name in ("soak", "whole") if os.environ.get(f"METAINDEX_{name.upper()}")]
    hypothesis.settings.load_profile(wanted[0] if wanted else "default")
    if os.environ.get("METAINDEX_FAST"):
        os.fsync = _left_to_the_system
    # Spark talks to itself over loopback whatever the host's name resolves to.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if not os.environ.get("METAINDEX_FIGURES"):  # `make soak` has Java's own ways
        # Tests compile many queries and run each once: the compiler that optimizes took two fifths of a JVM's time.
        # All of the heap was collected again and again as classes were loaded.
        os.environ.setdefault("SPARK_SUBMIT_OPTS", _QUICK_JAVA)
        os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", _QUICK_JAVA)
    if wanted_figures := os.environ.get("METAINDEX_FIGURES"):
        from tests.figures import Figures

        config.pluginmanager.register(Figures(Path(wanted_figures)), "metaindex figures")


def pytest_collection_finish() -> None:
    """Modules and thousands of tests stay to the end: to look at them again and again took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest ones, which start a cluster, come first: at the end one worker would wait for another."""
    items.sort(key=lambda item: item.path.name != "test_cluster.py")
