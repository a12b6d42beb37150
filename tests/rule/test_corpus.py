"""Several hundred queries at random over every format and state of tables: each gives what it gives without the rule; also while a writer commits, on many sessions and threads, and while indexes go."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import metaindex as mi
from metaindex import rule
from tests.figures import count
from tests.rule import lakes
from tests.rule.queries import ROWS, Queries, batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SOAK = bool(os.environ.get("METAINDEX_SOAK"))
# Of each state of a format. Delta runs a job for every scan before the query's own.
A_STATE = {"parquet": 42, "csv": 42, "json": 42, "delta": 7, "iceberg": 7}
TOGETHER = 14
SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # a cast that does not fit is NULL, in whatever order rows come
    # Compiling every query, and planning it stage by stage, takes longer than running it over so few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": str(SOAK).lower(),
}
SEEDS = range(8) if SOAK else range(1)


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[lakes.Lake]]:
    """The tables of a format in all their states, written when they are first asked for."""
    folder, quick = tmp_path_factory.mktemp("corpus"), set_up(spark.newSession())
    return cache(lambda name: lakes.FORMATS[name](quick, folder))


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    with enabled(spark) as found:
        yield found


@contextmanager
def enabled(spark: SparkSession) -> Iterator[SparkSession]:
    """A session of its own."""
    found = set_up(spark.newSession())
    rule.enable(found)
    try:
        yield found
    finally:
        rule.disable(found)


def set_up(session: SparkSession) -> SparkSession:
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session


def answers(session: SparkSession, queries: list[str], *, rewritten: bool) -> dict[str, list[str]]:
    """Of each query, by its number, its rows in order."""
    session.conf.set("spark.metaindex.enabled", str(rewritten).lower())
    found: dict[str, list[str]] = defaultdict(list)
    for row in session.sql(batch(queries)).collect():
        found[row["query"]].append(row["row"])
    return {number: sorted(some) for number, some in found.items()}


def compare(session: SparkSession, queries: list[str], where: str) -> None:
    plain, ours = (answers(session, queries, rewritten=on) for on in (False, True))
    wrong = [int(one) for one in plain.keys() | ours.keys() if plain.get(one) != ours.get(one)]
    said = "\n".join(f"{where}: {queries[one]}\n  {plain.get(str(one))}\n  {ours.get(str(one))}" for one in wrong)
    assert not wrong, said
    count("queries", len(queries))


def looked_at(session: SparkSession, view: lakes.Lake, *, bounded: bool = False) -> None:
    frame = view.view(session)
    (frame.where(f"id < {ROWS}") if bounded else frame).createOrReplaceTempView("t")
    lakes.dim(session).createOrReplaceTempView("dim")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", lakes.FORMATS)
def test_every_answer_is_that_without_the_rule(
    session: SparkSession, made: Callable[[str], list[lakes.Lake]], name: str, seed: int
) -> None:
    idle = []
    for lake in made(name):
        looked_at(session, lake)
        queries = Queries(f"{lake.name} {seed}").some(A_STATE[name] * (10 if SOAK else 1))
        before = rule.counts(session).rewritten
        for start in range(0, len(queries), TOGETHER):
            compare(session, queries[start : start + TOGETHER], lake.name)
        if rule.counts(session).rewritten == before:
            idle.append(lake.name)
    counts = rule.counts(session)
    assert (counts.failed, counts.timed_out, idle) == (0, 0, []), counts


@pytest.mark.parametrize("name", lakes.FORMATS)
def test_a_cached_frame_gives_the_same(
    session: SparkSession, made: Callable[[str], list[lakes.Lake]], name: str
) -> None:
    for lake in made(name)[-1:]:
        looked_at(session, lake)
        session.sql("CACHE TABLE held AS SELECT * FROM t WHERE id BETWEEN 40 AND 140 AND k IS NOT NULL")
        compare(
            session,
            [
                "SELECT id, name FROM held WHERE id < 90",
                "SELECT h.id FROM held h JOIN t ON t.id = h.id WHERE t.id = 77",
            ],
            lake.name,
        )
        session.sql("UNCACHE TABLE held")


@pytest.mark.skipif(not SOAK, reason="a writer and a reader of Delta on two cores take minutes; make soak")
def test_a_writer_commits_meanwhile(spark: SparkSession, session: SparkSession, tmp_path: Path) -> None:
    """What it adds and takes away the queries do not ask for, so that the answers stay the same."""
    path = str(tmp_path / "live")
    lakes.rows(session).write.format("delta").option("delta.enableDeletionVectors", "true").save(path)
    lakes.index(path)
    stopped, failed = threading.Event(), []

    def write() -> None:
        other = set_up(spark.newSession())
        table = mi.open_table(path)
        try:
            for number in range(1000):
                if stopped.wait(0.3):
                    return
                lakes.rows(other, 1000 + number * 10, 10, 2).write.format("delta").mode("append").save(path)
                other.sql(f"DELETE FROM delta.`{path}` WHERE id = {1000 + number * 10}")
                table.refresh_index("stats", builder="local")
        except Exception as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        lake = lakes.Lake("delta, written to", lambda s: s.read.format("delta").load(path))
        for number in range(2 if not SOAK else 40):
            looked_at(session, lake, bounded=True)
            compare(session, Queries(number).some(7), lake.name)
    finally:
        stopped.set()
        writer.join()
    assert failed == []
    assert (rule.counts(session).failed, rule.counts(session).rewritten > 0) == (0, True), rule.counts(session)


def test_ten_sessions_on_two_threads(spark: SparkSession, made: Callable[[str], list[lakes.Lake]]) -> None:
    """Each session is enabled for itself, with its own settings, and answers as without."""
    every = [*made("parquet"), *made("csv")]
    failed: list[BaseException] = []

    def work(places: range) -> None:
        try:
            for place in places:
                with enabled(spark) as found:
                    looked_at(found, every[place % len(every)])
                    compare(found, Queries(500 + place).some(7), every[place % len(every)].name)
                    assert rule.counts(found).failed == 0
        except BaseException as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    threads = [threading.Thread(target=work, args=(range(start, 10, 2),)) for start in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []


def test_an_index_goes_while_queries_are_planned(spark: SparkSession, session: SparkSession, tmp_path: Path) -> None:
    """Deleted, vacuumed and made again under them: the answers stay, and no query fails."""
    path = str(tmp_path / "going")
    lakes.rows(spark).write.parquet(path)
    lakes.index(path)
    stopped, failed, rounds = threading.Event(), [], []

    def go() -> None:
        table = mi.open_table(path)
        try:
            while not stopped.is_set():
                table.delete_index("stats")
                table.vacuum_index("stats")
                table.create_index("stats", mi.ColumnStats(), builder="local")
                rounds.append(1)
        except Exception as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    session.conf.set("spark.metaindex.cache.expiryDurationInSeconds", "0")
    goer = threading.Thread(target=go)
    goer.start()
    try:
        session.read.parquet(path).createOrReplaceTempView("t")
        lakes.dim(session).createOrReplaceTempView("dim")
        for number in range(4 if not SOAK else 60):
            compare(session, Queries(900 + number).some(7), "an index that goes")
    finally:
        stopped.set()
        goer.join()
    assert failed == []
    assert rounds
