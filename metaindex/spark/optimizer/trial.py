"""The trial of a Spark that is newer than those whose promises were run: every class compiles, and of a tiny table the
same rows are read with the rule as without it, from the files that are expected. Only then are files skipped there."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.core import Config, SparkDriver, SparkRelease, UnsupportedFeatureError, first_line
from metaindex.index import ColumnStats
from metaindex.table import open_table

from .executed import reads
from .parsing import ANSWERS
from .placing import check_compiled, place, take_out
from .request_handler import RequestHandler
from .settings import PREFIX, RuleConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES: Final = 4
_ROWS: Final = 10  # of a file
_MOST_SECONDS: Final = 60.0
_EXPECTED: Final = {
    "id = 7": 1,
    "id IN (3, 25)": 2,
    "id > 34": 1,
    "id < 12 AND name = 'n5'": 1,
    "id = 99": 0,
    "at < timestamp'1970-01-01 00:00:15Z'": 2,
    "name IS NULL": 1,
    "name IS NOT NULL AND NOT (id < 20)": 2,
}
"""Conditions, and how many files may hold a row that passes."""
_SEEN: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()
"""Of each JVM, by its gateway, what was wrong; "" if nothing was. A trial that failed is none: it is made again."""


def tried_out(spark: SparkSession, release: SparkRelease) -> None:
    """Try a release, once a JVM. Raises UnsupportedFeatureError where it does not read as expected, where it has not by
    a minute, or where a class does not compile; the session is as it was."""
    gateway = SparkDriver(spark).gateway
    if (wrong := _SEEN.get(gateway)) is None:
        check_compiled(spark, release)
        try:
            with _ended(spark):
                wrong = _SEEN[gateway] = _wrong(spark, release)
        except Exception as error:  # noqa: BLE001 - whatever a Spark that nobody knows does
            wrong = f"{type(error).__name__}: {first_line(error)[:200]}"
    if wrong:
        raise UnsupportedFeatureError(
            f"a Spark newer than {SparkRelease.known_names()} has to read a tiny table as expected; {spark.version}"
            f" does not: {wrong}; use one of those, or take the rows by table.scan(predicate).to_arrow()"
        )


@contextmanager
def _ended(spark: SparkSession) -> Iterator[None]:
    """Cancel the jobs of the block that have not ended in time: they may wait for cores that others hold."""
    over, until = threading.Event(), time.monotonic() + _MOST_SECONDS
    with SparkDriver(spark).tagged() as tag:

        def end() -> None:
            over.wait(_MOST_SECONDS)
            while not over.wait(1.0):
                spark.sparkContext.cancelJobsWithTag(tag)

        threading.Thread(target=end, name=tag, daemon=True).start()
        try:
            yield
        except Exception as error:
            if time.monotonic() < until:
                raise
            raise TimeoutError(f"it has not ended after {_MOST_SECONDS:g} s; others may hold the cores") from error
        finally:
            over.set()


def _wrong(spark: SparkSession, release: SparkRelease) -> str:
    session = spark.newSession()
    for name in session.conf.getAll:  # what the application set says nothing of its Spark
        if session.conf.isModifiable(name) or name.startswith(PREFIX):
            session.conf.unset(name)
    with tempfile.TemporaryDirectory(prefix="metaindex-trial-") as folder:
        _write(Path(folder))
        open_table(folder).create_index("trial", ColumnStats(), builder="local")
        table = f"file://{folder}"  # it is on no cluster's own file system
        plain = {condition: _read(session, table, condition)[0] for condition in _EXPECTED}
        handler = RequestHandler(Config(), {}, RuleConfig(timeout_seconds=60.0), skips_only=True)
        stated = ANSWERS[0](lambda: session, Config(), {})
        placed = place(
            session,
            handler.rule,
            SparkDriver.java_function(handler, in_pieces=True),
            SparkDriver.java_function(stated, in_pieces=True),
            release,
        )
        try:
            for condition, files in _EXPECTED.items():
                rows, read = _read(session, table, condition)
                if rows != plain[condition]:
                    return f"{condition} gives {len(rows)} rows with an index, {len(plain[condition])} without"
                if read != files:
                    return f"{condition} reads {read} files, {files} expected"
        finally:
            take_out(session, placed)
            handler.close()
    return ""


def _write(folder: Path) -> None:
    for number in range(_FILES):
        ids = range(number * _ROWS, (number + 1) * _ROWS)
        names = [None if number == 2 and id_ % _ROWS == 0 else f"n{id_}" for id_ in ids]
        at = pa.array([id_ * 1_000_000 for id_ in ids], pa.timestamp("us", "UTC"))
        pq.write_table(
            pa.table({"id": pa.array(ids, pa.int64()), "name": names, "at": at}), folder / f"{number}.parquet"
        )


def _read(session: SparkSession, table: str, condition: str) -> tuple[list[tuple[object, ...]], int]:
    """Return the rows, in order, and how many files were read for them."""
    frame: DataFrame = session.read.parquet(table).where(condition)
    rows = sorted((tuple(row.values()) for row in SparkDriver.arrow_of(frame).to_pylist()), key=repr)
    return rows, sum(scan.files or 0 for scan in reads(frame._jdf.queryExecution().executedPlan()))
