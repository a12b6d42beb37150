"""Snapshots made by hand over files that a test wrote itself: no table format in between."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from metaindex.expressions import ColumnBounds, Predicate, bind, to_predicate
from metaindex.formats import Field, FileTable, Leaf, Schema, Snapshot, TableRef, Version
from metaindex.formats.model import Deletes, EqualityDelete, SnapshotDetails
from metaindex.query.readers.scan import Scan
from metaindex.storage import LocalStorage


@dataclass
class Lake(SnapshotDetails):
    """A table of the files below `root`, in the order they are added."""

    root: Path
    schema: Schema
    format: str = "delta"
    options: Mapping[str, object] = field(default_factory=lambda: {"file_format": "parquet"})
    rows: list[dict[str, object]] = field(default_factory=list)
    deleted: dict[int, Deletes] = field(default_factory=dict)
    partitions: dict[str, ColumnBounds] = field(default_factory=dict)

    def add(self, path: str, content: pa.Table | bytes | str, *, partition: str = "", **how: object) -> int:
        """Write a file into the table; its place in the snapshot."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            pq.write_table(content, target, **how)
        else:
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        self.rows.append({"path": path, "size_bytes": target.stat().st_size, "partition": partition})
        return len(self.rows) - 1

    def delete(self, row: int, positions: Sequence[int] = (), equality: Sequence[EqualityDelete] = ()) -> None:
        self.deleted[row] = Deletes(BitMap64(positions), tuple(equality))
        self.rows[row]["deletes"] = f"d{row}"

    def delete_equal(self, row: int, values: pa.Table, positions: Sequence[int] = ()) -> None:
        """Rows that equal one of these, and some by their places. The columns are top-level ones."""
        leaves = tuple(leaf for name in values.schema.names for leaf in self.schema.leaves() if leaf.parts == (name,))
        self.delete(row, positions, [EqualityDelete(leaves, values)])

    def partition_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        return self.partitions.get(leaf.path[0].name)

    def deletes(self, row: int) -> Deletes:
        return self.deleted[row]

    def read_options(self) -> Mapping[str, object]:
        return self.options

    @property
    def snapshot(self) -> Snapshot:
        files = FileTable(pa.Table.from_pylist(self.rows, schema=FileTable.SCHEMA))
        names = tuple(f.name for f in self.schema if f.partition)
        return Snapshot(str(self.root), self.format, Version("t", "7", "f"), 0, self.schema, files, self, names)

    def scan(
        self, where: str | None = None, *, rows: Sequence[int] | None = None, columns: Sequence[str] | None = None
    ) -> Scan:
        storage = LocalStorage(str(self.root))
        snapshot = self.snapshot
        return Scan(
            snapshot,
            storage,
            TableRef(storage, str(self.root)),
            rows=None if rows is None else np.array(rows, dtype=np.int64),
            predicate=None if where is None else bound(where, snapshot.schema),
            predicate_text=where,
            columns=None if columns is None else tuple(columns),
        )

    def read(self, where: str | None = None, **how: Sequence[str] | None) -> list[dict[str, object]]:
        table = self.scan(where, **how).to_arrow()  # type: ignore[arg-type]
        table.validate(full=True)
        return table.to_pylist()


def bound(where: str, schema: Schema) -> Predicate:
    return bind(to_predicate(where), schema.arrow())


def fields_of(schema: pa.Schema | pa.StructType) -> tuple[Field, ...]:
    return tuple(
        Field(
            f.name, f.type, f.nullable, f.name, f.name, children=fields_of(f.type) if pa.types.is_struct(f.type) else ()
        )
        for f in schema
    )


def with_id(name: str, type_: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, type_, metadata={"PARQUET:field_id": str(number)})


def rewritten(log: Path, part: str, change: Callable[[dict[str, Any]], None], field: str) -> None:
    """A commit of Delta's log with the JSON that stands in a field of every such action changed."""
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if part in action:
            said = json.loads(action[part][field])
            change(said)
            action[part][field] = json.dumps(said)
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
