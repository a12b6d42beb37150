"""Erasure after the deletes of real engines: DELETE with deletion vectors (Delta, Iceberg V3), position deletes
(Iceberg V2), copy-on-write, whole files, OPTIMIZE, REORG and rewrite_data_files; before and after VACUUM and
expire_snapshots have ended what the table retains."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi

from .index_bytes import everything

pytestmark = pytest.mark.uncompiled

PEOPLE = ("alice", "barbara", "carlos", "dorothy")
"""Each has a file of the names alice-0 to alice-9, the first and last of which are bounds."""


@dataclass
class Engine:
    """A table that Spark writes, and its index. `delete` brings the index up to date, as a hook would."""

    spark: SparkSession
    name: str
    location: Path
    versions: Callable[[], list[str]]  # those that the table has not forgotten, oldest first
    index_folder: Path = field(init=False)

    def sql(self, statement: str) -> None:
        self.spark.sql(statement.format(t=self.name)).collect()

    def open(self) -> mi.Table:
        return mi.open_table(str(self.location))

    def index(self) -> None:
        self.open().create_index("stats", mi.ColumnStats(), builder="local")
        self.index_folder = Path(self.open().indexes()[0].location)

    def write(self) -> None:
        people = ", ".join(f"'{person}'" for person in PEOPLE)
        rows = self.spark.range(0, 10 * len(PEOPLE), 1, len(PEOPLE))  # a partition, and so a file, a person
        named = rows.selectExpr("id", f"concat(array({people})[int(id / 10)], '-', id % 10) AS name")
        named.createOrReplaceTempView("rows_of_people")
        self.sql("INSERT INTO {t} SELECT * FROM rows_of_people")

    def change(self, statement: str) -> None:
        self.sql(statement)
        self.open().refresh_index("stats", builder="local")

    def erase(self, versions: int = 2) -> str:
        """Every byte that is left. Queries at the last so many versions, where Spark can read them, are what Spark
        says."""
        self.open().erase_index("stats")
        self.check(self.versions()[-versions:])
        return everything(self.index_folder)

    def check(self, versions: list[str]) -> None:
        table = self.open()
        for version in versions:
            rows = self._rows(version)
            for name in ("", "barbara-9", "carlos-5", "dorothy-0") if rows is not None else ():
                predicate = f"name = '{name}'" if name else "name >= ''"
                found = table.scan(predicate, version=version).to_arrow().select(["id", "name"]).to_pylist()
                expected = [row for row in rows or () if name in ("", row[1])]
                assert sorted((row["id"], row["name"]) for row in found) == expected, (version, predicate)

    def _rows(self, version: str) -> list[tuple[int, str]] | None:
        """None: files of the version are gone."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            found = self.spark.sql(f"SELECT id, name FROM {self.name} VERSION AS OF {version}").collect()
        except (PySparkException, Py4JError):
            return None
        return sorted((row.id, row.name) for row in found)

    def kept(self, predicate: str, version: str | None = None) -> int:
        return self.open().prune(predicate, version=version).kept_files


def delta(spark: SparkSession, folder: Path, properties: dict[str, str]) -> Engine:
    path = folder / "lake"
    name = f"delta.`{path}`"

    def versions() -> list[str]:
        """Of which the log tells."""
        return [str(v) for v in sorted(int(f.stem) for f in (path / "_delta_log").glob("*.json"))]

    options = ", ".join(f"'delta.{k}'='{v}'" for k, v in properties.items())
    spark.sql(f"CREATE TABLE {name} (id BIGINT, name STRING) USING delta TBLPROPERTIES ({options})")
    return Engine(spark, name, path, versions)


def iceberg(spark: SparkSession, folder: Path, properties: dict[str, str]) -> Engine:
    name = "iceberg.erase.t" + folder.name.replace("-", "_")
    options = ", ".join(f"'{k}'='{v}'" for k, v in properties.items())
    spark.sql(f"CREATE TABLE {name} (id BIGINT, name STRING) USING iceberg TBLPROPERTIES ({options})")
    described = spark.sql(f"DESCRIBE EXTENDED {name}").where("col_name = 'Location'").first()
    assert described is not None

    def versions() -> list[str]:
        found = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()
        return [str(row.snapshot_id) for row in found]

    return Engine(spark, name, Path(described["data_type"].removeprefix("file:")), versions)


def _iceberg_options(version: int, mode: str) -> dict[str, str]:
    return {
        "format-version": str(version),
        "write.distribution-mode": "none",
        **{f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")},
    }


EXPIRE = "CALL iceberg.system.expire_snapshots(table => '{short}', older_than => now(), retain_last => 1)"


def lived(engine: Engine) -> Engine:
    """One file a person; the last row of barbara's is deleted, all of carlos', and one of dorothy's is changed; the
    index was there all along."""
    engine.write()
    engine.index()
    engine.change("DELETE FROM {t} WHERE name = 'barbara-9'")
    engine.change("DELETE FROM {t} WHERE name LIKE 'carlos%'")
    engine.change("UPDATE {t} SET name = 'emily-0' WHERE name = 'dorothy-0'")
    return engine


def nothing_is_taken_from_retained_versions(engine: Engine) -> None:
    left = engine.erase(versions=100)
    for person in PEOPLE:
        assert f"{person}-0" in left
        assert f"{person}-9" in left
    whole = engine.versions()[-4]  # before the deletes
    for person in PEOPLE:
        assert engine.kept(f"name = '{person}-5'", whole) == 1


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_delta(spark: SparkSession, tmp_path: Path, vectors: str) -> None:
    engine = lived(delta(spark, tmp_path, {"enableDeletionVectors": vectors}))
    nothing_is_taken_from_retained_versions(engine)
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        engine.sql("VACUUM {t} RETAIN 0 HOURS")
        left = engine.erase()
        assert "carlos" not in left
        # With vectors barbara's file is there with the row, but no version is whole that had it.
        assert "barbara-9" not in left
        assert "alice-0" in left
        if vectors == "true":
            engine.change("REORG TABLE {t} APPLY (PURGE)")
        engine.change("OPTIMIZE {t}")
        engine.sql("VACUUM {t} RETAIN 0 HOURS")
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    left = engine.erase()
    for gone in ("carlos", "barbara", "dorothy-0", "emily"):  # one file is left, whose bounds are alice's and dorothy's
        assert (gone in left) == (gone == "emily"), gone
    assert "alice-0" in left
    assert engine.kept("name = 'zoe'") == 0


def test_delta_after_its_log_was_cleaned(spark: SparkSession, tmp_path: Path) -> None:
    """The deleted row is in the file still; no version says so any more."""
    engine = lived(delta(spark, tmp_path, {"enableDeletionVectors": "true"}))
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(engine.location)).checkpoint()
    for version in range(int(engine.versions()[-1])):  # as the clean-up does, which goes by whole days
        (engine.location / "_delta_log" / f"{version:020}.json").unlink()
        (engine.location / "_delta_log" / f"{version:020}.crc").unlink(missing_ok=True)
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    left = engine.erase()
    for gone in ("barbara", "carlos", "dorothy"):
        assert gone not in left
    assert "alice-0" in left
    assert "alice-9" in left


@pytest.mark.parametrize(
    ("version", "mode"), [(2, "merge-on-read"), (3, "merge-on-read"), (2, "copy-on-write"), (3, "copy-on-write")]
)
def test_iceberg(spark: SparkSession, tmp_path: Path, version: int, mode: str) -> None:
    engine = lived(iceberg(spark, tmp_path, _iceberg_options(version, mode)))
    short = engine.name.removeprefix("iceberg.")
    nothing_is_taken_from_retained_versions(engine)
    engine.sql(EXPIRE.format(short=short))
    left = engine.erase()
    for gone in ("carlos", "barbara-9", "dorothy-0"):
        assert gone not in left, gone
    assert "alice-0" in left
    assert "alice-9" in left
    assert ("barbara-0" in left) == (mode == "copy-on-write")  # nothing is said of a file with deleted rows
    engine.change(f"CALL iceberg.system.rewrite_data_files(table => '{short}', options => map('rewrite-all', 'true'))")
    engine.sql(EXPIRE.format(short=short))
    left = engine.erase()
    for gone in ("carlos", "barbara-9", "dorothy-0"):
        assert gone not in left, gone
    assert "alice-0" in left
    assert engine.kept("name = 'zoe'") == 0
