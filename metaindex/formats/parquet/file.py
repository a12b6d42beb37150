"""A Parquet footer: read from the file's end, its schema parsed once for all files that share it, its raw statistics
collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.core import CorruptTableError, UnsupportedFeatureError, first_line
from metaindex.formats.model import Leaf
from metaindex.formats.older_calendar import created_by, may_be_in_older_calendar

from .bounds import RawColumn
from .chunks import Chunks, LeafForm, forms_of, look
from .schema import Node, in_total_order, read_schema, type_defined_order
from .small_file import CopiedPages, small_file
from .trust import AbsentLeaf, Doubt, Found, LeafPlace, locate
from .writers import Writer

TAIL = 1 << 16
"""Bytes of a file's end that are read first; most footers fit."""


def read_footer(read: Callable[[int, int], bytes], size: int) -> tuple[bytes, pq.FileMetaData]:
    """The footer's bytes and what Arrow makes of them. `read`: (offset, length) of the file of `size` bytes; called
    once or twice."""
    tail, footer = _tail(read, size)
    # The reader looks from the end, so the tail alone serves it.
    reader = pq.ParquetReader()
    try:
        reader.open(pa.BufferReader(tail))
    except (pa.ArrowException, OSError) as error:  # of memory, so that no store is to blame
        raise CorruptTableError(f"its footer cannot be read ({first_line(error)}): the file is damaged") from error
    return footer, reader.metadata


def askable(read: Callable[[int, int], bytes], size: int) -> tuple[Chunks, Node]:
    """Return what Arrow may not be asked about a file's row groups, and the schema."""
    footer = _tail(read, size)[1]
    root, end = read_schema(footer)
    return look(footer, end, forms_of(root)), root


def names_of(node: Node, above: str = "") -> Iterator[str]:
    for child in node.children:
        if child.type is not None:
            yield above + child.name
        else:
            yield from names_of(child, f"{above}{child.name}.")


def _tail(read: Callable[[int, int], bytes], size: int) -> tuple[bytes, bytes]:
    """The file's end, and the footer in it."""
    most = min(size, TAIL)
    tail = read(size - most, most)
    if len(tail) < most or size < 12:
        raise CorruptTableError(f"a Parquet file of {size} bytes was expected and is truncated", "write it again")
    if tail[-4:] != b"PAR1":
        if tail[-4:] == b"PARE":
            raise UnsupportedFeatureError("the footer is encrypted; encrypted Parquet is not supported")
        raise CorruptTableError("it does not end as a Parquet file does: truncated, replaced or of another format")
    length = int.from_bytes(tail[-8:-4], "little")
    if length + 12 > size:
        raise CorruptTableError(f"its footer of {length} bytes does not fit the file", "write it again")
    if length + 8 > len(tail):
        tail = read(size - length - 8, length + 8)
    return tail, tail[-8 - length : -8]


@dataclass(frozen=True, slots=True)
class FileSchema:
    """A schema that footers begin with: those bytes, what they say, and what row groups must agree with."""

    prefix: bytes
    root: Node
    forms: tuple[LeafForm, ...]

    def small_file(
        self,
        rows: Sequence[int],
        groups: Sequence[Mapping[int, CopiedPages]],
        created_by: str,
        arrow_schema: bytes | None = None,
    ) -> tuple[pa.Buffer, memoryview]:
        """Return a file of this schema in memory, to which pages of others are to be copied (`small_file`)."""
        return small_file(self.prefix, self.forms, rows, groups, created_by, arrow_schema)


@dataclass(slots=True)
class Shape:
    """Files of one schema by one writer: where each leaf is, and what was read of them so far in this chunk."""

    places: tuple[Found | AbsentLeaf, ...]
    total: bool = False  # floats are in total order: their NaN may be counted
    ordinals: list[int] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    group_rows: list[int] = field(default_factory=list)
    legacy: list[bool] = field(default_factory=list)
    raw: list[tuple[int, RawColumn]] = field(default_factory=list)  # with the column's ordinal in the file
    of_leaf: dict[int, RawColumn] = field(default_factory=dict)


ShapeKey = tuple[bytes, Writer, bool, bool, frozenset[int]]


@dataclass(slots=True)
class Layouts:
    """Schemas seen so far, by the first bytes of their footers."""

    OTHER_TYPE: ClassVar[str] = Doubt.OTHER_TYPE.value

    leaves: tuple[Leaf, ...]
    schemas: dict[bytes, FileSchema] = field(default_factory=dict)
    known: dict[ShapeKey, Shape] = field(default_factory=dict)

    def places(self, footer: bytes, metadata: pq.FileMetaData) -> list[LeafPlace]:
        """Return what a file shows of each leaf."""
        places = shape_of(self, footer, metadata, self.known)[0].places
        return [place.place(leaf.type) for place, leaf in zip(places, self.leaves, strict=True)]

    def schema_of(self, footer: bytes) -> FileSchema:
        for prefix, schema in reversed(self.schemas.copy().items()):
            if footer.startswith(prefix):
                return schema
        root, end = read_schema(footer)
        file_schema = self.schemas[footer[:end]] = FileSchema(footer[:end], root, forms_of(root))
        return file_schema


def shape_of(
    layouts: Layouts, footer: bytes, metadata: pq.FileMetaData, shapes: dict[ShapeKey, Shape]
) -> tuple[Shape, Chunks]:
    """The shape among `shapes` that this footer has; a new one is added. And what of the footer may be asked."""
    schema = layouts.schema_of(footer)
    said = created_by(metadata)
    ending = type_defined_order(said, len(schema.forms))
    typed, total = footer.endswith(ending), False
    if not typed and (total := in_total_order(footer[-len(ending) :], ending, [form.floats for form in schema.forms])):
        typed, ending = True, footer[-len(ending) :]
    chunks = look(footer, len(schema.prefix), schema.forms, ending, total)
    writer = Writer.of(said, lambda: metadata.metadata)
    key = (schema.prefix, writer, typed, total, chunks.encrypted)
    shape = shapes.get(key)
    if shape is None:
        located = [locate(leaf, schema.root, writer, key[2]) for leaf in layouts.leaves]
        places = tuple(_readable(place, chunks) for place in located)
        shape = shapes[key] = Shape(places, total)
        shape.of_leaf = {at: RawColumn(p) for at, p in enumerate(places) if isinstance(p, Found)}
        shape.raw = [(raw.place.column, raw) for raw in shape.of_leaf.values()]
    return shape, chunks


def _readable(place: Found | AbsentLeaf, chunks: Chunks) -> Found | AbsentLeaf:
    hidden = isinstance(place, Found) and place.column in chunks.encrypted
    return AbsentLeaf(False, None, Doubt.ENCRYPTED) if hidden else place


def collect(shape: Shape, metadata: pq.FileMetaData, chunks: Chunks) -> None:
    """Appends one file's raw statistics, all or nothing: the hot loop, plain accessors on purpose."""
    before = len(shape.group_rows)
    unstated = chunks.unstated
    try:
        for ordinal in range(metadata.num_row_groups):
            group = metadata.row_group(ordinal)
            for column, raw in shape.raw:
                chunk = group.column(column)
                raw.values.append(chunk.num_values)
                raw.compressed.append(chunk.total_compressed_size)
                raw.uncompressed.append(chunk.total_uncompressed_size)
                floats = chunks.floats.get((ordinal, column)) if shape.total else None
                if shape.total:
                    raw.nans.append(None if floats is None else floats.nans)
                statistics = None if unstated and (ordinal, column) in unstated else chunk.statistics
                if statistics is None:
                    raw.nulls.append(None)
                else:
                    raw.nulls.append(statistics.null_count if statistics.has_null_count else None)
                    if floats is not None:
                        raw.lower.append(floats.lower)
                        raw.upper.append(floats.upper)
                        continue
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
