"""The keys of another table, whatever holds it: the columns that are asked, as one Arrow table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ArgumentError, UnknownColumnError, dataclass, first_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Named = str | Sequence[str] | Mapping[str, str]
"""Columns that have the same name on both sides; or of each of the table's the keys' column."""

MOST_FROM_SPARK = 1_000_000


@dataclass(frozen=True, slots=True)
class Pairs:
    """The columns of an equality: of the table, and of the keys."""

    table: tuple[str, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, on: object) -> Pairs:
        """Raises ArgumentError for what names none, or one twice."""
        if isinstance(on, str):
            on = [on]
        if isinstance(on, Mapping):
            table, keys = tuple(on), tuple(on.values())
        elif isinstance(on, Sequence):
            table = keys = tuple(on)
        else:
            table = keys = ()
        if not table or not all(isinstance(name, str) for name in (*table, *keys)):
            raise ArgumentError(
                "keys are compared column by column; on= names them, as in on=['id'], or on={'id': 'their_id'} where"
                f" the keys call it otherwise; got {on!r}"
            )
        if len(set(table)) < len(table):
            raise ArgumentError(f"a column of the table is compared once; on= has {', '.join(table)}; name it once")
        return cls(table, keys)


def key_table(source: object, pairs: Pairs) -> pa.Table:
    """The keys' columns, named as the table's. Taken are Arrow tables, batches, readers and arrays (of one column),
    pandas and Polars frames, whatever has an Arrow stream, and Spark DataFrames (of at most a million distinct keys).
    """
    if _module(source) == "pyspark":
        source = _of_spark(source, pairs)
    rows = _table(source, pairs)
    for name in pairs.keys:
        if rows.schema.names.count(name) != 1:
            known = ", ".join(rows.schema.names[:20])
            many = "several" if name in rows.schema.names else "no"
            raise UnknownColumnError(
                f"keys have a column for each name in on=; there is {many} {name!r}; they have {known}"
            )
    rows = rows.select(list(pairs.keys))
    return pa.table([_plain(name, column) for name, column in zip(pairs.keys, rows.columns, strict=True)], pairs.table)


def _table(source: object, pairs: Pairs) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.Array | pa.ChunkedArray) and len(pairs.keys) == 1:
        return pa.table({pairs.keys[0]: source})
    if _module(source) == "pandas" and hasattr(source, "columns"):
        try:
            return pa.Table.from_pandas(source, preserve_index=False)
        except (TypeError, ValueError, pa.ArrowException) as error:
            raise ArgumentError(
                "keys are a table of columns, each of one type; the pandas frame is none to Arrow"
                f" ({first_line(error)}); give its key columns alone, or cast them"
            ) from error
    if _module(source) == "polars" and hasattr(source, "collect"):
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return pa.table(source)
        except (TypeError, ValueError, pa.ArrowException) as error:
            raise ArgumentError(
                f"keys are a table; what was given is none to Arrow ({error}); give its rows"
            ) from error
    raise ArgumentError(
        "keys are an Arrow table, a pandas or Polars frame, or another table with an Arrow stream; got"
        f" {type(source).__name__}; give one, as in pa.table({{'{pairs.keys[0]}': [1, 2]}})"
    )


def _of_spark(frame: Any, pairs: Pairs) -> pa.Table:
    from metaindex.core import SparkDriver

    keys: DataFrame = frame.select(*(_quoted(name) for name in pairs.keys)).distinct()
    rows = SparkDriver.arrow_of(keys.limit(MOST_FROM_SPARK + 1))
    if rows.num_rows > MOST_FROM_SPARK:
        raise ArgumentError(
            f"keys of a DataFrame come to the driver, at most {MOST_FROM_SPARK:,}; it has more; join in Spark, or give"
            " their range"
        )
    return rows


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _module(source: object) -> str:
    return type(source).__module__.split(".", 1)[0]


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values themselves, in a type for which Arrow has its functions: out of dictionaries, runs, views (as Polars
    and DuckDB hand texts over) and what extensions store; UUIDs stay what they are."""
    try:
        chunks = [_values(chunk) for chunk in column.chunks]
        return pa.chunked_array(chunks, chunks[0].type if chunks else _values(pa.nulls(0, column.type)).type)
    except pa.ArrowException as error:
        raise ArgumentError(
            f"keys are values that Arrow can compare; those of {name!r} are {column.type} ({first_line(error)}); cast"
            " them first"
        ) from error


def _values(array: pa.Array) -> pa.Array:
    t, is_ = array.type, pa.types
    if isinstance(t, pa.BaseExtensionType) and not isinstance(t, pa.UuidType):
        if t.extension_name == "arrow.bool8":
            return array.storage.cast(pa.bool_())
        return _values(array.storage)
    if is_.is_run_end_encoded(t):
        return _values(pc.run_end_decode(array))
    if is_.is_dictionary(t):
        return _values(array.dictionary).take(array.indices)
    if is_.is_string_view(t):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if is_.is_binary_view(t) else array
