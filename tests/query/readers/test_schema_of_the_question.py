"""Iceberg schemas change without a new snapshot: the schema of an answer is the one of the question, whichever engine
gives the rows and whatever it filters further."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.types import DoubleType, LongType
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.expressions import column_sql
from metaindex.formats import At
from metaindex.table import handle_of
from tests.duck import connected
from tests.histories.driver import RANDOM, History, run
from tests.tables import catalog_in

Rows = list[dict[str, Any]]
LOCAL = mi.Config(builder="local")


@dataclass
class Shape(History):
    """An Iceberg table of small whole numbers whose columns change names, types and places between its snapshots."""

    verbs = "append rename_any swap again add drop widen index index"
    folder: Path
    catalog: SqlCatalog
    random: Random = field(default_factory=lambda: Random(0))
    statements: list[str] = field(default_factory=list)
    appended: int = 0

    def __post_init__(self) -> None:
        schema = pa.schema([("id", pa.int64()), ("a", pa.int32()), ("b", pa.int32())])
        self.catalog.create_table("db.t", schema, location=f"file://{self.folder}/t")

    @property
    def written(self) -> Table:
        return self.catalog.load_table("db.t")

    @property
    def table(self) -> mi.Table:
        return mi.open_table(str(self.folder / "t"), config=LOCAL)

    def append(self) -> None:
        table = self.written
        schema = table.schema().as_arrow()
        first = self.appended * 10
        self.appended += 1
        columns = {
            f.name: pa.array(range(first, first + 5))
            if f.name == "id"
            else pa.array([self.random.choice([None, *range(6)]) for _ in range(5)])
            for f in schema
        }
        table.append(pa.table({name: one.cast(schema.field(name).type) for name, one in columns.items()}))

    def happen(self, verb: str) -> None:
        if verb not in ("swap", "again", "widen") or {"a", "b"} <= set(self.written.schema().as_arrow().names):
            super().happen(verb)

    def rename_any(self) -> None:
        names = [f.name for f in self.written.schema().fields if f.name != "id"]
        if names:
            self.rename(self.random.choice(names), f"n{len(self.written.schemas())}")

    def rename(self, old: str, new: str) -> None:
        with self.written.update_schema() as update:
            update.rename_column(old, new)

    def swap(self) -> None:
        for old, new in (("a", "between"), ("b", "a"), ("between", "b")):
            self.rename(old, new)

    def again(self) -> None:
        """The column `a` dropped, and another one of its name added."""
        with self.written.update_schema() as update:
            update.delete_column("a")
        with self.written.update_schema() as update:
            update.add_column("a", LongType())

    def add(self) -> None:
        name = f"c{len(self.written.schemas())}"
        with self.written.update_schema() as update:
            update.add_column(name, DoubleType())

    def drop(self) -> None:
        names = [f.name for f in self.written.schema().fields if f.name not in ("id", "a")]
        if names:
            with self.written.update_schema() as update:
                update.delete_column(self.random.choice(names))

    def widen(self) -> None:
        with self.written.update_schema() as update, contextlib.suppress(ValueError):
            update.update_column("a", LongType())

    def index(self) -> None:
        table = self.table
        if not table.indexes():
            table.create_index("i", mi.ColumnStats(), mi.Values("id"))
        else:
            table.refresh_index("i", mode="quick" if self.random.random() < 0.3 else "incremental")

    def truth(self, asked: Any) -> pa.Table:
        """All rows as pyiceberg reads them for the version asked."""
        return self.written.scan(snapshot_id=asked if isinstance(asked, int) else None).to_arrow()


@pytest.fixture
def shape(tmp_path: Path) -> Iterator[Shape]:
    with made(tmp_path) as one:
        yield one


@contextlib.contextmanager
def made(folder: Path) -> Iterator[Shape]:
    catalog = catalog_in(folder)
    try:
        yield Shape(folder, catalog)
    finally:
        catalog.engine.dispose()


def _sql(name: str, value: int | None) -> str:
    return f'"{name}" IS NULL' if value is None else f'"{name}" = {value}'


def _arrow(name: str, value: int | None) -> pc.Expression:
    return pc.field(name).is_null() if value is None else pc.field(name) == value


def _polars(name: str, value: int | None) -> pl.Expr:
    return pl.col(name).is_null() if value is None else pl.col(name) == value


ENGINES: dict[str, Callable[[Any, str, int | None], Rows]] = {
    "dataset": lambda scan, name, value: scan.to_dataset().to_table(filter=_arrow(name, value)).to_pylist(),
    "duckdb": lambda scan, *asked: scan.to_duckdb(connected()).filter(_sql(*asked)).to_arrow_table().to_pylist(),
    "polars": lambda scan, *asked: scan.to_polars().filter(_polars(*asked)).collect().to_dicts(),
    "pyiceberg": lambda scan, *asked: scan.to_pyiceberg().filter(_sql(*asked)).to_arrow().to_pylist(),
}


def same(found: Rows, expected: Rows) -> None:
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def check(shape: Shape, asked: Any, name: str, value: int | None) -> None:
    """Scans by several predicates, and then by another filter of each engine's own, against pyiceberg's full scan."""
    whole = shape.truth(asked)
    matching = whole.filter(_arrow(name, value)).to_pylist()
    table = shape.table
    own = f"{column_sql((name,))} IS NULL" if value is None else f"{column_sql((name,))} = {value}"
    for where in ("id >= 0", own, None):
        expected = matching if where == own else whole.to_pylist()
        scan = table.scan(where, version=asked)
        assert scan.schema.names == whole.schema.names, where
        same(scan.to_arrow().to_pylist(), expected)
        same(scan.to_pyiceberg().to_arrow().to_pylist(), expected)
        assert scan.to_pyiceberg().to_arrow().schema.names == whole.schema.names
        for engine in ENGINES.values():
            same(engine(scan, name, value), matching)
        few = table.scan(where, sorted({"id", name}), version=asked).to_pyiceberg().to_arrow()
        assert set(few.schema.names) == {"id", name}
    located = table.locate(own, version=asked, exact=True)
    assert sum(located.table["matches"].to_pylist()) == len(matching)
    explained = table.explain(own, version=asked)
    assert (explained.result.predicate, explained.result.kept_files) == (table.prune(own, version=asked).predicate,
        table.prune(own, version=asked).kept_files)  # fmt: skip


CHANGES: dict[str, Callable[[Shape], None]] = {
    "rename": lambda shape: shape.rename("b", "odd`name"),
    "swap": Shape.swap,
    "again": Shape.again,
    "add": Shape.add,
    "drop": Shape.drop,
    "widen": Shape.widen,
}


@pytest.mark.exhaustive(but="None-rename")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("asked", [None, *(pytest.param(one, marks=pytest.mark.slow) for one in ("main", "snapshot"))])
def test_a_change_without_a_snapshot(shape: Shape, change: str, asked: str | None) -> None:
    shape.append()
    shape.append()
    shape.index()
    CHANGES[change](shape)
    shape.index()  # "now" is recorded with the schema of now
    version = shape.written.current_snapshot().snapshot_id if asked == "snapshot" else asked  # type: ignore[union-attr]
    for name in shape.truth(version).schema.names[1:3]:
        check(shape, version, name, None if change == "again" else 3)


def test_every_version_is_read_with_the_schema_that_it_names(shape: Shape) -> None:
    shape.append()
    shape.index()
    before = shape.table.snapshot().version
    shape.swap()
    now = shape.table.snapshot().version
    assert (before.id, before == now) == (now.id, False)
    for version in (before, now):
        found = shape.table.snapshot(version)
        assert found.version == version
        assert [f.name for f in found.schema][1:] == (["a", "b"] if version == before else ["b", "a"])
        assert handle_of(shape.table).table_format.resolve(handle_of(shape.table).ref, At.of(version)) == version


@pytest.mark.parametrize("versions", ["newest", "all"])
def test_recorded_versions_of_an_older_schema_are_compared_and_repaired(shape: Shape, versions: Any) -> None:
    shape.append()
    shape.index()
    shape.swap()
    shape.index()
    report = shape.table.verify_index("i", files=None, versions=versions)
    assert report.sound
    assert report.versions_compared == 2


@settings(max_examples=settings.default.max_examples * 30 // 100)
@given(RANDOM, st.integers(2, 8), st.sampled_from([None, 0, 3]))
@pytest.mark.slow
def test_any_history(tmp_path_factory: pytest.TempPathFactory, random: Random, steps: int, value: int | None) -> None:
    with made(tmp_path_factory.mktemp("history")) as shape:
        shape.random = random
        shape.append()

        def any_version_is_right() -> None:
            asked = random.choice([None, "main", *(one.snapshot_id for one in shape.written.history())])
            check(shape, asked, random.choice(shape.truth(asked).schema.names), value)

        run(steps, shape, oracles=[any_version_is_right])


def test_spark_reads_the_schema_of_the_question(spark: SparkSession, shape: Shape) -> None:
    shape.append()
    shape.append()
    for change in ("swap", "again", "add"):
        shape.index()
        CHANGES[change](shape)
        shape.index()
        whole = shape.truth(None)
        for where in ("id >= 0", "a = 3", "a IS NULL"):
            expected = [
                r for r in whole.to_pylist() if where == "id >= 0" or r["a"] == (3 if where == "a = 3" else None)
            ]
            for version in (None, "main"):
                found = shape.table.scan(where, version=version).to_spark(spark)
                assert found.columns == whole.schema.names
                same([row.asDict() for row in found.collect()], expected)
