"""One Parquet footer: read from the file's end, its schema told once for all files that share it, its raw statistics collected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from expressions.errors import CorruptTableError, UnsupportedFeatureError

from .footer_bounds import RawColumn
from .footer_schema import Node, read_schema, type_defined_order
from .footer_trust import Absent, Found, locate
from .model import Leaf
from .older_calendar import may_be_in_older_calendar

_TAIL = 1 << 16  # read first; most footers fit


def open_footer(read: Callable[[int, int], bytes], size: int) -> tuple[bytes, pq.FileMetaData]:
    """The footer's bytes and what Arrow makes of them. `read`: (offset, length) of the file of `size` bytes; called once or twice."""
    tail = read(max(0, size - _TAIL), min(size, _TAIL))
    if len(tail) < min(size, _TAIL) or size < 12:
        raise CorruptTableError(f"a Parquet file of {size} bytes was expected and is truncated; write it again")
    if tail[-4:] != b"PAR1":
        if tail[-4:] == b"PARE":
            raise UnsupportedFeatureError("the footer is encrypted; encrypted Parquet is not supported")
        raise CorruptTableError("it does not end as a Parquet file does: truncated, replaced or of another format")
    length = int.from_bytes(tail[-8:-4], "little")
    if length + 12 > size:
        raise CorruptTableError(f"its footer of {length} bytes does not fit the file; write it again")
    if length + 8 > len(tail):
        tail = read(size - length - 8, length + 8)
    # The reader looks from the end, so the tail alone serves it.
    reader = pq.ParquetReader()
    reader.open(pa.BufferReader(tail))
    return tail[-8 - length : -8], reader.metadata


@dataclass(slots=True)
class Shape:
    """Files of one schema by one writer: where each leaf is, and what was read of them so far in this chunk."""

    places: tuple[Found | Absent, ...]
    ordinals: list[int] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    group_rows: list[int] = field(default_factory=list)
    legacy: list[bool] = field(default_factory=list)
    raw: list[tuple[int, RawColumn]] = field(default_factory=list)  # with the column's ordinal in the file
    of_leaf: dict[int, RawColumn] = field(default_factory=dict)


@dataclass(slots=True)
class Layouts:
    """Schemas seen so far, by the first bytes of their footers."""

    leaves: tuple[Leaf, ...]
    schemas: dict[bytes, tuple[Node, int]] = field(default_factory=dict)
    suffixes: dict[tuple[str, int], bytes] = field(default_factory=dict)

    def schema_of(self, footer: bytes) -> tuple[bytes, Node, int]:
        for prefix, (root, columns) in reversed(self.schemas.copy().items()):
            if footer.startswith(prefix):
                return prefix, root, columns
        root, end = read_schema(footer)
        columns = sum(1 for _ in root.leaves())
        self.schemas[footer[:end]] = (root, columns)
        return footer[:end], root, columns

    def typed_order(self, footer: bytes, created_by: str, columns: int) -> bool:
        suffix = self.suffixes.get((created_by, columns))
        if suffix is None:
            suffix = self.suffixes[created_by, columns] = type_defined_order(created_by, columns)
        return footer.endswith(suffix)


def shape_of(
    layouts: Layouts, footer: bytes, metadata: pq.FileMetaData, shapes: dict[tuple[bytes, str, bool], Shape]
) -> Shape:
    """The shape among `shapes` that this footer has; a new one is added."""
    prefix, root, columns = layouts.schema_of(footer)
    created_by = metadata.created_by or ""
    typed = layouts.typed_order(footer, created_by, columns)
    shape = shapes.get((prefix, created_by, typed))
    if shape is None:
        places = tuple(locate(leaf, root, created_by, typed) for leaf in layouts.leaves)
        shape = shapes[prefix, created_by, typed] = Shape(places)
        shape.of_leaf = {at: RawColumn(p) for at, p in enumerate(places) if isinstance(p, Found)}
        shape.raw = [(raw.found.column, raw) for raw in shape.of_leaf.values()]
    return shape


def collect(shape: Shape, metadata: pq.FileMetaData) -> None:
    """Appends one file's raw statistics, all or nothing: the hot loop, plain accessors on purpose."""
    before = len(shape.group_rows)
    try:
        for ordinal in range(metadata.num_row_groups):
            group = metadata.row_group(ordinal)
            for column, raw in shape.raw:
                chunk = group.column(column)
                raw.values.append(chunk.num_values)
                raw.compressed.append(chunk.total_compressed_size)
                raw.uncompressed.append(chunk.total_uncompressed_size)
                statistics = chunk.statistics
                if statistics is None:
                    raw.nulls.append(None)
                else:
                    raw.nulls.append(statistics.null_count if statistics.has_null_count else None)
                    if statistics.has_min_max:
                        raw.lower.append(statistics.min_raw)
                        raw.upper.append(statistics.max_raw)
                        continue
                raw.lower.append(None)
                raw.upper.append(None)
            shape.group_rows.append(group.num_rows)
        if sum(shape.group_rows[before:]) != metadata.num_rows:
            raise CorruptTableError("its row groups do not add up to its rows: the footer is damaged")
    except BaseException:
        del shape.group_rows[before:]
        for _, raw in shape.raw:
            raw.cut(before)
        raise
    shape.groups.append(metadata.num_row_groups)
    shape.legacy.append(may_be_in_older_calendar(metadata))
