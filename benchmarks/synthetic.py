"""A table that exists only as metadata: N files, C columns, P partitions, with bounds made up by a seeded generator.
Everything behind the builder is the real thing.

Columns c00, c04, ... are int64 in narrow bands (a needle is in few files), c01 ... doubles in narrow bands, c02 ...
strings in narrow bands, c03 ... int64 in wide bands (half of all files hold any value): the shapes that make pruning
easy and hard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from metaindex.core import Config, Progress
from metaindex.expressions import ColumnBounds
from metaindex.formats import At, Diff, Field, FileTable, Format, Schema, Snapshot, TableRef, Trust, Version
from metaindex.formats.model import SnapshotDetails
from metaindex.index.build.protocol import BuildReport, BuildRequest
from metaindex.index.kinds.fact_rows import FactWriter
from metaindex.index.kinds.facts import facts_of, in_column_order
from metaindex.index.store.writer import RunSink
from metaindex.query import Handle
from metaindex.storage import LocalStorage
from metaindex.table import Table

SPAN = 1_000_000_000
"""Values lie between 0 and SPAN."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How large, and how laid out."""

    files: int = 1_000_000
    columns: int = 20
    partitions: int = 1
    seed: int = 7

    @property
    def schema(self) -> Schema:
        types = [pa.int64(), pa.float64(), pa.string(), pa.int64()]
        return Schema(tuple(Field(f"c{i:02d}", types[i % 4]) for i in range(self.columns)))

    def bands(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper value of every file. In a partitioned table, a partition is a stretch of the range for the
        narrow columns."""
        generator = np.random.default_rng(self.seed * 1000 + column)
        wide = column % 4 == 3
        width = SPAN // 2 if wide else max(2, SPAN // self.files * 4)
        if self.partitions > 1 and not wide:
            of = np.arange(self.files) * self.partitions // self.files
            stretch = SPAN // self.partitions
            low = of * stretch + generator.integers(0, max(1, stretch - width), self.files)
        else:
            low = generator.integers(0, SPAN - width, self.files)
        return low, low + generator.integers(1, width, self.files)

    def bounds(self, column: int) -> ColumnBounds:
        type_ = self.schema.fields[column].type
        low, high = self.bands(column)
        if pa.types.is_string(type_):
            lower, upper = text(low), text(high)
        elif pa.types.is_floating(type_):
            lower, upper = pa.array(low.astype(np.float64)), pa.array(high.astype(np.float64))
        else:
            lower, upper = pa.array(low), pa.array(high)
        n = self.files
        zeros = pa.array(np.zeros(n, np.int64))
        return ColumnBounds(type_, lower, upper, zeros, zeros, pa.array(np.full(n, 1_000_000, np.int64)), None, None)


def text(values: np.ndarray) -> pa.Array:
    """Numbers as fixed-width text, in the same order."""
    return pa.array(np.char.zfill(values.astype("U"), 10).astype("S")).cast(pa.binary())


@dataclass(frozen=True, slots=True)
class _Details(SnapshotDetails):
    shape: Shape

    def read_options(self) -> Mapping[str, object]:
        return {"file_format": "parquet"}


@dataclass
class SyntheticFormat(Format):
    """Format of a made-up table with one version."""

    shape: Shape
    name: str = "delta"
    loaded: int = 0  # how often the whole list of files was loaded

    def detect(self, ref: TableRef) -> bool:
        return True

    def root(self, ref: TableRef) -> str:
        return ref.path

    def resolve(self, ref: TableRef, at: At) -> Version:
        return Version("", "7", f"{self.shape}")

    def versions(self, ref: TableRef) -> Sequence[Version]:
        return [self.resolve(ref, At())]

    def diff(self, ref: TableRef, base: Snapshot, target: At) -> Diff | None:
        return None

    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        self.loaded += 1
        n = self.shape.files
        numbers = np.arange(n)
        if self.shape.partitions > 1:
            of = np.char.zfill((numbers * self.shape.partitions // n).astype("U"), 6)
            partition = np.char.add("p=", of)
        else:
            partition = np.full(n, "")
        names = np.char.add("part-", np.char.zfill(numbers.astype("U"), 8))
        paths = np.char.add(np.char.add(partition, "/" if self.shape.partitions > 1 else ""), names)
        paths = np.char.add(paths, "-c000.snappy.parquet")
        columns = {
            "path": pa.array(paths),
            "size_bytes": pa.array(np.full(n, 100_000_000, np.int64) + numbers),
            "modified_ms": pa.array(numbers),
            "record_count": pa.array(np.full(n, 1_000_000, np.int64)),
            "partition": pa.array(partition),
        }
        files = pa.table(
            [columns[f.name] if f.name in columns else pa.nulls(n, f.type) for f in FileTable.SCHEMA],
            schema=FileTable.SCHEMA,
        )
        version = self.resolve(ref, at)
        return Snapshot(ref.path, self.name, version, 0, self.shape.schema, FileTable(files), _Details(self.shape))


@dataclass
class SyntheticBuilder:
    """Rows from the made-up bounds, through the builders' own statistics and parts."""

    shape: Shape
    name: str = "synthetic"
    written: list[str] = field(default_factory=list)

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        ids = request.partitions.sort_by("partition_ord").column("partition_id").combine_chunks()
        writer = FactWriter.of(sink, request.partition_ord, ids)
        rows_of = pa.array(request.snapshot_rows)
        for place, leaf in in_column_order(request.leaves):
            number = int(leaf.parts[0][1:])
            facts = facts_of(self.shape.bounds(number), self.shape.files, Trust.COMPUTED).take(rows_of)
            writer.write([leaf], [facts])
            if progress is not None:
                progress("columns", place, len(request.leaves))
        return BuildReport(tuple(writer.close()))


def synthetic_table(folder: str, shape: Shape) -> Table:
    """A handle on the made-up table at a folder, which holds nothing but its indexes."""
    return Table(Handle(SyntheticFormat(shape), TableRef(LocalStorage(folder), folder), Config()))
