"""Tables written by deltalake, pyiceberg and pyarrow, read through their formats: the rows are those of the writers'
own full reads. No JVM."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType

import metaindex as mi
from metaindex.expressions import to_arrow
from metaindex.formats import Snapshot, TableRef
from metaindex.query.readers.scan import Scan
from metaindex.storage import LocalStorage
from tests.query.readers.lake import bound
from tests.tables import catalog_in

ROWS = pa.table(
    {
        "id": pa.array(range(40), pa.int64()),
        "f": pa.array([None if i % 7 == 0 else i / 3 for i in range(40)], pa.float64()),
        "s": pa.array([None if i % 5 == 0 else f"s{i} é😀" for i in range(40)]),
        "d": pa.array([Decimal(i) / 4 for i in range(40)], pa.decimal128(10, 2)),
        "t": pa.array([dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i) for i in range(40)],
            pa.timestamp("us", "UTC")),
        "n": pa.array([None if i % 6 == 0 else {"x": i, "l": [i, None]} for i in range(40)]),
        "p": pa.array([None if i % 4 == 0 else ["a b", "x/y=1%", "é"][i % 3] for i in range(40)]),
        "day": pa.array([dt.date(2020, 1, 1 + i % 3) for i in range(40)]),
    }
)  # fmt: skip
WHERE = "f > 2 AND (p = 'a b' OR p IS NULL) AND day >= DATE '2020-01-02'"


def scan_of(snapshot: Snapshot, root: str, where: str | None = None, rows: Any = None) -> Scan:
    storage = LocalStorage(root)
    predicate = None if where is None else bound(where, snapshot.schema)
    return Scan(snapshot, storage, TableRef(storage, root), rows, predicate, where)


def same_rows(found: pa.Table, expected: pa.Table) -> None:
    found.validate(full=True)
    assert found.schema.names == expected.schema.names
    order = [("id", "ascending")]
    assert found.sort_by(order).to_pylist() == expected.sort_by(order).to_pylist()


def check(snapshot: Snapshot, root: str, expected: pa.Table) -> None:
    same_rows(scan_of(snapshot, root).to_arrow(), expected)
    same_rows(scan_of(snapshot, root, WHERE).to_arrow(), expected.filter(to_arrow(bound(WHERE, snapshot.schema))))
    parts = [scan_of(snapshot, root, rows=np.array([i])).to_arrow() for i in range(len(snapshot.files))]
    if parts:
        same_rows(pa.concat_tables(parts), expected)


def written_delta(root: str) -> str:
    """Four versions: rows deleted, a column added."""
    write_deltalake(root, ROWS.slice(0, 15), partition_by=["p", "day"])
    write_deltalake(root, ROWS.slice(15, 15), mode="append")
    DeltaTable(root).delete("id IN (3, 16)")
    added = ROWS.slice(30).append_column("extra", pa.array(range(10), pa.int32()))
    write_deltalake(root, added, mode="append", schema_mode="merge")
    return root


def test_delta_by_deltalake_at_every_version(tmp_path: Path) -> None:
    root = written_delta(str(tmp_path / "t"))
    last = DeltaTable(root).version()
    assert last == 3
    for version in range(last + 1):
        snapshot = mi.open_table(root).snapshot(version)
        whole = QueryBuilder().register("t", DeltaTable(root, version=version)).execute("SELECT * FROM t").read_all()
        check(snapshot, root, pa.table(whole).select(snapshot.schema.names).cast(snapshot.schema.arrow()))


@pytest.mark.slow
def test_iceberg_by_pyiceberg_at_every_version(tmp_path: Path) -> None:
    catalog = catalog_in(tmp_path)
    table = catalog.create_table("db.t", ROWS.schema)
    p = table.schema().find_field("p").field_id
    spec = PartitionSpec(PartitionField(p, 1000, IdentityTransform(), "p"))
    table = catalog.create_table("db.u", table.schema(), partition_spec=spec)
    table.append(ROWS.slice(0, 15))
    table.append(ROWS.slice(15, 15))
    table.delete("id IN (3, 16)")
    with table.update_schema() as update:
        update.rename_column("s", "renamed").add_column("extra", LongType())
    table.append(
        ROWS.slice(30).rename_columns({"s": "renamed"}).append_column("extra", pa.array(range(10), pa.int64()))
    )
    root = table.location().removeprefix("file://")
    for entry in table.history():
        snapshot = mi.open_table(table.metadata_location).snapshot(entry.snapshot_id)
        whole = table.scan(snapshot_id=entry.snapshot_id).to_arrow()
        check(snapshot, root, whole.select(snapshot.schema.names).cast(snapshot.schema.arrow()))
    catalog.engine.dispose()


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_hive_folders_by_pyarrow(tmp_path: Path, file_format: str) -> None:
    root = str(tmp_path / "t")
    # Folder names are unescaped as Spark does, one character for each code; pyarrow writes UTF-8 in them.
    ascii_only = pc.if_else(pc.equal(ROWS["p"], "é"), "z", ROWS["p"])
    flat = ROWS.set_column(ROWS.schema.get_field_index("p"), "p", ascii_only)
    flat = flat.drop_columns(["n"]) if file_format == "csv" else flat
    parts = ds.partitioning(pa.schema([("p", pa.string()), ("day", pa.date32())]), flavor="hive")
    if file_format == "parquet":
        pq.write_to_dataset(flat, root, partitioning=parts)
    else:
        how = ds.CsvFileFormat().make_write_options(include_header=True)
        ds.write_dataset(flat, root, format="csv", partitioning=parts, file_options=how)
    snapshot = mi.open_table(root, schema=flat.schema).snapshot()
    assert {f.name for f in snapshot.schema if f.partition} == {"p", "day"}
    check(snapshot, root, flat.select(snapshot.schema.names))
