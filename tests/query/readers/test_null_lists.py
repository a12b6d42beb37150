"""IS NULL of lists, maps and structs: every engine gives the rows in which the value itself is NULL, not those in which
it is empty or holds NULLs; the log of a Delta table leaves out files that have none."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.query.readers.scan import Scan
from tests.compiling import uncompiled
from tests.duck import connected
from tests.query.readers.lake import rewritten
from tests.spark.optimizer.lakes import location_of
from tests.tables import Lake, delta_lake, iceberg_lake, parquet_lake, settle, settled

LIST, MAP = pa.list_(pa.int32()), pa.map_(pa.string(), pa.int32())
SCHEMA = pa.schema({"k": pa.int64(), "l": LIST, "m": MAP, "s": pa.struct({"x": pa.int32(), "l": LIST})})
DDL = "k BIGINT, l ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<x: INT, l: ARRAY<INT>>"

LISTS = st.sampled_from([None, [], [None], [1], [None, 2]])
ROWS = st.tuples(LISTS, st.sampled_from([None, {}, {"a": None}, {"a": 1}]), st.none() | st.tuples(LISTS, LISTS))
FILES = st.lists(st.lists(ROWS, min_size=1, max_size=3), min_size=1, max_size=4)
TEXTS = [
    "l IS NULL",
    "l IS NOT NULL",
    "m IS NULL",
    "NOT (m IS NULL) AND k > 0",
    "s IS NULL",
    "s IS NOT NULL",
    "s.l IS NULL",
    "s.l IS NOT NULL",
    "s.l IS NULL AND s IS NOT NULL",
    "l IS NULL OR m IS NULL OR k = 2",
    "(l IS NULL) IS NULL",
]


def json_lake(folder: Path) -> Lake:
    root = folder / "lake"
    root.mkdir()

    def append(rows: pa.Table) -> None:
        held = [{**row, "m": None if row["m"] is None else dict(row["m"])} for row in rows.to_pylist()]
        name = f"f{len(list(root.iterdir())):03d}.json"
        settled(root, {name: "".join(json.dumps(row) + "\n" for row in held)})

    return Lake(str(root), append, {"schema": SCHEMA})


LAKES = {"parquet": parquet_lake, "delta": delta_lake, "iceberg": iceberg_lake, "json": json_lake}
ENGINES: dict[str, Callable[[Scan], Any]] = {
    "pyarrow": lambda scan: scan.to_arrow(),
    "dataset": lambda scan: scan.to_dataset().to_table(),
    "polars": lambda scan: scan.to_polars().collect().to_arrow(),
    "duckdb": lambda scan: scan.to_duckdb(connected()).arrow(),
    "deltalake": lambda scan: scan.to_deltalake().to_table(),
    "pyiceberg": lambda scan: scan.to_pyiceberg().to_arrow(),
}


def engines(name: str) -> list[str]:
    return [one for one in ENGINES if one not in ("deltalake", "pyiceberg") or one.endswith(name)]


def tables(files: list[list[Any]]) -> Iterator[pa.Table]:
    k = 0
    for rows in files:
        held = []
        for some, by_name, pair in rows:
            inner = None if pair is None else {"x": None if pair[0] is None else len(pair[0]), "l": pair[1]}
            held.append({"k": k, "l": some, "m": None if by_name is None else list(by_name.items()), "s": inner})
            k += 1
        yield pa.Table.from_pylist(held, SCHEMA)


def written(folder: Path, name: str, files: list[list[Any]]) -> mi.Table:
    lake = LAKES[name](folder)
    for rows in tables(files):
        lake.append(rows)
    return lake.open()


def answers(rows: pa.Table, texts: list[str]) -> list[list[int]]:
    """As DuckDB reads each text over the rows."""
    with connected() as con:
        con.register("t", rows)
        return [sorted(k for (k,) in con.execute(f"SELECT k FROM t WHERE {text}").fetchall()) for text in texts]


def ks(rows: Any) -> list[int]:
    table = rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows
    return sorted(table.column("k").to_pylist())


@pytest.mark.exhaustive(but="delta")
@pytest.mark.parametrize("name", LAKES)
@settings(max_examples=settings.default.max_examples * 30 // 100)
@given(files=FILES, indexed=st.booleans(), texts=st.lists(st.sampled_from(TEXTS), min_size=2, max_size=2))
def test_every_engine_gives_the_rows_of_duckdb(
    tmp_path_factory: pytest.TempPathFactory, name: str, files: list[list[Any]], indexed: bool, texts: list[str]
) -> None:
    table = written(tmp_path_factory.mktemp("t"), name, files)
    if indexed:
        table.create_index("stats", mi.ColumnStats(), builder="local")
    for text, wanted in zip(texts, answers(pa.concat_tables(tables(files)), texts), strict=True):
        assert not table.prune(text).not_understood
        for engine in engines(name):
            assert ks(ENGINES[engine](table.scan(text))) == wanted, (text, engine)


PLAIN: list[list[Any]] = [
    [([1], {"a": 1}, ([1], [1]))],
    [([], {}, ([], []))],
    [([None], {"a": None}, ([1], [None])), ([1], {"a": 1}, ([1], [1]))],
    [(None, {"a": 1}, ([1], [1])), ([1], None, ([1], None))],
    [(None, None, None)],
]


def stated(folder: Path, counts: list[dict[str, Any] | None]) -> mi.Table:
    """A Delta table whose log counts NULLs of `l`, `m` and `s.l` as given."""
    lake = delta_lake(folder)
    for rows in tables(PLAIN):
        lake.append(rows)
    for n, count in enumerate(counts):
        if count is not None:
            rewritten(
                Path(lake.path) / "_delta_log" / f"{n:020d}.json",
                "add",
                lambda stats, count=count: stats.update(nullCount={"k": 0, **count}),
                "stats",
            )
    return lake.open()


@pytest.mark.parametrize("indexed", [True, False])
def test_a_log_that_counts_lists_leaves_files_out(tmp_path: Path, indexed: bool) -> None:
    """Only a count of 0 proves something: one of as many NULLs as rows may be one of elements."""
    none = {"l": 0, "m": 0, "s": {"l": 0}}
    table = stated(tmp_path, [none, {"l": 1, "m": 1, "s": {"l": 1}}, none, {"l": 1, "m": 1, "s": {"l": 1}}, None])
    if indexed:
        table.create_index("stats", mi.ColumnStats(), builder="local")
    assert len(table.prune("s.l IS NULL").files) == 5, "a writer may not count the structs that are NULL"
    for column in ("l", "m"):
        kept = table.prune(f"{column} IS NULL")
        assert len(kept.files) == 3
        assert len(kept.certain) == 0
        assert len(table.prune(f"{column} IS NOT NULL").files) == 5
        assert len(table.prune(f"{column} IS NOT NULL").claimed) == 2
        assert len(table.prune(f"NOT ({column} IS NULL) AND k > 5").files) == 1
    assert ks(table.scan("l IS NULL").to_arrow()) == [4, 6]


@pytest.mark.parametrize("count", [-1, "0", None, False, 0.5, [0], {"element": 0}, {}, 10**30])
def test_what_is_no_count_proves_nothing(tmp_path: Path, count: Any) -> None:
    table = stated(tmp_path, [{"l": count, "m": 0, "s": {"l": 0}}] * 3)
    assert len(table.prune("l IS NULL").files) == 5


@pytest.mark.spark
@pytest.mark.parametrize("name", LAKES)
def test_spark_gives_the_rows_with_the_rule_and_without(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """And the log that Spark itself writes counts lists and maps."""

    def as_spark(row: dict[str, Any]) -> list[Any]:
        by_name = None if row["m"] is None else dict(row["m"])
        return [row["k"], row["l"], by_name, None if row["s"] is None else tuple(row["s"].values())]

    table, path = "iceberg.db.null_lists", str(tmp_path / name)
    if name == "iceberg":
        spark.sql(f"CREATE TABLE {table} ({DDL}) USING iceberg")
    with uncompiled(spark):
        for rows in tables(PLAIN):
            frame = spark.createDataFrame([as_spark(row) for row in rows.to_pylist()], DDL).coalesce(1)
            frame.writeTo(table).append() if name == "iceberg" else frame.write.format(name).mode("append").save(path)
    if name == "iceberg":
        path = location_of(spark, table)
    wanted = answers(pa.concat_tables(tables(PLAIN)), TEXTS)
    settle(Path(path))
    options = {"file_format": "json", "schema": SCHEMA} if name == "json" else {}
    opened = mi.open_table(path, spark=spark, **options)
    opened.create_index("stats", mi.ColumnStats(), builder="local")

    def asked(text: str) -> list[int]:
        reader = spark.read.schema(DDL) if name == "json" else spark.read
        frame = spark.table(table) if name == "iceberg" else reader.format(name).load(path)
        return sorted(row["k"] for row in frame.where(text).collect())

    with uncompiled(spark):
        assert [asked(text) for text in TEXTS] == wanted
    rule.enable(spark)
    try:
        assert [asked(text) for text in TEXTS] == wanted
    finally:
        rule.disable(spark)
    for text, ids in zip(TEXTS, wanted, strict=True):
        assert sorted(row["k"] for row in opened.scan(text).to_spark(spark).collect()) == ids, text
        assert ks(opened.scan(text).to_arrow()) == ids, text
    if name == "delta":
        assert len(opened.prune("l IS NULL").files) == 2
        assert len(opened.prune("m IS NULL").files) == 2
