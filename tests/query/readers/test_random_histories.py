"""Random histories written by Spark: at every version, every engine returns the rows that Spark returns, with and
without an index.

A failing seed is reproduced by `-k` with its name; the statements that led to it are in the message. `METAINDEX_SOAK=1`
runs many more seeds.
"""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import ScanError, SparkDriver
from metaindex.expressions import Opaque
from metaindex.expressions.engines.duckdb import to_duckdb
from metaindex.expressions.engines.polars import to_polars
from metaindex.query.readers.scan import Scan
from tests.answers import one_answer
from tests.duck import connected
from tests.each_spark import published
from tests.histories.driver import run
from tests.histories.spark import SparkHistory, columns_of
from tests.query.readers.lake import bound
from tests.query.readers.test_spark_scan import of_arrow

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]

SOAK = bool(os.environ.get("METAINDEX_SOAK"))
SEEDS = range(20) if SOAK else range(1)
STEPS = 20 if SOAK else 8


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("table_format", published("delta", "iceberg"))
def test_every_version_reads_as_spark_reads_it(
    spark: SparkSession, tmp_path: Path, table_format: str, seed: int
) -> None:
    history = SparkHistory(spark, seed, table_format, tmp_path)
    run(STEPS // 2, history)
    history.open().create_index("stats", mi.ColumnStats(), builder="local")
    run(STEPS // 2, history, oracles=[lambda: check(history)])


def check(history: SparkHistory) -> None:
    table = history.open()
    versions: list[str | None] = [v.id for v in table.versions()]
    assert versions
    assert len([s for s in history.statements if not s.startswith("--")]) > STEPS // 2
    for n, version in enumerate([*versions, None]):
        check_version(history, table, version, with_spark=SOAK or n % 3 == 0)
    if history.iceberg:
        history.spark.sql(f"DROP TABLE {history.name}")


def check_version(history: SparkHistory, table: mi.Table, version: str | None, with_spark: bool) -> None:
    whole = history.at(version)
    predicates = [history.predicate(columns_of(whole)) for _ in range(3)]
    marked = SparkDriver.arrow_of(whole.selectExpr("*", *(f"({p}) AS `__{i}`" for i, p in enumerate(predicates))))
    rows = marked.select(whole.columns)
    where = f"version {version}"
    scan = table.scan(version=version)
    assert scan.schema.names == whole.columns, where
    engines = {
        "arrow": Scan.to_arrow,
        "duckdb": in_duckdb,
        "polars": lambda scan: scan.to_polars().collect().to_arrow(),
    }
    for engine, read in engines.items():
        compare(read(scan), rows, f"{where}, {engine}")
    for i, predicate in enumerate(predicates):
        if readable(predicate, scan):
            one_answer(table, predicate, version)
        expected = rows.filter(marked.column(f"__{i}"))
        shown = history.random.sample(whole.columns, history.random.randint(1, len(whole.columns)))
        asked = f"{where}, {shown} where {predicate}"
        for indexes in ((), None):
            found = table.scan(predicate, columns=shown, version=version, indexes=indexes)
            if with_spark and i == 0:
                compare(SparkDriver.arrow_of(found.to_spark(history.spark)), expected.select(shown), f"spark, {asked}")
            for engine, read in engines.items():
                if readable(predicate, scan):
                    compare(read(found), expected.select(shown), f"{engine}, {asked}")
                else:
                    with pytest.raises(ScanError, match="every part of a predicate"):
                        read(found)
        check_pushed_down(scan, predicate, expected, where)
    if with_spark:
        compare(SparkDriver.arrow_of(scan.to_spark(history.spark)), rows, f"{where}, spark")


def check_pushed_down(scan: Scan, predicate: str, expected: pa.Table, where: str) -> None:
    """The predicate as the engine's own expression over all rows."""
    if not readable(predicate, scan):
        return
    tree, schema = bound(predicate, scan.snapshot.schema), scan.snapshot.schema.arrow()
    with connected() as con:
        con.execute("SET TimeZone = 'UTC'")
        found = scan.to_duckdb(con).filter(to_duckdb(tree, schema)).to_arrow_table()
    compare(found, expected, f"{where}, DuckDB's own {predicate}")
    frame: Any = scan.to_polars().filter(to_polars(tree, schema)).collect()
    compare(frame.to_arrow(), expected, f"{where}, Polars' own {predicate}")


def readable(predicate: str, scan: Scan) -> bool:
    return not any(isinstance(leaf, Opaque) for leaf in bound(predicate, scan.snapshot.schema).leaves())


def in_duckdb(scan: Scan) -> pa.Table:
    with connected() as con:
        con.execute("SET TimeZone = 'UTC'")
        return scan.to_duckdb(con).to_arrow_table()


def compare(found: pa.Table, expected: pa.Table, where: str) -> None:
    assert found.column_names == expected.column_names, where
    got, wanted = of_arrow(plain_maps(found)), of_arrow(plain_maps(expected))
    if got != wanted:
        extra, missing = [r for r in got if r not in wanted][:5], [r for r in wanted if r not in got][:5]
        raise AssertionError(
            f"{where}: {len(got)} rows, Spark {len(wanted)}; of {found.schema}\nonly here {extra}\nonly Spark {missing}"
        )


def plain_maps(table: pa.Table) -> pa.Table:
    """Polars has no maps: they are lists of structs of key and value."""
    for i, f in enumerate(table.schema):
        if pa.types.is_map(f.type):
            inside = pa.list_(pa.struct([("key", f.type.key_type), ("value", f.type.item_type)]))
            table = table.set_column(i, f.name, table.column(i).cast(inside))
    return table
