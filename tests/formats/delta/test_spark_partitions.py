"""Partition texts that no writer writes, and what Spark shows of them."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from formats.delta.schema import _PRIMITIVES
from tests.formats.delta.hand import add, column, commit, leaf, metadata, protocol, snapshot
from tests.formats.delta.test_casts import CASTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_MORE = [
    (pa.float64(), ["NaN", "nan", "-0.0", "+NaN", "-nan", "0x.8p1f", "1e-400", "Infinityf"]),
    (pa.int32(), ["1.x", "--1", "1 2"]),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A partition column of every type; file n holds row n, and the n-th text of every column."""
    names = {t: name for name, t in reversed(_PRIMITIVES.items())} | {pa.decimal128(5, 2): "decimal(5,2)"}
    texts = {f"p{at}": (names[t], list(said)) for at, (t, said) in enumerate([*CASTS, *_MORE])}
    adds = []
    for n in range(max(len(said) for _, said in texts.values())):
        pq.write_table(pa.table({"id": pa.array([n], pa.int64())}), tmp_path / f"{n}.parquet")
        values = {name: said[n] if n < len(said) else None for name, (_, said) in texts.items()}
        adds.append(add(f"{n}.parquet", size=(tmp_path / f"{n}.parquet").stat().st_size, partitionValues=values))
    fields = [column("id"), *(column(name, type_) for name, (type_, _) in texts.items())]
    commit(tmp_path, 0, protocol(3, ["timestampNtz"]), metadata(*fields, partitions=list(texts)), *adds)
    return tmp_path


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_partition_texts_are_shown_as_spark_shows_them(spark: "SparkSession", table: Path, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        theirs = spark.read.format("delta").load(str(table)).toArrow().sort_by("id")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = snapshot(table)
    order = pa.array([found.files.paths.to_pylist().index(f"{n}.parquet") for n in range(theirs.num_rows)])
    for name in found.partition_columns:
        shown = found.details.known_partition_values(leaf(found, name), zone)  # type: ignore[attr-defined]
        assert shown is not None
        values, known = shown[0].take(order), pa.array(shown[1]).take(order)
        expected = theirs.column(name).combine_chunks().cast(values.type)
        assert repr(values.filter(known).to_numpy(zero_copy_only=False)) == repr(
            expected.filter(known).to_numpy(zero_copy_only=False)
        ), name
        assert known.to_pylist().count(False) <= 2  # a time of today; a moment beyond the calendar, in a zone by name
