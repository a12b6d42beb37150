"""One Parquet file of the log (a checkpoint, a part of it, a sidecar): opened so that its damage has a name."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from expressions.errors import CorruptTableError, ObjectNotFoundError, StorageError
from formats.storage import Storage

from .columns import one


class opened:  # noqa: N801 - a context manager, used like a function
    """A Parquet file of the log, as a context: what is damaged in it raises CorruptTableError with its name."""

    def __init__(self, storage: Storage, path: str, said: str) -> None:
        self.storage, self.path, self.said = storage, path, said
        self.source: Any = None

    def __enter__(self) -> Any:
        import pyarrow.parquet as pq

        try:
            self.source = self.storage.open_input(self.path)
            return pq.ParquetFile(self.source)
        except Exception as error:
            self._close()
            self._translate(error)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._close()
        if error is not None:
            self._translate(error)

    def _close(self) -> None:
        if self.source is not None:
            self.source.close()

    def _translate(self, error: BaseException) -> None:
        if isinstance(error, ObjectNotFoundError):
            raise CorruptTableError(f"{self.said} is named by the log and is not there") from error
        if isinstance(error, StorageError | CorruptTableError | MemoryError):
            return
        if isinstance(error, pa.ArrowException | OSError | ValueError | TypeError | KeyError | IndexError):
            said = " ".join(str(error).split())
            raise CorruptTableError(f"{self.said} cannot be read as a checkpoint: {said}") from error


def flattened(table: pa.Table) -> dict[str, pa.Array]:
    """The fields of `add` as columns, null where the row is no add."""
    import pyarrow.compute as pc

    add = one(table.column("add"))
    return {add.type.field(i).name: pc.struct_field(add, [i]) for i in range(add.type.num_fields)}


def has_field(type_: pa.DataType, name: str) -> bool:
    return bool(pa.types.is_struct(type_) and type_.get_field_index(name) >= 0)
