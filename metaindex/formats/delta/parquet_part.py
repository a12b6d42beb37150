"""Opens one Parquet file of the log (a checkpoint, a part of it, a sidecar), so that errors name a damaged one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from metaindex.core import CorruptTableError, ObjectNotFoundError, StorageError
from metaindex.storage import Storage

from .columns import child, unchunked

_BATCH_BYTES = 1 << 26  # read one after the other into the same memory


class opened:  # noqa: N801 - a context manager, used like a function
    """A Parquet file of the log, as a context: what is damaged in it raises CorruptTableError with its name."""

    def __init__(self, storage: Storage, path: str, said: str) -> None:
        self.storage, self.path, self.said = storage, path, said
        self.source: Any = None

    def __enter__(self) -> Any:
        import pyarrow.parquet as pq

        try:
            self.source = self.storage.open_input(self.path)
            # Spark keeps times as INT96, which Arrow would read as nanoseconds that overflow before 1677 and after
            # 2262.
            return pq.ParquetFile(self.source, coerce_int96_timestamp_unit="us", page_checksum_verification=True)
        except Exception as error:
            self._close()
            self._translate(error)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._close()
        if error is not None:
            self._translate(error)

    def unstated(self) -> frozenset[tuple[int, int]]:
        """The (row group, column) whose statistics are not to be asked of Arrow. Nothing of a log is encrypted: such a
        part is refused."""
        from metaindex.formats.parquet.file import askable  # what few checkpoints need

        chunks, _ = askable(lambda start, length: self.source.read_at(length, start), self.source.size())
        if chunks.encrypted:
            raise ValueError("it has encrypted columns")
        return chunks.unstated

    def _close(self) -> None:
        if self.source is not None:
            self.source.close()

    def _translate(self, error: BaseException) -> None:
        if isinstance(error, ObjectNotFoundError):
            raise CorruptTableError(f"{self.said} is named by the log and is not there") from error
        if isinstance(error, CorruptTableError):  # of an action or a footer, which know no file
            raise CorruptTableError(f"{self.said}: {error}") from error
        if isinstance(error, StorageError | MemoryError):
            return
        if isinstance(error, pa.ArrowException | OSError | ValueError | TypeError | KeyError | IndexError):
            said = " ".join(str(error).split())
            raise CorruptTableError(f"{self.said} cannot be read as a checkpoint: {said}") from error


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
