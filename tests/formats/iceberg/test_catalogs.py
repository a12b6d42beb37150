"""Tables by their name in a catalog: a SqlCatalog on sqlite, in this process, from the command line, and shared with
Spark."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import NotATableError
from tests.each_spark import needs

ROWS = pa.table({"id": pa.array(range(6), pa.int64()), "s": ["a", None, "b", "c", "d", "e"]})


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Any]:
    from pyiceberg.catalog.sql import SqlCatalog

    made = SqlCatalog("tests", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/warehouse")
    made.create_namespace("db")
    table = made.create_table("db.t", ROWS.schema)
    table.append(ROWS.slice(0, 3))
    table.append(ROWS.slice(3))
    yield made
    made.engine.dispose()


def test_a_catalog_opens_scans_and_indexes_a_table(catalog: Any) -> None:
    table = mi.open_table("db.t", catalog=catalog)
    assert table.scan("id = 4").to_arrow().to_pylist() == [{"id": 4, "s": "d"}]
    assert len(table.versions()) == 2
    table.create_index("stats", mi.ColumnStats(), builder="local")
    assert len(table.prune("id = 4").paths) == 1
    catalog.load_table("db.t").append(ROWS)
    assert mi.open_table("db.t", catalog=catalog).scan("id = 4").to_arrow().num_rows == 2
    catalog.rename_table("db.t", "db.u")
    assert mi.open_table("db.u", catalog=catalog).scan().to_arrow().num_rows == 12
    with pytest.raises(NotATableError, match=r"db\.t"):
        mi.open_table("db.t", catalog=catalog).versions()


def test_a_warehouse_with_a_relative_path_is_one_seen_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    monkeypatch.chdir(tmp_path)
    made = SqlCatalog("tests", uri="sqlite:///c.db", warehouse="warehouse")
    made.create_namespace("db")
    made.create_table("db.t", ROWS.schema).append(ROWS)
    table = mi.open_table("db.t", catalog=made)
    assert table.scan("id = 4").to_arrow().to_pylist() == [{"id": 4, "s": "d"}]
    assert [f"{tmp_path}/warehouse/db/t/{path}" for path in table.snapshot().files.paths.to_pylist()] == table.prune(
        "id = 4"
    ).paths
    made.engine.dispose()


COMMANDS = """
import sys
from metaindex.cli import main
found = main(["scan", "db.t", "id = 4", "--json", "--catalog", "tests"])
lost = main(["prune", "db.nothing", "id = 4", "--catalog", "tests"])
sys.exit(0 if (found, lost) == (0, 1) else f"{found} {lost}")
"""


@pytest.mark.slow
def test_the_command_line_opens_a_table_of_a_catalog(catalog: Any, tmp_path: Path) -> None:
    """In a process of its own: pyiceberg reads its configuration when it is loaded."""
    prefix = "PYICEBERG_CATALOG__TESTS__"
    settings = {
        f"{prefix}TYPE": "sql",
        f"{prefix}URI": f"sqlite:///{tmp_path}/c.db",
        f"{prefix}WAREHOUSE": f"file://{tmp_path}/warehouse",
    }
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == [{"id": 4, "s": "d"}]
    assert "db.nothing" in done.stderr
    assert "Traceback" not in done.stderr


SPARK = """
import sys
import pyarrow as pa
from metaindex.spark.jars import JarGroup, jar_paths
from metaindex.spark.session import spark_session
from pyiceberg.catalog.sql import SqlCatalog
import metaindex as mi

folder = sys.argv[1]
spark = spark_session(
    "catalogs",
    master="local[1]",
    delta=False,
    conf={
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.jars": ",".join(str(path) for path in jar_paths([JarGroup.SQLITE])),
        "spark.sql.catalog.tests": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.tests.type": "jdbc",
        "spark.sql.catalog.tests.jdbc.schema-version": "V1",
        "spark.sql.catalog.tests.uri": f"jdbc:sqlite:{folder}/c.db",
        "spark.sql.catalog.tests.warehouse": f"file://{folder}/warehouse",
    },
)
catalog = SqlCatalog("tests", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/warehouse")

def rows(name, version=None):
    ours = mi.open_table(name, catalog=catalog).scan(version=version).to_arrow().to_pylist()
    asked = f"select * from tests.{name}" + ("" if version is None else f" version as of {version}")
    theirs = [row.asDict() for row in spark.sql(asked).collect()]
    key = lambda row: str(sorted(row.items()))
    assert sorted(ours, key=key) == sorted(theirs, key=key), (name, version, ours, theirs)
    return len(ours)

assert rows("db.t") == 6  # pyiceberg's own
spark.sql("delete from tests.db.t where id = 4")
assert rows("db.t") == 5
spark.sql(
    "create table tests.db.made (id bigint, s string) using iceberg partitioned by (bucket(4, id))"
    " tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read')"
)
spark.sql("insert into tests.db.made select id, cast(id as string) from range(40)")
spark.sql("delete from tests.db.made where id % 10 = 3")
spark.sql("alter table tests.db.made rename column s to t")
assert rows("db.made") == 36
spark.sql("insert into tests.db.made values (3, 'three')")
assert rows("db.made") == 37
catalog.load_table("db.t").append(pa.table({"id": pa.array([9], pa.int64()), "s": ["nine"]}))
spark.sql("refresh table tests.db.t")
assert rows("db.t") == 6
made = mi.open_table("db.made", catalog=catalog)
assert [rows("db.made", version.id) for version in made.versions()] == [40, 36, 37]
buckets = {file.partition for file in made.snapshot().files.entries()}
kept = {file.partition for file in made.prune("id = 3").files.entries()}
assert len(buckets) == 4 and len(kept) == 1, (buckets, kept)
assert made.scan("id = 3").to_arrow().to_pylist() == [{"id": 3, "t": "three"}]
print("shared")
"""


@pytest.mark.spark
@needs("iceberg")
def test_one_sqlite_file_is_the_catalog_of_spark_and_of_pyiceberg(catalog: Any, tmp_path: Path) -> None:
    """In a process of its own: the driver for sqlite must be on the JVM's class path when it starts."""
    script = tmp_path / "share.py"
    script.write_text(SPARK)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert done.stdout.endswith("shared\n"), done.stderr[-3000:]
