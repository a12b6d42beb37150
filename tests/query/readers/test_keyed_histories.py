"""Random histories written by Spark, with deletes of every sort, indexed by all kinds at once: at every version a
look-up finds the rows that Spark finds."""

import math
import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from metaindex.expressions import And, ColumnRef, Comparison, Literal, Op, Predicate, physical_type
from metaindex.index import Kind
from tests.answers import one_answer
from tests.each_spark import published
from tests.histories.driver import Index, run
from tests.histories.spark import SparkHistory, columns_of
from tests.query.readers.test_random_histories import compare, readable

pytestmark = pytest.mark.spark

SOAK = bool(os.environ.get("METAINDEX_SOAK"))
SEEDS = range(100, 120) if SOAK else range(100, 101)
STEPS = 20 if SOAK else 8


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("table_format", published("delta", "iceberg"))
def test_a_look_up_at_every_version(spark: SparkSession, tmp_path: Path, table_format: str, seed: int) -> None:
    history = SparkHistory(spark, seed, table_format, tmp_path)
    run(STEPS // 3, history)
    run(STEPS, history, Keys(history, history.open, *kinds(history.open())), oracles=[lambda: check_versions(history)])
    if history.iceberg:
        spark.sql(f"DROP TABLE {history.name}")


class Keys(Index):
    verbs = "refresh " * 12
    refused = (mi.UnknownColumnError,)  # a column of a key was renamed or dropped


def kinds(table: mi.Table) -> tuple[Kind, ...]:
    names = [
        ColumnRef(leaf.parts).name for leaf in table.snapshot().schema.leaves() if physical_type(leaf.type) is not None
    ]
    keys = [*names, (names[0], names[-1])] if len(names) > 1 else names
    return mi.ColumnStats(), mi.Values(*keys), mi.Values(*keys, by="value"), mi.Bloom(*keys), mi.ValueList(*keys)


def check_versions(history: SparkHistory) -> None:
    table = history.open()
    for version in [*(v.id for v in table.versions()), None]:
        check(history, table, version)


def check(history: SparkHistory, table: mi.Table, version: str | None) -> None:
    whole = history.at(version)
    texts = [history.predicate(columns_of(whole)) for _ in range(2)]
    marked = SparkDriver.arrow_of(whole.selectExpr("*", *(f"({p}) AS `__{i}`" for i, p in enumerate(texts))))
    rows = marked.select(whole.columns)
    scan = table.scan(version=version)
    for i, text in enumerate(texts):
        if readable(text, scan):
            found = one_answer(table, text, version)
            compare(found, rows.filter(marked.column(f"__{i}")), f"version {version}: {text}")
    for _ in range(4):
        asked, expected = needle(history, rows)
        if asked is None:
            continue
        where = f"version {version}: {asked}"
        compare(one_answer(table, asked, version), expected, where)
        located = table.locate(asked, version=version, exact=True)
        assert sum(located.table.column("matches").to_pylist()) == expected.num_rows, where


def needle(history: SparkHistory, rows: pa.Table) -> tuple[Predicate | None, pa.Table]:
    """One or two columns of a row equal its values; and the rows for which that is so."""
    names = [f.name for f in rows.schema if physical_type(f.type) is not None]
    some = history.random.sample(names, min(len(names), history.random.choice([1, 1, 2])))
    if not rows.num_rows:
        return None, rows
    at = history.random.randrange(rows.num_rows)
    values = {name: rows.column(name)[at].as_py() for name in some}
    if any(v is None or (isinstance(v, float) and math.isnan(v)) for v in values.values()):
        return None, rows
    parts = tuple(Comparison(ColumnRef((name,)), Op.EQ, Literal(value)) for name, value in values.items())
    columns = {name: rows.column(name).to_pylist() for name in some}
    same = [all(columns[n][i] == v for n, v in values.items()) for i in range(rows.num_rows)]
    return (parts[0] if len(parts) == 1 else And(parts)), rows.filter(pa.array(same, pa.bool_()))
