"""A scan read by pyiceberg itself: the rows of its own full scan, of the model where it cannot read the table, or a
refusal."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, StringType

import metaindex as mi
from metaindex.core import ExpressionError, ScanError
from metaindex.expressions import ColumnRef
from tests.formats.iceberg.written import Drawn, histories
from tests.formats.iceberg.written_rows import plain
from tests.query.readers.test_formats_scan import ROWS
from tests.strategies import predicates
from tests.tables import catalog_in, parquet_lake

WHERE = ["id = 17", "f > 2 AND id < 30", "s IS NULL OR p = 'a b'", "day >= DATE '2020-01-02' AND NOT (f <= 5)",
    "id IN (3, 4, 35) AND isnan(f)", "NOT isnan(f)", "d = 2.5 OR f = 1"]  # fmt: skip


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCatalog]:
    root = tmp_path_factory.mktemp("catalog")
    made = catalog_in(root)
    yield made
    made.engine.dispose()


@pytest.fixture(scope="module")
def written(catalog: SqlCatalog) -> Table:
    """Partitioned by a name and a day, with a float file of nothing but NaN, rows deleted, a column renamed, one added,
    types widened."""
    plain_table = catalog.create_table("db.plain", ROWS.schema)
    fields = plain_table.schema()
    spec = PartitionSpec(
        PartitionField(fields.find_field("p").field_id, 1000, IdentityTransform(), "p"),
        PartitionField(fields.find_field("day").field_id, 1001, IdentityTransform(), "day"),
    )
    table = catalog.create_table("db.t", fields, partition_spec=spec)
    nothing = ROWS.slice(0, 3).set_column(1, "f", pa.array([np.nan] * 3)).set_column(0, "id", pa.array([97, 98, 99]))
    table.append(ROWS.slice(0, 15))
    table.append(nothing)
    table.append(ROWS.slice(15, 15))
    table.delete("id IN (3, 16)")
    with table.update_schema() as update:
        update.rename_column("s", "renamed").add_column("extra", LongType())
    with table.update_schema() as update:
        update.add_column("s", StringType())  # the old name, another column
    late = ROWS.slice(30).rename_columns({"s": "renamed"}).append_column("extra", pa.array(range(10), pa.int64()))
    table.append(late.append_column("s", pa.array(["new"] * 10)))
    return table


def same_rows(found: pa.Table, expected: pa.Table) -> None:
    """NaN is compared by how it is written."""
    assert found.schema.names == expected.schema.names
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def scans(table: Table, catalog: SqlCatalog) -> Iterator[tuple[mi.Table, str | None, Any]]:
    for opened in (mi.open_table(table.metadata_location), mi.open_table("db.t", catalog=catalog)):
        for entry in (*table.history(), None):
            yield opened, None if entry is None else str(entry.snapshot_id), entry and entry.snapshot_id


@pytest.mark.slow
def test_every_version_is_pyicebergs_own_full_scan(written: Table, catalog: SqlCatalog) -> None:
    for opened, version, snapshot_id in scans(written, catalog):
        found = opened.scan(version=version).to_pyiceberg()
        same_rows(found.to_arrow(), written.scan(snapshot_id=snapshot_id).to_arrow())
        assert found.count() == written.scan(snapshot_id=snapshot_id).count()


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.slow
def test_predicates_keep_the_rows_that_our_own_reader_keeps(written: Table, where: str) -> None:
    opened = mi.open_table(written.metadata_location)
    for version in (str(written.history()[-2].snapshot_id), None):
        scan = opened.scan(where, version=version)
        found = scan.to_pyiceberg().to_arrow()
        same_rows(found.cast(scan.schema), scan.to_arrow())
        assert scan.to_pyiceberg().count() == found.num_rows
        shown = opened.scan(where, columns=["n", "id"], version=version)
        same_rows(shown.to_pyiceberg().to_arrow().select(["n", "id"]).cast(shown.schema), shown.to_arrow())


@pytest.mark.slow
def test_pyicebergs_own_verbs(written: Table) -> None:
    opened = mi.open_table(written.metadata_location)
    whole = written.scan()
    found = opened.scan().to_pyiceberg()
    same_rows(found.filter("id = 17").to_arrow(), whole.filter("id = 17").to_arrow())
    same_rows(
        found.select("id", "f").filter("id > 17").to_arrow(), whole.select("id", "f").filter("id > 17").to_arrow()
    )
    assert found.filter("id = 17").to_polars().height == 1
    assert found.filter("id = 17").to_duckdb("t").sql("SELECT count(*) FROM t").fetchall() == [(1,)]
    assert found.update(limit=5).to_arrow().num_rows == 5
    assert opened.scan("f > 2").to_pyiceberg().update(limit=5).to_arrow().num_rows == 5
    assert opened.scan("f > 2").to_pyiceberg().select("id").to_arrow().schema.names == ["id"]


def test_only_kept_files_are_planned_whoever_filters(written: Table) -> None:
    opened = mi.open_table(written.metadata_location)
    opened.create_index("stats", mi.ColumnStats(), builder="local")
    kept = len(opened.prune("id = 17").paths)
    assert len(opened.scan("id = 17").to_pyiceberg().plan_files()) == kept
    assert len(opened.scan().to_pyiceberg().filter("id = 17").plan_files()) == kept
    assert kept < len(opened.scan().to_pyiceberg().plan_files())


@settings(deadline=None, max_examples=settings.default.max_examples * 10 // 100)
@given(data=st.data())
def test_any_predicate(written: Table, data: st.DataObject) -> None:
    schema = ROWS.drop_columns(["n", "s"]).schema
    opened = mi.open_table(written.metadata_location)
    try:
        scan = opened.scan(data.draw(predicates({ColumnRef((f.name,)): f.type for f in schema})))
        expected = scan.to_arrow()
    except (ExpressionError, ScanError):
        return
    same_rows(scan.to_pyiceberg().to_arrow().cast(scan.schema), expected)


@pytest.fixture(scope="module")
def widened(catalog: SqlCatalog) -> Table:
    """A file of 32-bit integers, their least and greatest and NULL among them, and one written when they were long."""
    narrow = pa.table({"id": [1, 2, 3, 4], "n": pa.array([(1 << 31) - 1, -(1 << 31), 7, None], pa.int32())})
    table = catalog.create_table("db.widened", narrow.schema)
    table.append(narrow)
    with table.update_schema() as update:
        update.update_column("n", LongType())
    table.append(pa.table({"id": [5, 6], "n": pa.array([1 << 40, None], pa.int64())}))
    return table


_BEYOND = [1 << 31, -(1 << 31) - 1, 1 << 40, (1 << 63) - 1]
_ABOUT_BEYOND = [f"n {op} {value}" for op in ("=", "!=", "<", "<=", ">", ">=", "<=>") for value in _BEYOND]


@pytest.mark.exhaustive(but="{}")
@pytest.mark.parametrize(
    "where", [*_ABOUT_BEYOND, f"n IN (7, {1 << 40})", f"n NOT IN (7, {1 << 40})", f"n IN ({-(1 << 40)}, {1 << 39})"]
)
@pytest.mark.parametrize("around", ["{}", "NOT ({})", "id = 3 OR {}", "NOT (id = 3 AND {})"])
def test_a_file_narrower_than_the_literal_gives_no_other_rows(widened: Table, where: str, around: str) -> None:
    """pyiceberg binds a filter to the file's own type: `< 2^40` is then true of NULL, IN takes the nearest."""
    scan = mi.open_table(widened.metadata_location).scan(around.format(where))
    same_rows(scan.to_pyiceberg().to_arrow().cast(scan.schema), scan.to_arrow())


@settings(deadline=None, max_examples=settings.default.max_examples * 10 // 100)
@given(histories(8))
def test_deletes_of_every_kind(drawn: Drawn) -> None:
    with drawn.written() as history:
        table = mi.open_table(str(history.root))
        for version in history.expected:
            scan = table.scan(version=version)
            if any(scan.snapshot.details.deletes(row).equality for row in range(len(scan.snapshot.files))):
                with pytest.raises(ScanError, match="equality deletes"):
                    scan.to_pyiceberg().to_arrow()
            else:
                assert plain(scan.to_pyiceberg().to_arrow().to_pylist()) == plain(history.shown(version)), version


def test_refusals(written: Table, catalog: SqlCatalog, tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    lake.append(pa.table({"a": [1]}))
    with pytest.raises(ScanError, match="is of an Iceberg table"):
        lake.open().scan().to_pyiceberg()
    opened = mi.open_table(written.metadata_location)
    with pytest.raises(ScanError, match="another table"):
        opened.scan().to_pyiceberg(catalog.load_table("db.plain"))
    with pytest.raises(ScanError, match="cannot apply"):
        opened.scan("soundex(p) = 3").to_pyiceberg()
    old = catalog.load_table("db.t")
    catalog.load_table("db.t").append(old.scan().to_arrow().slice(0, 0))
    with pytest.raises(ScanError, match="load it again"):
        mi.open_table("db.t", catalog=catalog).scan().to_pyiceberg(old)
