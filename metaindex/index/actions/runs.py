"""Writes the run of a set of files: numbers them, writes `files`, `file_ids` and `partitions`, has the builder write
the statistics, then the manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from metaindex.formats import FileTable, Snapshot, TableRef
from metaindex.index.build.protocol import Builder, BuildReport, BuildRequest, KeyBuild, Progress
from metaindex.index.keys import column_id, file_ids
from metaindex.index.kinds.described import fact_kinds, leaves_of
from metaindex.index.kinds.kind import key_plans
from metaindex.index.kinds.renames import kinds_at
from metaindex.index.kinds.served import row_plans
from metaindex.index.log.entry import CoveredColumn, CoveredKey, KindSpec, RunRef
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.rows import FILES
from metaindex.index.store.writer import RunSink, id_rows, number_partitions, side_by_side, write_sorted

MOST_TEXT = (1 << 31) - (1 << 20)
"""Bytes of texts that Arrow takes from at once."""


@dataclass(frozen=True, slots=True)
class BuiltRun:
    """A written run, and what its builder could not know."""

    ref: RunRef
    report: BuildReport
    order: npt.NDArray[np.int64]  # row of the snapshot for each ordinal


def build_run(
    ref: TableRef,
    snapshot: Snapshot,
    rows: npt.NDArray[np.int64],
    specs: Sequence[KindSpec],
    builder: Builder | None,
    sink: RunSink,
    progress: Progress | None = None,
    without_nan: frozenset[str] = frozenset(),
    others: Sequence[RunRef] = (),
) -> BuiltRun:
    """Writes everything of a run for the given rows of the snapshot's files. Without a builder the run only names them
    (a quick refresh). `without_nan`: see `BuildRequest`; `others`: runs that stay beside it. UnknownColumnError where
    every column of the index is gone."""
    kinds = kinds_at(specs, snapshot.schema) if builder is not None else []
    files, rows = in_order(snapshot.files.table.select(FileTable.SCHEMA.names), rows)
    if ref.confines is not None:
        ref.confines.check(files.paths.to_pylist())
    partition_ord, partitions = number_partitions(files)
    ids = file_ids(files)
    describing, leaves = fact_kinds(kinds), leaves_of(kinds, snapshot.schema)
    request = BuildRequest(
        ref=ref,
        snapshot=snapshot,
        files=files,
        snapshot_rows=rows,
        partition_ord=partition_ord,
        partitions=partitions,
        leaves=tuple(leaf for leaf in leaves if not leaf.field.partition),
        partition_leaves=tuple(leaf for leaf in leaves if leaf.field.partition),
        trust_log=all(kind.trust_log for kind in describing),
        scan_floats=any(kind.scan_floats for kind in describing),
        without_nan=without_nan,
        earlier=tuple(key for run in reversed(others) for key in run.keys),
        only_spark=any(kind.needs_spark for kind in kinds),
    )
    report, keyed = BuildReport(()), KeyBuild((), ())
    covered: tuple[CoveredKey, ...] = ()
    with side_by_side(sink) as many:
        parts = _write_files(many, files, partition_ord, partitions, ids)
        if builder is not None:
            if describing:
                report = builder.facts(request, many, progress)
            if plans := key_plans(kinds, snapshot.schema):
                keyed = builder.keys(request, plans, many, progress)
                report = _with_keys(report, keyed)
            if copies := row_plans(kinds, snapshot.schema):
                stored = builder.rows(request, copies, many, progress)
                report, covered = _with_keys(report, stored), stored.keys
    parts = [*parts, *report.parts]
    columns = tuple(
        CoveredColumn(leaf.stable, column_id(leaf.stable), ".".join(leaf.parts), str(leaf.type), leaf.field.partition)
        for leaf in leaves
    )
    run = sink.sealed(
        parts,
        files=len(files),
        partitions=partitions.num_rows,
        files_digest=xxhash.xxh3_128_hexdigest(ids.buffers()[1] or b""),
        columns=columns,
        builder=builder.name if builder is not None else "",
        uncovered_files=report.uncovered_files,
        keys=(*keyed.keys, *covered),
        table_uuid=snapshot.table_uuid,
    )
    return BuiltRun(run, report, rows)


def _with_keys(report: BuildReport, keyed: KeyBuild) -> BuildReport:
    """Combine the reports on statistics and on keys. A file that neither could read is listed once."""
    told = dict(report.uncovered)
    both = sum(path in told for path, _ in keyed.uncovered)
    return BuildReport(
        parts=(*report.parts, *keyed.parts),
        uncovered=tuple((dict(keyed.uncovered) | told).items())[:100],
        uncovered_files=report.uncovered_files + keyed.uncovered_files - both,
        files_scanned=max(report.files_scanned, keyed.files_scanned),
    )


def in_order(
    table: pa.Table, rows: npt.NDArray[np.int64], most_bytes: int = MOST_TEXT
) -> tuple[FileTable, npt.NDArray[np.int64]]:
    """The given rows of a table of files, by partition and path, and which rows those are. `most_bytes`: of a column of
    texts that are gathered at once."""
    keys = table.select(["partition", "path"])
    if len(rows) < table.num_rows:
        keys = gathered(keys, rows, most_bytes)
    order = pc.sort_indices(keys, sort_keys=[("partition", "ascending"), ("path", "ascending")])
    rows = rows[order.to_numpy()]
    return FileTable(gathered(table, rows, most_bytes)), rows


def gathered(table: pa.Table, rows: npt.NDArray[np.int64], most_bytes: int = MOST_TEXT) -> pa.Table:
    """Rows of a table, in the order asked. Arrow takes from a column of texts only as long as all of it is below 2 GiB:
    a larger one is taken by wide offsets and handed on in chunks."""
    at = pa.array(rows)
    columns = []
    for column, field in zip(table.columns, table.schema, strict=True):
        if not pa.types.is_string(field.type) or column.nbytes <= most_bytes:
            columns.append(column.take(at).combine_chunks())
            continue
        wide = column.cast(pa.large_string()).combine_chunks()
        chunk_rows = max(1, len(rows) * most_bytes // (2 * column.nbytes))
        pieces = [wide.take(at.slice(start, chunk_rows)) for start in range(0, len(rows), chunk_rows)]
        columns.append(pa.chunked_array([piece.cast(field.type) for piece in pieces], field.type))
    return pa.Table.from_arrays(columns, schema=table.schema)


def _write_files(
    sink: RunSink, files: FileTable, partition_ord: npt.NDArray[np.int32], partitions: pa.Table, ids: pa.Array
) -> list[PartInfo]:
    ordinals = pa.array(np.arange(len(files), dtype=np.int32))
    columns = {"ordinal": ordinals, "partition_ord": pa.array(partition_ord), "file_id": ids}
    by_ordinal = pa.table([columns[n] if n in columns else files.table.column(n) for n in FILES.names], schema=FILES)
    return [
        *write_sorted(sink, "files", by_ordinal),
        *write_sorted(sink, "file_ids", id_rows(ids)),
        *write_sorted(sink, "partitions", partitions.sort_by("partition_id")),
    ]
