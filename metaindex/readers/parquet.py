"""Parquet files: batches of a file's rows in file order, as the table's columns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from expressions.errors import CorruptTableError, StorageError
from formats.model import Field

from .errors import ScanError
from .projection import FileNames, Projection, carries_ids
from .row_groups import RowGroups

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_BATCH_ROWS = 131_072
_AHEAD_BYTES = 64 << 20  # of a file, read ahead of what is asked: Arrow fetches the row groups it is given at once
_THREADS_BYTES = 4 << 20  # below, handing columns to threads takes longer than decoding them
# Spark before 3.0, and later ones on demand, wrote dates and timestamps by the Julian calendar: different numbers before these days.
_GREGORIAN_DAY = -141_427  # 1582-10-15
_COMMON_MICROS = -2_208_988_800_000_000  # 1900-01-01: from here on zones agree too


def read_parquet(
    source: pa.NativeFile,
    fields: tuple[Field, ...],
    *,
    names: FileNames,
    where: str,
    row_groups: RowGroups,
    path: str = "",
) -> Iterator[tuple[int, int, list[pa.Array]]]:
    """(first row, rows, one array per field) of each batch; only rows of row groups that cannot match are left out. `path`: of the file, as `row_groups` knows it."""
    try:
        file, runs = row_groups.open(source, path)
        schema = file.schema_arrow
        reader = _Reader(file, schema, fields, Projection(where, names, carries_ids(schema)))
        for run in runs:
            yield from reader.read(run)
    except pa.ArrowNotImplementedError as error:
        raise ScanError(
            f"a data file's columns must be of types that Arrow reads; {where} has others ({error}); leave them out of columns, or read with .to_spark(spark)"
        ) from error
    except StorageError:
        raise  # a store that does not answer is no damage
    except (pa.ArrowInvalid, OSError) as error:
        raise CorruptTableError(
            f"a data file must be a whole Parquet file; {where} is not ({error}); restore it, or remove it from the table"
        ) from error


class _Reader:
    """One file's columns, as the table's."""

    def __init__(
        self, file: pq.ParquetFile, schema: pa.Schema, fields: tuple[Field, ...], projection: Projection
    ) -> None:
        self._file = file
        self._fields = fields
        self._projection = projection
        self._in_file = list(schema)
        self._places = [projection.find(f, self._in_file, top=True) for f in fields]
        self._names = {self._in_file[at].name for at in self._places if at is not None}
        self._julian = _is_julian(file.metadata.metadata or {})
        groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        self._starts = [0, *itertools.accumulate(group.num_rows for group in groups)]
        self._bytes = [group.total_byte_size for group in groups]

    def read(self, groups: range) -> Iterator[tuple[int, int, list[pa.Array]]]:
        first, end = self._starts[groups.start], self._starts[groups.stop]
        if not self._names:
            for at in range(first, end, _BATCH_ROWS):
                count = min(end - at, _BATCH_ROWS)
                yield at, count, [self._projection.missing(f, count) for f in self._fields]
            return
        for batch in self._raw_batches(groups):
            yield first, batch.num_rows, self._columns(batch)
            first += batch.num_rows
        if first != end:
            raise CorruptTableError(
                f"a Parquet file holds the rows that its footer counts; {self._projection.where} gave {end - first} fewer; restore it"
            )

    def _columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        # A name asked for brings every leaf below it, and a top-level column whose name begins with it and a dot: columns are picked by place here.
        at_name = {name: i for i, name in enumerate(batch.schema.names)}
        arrays = []
        for field, at in zip(self._fields, self._places, strict=True):
            if at is None:
                arrays.append(self._projection.missing(field, batch.num_rows))
                continue
            found = self._in_file[at]
            values = self._projection.column(field, found, batch.column(at_name[found.name]))
            if self._julian:
                _refuse_julian(values, field, self._projection.where)
            arrays.append(values)
        return arrays

    def _raw_batches(self, groups: range) -> Iterator[pa.RecordBatch]:
        """Arrow cannot join the dictionaries of two row groups below a struct, list or map: such files are read row group by row group."""
        one_by_one = any(_dictionary_inside(f.type) for f in self._in_file if f.name in self._names)
        names = sorted(self._names)
        at = self._leaves()
        for some in self._portions(groups, 0 if one_by_one else _AHEAD_BYTES):
            if sum(self._bytes[i] for i in some) > _THREADS_BYTES:
                yield from self._file.iter_batches(batch_size=_BATCH_ROWS, row_groups=some, columns=names)
            elif at is None:  # as one, by this thread: a stream of batches is handed over by another
                yield from self._file.read_row_groups(some, names, use_threads=False).to_batches(_BATCH_ROWS)
            else:
                found = self._file.reader.read_row_groups(some, column_indices=at, use_threads=False)
                yield from found.to_batches(_BATCH_ROWS)

    def _leaves(self) -> list[int] | None:
        """The places of the leaves of the columns that are read: pyarrow would look for their names among those of all leaves. None where Arrow's types do not tell the file's leaves."""
        counts = [_leaves_of(f.type) for f in self._in_file]
        if sum(counts) != self._file.metadata.num_columns:
            return None
        ends = list(itertools.accumulate(counts))
        columns = zip(self._in_file, counts, ends, strict=True)
        return [at for f, count, end in columns if f.name in self._names for at in range(end - count, end)]

    def _portions(self, groups: range, most: int) -> Iterator[list[int]]:
        """Neighbouring row groups of `most` bytes together, at least one."""
        portion: list[int] = []
        size = 0
        for group in groups:
            if portion and size + self._bytes[group] > most:
                yield portion
                portion, size = [], 0
            portion.append(group)
            size += self._bytes[group]
        yield portion


def _leaves_of(t: pa.DataType) -> int:
    if not pa.types.is_nested(t):
        return 1
    return sum(_leaves_of(t.field(i).type) for i in range(t.num_fields))


def _dictionary_inside(t: pa.DataType) -> bool:
    if not pa.types.is_nested(t):
        return False
    inside = [t.field(i).type for i in range(t.num_fields)]
    return any(pa.types.is_dictionary(one) or _dictionary_inside(one) for one in inside)


def _is_julian(metadata: dict[bytes, bytes]) -> bool:
    if b"org.apache.spark.legacyDateTime" in metadata or b"org.apache.spark.legacyINT96" in metadata:
        return True
    version = re.match(rb"(\d+)\.", metadata.get(b"org.apache.spark.version", b""))
    return version is not None and int(version[1]) < 3


def _refuse_julian(values: pa.Array, field: Field, where: str) -> None:
    if pa.types.is_date32(values.type):
        early = pc.any(pc.less(values.view(pa.int32()), _GREGORIAN_DAY)).as_py()
    elif pa.types.is_timestamp(values.type):
        early = pc.any(pc.less(values.cast(pa.timestamp("us")).view(pa.int64()), _COMMON_MICROS)).as_py()
    elif pa.types.is_nested(values.type) and _holds_times(values.type):
        raise ScanError(
            f"dates of the Julian calendar are read by Spark only; nested column {field.name!r} of {where} may hold some; read with .to_spark(spark)"
        )
    else:
        return
    if early:
        raise ScanError(
            f"dates of the Julian calendar are read by Spark only; column {field.name!r} of {where} holds some from before 1900; read with .to_spark(spark)"
        )


def _holds_times(t: pa.DataType) -> bool:
    if pa.types.is_nested(t):
        return any(_holds_times(t.field(i).type) for i in range(t.num_fields))
    return bool(pa.types.is_temporal(t))
