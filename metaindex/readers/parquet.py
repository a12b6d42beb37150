"""Parquet files: batches of a file's rows in file order, as the table's columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from expressions.errors import CorruptTableError
from formats.model import Field

from .errors import ScanError
from .projection import FileNames, Projection, carries_ids

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_BATCH_ROWS = 131_072
# Spark before 3.0, and later ones on demand, wrote dates and timestamps by the Julian calendar: different numbers before these days.
_GREGORIAN_DAY = -141_427  # 1582-10-15
_COMMON_MICROS = -2_208_988_800_000_000  # 1900-01-01: from here on zones agree too


def read_parquet(
    source: pa.NativeFile, fields: tuple[Field, ...], *, names: FileNames, where: str
) -> Iterator[tuple[int, int, list[pa.Array]]]:
    """(first row, rows, one array per field) of each batch, no row left out."""
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=True)
        schema = file.schema_arrow
        yield from _batches(file, schema, fields, Projection(where, names, carries_ids(schema)))
    except pa.ArrowNotImplementedError as error:
        raise ScanError(
            f"a data file's columns must be of types that Arrow reads; {where} has others ({error}); leave them out of columns, or read with .to_spark(spark)"
        ) from error
    except (pa.ArrowInvalid, OSError) as error:
        raise CorruptTableError(
            f"a data file must be a whole Parquet file; {where} is not ({error}); restore it, or remove it from the table"
        ) from error


def _batches(
    file: pq.ParquetFile, schema: pa.Schema, fields: tuple[Field, ...], projection: Projection
) -> Iterator[tuple[int, int, list[pa.Array]]]:
    in_file = list(schema)
    places = [projection.find(f, in_file, top=True) for f in fields]
    names = {in_file[at].name for at in places if at is not None}
    first = 0
    if not names:
        left = file.metadata.num_rows
        while left:
            count = min(left, _BATCH_ROWS)
            yield first, count, [projection.missing(f, count) for f in fields]
            first, left = first + count, left - count
        return
    julian = _is_julian(file.metadata.metadata or {})
    # A name asked for brings every leaf below it, and a top-level column whose name begins with it and a dot: columns are picked by place afterwards.
    for batch in _raw_batches(file, names, any(_dictionary_inside(f.type) for f in in_file if f.name in names)):
        at_name = {name: i for i, name in enumerate(batch.schema.names)}
        arrays = []
        for field, at in zip(fields, places, strict=True):
            if at is None:
                arrays.append(projection.missing(field, batch.num_rows))
                continue
            values = projection.column(field, in_file[at], batch.column(at_name[in_file[at].name]))
            if julian:
                _refuse_julian(values, field, projection.where)
            arrays.append(values)
        yield first, batch.num_rows, arrays
        first += batch.num_rows
    if first != file.metadata.num_rows:
        raise CorruptTableError(
            f"a Parquet file holds the rows that its footer counts; {projection.where} gave {first} of {file.metadata.num_rows}; restore it"
        )


def _raw_batches(file: pq.ParquetFile, names: set[str], group_by_group: bool) -> Iterator[pa.RecordBatch]:
    """Arrow cannot join the dictionaries of two row groups below a struct, list or map: such files are read row group by row group."""
    groups = [[i] for i in range(file.num_row_groups)] if group_by_group else [list(range(file.num_row_groups))]
    for some in groups:
        yield from file.iter_batches(batch_size=_BATCH_ROWS, row_groups=some, columns=sorted(names))


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
