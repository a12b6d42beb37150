"""Several hundred queries at random over every format and state of tables: each gives what it gives without the rule;
also while a writer commits, on many sessions and threads, and while indexes go."""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from tests.figures import count
from tests.spark.optimizer import lakes
from tests.spark.optimizer.joined_lakes import NARROWED
from tests.spark.optimizer.joiners import Joiners
from tests.spark.optimizer.lakes import ruled
from tests.spark.optimizer.queries import ROWS, Queries, batch
from tests.spark.optimizer.takers import Takers

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SOAK = bool(os.environ.get("METAINDEX_SOAK"))
IN_SOAK = bool(os.environ.get("METAINDEX_FIGURES"))  # `make soak`, its quick form too
# Of each state of a format. Delta runs a job for every scan before the query's own.
A_STATE = {"parquet": 28, "csv": 28, "json": 28, "delta": 6, "iceberg": 7}
COVERED = {"parquet": 14, "csv": 7, "json": 7, "delta": 4, "iceberg": 7}
TAKERS = {"parquet": 20, "csv": 20, "json": 20, "delta": 10, "iceberg": 10}
JOINED = {"parquet": 14, "csv": 14, "json": 14, "delta": 7, "iceberg": 7}
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
def enabled(spark: SparkSession, config: mi.RuleConfig | None = None) -> Iterator[SparkSession]:
    """A session of its own."""
    found = set_up(spark.newSession())
    with ruled(found, rule=config):
        yield found


def set_up(session: SparkSession) -> SparkSession:
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session


def answers(session: SparkSession, queries: list[str], *, rewritten: bool) -> tuple[dict[str, list[str]], int]:
    """Of each query, by its number, its rows in order; and how many scans a covering index stands for."""
    session.conf.set("spark.metaindex.enabled", str(rewritten).lower())
    frame, found = session.sql(batch(queries)), defaultdict(list)
    for row in frame.collect():
        found[row["query"]].append(row["row"])
    covered = str(frame._jdf.queryExecution().optimizedPlan().toString()).count(f"<metaindex {lakes.COPIES}: covering")
    return {number: sorted(some) for number, some in found.items()}, covered


def compare(session: SparkSession, queries: list[str], where: str) -> int:
    """How many scans a covering index stood for."""
    (plain, _), (ours, covered) = (answers(session, queries, rewritten=on) for on in (False, True))
    wrong = [int(one) for one in plain.keys() | ours.keys() if plain.get(one) != ours.get(one)]
    said = "\n".join(f"{where}: {queries[one]}\n  {plain.get(str(one))}\n  {ours.get(str(one))}" for one in wrong)
    assert not wrong, said
    count("queries", len(queries))
    count("scans of covering indexes", covered)
    return covered


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
        if rule.counts(session).rewritten == before and lake.known:
            idle.append(lake.name)
    counts = rule.counts(session)
    assert (counts.failed, counts.timed_out, idle) == (0, 0, []), counts


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", lakes.FORMATS)
def test_a_covering_index_in_place_of_the_table_gives_the_same(
    spark: SparkSession, made: Callable[[str], list[lakes.Lake]], name: str, seed: int
) -> None:
    """No other index, however far it is behind, and no small side that is sent to every task, so that joins take its
    buckets."""
    any_age = mi.RuleConfig(
        max_appended_ratio=1.0, max_deleted_ratio=1.0, timeout_seconds=60.0, indexes=(lakes.COPIES,)
    )
    with enabled(spark, any_age) as session:
        session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
        asked = covered = 0
        idle = []
        for lake in made(name):
            looked_at(session, lake)
            queries = Queries(f"{lake.name} {seed} copies").some(COVERED[name] * (10 if SOAK else 1))
            before = covered
            for start in range(0, len(queries), TOGETHER):
                covered += compare(session, queries[start : start + TOGETHER], lake.name)
            asked += len(queries)
            if covered == before and lake.known and len(queries) >= TOGETHER:  # of a few none may ask for its columns
                idle.append(lake.name)
        counts = rule.counts(session)
        assert (counts.failed, counts.timed_out, idle) == (0, 0, []), counts
        # Of the rest Spark folds what can't be true, and groups by few values or rows with no condition cost less
        # plain.
        assert covered * 3 >= asked, (covered, asked)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", lakes.FORMATS)
def test_first_rows_and_aggregates_are_those_without_the_rule(
    session: SparkSession, made: Callable[[str], list[lakes.Lake]], name: str, seed: int
) -> None:
    for lake in made(name):
        looked_at(session, lake)
        queries = Takers(f"{lake.name} {seed} takers").some(TAKERS[name] * (10 if SOAK else 1))
        for start in range(0, len(queries), TOGETHER):
            compare(session, queries[start : start + TOGETHER], lake.name)
    counts = rule.counts(session)
    assert (counts.failed, counts.timed_out) == (0, 0), counts


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keys", ["by broadcasts", "by queries"])
@pytest.mark.parametrize("name", lakes.FORMATS)
def test_joins_that_leave_files_out_are_those_without_the_rule(
    spark: SparkSession, made: Callable[[str], list[lakes.Lake]], name: str, keys: str, seed: int
) -> None:
    """However small the scan, and however long its keys take."""
    own = keys == "by queries"
    config = mi.RuleConfig(join_queries=own, join_scan_bytes=0, join_seconds=600.0, timeout_seconds=60.0)
    with enabled(spark, config) as session:
        if own:
            session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
        narrowed = 0
        for lake in made(name):
            looked_at(session, lake)
            queries = Joiners(f"{lake.name} {seed} {keys}").some(JOINED[name] * (10 if SOAK else 1))
            for start in range(0, len(queries), TOGETHER):
                some = queries[start : start + TOGETHER]
                compare(session, some, lake.name)
                narrowed += str(session.sql(batch(some))._jdf.queryExecution().executedPlan()).count(NARROWED)
        counts = rule.counts(session)
        assert (counts.failed, counts.timed_out) == (0, 0), counts
        # A query of its own fills a list of files of ours; Iceberg's scan takes the keys of broadcasts alone.
        assert (narrowed > 0) is not (own and name == "iceberg"), narrowed
        count("scans that joins narrow", narrowed)


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


@pytest.mark.skipif(not IN_SOAK, reason="a writer and a reader of Delta on two cores take minutes; make soak")
def test_a_writer_commits_meanwhile(spark: SparkSession, session: SparkSession, tmp_path: Path) -> None:
    """What it adds and takes away the queries do not ask for, so that the answers stay the same; and it refreshes and
    optimizes the indexes that they use."""
    path = str(tmp_path / "live")
    lakes.rows(session).write.format("delta").option("delta.enableDeletionVectors", "true").save(path)
    lakes.index(session, path)
    stopped, failed, rounds = threading.Event(), [], []

    def write() -> None:
        other = set_up(spark.newSession())
        table = mi.open_table(path, spark=other)
        try:
            for number in range(1000):
                if stopped.wait(0.3):
                    return
                lakes.rows(other, 1000 + number * 10, 10, 2).write.format("delta").mode("append").save(path)
                other.sql(f"DELETE FROM delta.`{path}` WHERE id = {1000 + number * 10}")
                table.refresh_index("stats", builder="local")
                if number % 2:
                    table.refresh_index(lakes.COPIES, builder="spark")
                if number % 4 == 3:
                    table.optimize_index(lakes.COPIES)
                rounds.append(number)
        except Exception as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    session.conf.set("spark.metaindex.hybridScan.maxAppendedRatio", "1")
    writer = threading.Thread(target=write)
    writer.start()
    covered = 0
    try:
        lake = lakes.Lake("delta, written to", lambda s: s.read.format("delta").load(path))
        for number in range(4 if not SOAK else 40):
            looked_at(session, lake, bounded=True)
            covered += compare(session, Queries(number).some(7), lake.name)
    finally:
        stopped.set()
        writer.join()
    assert failed == []
    assert rounds
    assert covered > 0
    count("commits beside queries", 2 * len(rounds))
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
    lakes.index(spark, path, lakes.SKIPPING)
    stopped, failed, rounds = threading.Event(), [], []

    def go() -> None:
        table = mi.open_table(path)
        try:
            while not stopped.is_set():
                table.drop_index("stats")
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
