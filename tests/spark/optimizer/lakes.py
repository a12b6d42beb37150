"""Small tables in every format and state, each indexed, for `test_corpus`: some hundred rows with NULLs, NaN and an
unusual order, in eight files."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
from metaindex.core import SparkRelease
from tests.each_spark import PINNED
from tests.spark.optimizer.queries import ROWS

FILES = 8
SCHEMA = "id BIGINT, k INT, name STRING, v DOUBLE, at TIMESTAMP, day DATE, Flag BOOLEAN, p INT"
COPIES = "copies"
REPLACED = "overwritten"
Indexes = tuple[tuple[str, str, Callable[[], tuple[Any, ...]]], ...]
SKIPPING: Indexes = (
    ("stats", "local", lambda: (mi.ColumnStats(), mi.Sums("id", "k"))),
    ("names", "local", lambda: (mi.Values("name"), mi.Bloom("id"))),
)
INDEXES: Indexes = (
    *SKIPPING,
    ("each", "local", lambda: (mi.ValueList("k", "day"),)),
    (COPIES, "spark", lambda: (_copy("id"), _copy("k"), mi.CoveringRange(["at"], _but("at")))),
)
"""Of every table: the name, the builder and the kinds of each."""


@contextmanager
def ruled(spark: SparkSession, **how: Any) -> Iterator[SparkSession]:
    """The session, enabled for as long as it is asked."""
    mi.enable(spark, **how)
    try:
        yield spark
    finally:
        mi.disable(spark)


def location_of(spark: SparkSession, name: str) -> str:
    """Where a table of the catalog is."""
    found = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").where("col_name = 'Location'").head()
    return str(found["data_type"]).removeprefix("file:")


@dataclass(frozen=True)
class Lake:
    """A table in a state: how a session sees it as the view `t`, and whether it still has files that the indexes
    know, at a version that Spark tells."""

    name: str
    view: Callable[[SparkSession], DataFrame]
    known: bool = True


def rows(spark: SparkSession, start: int = 0, count: int = ROWS, files: int = FILES) -> DataFrame:
    return spark.range(start, start + count, 1, files).selectExpr(
        "id",
        "CAST(IF(id % 11 = 3 OR id BETWEEN 60 AND 89, NULL, id % 10) AS int) AS k",
        "IF(id % 13 = 5, NULL, concat('n', id * 37 % 240)) AS name",
        "CASE WHEN id % 17 = 1 THEN NULL WHEN id % 19 = 2 THEN double('NaN') ELSE id * 0.5D END AS v",
        "timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, CAST(id * 8 AS int)) AS at",
        "IF(id % 23 = 7, NULL, date_add(date'2024-01-01', CAST(id DIV 3 AS int))) AS day",
        "CASE id % 3 WHEN 0 THEN true WHEN 1 THEN false END AS Flag",
        "CAST(id DIV 60 AS int) AS p",
    )


def dim(spark: SparkSession) -> DataFrame:
    return spark.range(12).selectExpr(
        "CAST(IF(id = 11, NULL, id) AS int) AS k", "concat('l', id) AS label", "id * 20 AS id"
    )


def index(spark: SparkSession, path: str, indexes: Indexes = INDEXES, **options: Any) -> None:
    table = mi.open_table(path, spark=spark, **options)
    for name, builder, kinds in indexes:
        table.create_index(name, *kinds(), builder=builder)


def _copy(column: str) -> mi.Covering:
    return mi.Covering([column], _but(column), buckets=3)


def _but(column: str) -> list[str]:
    return [one for one in _columns() if one != column]


def parquet(spark: SparkSession, folder: Path) -> list[Lake]:
    """Fresh; partitioned; with a file more and one replaced since."""
    fresh, parted, stale = (str(folder / name) for name in ("parquet fresh", "parquet parted", "parquet stale"))
    for path in (fresh, stale):
        rows(spark).write.parquet(path)
        index(spark, path)
    rows(spark).write.partitionBy("p").parquet(parted)
    index(spark, parted)
    rows(spark, 230, 40, 1).write.mode("append").parquet(stale)
    other = folder / "other"
    rows(spark, 300, 20, 1).write.parquet(str(other))
    (source,) = other.glob("*.parquet")
    victim = sorted(Path(stale).glob("part-00002*.parquet"))[0]
    victim.write_bytes(source.read_bytes())
    (victim.parent / f".{victim.name}.crc").unlink(missing_ok=True)
    return [
        Lake("parquet", lambda s: s.read.parquet(fresh)),
        Lake("parquet in partitions", lambda s: s.read.parquet(parted).select(*_columns())),
        Lake("parquet, stale", lambda s: s.read.parquet(stale)),
    ]


def csv(spark: SparkSession, folder: Path) -> list[Lake]:
    path = str(folder / "csv")
    rows(spark).write.option("header", True).csv(path)
    index(spark, path, format="csv", header=True, schema=SCHEMA)
    fresh = Lake("csv", lambda s: s.read.schema(SCHEMA).option("header", True).csv(path))
    stale = str(folder / "csv stale")
    rows(spark).write.option("header", True).csv(stale)
    index(spark, stale, format="csv", header=True, schema=SCHEMA)
    rows(spark, 230, 40, 1).write.mode("append").option("header", True).csv(stale)
    return [fresh, Lake("csv, stale", lambda s: s.read.schema(SCHEMA).option("header", True).csv(stale))]


def json(spark: SparkSession, folder: Path) -> list[Lake]:
    """With records that do not parse; and with a file more, and one replaced since."""
    fresh, stale = (str(folder / name) for name in ("json", "json stale"))
    for path in (fresh, stale):
        rows(spark).write.json(path)
    part = next(Path(fresh).glob("part-00003*"))
    (part.parent / f".{part.name}.crc").unlink(missing_ok=True)
    with part.open("a") as more:
        more.write('{"id": "none", "k": 3, "name": "n3"}\n{"id": 95, "k": tru\n')
    for path in (fresh, stale):
        index(spark, path, format="json", schema=SCHEMA)
    rows(spark, 230, 40, 1).write.mode("append").json(stale)
    victim = next(Path(stale).glob("part-00002*"))
    (victim.parent / f".{victim.name}.crc").unlink(missing_ok=True)
    victim.write_text("\n".join(victim.read_text().splitlines()[:7]) + "\n")
    return [
        Lake("json", lambda s: s.read.schema(SCHEMA).json(fresh)),
        Lake("json, stale", lambda s: s.read.schema(SCHEMA).json(stale)),
    ]


_MERGE = (
    "MERGE INTO {t} t USING (SELECT id * 3 AS id, CAST(id % 5 AS int) AS k FROM range(70, 100)) s ON t.id = s.id "
    "WHEN MATCHED AND s.k = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET k = s.k WHEN NOT MATCHED THEN INSERT (id, k)"
    " VALUES (s.id, s.k)"
)
CHANGES = {"merged": _MERGE}
if os.environ.get("METAINDEX_SOAK"):
    CHANGES = {
        "updated": "UPDATE {t} SET name = 'n7', k = NULL WHERE id BETWEEN 100 AND 104",
        "merged": _MERGE,
        REPLACED: (
            "INSERT OVERWRITE {t} SELECT id, k, name, v, at, day, Flag, p FROM {t} WHERE id % 5 <> 2 OR id IS NULL"
        ),
    }
"""Of tables with a log, after the index was made: each one version. A run of every test has those that change most."""


def delta(spark: SparkSession, folder: Path) -> list[Lake]:
    """Versions: 0 written, 1 changed by deletion vectors, indexed; 2 appended, then `CHANGES`, and restored to 0."""
    path = str(folder / "delta")
    rows(spark).write.format("delta").option("delta.enableDeletionVectors", "true").save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 16 = 3")
    index(spark, path)
    rows(spark, 230, 40, 1).write.format("delta").mode("append").save(path)
    for change in CHANGES.values():
        spark.sql(change.format(t=f"delta.`{path}`"))
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 0")
    names = ("written", "fresh", "stale", *CHANGES, "restored")
    return [
        Lake(f"delta {version}: {name}", _delta(path, version), name != REPLACED) for version, name in enumerate(names)
    ]


def _delta(path: str, version: int) -> Callable[[SparkSession], DataFrame]:
    return lambda s: s.sql(f"SELECT * FROM delta.`{path}` VERSION AS OF {version}")


def iceberg(spark: SparkSession, folder: Path) -> list[Lake]:
    """Snapshots: written; changed by deletes, indexed; appended; then `CHANGES`, merged by copy on write; rolled back.
    The catalog's own folder has them; the given one's name is theirs."""
    name = f"iceberg.corpus.`{folder.name}`"
    spark.sql(
        f"CREATE TABLE {name} ({SCHEMA}) USING iceberg TBLPROPERTIES ('format-version'='3',"
        " 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', "
        "'write.merge.mode'='copy-on-write', 'write.distribution-mode'='none', 'write.metadata.metrics.default'='none')"
    )
    rows(spark).writeTo(name).append()
    spark.sql(f"DELETE FROM {name} WHERE id % 16 = 3")
    spark.sql(f"UPDATE {name} SET name = 'n7', k = NULL WHERE id BETWEEN 100 AND 104")
    index(spark, location_of(spark, name))
    rows(spark, 230, 40, 1).writeTo(name).append()
    for change in CHANGES.values():
        spark.sql(change.format(t=name))
    found = [row[0] for row in spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()]
    spark.sql(f"CALL iceberg.system.rollback_to_snapshot('{name.removeprefix('iceberg.')}', {found[1]})")
    names = ("written", "not recorded", "fresh", "stale", *CHANGES)
    lakes = [
        Lake(f"iceberg {state}", _iceberg(name, one), state != REPLACED)
        for state, one in zip(names, found, strict=True)
    ]
    told = (
        SparkRelease.of(spark.version) is PINNED
    )  # elsewhere a snapshot that was rolled back to is none (decision 44)
    return [*lakes, Lake("iceberg restored", lambda s: s.table(name), told)]


def _iceberg(name: str, snapshot: int) -> Callable[[SparkSession], DataFrame]:
    return lambda s: s.sql(f"SELECT * FROM {name} VERSION AS OF {snapshot}")


def _columns() -> list[str]:
    return [part.split()[0] for part in SCHEMA.split(", ")]


FORMATS: dict[str, Callable[[SparkSession, Path], list[Lake]]] = {
    "parquet": parquet,
    "csv": csv,
    "json": json,
    "delta": delta,
    "iceberg": iceberg,
}
"""A format's tables in all their states."""
