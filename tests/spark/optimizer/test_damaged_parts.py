"""Parts of a covering index that are lost, cut, changed or put in each other's place: what is seen when a query is
planned leaves the index out; what Spark's reader finds fails that query, never its rows, and the session reads the
table from then on."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import metaindex.spark as rule
from metaindex.core import SparkDriver
from metaindex.spark.optimizer import seen_parts
from metaindex.spark.optimizer.enabling import rule_of
from tests.hostile.changes import turn
from tests.spark.optimizer.changing_lakes import Lake, covered, make_delta, make_iceberg, plan_of, without_the_rule

GROUPS = "SELECT k, count(*) AS c, sum(id) AS s FROM {t} GROUP BY k"
JOIN = "SELECT a.k, a.id, b.name FROM {t} a JOIN {t} b ON a.k = b.k"
LOOK_UP = "SELECT id, name FROM {t} WHERE k = 7"


def _missing(parts: list[Path]) -> None:
    parts[1].unlink()


def _truncated(parts: list[Path]) -> None:
    parts[1].write_bytes(parts[1].read_bytes()[:100])


def _empty(parts: list[Path]) -> None:
    parts[1].write_bytes(b"")


def _flipped_footer(parts: list[Path]) -> None:
    turn(parts[1], -60, 0xFF)


def _another_buckets(parts: list[Path]) -> None:
    parts[1].write_bytes(parts[2].read_bytes())


def _exchanged(parts: list[Path]) -> None:
    one, other = parts[1].read_bytes(), parts[2].read_bytes()
    parts[1].write_bytes(other)
    parts[2].write_bytes(one)


BEFORE_PLANNING = [_missing, _truncated, _empty, _flipped_footer, _another_buckets, _exchanged]


@pytest.fixture(params=[make_delta, make_iceberg])
def lake(sorting: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Lake:
    found: Lake = covered(request.param(sorting, tmp_path))
    return found


def _parts(lake: Lake) -> list[Path]:
    found = sorted(Path(lake.path).rglob("covering/*/*.mix"))
    assert len(found) == 4
    return found


def _damaged(lake: Lake, damage: Callable[[list[Path]], None]) -> Callable[[], None]:
    """Damages the index; gives what puts it right again."""
    folder = _parts(lake)[0].parent
    copy = folder.parent / "copy of it"
    shutil.copytree(folder, copy)
    damage(_parts_in(folder))

    def mend() -> None:
        shutil.rmtree(folder)
        copy.rename(folder)
        seen_parts.forget()

    return mend


def _parts_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.mix"))


def _heard(spark: SparkSession) -> None:
    """The session's listeners were told of everything up to now."""
    SparkDriver(spark).jvm.org.apache.spark.SparkContext.getOrCreate().listenerBus().waitUntilEmpty()


def test_what_is_damaged_before_planning_leaves_the_index_out(lake: Lake, sorting: SparkSession) -> None:
    spark = sorting
    texts = [text.format(t=lake.name) for text in (GROUPS, JOIN, LOOK_UP)]
    expected = {text: without_the_rule(spark, text) for text in texts}
    for number, damage in enumerate(BEFORE_PLANNING):
        mend = _damaged(lake, damage)
        seen_parts.forget()
        for text in texts if number == 0 else texts[:1]:
            frame = spark.sql(text)
            assert sorted(map(repr, frame.collect())) == expected[text], (damage.__name__, text)
            assert "cov: covering" not in plan_of(frame), (damage.__name__, text)
        error = rule.counts(spark).last_error
        assert "as its manifest says" in error, (damage.__name__, error)
        assert "repair the index with repair_index()" in error, (damage.__name__, error)
        mend()
    for text in texts:
        frame = spark.sql(text)
        assert sorted(map(repr, frame.collect())) == expected[text]
        assert "cov: covering" in plan_of(frame)


def _flipped_pages(parts: list[Path]) -> None:
    for part in parts:
        data = bytearray(part.read_bytes())
        data[200:260] = bytes(one ^ 0xFF for one in data[200:260])
        part.write_bytes(data)


@pytest.mark.parametrize("damage", [_missing, _truncated, _flipped_pages])
def test_what_is_damaged_after_planning_fails_one_query_and_the_next_reads_the_table(
    sorting: SparkSession, tmp_path: Path, damage: Callable[[list[Path]], None], caplog: pytest.LogCaptureFixture
) -> None:
    spark, lake = sorting, covered(make_delta(sorting, tmp_path))
    text = GROUPS.format(t=lake.name)
    expected = without_the_rule(spark, text)
    first = spark.sql(text)
    assert sorted(map(repr, first.collect())) == expected
    assert "cov: covering" in plan_of(first), "and its parts are known to be right now"
    mend = _damaged(lake, damage)
    caplog.set_level(logging.WARNING, logger="metaindex")
    with pytest.raises((PySparkException, Py4JJavaError), match=r"covering/[^/\s]+/[^/\s]+\.mix"):
        spark.sql(text).collect()
    _heard(spark)
    for said in (caplog.text, rule.counts(spark).last_error):
        assert "Spark could not read cov/covering/run=" in said, "the query that failed is told of at once"
        assert "run it again" in said
        assert "repair_index('cov')" in said
    again = spark.sql(text)
    assert sorted(map(repr, again.collect())) == expected
    assert "cov: covering" not in plan_of(again)
    mend()
    rule.enable(spark, rule=rule_of(spark).handler.rule)
    assert "cov: covering" in str(spark.sql(text)._jdf.queryExecution().executedPlan())
