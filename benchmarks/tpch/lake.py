"""TPC-H tables from tpchgen-cli as a lake keeps them: folders of Parquet or CSV files; and what a careful person would
make of them by hand, as the bound to reach."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import metaindex as mi

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS: Final[Mapping[str, int]] = {
    "lineitem": 16,
    "orders": 16,
    "customer": 4,
    "part": 4,
    "partsupp": 4,
    "supplier": 1,
    "nation": 1,
    "region": 1,
}
"""Files of each table."""

BUCKETS: Final = 8

_DAY = ("l_extendedprice", "l_discount", "l_quantity")
_ORDER = ("l_quantity", "l_extendedprice", "l_discount", "l_shipdate", "l_commitdate", "l_receiptdate", "l_suppkey")

INDEXES: Final[Mapping[str, Mapping[str, mi.Covering | mi.CoveringRange]]] = {
    "lineitem": {
        "by_day": mi.CoveringRange(indexed=["l_shipdate"], included=list(_DAY)),
        "by_part": mi.Covering(indexed=["l_partkey"], included=["l_quantity", "l_extendedprice"], buckets=BUCKETS),
        "by_order": mi.Covering(indexed=["l_orderkey"], included=list(_ORDER), buckets=BUCKETS),
    },
    "orders": {
        "by_order": mi.Covering(
            indexed=["o_orderkey"],
            included=["o_totalprice", "o_orderdate", "o_orderpriority", "o_custkey", "o_shippriority", "o_orderstatus"],
            buckets=BUCKETS,
        )
    },
    "part": {
        "by_part": mi.Covering(indexed=["p_partkey"], included=["p_brand", "p_container"], buckets=BUCKETS),
    },
}
"""The indexes of each table, as an operator who knows the queries would ask for them."""


@dataclass(frozen=True)
class Lake:
    """All tables at a scale factor in one format."""

    folder: Path
    scale: float
    table_format: str  # parquet, csv

    def path(self, table: str) -> Path:
        return self.folder / "tables" / table

    def prepare(self) -> None:
        """Makes what is not there."""
        for table, parts in PARTS.items():
            if not self.path(table).exists():
                print(f"tpch: {table} at scale factor {self.scale:g} as {self.table_format}", file=sys.stderr)
                self._generate(table, parts)

    def _generate(self, table: str, parts: int) -> None:
        program = Path(sys.executable).parent / "tpchgen-cli"
        options = ["--field-ids=false"] if self.table_format == "parquet" else []
        made = self.folder / "made"
        command = [program, self.table_format, f"--scale-factor={self.scale:g}", f"--tables={table}", *options]
        subprocess.run([*command, f"--parts={parts}", f"--output-dir={made}"], check=True, stdout=subprocess.DEVNULL)
        self.path(table).parent.mkdir(parents=True, exist_ok=True)
        (made / table).rename(self.path(table))

    def views(self, spark: SparkSession, replaced: Mapping[str, str] | None = None) -> None:
        """Names every table; `replaced`: tables that are another table of the session."""
        for table in PARTS:
            frame = spark.table(replaced[table]) if replaced and table in replaced else self.frame(spark, table)
            frame.createOrReplaceTempView(table)

    def frame(self, spark: SparkSession, table: str):  # type: ignore[no-untyped-def]
        """A table as a user reads it."""
        reader = spark.read
        if self.table_format == "csv":
            reader = reader.schema(_schema(table)).option("header", True)
        return reader.format(self.table_format).load(str(self.path(table)))

    def open(self, spark: SparkSession, table: str) -> mi.Table:
        """As metaindex opens it."""
        if self.table_format == "csv":
            return mi.open_table(str(self.path(table)), format="csv", schema=_schema(table), header=True, spark=spark)
        return mi.open_table(str(self.path(table)), spark=spark)


BY_HAND: Final[Mapping[str, tuple[str, str, Sequence[str]]]] = {
    "lineitem_by_day": ("lineitem", "l_shipdate", _DAY),
    "lineitem_by_part": ("lineitem", "l_partkey", ("l_quantity", "l_extendedprice")),
    "lineitem_by_order": ("lineitem", "l_orderkey", _ORDER),
    "orders_by_order": (
        "orders",
        "o_orderkey",
        ("o_totalprice", "o_orderdate", "o_orderpriority", "o_custkey", "o_shippriority", "o_orderstatus"),
    ),
    "part_by_part": ("part", "p_partkey", ("p_brand", "p_container")),
}
"""Tables made by hand: of which, bucketed or sorted by what, with which columns."""


def make_by_hand(spark: SparkSession, lake: Lake, wanted: Collection[str]) -> None:
    """Catalog tables with the columns of the indexes: sorted by day, or bucketed and sorted, a file a bucket. Anew each
    time: the catalog lives as long as the session."""
    for name, (table, key, columns) in BY_HAND.items():
        if name not in wanted:
            continue
        shutil.rmtree(lake.folder / "warehouse" / name, ignore_errors=True)
        rows = lake.frame(spark, table).select(key, *columns)
        if name.endswith("_day"):
            rows.repartitionByRange(BUCKETS, key).sortWithinPartitions(key).write.mode("overwrite").saveAsTable(name)
        else:
            written = rows.repartition(BUCKETS, key).write.mode("overwrite")
            written.bucketBy(BUCKETS, key).sortBy(key).saveAsTable(name)


def make_z_ordered(spark: SparkSession, lake: Lake) -> str:
    """Lineitem as a Delta table in Z-order of its days; its name for SQL."""
    path = lake.folder / "z-ordered"
    if not path.exists():
        lake.frame(spark, "lineitem").write.format("delta").save(str(path))
        spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(32 << 20))
        spark.sql(f"OPTIMIZE delta.`{path}` ZORDER BY (l_shipdate)")
        spark.conf.unset("spark.databricks.delta.optimize.maxFileSize")
    return f"delta.`{path}`"


def _schema(table: str) -> str:
    """The columns of a CSV file."""
    return SCHEMAS[table]


SCHEMAS: Final[Mapping[str, str]] = {
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2), "
    "l_tax decimal(15,2), l_returnflag string, l_linestatus string, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string, l_comment string",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus string, o_totalprice decimal(15,2), o_orderdate date, o_orderpriority string, o_clerk string, o_shippriority int, o_comment string",
    "customer": "c_custkey bigint, c_name string, c_address string, c_nationkey bigint, c_phone string, c_acctbal decimal(15,2), c_mktsegment string, c_comment string",
    "part": "p_partkey bigint, p_name string, p_mfgr string, p_brand string, p_type string, p_size int, p_container string, p_retailprice decimal(15,2), p_comment string",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost decimal(15,2), ps_comment string",
    "supplier": "s_suppkey bigint, s_name string, s_address string, s_nationkey bigint, s_phone string, s_acctbal decimal(15,2), s_comment string",
    "nation": "n_nationkey bigint, n_name string, n_regionkey bigint, n_comment string",
    "region": "r_regionkey bigint, r_name string, r_comment string",
}
