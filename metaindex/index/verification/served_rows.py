"""Rows that are read in the table's place, against the rows of data files: those of sampled files are read as the
table shows them, and what is stored must be exactly that, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.core import MetaIndexError, first_line
from metaindex.formats import Schema, TableRef
from metaindex.index.build.merging import unkeyed_of
from metaindex.index.build.protocol import BuildRequest
from metaindex.index.build.row_source import DataFile, RowSource
from metaindex.index.kinds.registry import KINDS
from metaindex.index.kinds.served import ORDINAL, ROW
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.reader import RunReader

from .key_rows import request_of
from .report import Finding, Verification, judged
from .rows import Sample

_FILES_AT_ONCE = 200


def check_served_rows(sample: Sample) -> None:
    """Compares the files of a sample."""
    if sample.index.of_text:
        sample.report.skipped("rows of texts are what Spark reads, and are compared by it alone")
        return
    runs, done = sample.of(KINDS.served_keys), 0
    for run_rows, ordinals in runs:
        for start in range(0, len(ordinals), _FILES_AT_ONCE):
            request, here = request_of(sample, run_rows, ordinals[start : start + _FILES_AT_ONCE])
            some = SampledFiles(run_rows.run.run, here, request)
            reader, schema = sample.index.reader(run_rows.run), sample.recorded.schema
            check_rows_of(reader, KINDS.served_keys(run_rows.run), some, schema, sample.ref, sample.report)
            done += len(here)
            sample.tell("data files read for covering indexes", done, runs)


@dataclass(frozen=True, slots=True)
class SampledFiles:
    """Files of a run that are read again, by ordinal, as a builder gets them."""

    run: str
    ordinals: npt.NDArray[np.intp]
    request: BuildRequest


def check_rows_of(
    reader: RunReader,
    keys: Sequence[CoveredKey],
    some: SampledFiles,
    schema: Schema,
    ref: TableRef,
    report: Verification,
) -> None:
    """Compares the stored rows of these files with what they hold."""
    without = unkeyed_of(reader)
    for key in keys:
        plan = KINDS.served_rows(key).planned_again(key, schema)
        if plan is None:
            report.skipped("a column of a covering index has another type now, or is not in the table any more")
            continue
        unkeyed = set(without.get(key.key_id, np.zeros(0, np.int64)).tolist())
        kinds, source = RowSource.of(some.request, plan)
        stored = KINDS.served_rows(key).rows_of(reader, key, some.ordinals)
        paths = some.request.files.table.column("path").to_pylist()
        sizes = some.request.files.table.column("size_bytes").to_pylist()
        for place, ordinal in enumerate(some.ordinals.tolist()):
            file = DataFile(paths[place], sizes[place], None, None, int(kinds[place]))
            if ordinal in unkeyed:
                _tell_unread(ref, source, file, report)
                continue
            message = _compare(ref, source, file, stored, ordinal, report)
            if message is not None:
                report.found([Finding(key.kind, f"{_named(key)}: {message}", run=some.run, file=file.path)])


def _tell_unread(ref: TableRef, source: RowSource, file: DataFile, report: Verification) -> None:
    """Report why a file of which the index has no rows cannot be read, if so."""
    try:
        for _ in source.read(ref.storage, file):
            pass
    except FileNotFoundError:
        report.gone_files.add(file.path)
    except (MetaIndexError, pa.ArrowException, OSError) as error:
        judged(error)
        report.unreadable(file.path, f"data file {file.path!r} cannot be read: {first_line(error)}")


def _compare(
    ref: TableRef, source: RowSource, file: DataFile, stored: pa.Table, ordinal: int, report: Verification
) -> str | None:
    schema = source.plan.stored
    try:
        pieces = [pa.Table.from_arrays(columns, schema=schema) for _, columns in source.read(ref.storage, file)]
    except (MetaIndexError, pa.ArrowException, OSError) as error:
        judged(error)
        return f"the index has its rows, which cannot be read: {first_line(error)}"
    held = stored.filter(pc.equal(stored.column(ORDINAL), ordinal)).sort_by(ROW).select(schema.names)
    there = pa.concat_tables(pieces) if pieces else schema.empty_table()
    report.rows_compared += there.num_rows
    report.compared.add(file.path)
    if held.num_rows != there.num_rows:
        return f"the index has {held.num_rows:,} rows of it, it has {there.num_rows:,}"
    for name in schema.names:
        if _image(held.select([name])) != _image(there.select([name])):
            return f"the index has other values of column {name!r} than its rows"
    return None


def _image(table: pa.Table) -> bytes:
    """Return bytes that are equal for equal values, NaN and nested ones too, whatever is stored behind a NULL."""
    out = pa.BufferOutputStream()
    whole = table.combine_chunks()
    pq.write_table(whole, out, compression="none", use_dictionary=False, write_statistics=False, store_schema=False)
    return bytes(out.getvalue().to_pybytes())


def _named(key: CoveredKey) -> str:
    return f"{key.kind} index of ({', '.join(column.name for column in key.columns)})"
