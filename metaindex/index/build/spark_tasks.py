"""Functions from Arrow batches to Arrow batches that run in Spark's Python workers. No Spark is imported here.

`ReadTask` reads files and says the rows of their facts; `WriteTask` writes sorted rows as parts of a run. Both are the
local builder's own code over a share of the files, so the two builders agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metaindex.index.build.collect import Collected, FactScan, collect
from metaindex.index.kinds.described import Level
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.kinds.spark_types import spark_schema
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.writer import PartStream, RunSink
from metaindex.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import Row
    from pyspark.sql.types import StructType


NEXT_RANGE = 1 << 32
"""The parts of a range are told of by numbers from its own times this on: it may have as many as it likes."""


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A share of the files, to be read: one at a time on a disk, several at a time from an object store."""

    storage: Storage
    source: FactScan

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the facts of the files described by the batches (FILE)."""
        threads = 4 if "://" in self.storage.root else 1
        for batch in batches:
            files = pa.Table.from_batches([batch])
            if files.num_rows:
                collected = collect(
                    self.storage, self.source, files.column("path"), files.column("size_bytes"), threads
                )
                yield from file_rows(self.source, files, collected)


def file_rows(source: FactScan, files: pa.Table, collected: Collected) -> Iterator[pa.RecordBatch]:
    """FILE_ROWS of the files, column by column."""
    columns = [files.column(name).combine_chunks() for name in ("ordinal", "partition_ord", "partition_id")]
    count = files.num_rows
    problems = pa.array([collected.problems.get(row) for row in range(count)], pa.string())
    paths = pa.array(
        [files.column("path")[row].as_py() if row in collected.problems else None for row in range(count)], pa.string()
    )
    for place, leaf in enumerate(source.leaves):
        rows = FACT_ROWS.rows(leaf, collected.facts[place], *columns)
        first = place == 0
        said = [
            pa.repeat(first, count),
            paths if first else pa.nulls(count, pa.string()),
            problems if first else pa.nulls(count, pa.string()),
            pa.array(collected.scanned) if first else pa.repeat(False, count),
        ]
        table = pa.Table.from_arrays([*rows.columns, *said], schema=FILE_ROWS)
        yield from table.combine_chunks().to_batches()


@dataclass(frozen=True, slots=True)
class WriteTask:
    """A range of sorted rows, of so many, to be written."""

    sink: RunSink
    level: Level
    ranges: int

    def run(self, batches: Iterator[pa.RecordBatch], partition: int) -> Iterator[pa.RecordBatch]:
        """Writes the batches as parts, in numbers that no other range takes, and says which (WRITTEN)."""
        level = self.level
        stream = PartStream(self.sink, level.partition, level.schema, level.columns, partition, self.ranges)
        for batch in batches:
            table = pa.Table.from_batches([batch])
            stream.add(table.select(level.schema.names).cast(level.schema))
        yield from written(stream.close(needed=False), partition * NEXT_RANGE)


def written(parts: Sequence[PartInfo], first: int) -> Iterator[pa.RecordBatch]:
    """Parts as rows (WRITTEN), numbered from `first` on."""
    rows = [asdict(part) | {"number": first + i} for i, part in enumerate(parts)]
    if rows:
        yield from pa.Table.from_pylist(rows, schema=WRITTEN).to_batches()


def part_of(row: Row | Mapping[str, Any]) -> PartInfo:
    """A row of WRITTEN as what it says."""
    return PartInfo(**{name: row[name] for name in PartInfo.__dataclass_fields__})


FILE = pa.schema(
    [
        pa.field("ordinal", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("size_bytes", pa.int64()),
        pa.field("partition_ord", pa.int32()),
        pa.field("partition_id", pa.int64()),
    ]
)
"""What a task is told of a file."""

FILE_ROWS = pa.schema(
    [
        *(field.with_nullable(True) for field in FACT_ROWS.files.schema),
        pa.field("first", pa.bool_()),  # the row of the file's first column: what is said once a file stands there
        pa.field("path", pa.string()),  # of a file with a problem
        pa.field("problem", pa.string()),
        pa.field("scanned", pa.bool_()),
    ]
)
"""The rows of facts with what the report says of the file."""

WRITTEN = pa.schema(
    [
        pa.field("number", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("path", pa.string()),
        pa.field("rows", pa.int64()),
        pa.field("size_bytes", pa.int64()),
        pa.field("footer_bytes", pa.int64()),
        pa.field("footer_digest", pa.string()),
        pa.field("first_key", pa.int64()),
        pa.field("last_key", pa.int64()),
        pa.field("least", pa.string()),
        pa.field("greatest", pa.string()),
    ]
)
"""A PartInfo as a row."""

GATHERED = pa.schema([pa.field("place", pa.int32()), pa.field("data", pa.binary())])
"""What a task found of a key, by the key's place: a pickled value of ours."""

_SQL = {
    pa.int8(): "tinyint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.binary(): "binary",
    pa.string(): "string",
    pa.bool_(): "boolean",
}


def sql_schema(schema: pa.Schema) -> str:
    """The schema in Spark's words."""
    return ", ".join(f"`{field.name}` {_SQL[field.type]}" for field in schema)


def struct(schema: pa.Schema) -> StructType:
    """Return the schema as a Spark type, with nested columns."""
    import json

    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(spark_schema(list(schema))))
