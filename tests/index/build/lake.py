"""A folder of data files as a snapshot, for builders: no table format in between, so that a test says itself what the
table's schema, partitions and sizes are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.expressions import ColumnBounds
from metaindex.formats import At, Field, FileTable, Leaf, Schema, Snapshot, TableRef, Version, open_ref
from metaindex.formats.model import SnapshotDetails
from metaindex.index.build.protocol import Builder, BuildReport, BuildRequest
from metaindex.index.keys import column_id, partition_id
from metaindex.index.store.rows import PARTITIONS
from metaindex.index.store.writer import RunSink, number_partitions
from metaindex.storage import LocalStorage


@dataclass(frozen=True)
class FolderDetails(SnapshotDetails):
    options: Mapping[str, object] = field(default_factory=lambda: {"file_format": "parquet"})
    partition_values: Mapping[str, ColumnBounds] = field(default_factory=dict)

    def partition_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        return self.partition_values.get(leaf.stable)

    def read_options(self) -> Mapping[str, object]:
        return self.options


def fields_of(schema: pa.Schema | pa.StructType) -> tuple[Field, ...]:
    def one(f: pa.Field) -> Field:
        children = fields_of(f.type) if pa.types.is_struct(f.type) else ()
        return Field(f.name, f.type, f.nullable, stable=f.name, source=f.name, children=children)

    return tuple(one(f) for f in schema)


def request_for(
    root: Path,
    schema: Sequence[Field],
    paths: Sequence[str],
    *,
    partitions: Sequence[str] | None = None,
    sizes: Mapping[str, int] | None = None,
    scan_floats: bool = True,
    details: FolderDetails | None = None,
    partition_leaves: Sequence[Leaf] = (),
) -> BuildRequest:
    """A request for the files, `paths` in order of (partition, path)."""
    texts = list(partitions or [""] * len(paths))
    assert sorted(zip(texts, paths, strict=True)) == list(zip(texts, paths, strict=True))
    size_of = {p: (root / p).stat().st_size if (root / p).exists() else 0 for p in paths} | dict(sizes or {})
    rows = [
        {"path": p, "size_bytes": size_of[p], "partition": t, "modified_ms": 0}
        for p, t in zip(paths, texts, strict=True)
    ]
    files = FileTable(pa.Table.from_pylist(rows, schema=FileTable.SCHEMA))
    distinct = sorted(set(texts))
    ords = np.array([distinct.index(t) for t in texts], np.int32)
    by_ord = pa.Table.from_pylist(
        [
            {
                "partition_id": partition_id(t),
                "partition_ord": i,
                "partition": t,
                "first_ordinal": int(np.argmax(ords == i)),
                "file_count": int((ords == i).sum()),
                "size_bytes": 0,
            }
            for i, t in enumerate(distinct)
        ],
        schema=PARTITIONS,
    )
    table_schema = Schema(tuple(schema))
    snapshot = Snapshot(str(root), "files", Version("u", "1", "f"), 0, table_schema, files, details or FolderDetails())
    return BuildRequest(
        ref=TableRef(LocalStorage(str(root)), str(root)),
        snapshot=snapshot,
        files=files,
        snapshot_rows=np.arange(len(files), dtype=np.int64),
        partition_ord=ords,
        partitions=by_ord.sort_by("partition_id"),
        leaves=tuple(leaf for leaf in table_schema.leaves() if not leaf.path[0].partition),
        partition_leaves=tuple(partition_leaves),
        scan_floats=scan_floats,
    )


def request_of_table(path: Path | str, **options: object) -> BuildRequest:
    """A request for all live files of a table, as an index of every column makes it."""
    format_, ref = open_ref(str(path), **options)  # type: ignore[arg-type]
    snapshot = format_.snapshot(ref, At())
    order = pc.sort_indices(snapshot.files.table, [("partition", "ascending"), ("path", "ascending")])
    files = snapshot.files.take(order)
    numbers, partitions = number_partitions(files)
    leaves = snapshot.schema.leaves()
    return BuildRequest(
        ref,
        snapshot,
        files,
        order.to_numpy().astype(np.int64),
        numbers,
        partitions,
        tuple(leaf for leaf in leaves if not leaf.field.partition),
        tuple(leaf for leaf in leaves if leaf.field.partition),
    )


@dataclass(frozen=True)
class Built:
    report: BuildReport
    column_stats: pa.Table
    partition_stats: pa.Table

    def row(self, request: BuildRequest, column: str, ordinal: int = 0) -> dict[str, object]:
        """The row of one column of one file, as Python values."""
        leaf = next(leaf for leaf in request.leaves if ".".join(leaf.parts) == column)
        of = (column_id(leaf.stable), ordinal)
        (row,) = (r for r in self.column_stats.to_pylist() if (r["column_id"], r["ordinal"]) == of)
        return row


def build(builder: Builder, request: BuildRequest, index: Path) -> Built:
    """Runs a builder and reads back what it wrote, by the parts that it names."""
    sink = RunSink(LocalStorage(str(index)), "run")
    report = builder.facts(request, sink)
    return Built(report, *(read_parts(index, report, kind) for kind in ("column_stats", "partition_stats")))


def read_parts(index: Path, report: BuildReport, kind: str) -> pa.Table:
    parts = [part for part in report.parts if part.kind == kind]
    tables = [pq.read_table(pa.BufferReader((index / part.path).read_bytes())) for part in parts]
    assert [t.num_rows for t in tables] == [p.rows for p in parts]
    return pa.concat_tables(tables)


def write(root: Path, path: str, table: pa.Table, **options: object) -> str:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, root / path, **options)
    return path


def request_of(root: Path, files: Mapping[str, pa.Table], **options: object) -> BuildRequest:
    """A request for tables that are written as files; its schema is that of the first."""
    paths = [write(root, path, table, **options) for path, table in files.items()]
    return request_for(root, fields_of(next(iter(files.values())).schema), paths)
