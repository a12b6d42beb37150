"""Opens one Parquet file of the log (a checkpoint, a part of it, a sidecar), so that errors name a damaged one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from metaindex.formats.columns import child, unchunked
from metaindex.formats.damage import as_damage, must_exist
from metaindex.storage import Storage

_BATCH_BYTES = 1 << 26  # read one after the other into the same memory


@contextmanager
def opened(storage: Storage, path: str, said: str) -> Iterator[Any]:
    """A Parquet file of the log, as a context: what is damaged in it raises CorruptTableError with its name."""
    import pyarrow.parquet as pq

    damage = as_damage(f"{said} cannot be read as a checkpoint: ", "")
    with must_exist(f"{said} is named by the log and is not there"), damage, storage.open_input(path) as source:
        # Spark keeps times as INT96, which Arrow would read as nanoseconds that overflow before 1677 and after 2262.
        yield pq.ParquetFile(source, coerce_int96_timestamp_unit="us", page_checksum_verification=True)


@dataclass(frozen=True, slots=True)
class Batch:
    """Neighbouring row groups, small enough that a column of texts stays below Arrow's 2 GiB."""

    part: Any
    groups: list[int]
    first_row: int
    rows: int

    def adds(self, columns: list[str]) -> dict[str, pa.Array]:
        """Columns of `add` (dotted names below it) by the names of its fields, null where the row is no add."""
        table = self.part.read_row_groups(self.groups, columns=[f"add.{name}" for name in columns])
        add = unchunked(table.column("add"))
        return {add.type.field(i).name: child(add, i) for i in range(add.type.num_fields)}


def batches(part: Any) -> Iterator[Batch]:
    """The whole part."""
    groups: list[int] = []
    first_row = rows = size_bytes = 0
    for number in range(part.num_row_groups):
        group = part.metadata.row_group(number)
        if groups and size_bytes + group.total_byte_size > _BATCH_BYTES:
            yield Batch(part, groups, first_row, rows)
            groups, first_row, rows, size_bytes = [], first_row + rows, 0, 0
        groups.append(number)
        rows += group.num_rows
        size_bytes += group.total_byte_size
    if groups:
        yield Batch(part, groups, first_row, rows)


def has_field(type_: pa.DataType, name: str) -> bool:
    return bool(pa.types.is_struct(type_) and type_.get_field_index(name) >= 0)
