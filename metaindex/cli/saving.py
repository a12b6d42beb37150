"""Rows written to a file, streaming: the file appears whole or not at all."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa

from metaindex.advisor import check_folder, draft_of
from metaindex.core import ArrowRows, MetaIndexError, first_line

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)  # which no reading of rows says


class OutputError(MetaIndexError, OSError):
    """The rows cannot be written there."""


def check_target(name: str, table: str, overwrite: bool) -> None:
    """Said before anything is read, the right to write there too."""
    path = Path(name)
    if path.suffix not in (".parquet", ".csv", ".jsonl"):
        raise OutputError(
            f"rows are written as .parquet, .csv or .jsonl; {name!r} ends otherwise; choose one of these endings"
        )
    if "://" in name:
        raise OutputError(f"rows are written to a local file; {name!r} is elsewhere; write it here and copy it")
    if not path.absolute().parent.is_dir():
        raise OutputError(
            f"the folder of an output file must exist; {path.absolute().parent} does not; create it first"
        )
    if path.is_dir() or (path.exists() and not overwrite):
        raise OutputError(f"an output file is not replaced; {name!r} exists; choose another name or --overwrite")
    if "://" not in table and path.absolute().parent.resolve().is_relative_to(Path(table).resolve()):
        raise OutputError(
            f"a file inside the table's folder would become part of the table; {name!r} is inside; write it elsewhere"
        )
    try:
        check_folder(path.absolute())
    except OSError as error:
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"rows are written beside the output file first; {str(path.absolute().parent)!r} takes no new file"
        f" ({error.strerror or first_line(error)}); choose another folder, change its mode, or free some space"
    )


def save(name: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    """Writes all rows; returns how many. On an error nothing is left."""
    path = Path(name).absolute()
    write = _jsonl if path.suffix == ".jsonl" else partial(_by_arrow, path.suffix)
    try:
        with draft_of(path) as draft:
            return write(draft, schema, batches)
    except pa.ArrowException as error:
        raise OutputError(
            f"a {path.suffix} file holds what it has a form for; of {', '.join(f'{f.name} ({f.type})' for f in schema)}"
            f" it has not ({' '.join(str(error).split())}); choose columns with --columns, or another ending: .parquet,"
            " .jsonl"
        ) from error
    except OSError as error:
        if error.errno in _FULL and not isinstance(error, MetaIndexError):
            raise _unwritten(path, error) from error
        raise


def _by_arrow(suffix: str, path: Path, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    import pyarrow.parquet as pq
    from pyarrow import csv

    rows = 0
    parquet = suffix == ".parquet"
    with pq.ParquetWriter(path, schema, compression="zstd") if parquet else csv.CSVWriter(path, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _jsonl(path: Path, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> int:
    rows = 0
    with path.open("w", encoding="utf-8") as file:
        for batch in batches:
            for row in ArrowRows(batch).plain():
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            rows += batch.num_rows
    return rows
