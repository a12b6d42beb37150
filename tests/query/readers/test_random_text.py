"""Random CSV and JSON files in odd dialects: a scan gives the rows that Spark's own reader shows, or refuses the file;
and over the files that are read, an index loses none of them, by a scan or under `mi.enable`.

A failing seed is reproduced by `-k` with its name. `METAINDEX_SOAK=1` runs many more.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import MetaIndexError, SparkDriver
from metaindex.index import Kind
from tests.figures import count
from tests.query.readers.test_spark_scan import canonical
from tests.query.readers.text_files import TextTable, text_table
from tests.query.readers.text_words import FLAT

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]

SOAK = bool(os.environ.get("METAINDEX_SOAK"))
SEEDS = range(100) if SOAK else range(8)
TABLES = 20 if SOAK else 4
INDEXED = 4  # one table of so many
UNSEEN = "monotonically_increasing_id() < 0"  # Spark pushes no filter into its parser beside it


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return spark.newSession()


@pytest.mark.parametrize("seed", SEEDS)
def test_random_files_are_read_as_spark_reads_them(session: SparkSession, tmp_path: Path, seed: int) -> None:
    for number in range(TABLES):
        name = f"{seed} {number}"
        table = text_table(name)
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            alike = files_read_alike(session, table, folder)
            if len(alike) > 2 and number % INDEXED == 0:
                check_indexed(session, table, folder, name)
        except AssertionError as error:
            error.add_note(f"table {name!r}: {table.ddl} {dict(table.options)}")
            raise
        count("tables of text files")
        count("text files", len(table.files))
        count("text files read", len(alike))


def files_read_alike(session: SparkSession, table: TextTable, folder: Path) -> list[str]:
    """Those that are not refused; the others are removed. None where Spark fails, be it by one of the files."""
    for name, data in table.files.items():
        (folder / name).write_bytes(data)
    shown = shown_by_spark(session, table, folder)
    if shown is None:
        return []
    alike = []
    for name, data in table.files.items():
        file = folder / name
        try:
            found = rows(mi.open_table(str(file), **asked(table)).scan().to_arrow())
        except MetaIndexError:
            file.unlink()
            continue
        expected = shown.get(name, [])
        assert found == expected, f"{name}: {data!r}\n  here  {found}\n  Spark {expected}"
        alike.append(name)
    return alike


def shown_by_spark(session: SparkSession, table: TextTable, folder: Path) -> Mapping[str, list[str]] | None:
    """Of each file its rows. None: Spark does not read the table."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    frame = opened(session, table, folder).selectExpr("_metadata.file_name AS file", "*")
    try:
        found = SparkDriver.arrow_of(frame)
    except (PySparkException, Py4JJavaError):
        return None
    shown: dict[str, list[str]] = {}
    for file, row in zip(found.column("file").to_pylist(), rows(found.drop_columns(["file"])), strict=True):
        shown.setdefault(file, []).append(row)
    return shown


def check_indexed(session: SparkSession, table: TextTable, folder: Path, name: str) -> None:
    flat = [f"c{i}" for i, type_ in enumerate(table.types) if type_ in FLAT]
    by_spark = Random(name).random() < 0.5
    indexed = mi.open_table(str(folder), spark=session, **asked(table))
    for index, kinds in kinds_of(flat):
        try:
            indexed.create_index(index, *kinds, builder="spark" if by_spark else "local")
        except MetaIndexError:
            continue
        count("indexes of text files")
    for predicate in table.predicates(name, 6 if SOAK else 3):
        frame = opened(session, table, folder)
        expected = sorted(rows(SparkDriver.arrow_of(frame.where(f"({predicate}) OR {UNSEEN}"))))
        try:
            found = sorted(rows(mi.open_table(str(folder), **asked(table)).scan(predicate).to_arrow()))
        except MetaIndexError:
            found = expected  # a condition that is not understood
        assert found == expected, f"scan where {predicate}"
        assert under_the_rule(session, table, folder, predicate) == sorted(
            rows(SparkDriver.arrow_of(frame.where(predicate)))
        ), f"under the rule, where {predicate}"
        count("queries of text files")


def under_the_rule(session: SparkSession, table: TextTable, folder: Path, predicate: str) -> list[str]:
    rule.enable(session, rule=mi.RuleConfig(timeout_seconds=600.0, cache_expiry_seconds=0.0))
    try:
        found = sorted(rows(SparkDriver.arrow_of(opened(session, table, folder).where(predicate))))
        counts = rule.counts(session)
    finally:
        rule.disable(session)
    assert (counts.failed, counts.timed_out) == (0, 0), counts.last_error
    return found


def kinds_of(flat: list[str]) -> Iterator[tuple[str, tuple[Kind, ...]]]:
    yield "stats", (mi.ColumnStats(),)
    if flat:
        yield "keys", (mi.Bloom(flat[0]), mi.Values(flat[-1]))
        yield "copy", (mi.Covering(flat[:1], flat[1:], buckets=2),)


def opened(session: SparkSession, table: TextTable, folder: Path) -> DataFrame:
    return session.read.schema(table.ddl).options(**table.for_spark).format(table.format).load(str(folder))


def asked(table: TextTable) -> dict[str, Any]:
    return {"format": table.format, "schema": table.schema, **table.options}


def rows(table: pa.Table) -> list[str]:
    """Each as a text; days and moments by their numbers, for some are beyond Python's calendar."""
    plain = table.cast(pa.schema([pa.field(f.name, numbered(f.type)) for f in table.schema]))
    return [repr([canonical(v) for v in row.values()]) for row in plain.to_pylist()]


def numbered(t: pa.DataType) -> pa.DataType:
    if pa.types.is_date32(t):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(t) else t
