"""Parquet files read for their keys: footer first, then the columns that are there, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.formats import Footer, Layouts, Leaf
from metaindex.index.kinds.canonical import answers_for
from metaindex.storage import Storage

from .key_file import Batches, KeyFile
from .parquet_scan import FileColumn

_BATCH_ROWS = 65_536
_LARGE_GROUP = 64 << 20
_LARGE_ROWS = 1 << 18
"""Bytes of the wanted columns of a row group (as in its pages, without compression) and rows, from which on it is read
in pieces. Bytes alone say little of values that repeat."""
_AHEAD = 32 << 20
"""Bytes of a file up to which its columns are fetched ahead of its turn."""


@dataclass(slots=True)
class ParquetOpener:
    """Opens the files of one table. Where a column is in files of one schema by one writer is found out once."""

    leaves: tuple[Leaf, ...]
    _layouts: Layouts = field(init=False)

    def __post_init__(self) -> None:
        self._layouts = Layouts(self.leaves)

    def open(self, storage: Storage, path: str, size: int, *, ahead: bool) -> KeyFile:
        """Open a file; see `key_file.Opener`."""
        source = storage.open_input(path)
        try:
            if source.size() != size:
                raise pa.ArrowInvalid(f"the snapshot says {size} bytes, the file has {source.size()}")
            footer = Footer.of(source)
            metadata = footer.metadata
            opened = pq.ParquetFile(source, metadata=metadata, coerce_int96_timestamp_unit="us", pre_buffer=ahead)
            file = ParquetKeyFile(source, opened, groups=metadata.num_row_groups)
            for leaf, place in zip(self.leaves, self._layouts.places(footer.raw, metadata), strict=True):
                _put(file, opened.schema_arrow, leaf, *place)
            if ahead and size <= _AHEAD:
                file.read_now()
        except BaseException:
            source.close()
            raise
        return file


@dataclass(slots=True)
class ParquetKeyFile(KeyFile):
    """Parquet file read for its keys; see `key_file.KeyFile`."""

    source: pa.NativeFile
    file: pq.ParquetFile
    places: dict[str, FileColumn] = field(default_factory=dict)
    held: list[tuple[list[tuple[int, int]], pa.Table]] | None = None

    def close(self) -> None:
        self.source.close()

    def read_now(self) -> None:
        """Fetches every column that is there, so that nothing is waited for in this file's turn."""
        self.held = list(self._tables(sorted({place.index for place in self.places.values()})))

    def batches(self, wanted: set[str]) -> Batches:
        """Yield batches; see `key_file.KeyFile`."""
        places = [self.places[name] for name in sorted(wanted)]
        metadata = self.file.metadata
        if not places:
            yield from (([(group, 1)], {}) for group in range(self.groups) if metadata.row_group(group).num_rows)
            return
        tables = iter(self.held) if self.held is not None else self._tables(sorted({place.index for place in places}))
        rows = 0
        for groups, table in tables:
            rows += table.num_rows
            if sum(count for _, count in groups) != table.num_rows:
                raise pa.ArrowInvalid(f"the footer says other rows of row groups {groups} than their pages hold")
            if table.num_rows:
                columns = {place.leaf.stable: place.values(table) for place in places}
                for place in places:
                    self._check_calendar(place, columns[place.leaf.stable])
                yield groups, columns
        if rows != metadata.num_rows:
            raise pa.ArrowInvalid(f"the footer says {metadata.num_rows} rows, its pages hold {rows}")

    def _tables(self, indices: Sequence[int]) -> Iterator[tuple[list[tuple[int, int]], pa.Table]]:
        """Small row groups together, large ones in pieces."""
        reader, metadata = self.file.reader, self.file.metadata
        together: list[tuple[int, int]] = []
        held = 0
        for group in range(self.groups):
            told = metadata.row_group(group)
            size, rows = sum(told.column(index).total_uncompressed_size for index in indices), told.num_rows
            large = size >= _LARGE_GROUP or rows >= _LARGE_ROWS
            if together and (large or held + rows > _BATCH_ROWS):
                yield together, self._whole(together, indices)
                together, held = [], 0
            if large:
                at_once = max(1, min(_BATCH_ROWS, _LARGE_GROUP * rows // max(size, 1)))
                for batch in reader.iter_batches(
                    at_once, row_groups=[group], column_indices=indices, use_threads=False
                ):
                    yield [(group, batch.num_rows)], pa.Table.from_batches([batch])
            else:
                together.append((group, rows))
                held += rows
        if together:
            yield together, self._whole(together, indices)

    def _whole(self, groups: list[tuple[int, int]], indices: Sequence[int]) -> pa.Table:
        return self.file.reader.read_row_groups(
            [group for group, _ in groups], column_indices=indices, use_threads=False
        )

    def _check_calendar(self, place: FileColumn, values: pa.Array) -> None:
        if not (pa.types.is_date(values.type) or pa.types.is_timestamp(values.type)) or place.leaf.stable in self.unfit:
            return
        least = pa.array([pc.min(values)], values.type)
        if least.null_count == 0 and Footer.is_old(self.file.metadata, least, int96=place.clock is not None):
            self.unfit[place.leaf.stable] = "dates or timestamps were written in an older calendar"


def _put(
    file: ParquetKeyFile,
    schema: pa.Schema,
    leaf: Leaf,
    index: int | None,
    path: tuple[str, ...],
    constant: pa.Array | None,
    unknown: str,
) -> None:
    """Says of a column what it is in the file; the last four are of `Layouts.places`."""
    if constant is not None:
        file.constants[leaf.stable] = constant
        return
    if unknown or index is None:
        file.unknown[leaf.stable] = unknown
        return
    column = FileColumn.of(file.file, leaf, path, index)
    if not answers_for(column.clock or _held(_type_of(schema, column.path), leaf.type), leaf.type):
        file.unknown[leaf.stable] = Layouts.OTHER_TYPE
        return
    file.present.add(leaf.stable)
    file.places[leaf.stable] = column


def _type_of(schema: pa.Schema, path: tuple[str, ...]) -> pa.DataType:
    type_ = schema.field(schema.get_field_index(path[0])).type
    for part in path[1:]:
        type_ = type_.field(type_.get_field_index(part)).type
    return type_


def _held(stored: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """A UUID is its 16 bytes to a column of those; to one of texts it is another type."""
    return wanted if isinstance(stored, pa.UuidType) and stored.storage_type == wanted else stored
