"""Iceberg files without field ids, whose columns are found by the table's name mapping: indexed and pruned, with
pyiceberg's own answers, whatever becomes of names, columns and the mapping afterwards."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyiceberg.types import LongType

import metaindex as mi
from tests.examples import few
from tests.tables import catalog_in

MAPPING = "schema.name-mapping.default"
NO_METRICS = {"write.metadata.metrics.default": "none"}
"""The manifests say nothing of values: what is left out, an index proves."""
KINDS = (mi.ColumnStats(), mi.Values("a"), mi.Bloom("b"))


class Lake:
    """A table of a (long), b (text), s (a struct of x) and c (long, and never what a is), and files that it took in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        catalog = catalog_in(folder)
        self.table: Any = catalog.create_table("db.t", self.rows(0).schema, properties=NO_METRICS)
        self.path = f"{folder}/warehouse/db/t"
        self.count = 0
        self.names = 0

    def new(self, letter: str) -> str:
        """A name that no column has had."""
        self.names += 1
        return f"{letter}_{self.names}"

    @staticmethod
    def rows(first: int) -> pa.Table:
        ids = list(range(first, first + 5))
        return pa.table(
            {"a": ids, "b": [f"b{i}" for i in ids], "s": [{"x": i} for i in ids], "c": [-i for i in ids]},
            schema=pa.schema(
                [("a", pa.int64()), ("b", pa.string()), ("s", pa.struct([("x", pa.int64())])), ("c", pa.int64())]
            ),
        )

    def named(self, first: int) -> pa.Table:
        """Rows with the columns as the table has them now."""
        held = {f.field_id: f.name for f in self.table.schema().fields}
        rows = self.rows(first)
        found = {held[n]: rows.column(n - 1) for n in (1, 2, 3, 4) if n in held}
        return pa.table(found) if found else rows.slice(0, 0)

    def append(self) -> None:
        self.count += 1
        self.table.append(self.named(self.count * 10))

    def take_in(self, rows: pa.Table | None = None) -> None:
        """A file without ids."""
        self.count += 1
        path = self.folder / f"{self.count}.parquet"
        pq.write_table(self.named(self.count * 10) if rows is None else rows, path)
        self.table.add_files([f"file://{path}"])

    def rename(self, old: str, new: str) -> None:
        with self.table.update_schema() as update:
            update.rename_column(old, new)

    def map_anew(self, mapping: list[dict[str, Any]]) -> None:
        with self.table.transaction() as transaction:
            transaction.set_properties({MAPPING: json.dumps(mapping)})

    def swap(self) -> None:
        """a and c change places in the files that were taken in."""
        first, second, third, fourth = self.mapping()
        names = first["names"], fourth["names"]
        self.map_anew([{**first, "names": names[1]}, second, third, {**fourth, "names": names[0]}])

    def mapping(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.table.properties[MAPPING])
        return found


def values(table: pa.Table, column: str) -> list[Any]:
    return sorted(table.column(column).to_pylist(), key=str)


def agrees(lake: Lake, opened: mi.Table) -> None:
    """Every question has the rows of pyiceberg's own scan of all."""
    whole = lake.table.scan().to_arrow()
    names = {f.field_id: f.name for f in lake.table.schema().fields}
    if not {1, 2} <= names.keys():
        return
    a, b = names[1], names[2]
    for low in (0, 11, 21, 32, 41, 500):
        said = {
            f"{a} = {low}": [row for row in whole.to_pylist() if row[a] == low],
            f"{b} = 'b{low}'": [row for row in whole.to_pylist() if row[b] == f"b{low}"],
            f"{a} >= {low} AND {a} < {low + 3}": [
                row for row in whole.to_pylist() if row[a] is not None and low <= row[a] < low + 3
            ],
            f"{a} IS NULL": [row for row in whole.to_pylist() if row[a] is None],
        }
        for text, rows in said.items():
            try:
                found = opened.scan(text).to_arrow()
            except mi.ScanError as refused:  # a mapping by which two columns of a file are one
                if "must be one column of a file" not in str(refused):
                    raise
                return
            assert values(found, a) == sorted((row[a] for row in rows), key=str), text
            assert values(found, b) == sorted((row[b] for row in rows), key=str), text


def kept(opened: mi.Table, predicate: str) -> int:
    return opened.prune(predicate).kept_files


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.append()
    made.take_in()
    made.take_in()
    return made


@pytest.mark.slow
def test_files_that_were_taken_in_are_indexed_and_pruned(lake: Lake) -> None:
    opened = mi.open_table(lake.path)
    before = kept(opened, "a = 21")
    outcome = opened.create_index("found", *KINDS, mi.Values("s.x"), builder="local")
    assert "uncovered" not in str(outcome)
    assert "leave out" not in str(outcome)
    assert (before, kept(opened, "a = 21"), kept(opened, "b = 'b21'"), kept(opened, "s.x = 21")) == (3, 1, 1, 1)
    assert kept(opened, "a > 30") == 1
    assert kept(opened, "a IS NULL") == 0
    for index in ("values", "bloom"):
        opened.create_index(index, mi.Values("a") if index == "values" else mi.Bloom("b"), builder="local")
    assert opened.prune("a = 22", indexes=["values"]).kept_files == 1
    assert opened.prune("b = 'b22'", indexes=["bloom"]).kept_files == 1
    assert opened.verify_index("found", files=None).sound
    agrees(lake, opened)


@pytest.mark.slow
def test_a_mapping_that_changes_without_a_snapshot(lake: Lake) -> None:
    """The same bytes are other columns then: what was known of them is not believed, and a refresh reads them again."""
    opened = mi.open_table(lake.path)
    opened.create_index("found", mi.ColumnStats(), mi.Values("a"), builder="local")
    assert kept(opened, "a = 21") == 1
    lake.swap()
    again = mi.open_table(lake.path)
    assert kept(again, "a = -21") == 3
    assert again.scan("a = -21").to_arrow().num_rows == 1
    agrees(lake, again)
    assert opened.scan("a = -21").to_arrow().num_rows == 1  # of a table that is held open, too
    again.refresh_index("found", builder="local")
    assert (kept(again, "a = -21"), kept(again, "a = 21"), kept(again, "a = 11")) == (1, 0, 1)
    agrees(lake, again)
    lake.swap()
    agrees(lake, again)
    agrees(lake, mi.open_table(lake.path))


def test_two_names_of_a_file_for_one_column(lake: Lake) -> None:
    opened = mi.open_table(lake.path)
    first, second, third, fourth = lake.mapping()
    lake.map_anew([{**first, "names": ["a", "c"]}, second, third, {**fourth, "names": []}])
    opened.create_index("found", mi.ColumnStats(), mi.Values("a"), builder="local")
    assert kept(opened, "a = 500") == 2  # the two files: nobody knows which column it is
    assert kept(opened, "c = 500") == 2
    assert kept(opened, "b = 'none'") == 0


@pytest.mark.slow
def test_what_was_indexed_before_the_first_file_was_taken_in_stays_known(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.append()
    lake.append()
    opened = mi.open_table(lake.path)
    opened.create_index("found", *KINDS, builder="local")
    lake.take_in()
    opened = mi.open_table(lake.path)
    assert kept(opened, "a = 11") == 2  # the new file, which nobody has read
    assert "1 file" in str(opened.refresh_index("found", builder="local"))
    assert kept(opened, "a = 11") == 1
    assert opened.verify_index("found", files=None).sound
    assert opened.prune("a = 11", version=opened.versions()[1].id).kept_files == 1
    agrees(lake, opened)


def test_without_a_mapping_or_with_a_broken_one_nothing_is_said_of_them(lake: Lake) -> None:
    with lake.table.transaction() as transaction:
        transaction.remove_properties(MAPPING)
    opened = mi.open_table(lake.path)
    opened.create_index("found", *KINDS, builder="local")
    assert kept(opened, "a = 500") == 2
    with lake.table.transaction() as transaction:
        transaction.set_properties({MAPPING: "no JSON"})
    assert kept(mi.open_table(lake.path), "a = 500") == 2


STEPS = {"append": 2, "take in": 4, "rename a": 2, "rename b": 1, "swap": 2, "column": 1, "drop s": 1, "refresh": 3}


def take(lake: Lake, step: str, opened: mi.Table) -> None:
    names = {f.field_id: f.name for f in lake.table.schema().fields}
    match step:
        case "append":
            lake.append()
        case "take in":
            lake.take_in()
        case "rename a":
            lake.rename(names[1], lake.new("a"))
        case "rename b":
            lake.rename(names[2], lake.new("b"))
        case "column":
            with lake.table.update_schema() as update:
                update.add_column(lake.new("n"), LongType())
        case "swap" if len(lake.mapping()) == 4:
            lake.swap()
        case "drop s":
            if 3 in names:
                with lake.table.update_schema() as update:
                    update.delete_column(names[3])
        case "refresh":
            opened.refresh_index("found", builder="local")


@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=few(2, 8))
@given(st.lists(st.sampled_from([name for name, times in STEPS.items() for _ in range(times)]), max_size=7))
@example(["column", "drop s", "column"])
@example(["rename a", "rename a", "rename a"])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
@pytest.mark.exhaustive
def test_any_history_has_pyicebergs_answers(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    lake = Lake(tmp_path_factory.mktemp("mapped"))
    lake.append()
    lake.take_in()
    opened = mi.open_table(lake.path)
    opened.create_index("found", mi.ColumnStats(), mi.Values("a"), mi.Bloom("b"), builder="local")
    for step in steps:
        take(lake, step, opened)
        agrees(lake, opened)
    agrees(lake, mi.open_table(lake.path))


@pytest.mark.spark
def test_spark_gives_the_same_rows_and_builds_the_same(lake: Lake, spark: Any) -> None:
    lake.rename("a", "z")
    lake.take_in()
    opened = mi.open_table(lake.path, spark=spark)
    opened.create_index("found", mi.ColumnStats(), mi.Values("z"), mi.Bloom("b"), builder="spark")
    own = spark.read.format("iceberg").load(lake.table.metadata_location)
    for text in ("z = 21", "z = 11", "z = 42", "b = 'b33'", "z IS NULL", "z > 30", "s.x = 41", "z = 500"):
        assert opened.scan(text).to_spark(spark).count() == own.where(text).count(), text
        assert opened.scan(text).to_arrow().num_rows == own.where(text).count(), text
        assert kept(opened, text) <= 2
    assert kept(opened, "z = 21") == 1
