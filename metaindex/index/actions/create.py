"""create: index every file of the table's version.

A run of a set of files is written by numbering them, writing `files`, `file_ids` and `partitions`, having the builder
write what the kinds keep, and the manifest.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from pyroaring import BitMap

from metaindex.core import DamagedIndexError, MetaIndexError, Progress, counted
from metaindex.formats import FileTable, Snapshot, TableRef
from metaindex.index.actions.action import Action, Change
from metaindex.index.actions.records import RecordWriter
from metaindex.index.actions.target import Target, racy
from metaindex.index.build.digests import Basis, are_kept, digests
from metaindex.index.build.protocol import Builder, BuildReport, BuildRequest
from metaindex.index.keys import file_ids
from metaindex.index.kinds.described import fact_kinds, leaves_of
from metaindex.index.kinds.keyed import covered_column
from metaindex.index.kinds.kind import key_plans
from metaindex.index.kinds.registry import KINDS
from metaindex.index.kinds.renames import kinds_at, with_ids
from metaindex.index.log.entry import (
    IndexLogEntry,
    KindSpec,
    RunRef,
    TableInfo,
    VersionRecord,
)
from metaindex.index.log.states import Operation, State
from metaindex.index.log.versions import to_text
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.rows import FILES, LATER
from metaindex.index.store.writer import RunSink, id_rows, number_partitions, side_by_side, write_sorted
from metaindex.storage import is_remote


@dataclass(slots=True)
class Create(Action):
    """`target` is made ready before the action begins, so that a table that cannot be read leaves no trace in the
    log. `look`: reads the latest entry of the log, which is `latest` from then on."""

    operation = Operation.CREATE
    rebases = False

    name: str
    target: Target
    kinds: Sequence[KindSpec]
    builder: Builder
    sink: RunSink
    options: dict[str, object] = field(default_factory=dict)
    progress: Progress | None = None
    look: Callable[[], IndexLogEntry | None] | None = None
    latest: IndexLogEntry | None = None
    records: RecordWriter = field(init=False)
    _uuid: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.records = RecordWriter(self.sink.storage, self.sink.run)

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        snapshot = self.target.snapshot()
        return IndexLogEntry(
            id=(base.id if base is not None else 0) + 1,
            name=self.name,
            index_uuid=self._uuid,
            nonce="",
            stable=State.DOESNOTEXIST,
            table=TableInfo(
                snapshot.table,
                snapshot.format,
                snapshot.table_uuid,
                self.options,
            ),
            kinds=tuple(with_ids(kind, snapshot.schema) for kind in self.kinds),
        )

    def runs(self) -> tuple[str, ...]:
        return (self.sink.run,)

    def build(
        self,
        snapshot: Snapshot,
        rows: npt.NDArray[np.int64],
        builder: Builder | None,
        without_nan: frozenset[str] = frozenset(),
        others: Sequence[RunRef] = (),
    ) -> BuiltRun:
        """Build the run of these files; see `build_run`."""
        ref, sink = self.target.reading, self.sink
        beside = self._look if is_remote(sink.storage.root) else None
        return build_run(ref, snapshot, rows, self.kinds, builder, sink, self.progress, without_nan, others, beside)

    def _look(self) -> None:
        with suppress(MetaIndexError):
            self.latest = None if self.look is None else self.look()

    def run(self, begun: IndexLogEntry) -> Change:
        return index_all(self, self.target.snapshot(), frozenset())


def index_all(action: Create, snapshot: Snapshot, drop_runs: frozenset[str]) -> Change:
    """Build one run of all files, and record the version."""
    rows = np.flatnonzero(~racy(snapshot))
    built = action.build(snapshot, rows, action.builder)
    record = None
    if action.target.settled:
        record = record_of(built, snapshot)
        record = action.records.fitting(record)
    return Change((built.ref,), drop_runs, record, snapshot.schema, notes=notes_of(built, action.target.settled))


def record_of(built: BuiltRun, snapshot: Snapshot) -> VersionRecord:
    """The version as the first record of an index whose only run has all its files."""
    deletes = BitMap(np.flatnonzero(pc.is_valid(snapshot.files.table.column("deletes")).to_numpy()[built.order]))
    return VersionRecord(
        version=snapshot.version,
        timestamp_ms=snapshot.timestamp_ms,
        schema=0,
        parent=None,
        added=(built.ref.run,),
        with_deletes={built.ref.run: to_text(deletes)} if deletes else {},
        files=len(snapshot.files),
        size_bytes=snapshot.files.size_bytes,
        partition_columns=snapshot.partition_columns,
    )


def notes_of(built: BuiltRun, settled: bool) -> tuple[str, ...]:
    """Return the notes on a build for the user."""
    files, unread = built.ref.files, built.report.uncovered_files
    counts = [f"{files - unread:,} of {counted(files, 'file')}" if unread else counted(files, "file")]
    if built.ref.columns or not built.ref.keys:
        counts.append(counted(len(built.ref.columns), "column"))
    keys = len(KINDS.keyed(built.ref))
    copies = len(built.ref.keys) - keys
    if keys:
        counts.append(counted(keys, "key"))
    if copies:
        counts.append(counted(copies, "covering index"))
    notes = [f"{', '.join(counts[:-1])} and {counts[-1]} indexed by the {built.ref.builder} builder"]
    if unread:
        path, why = built.report.uncovered[0]
        them = "it" if unread == 1 else "them"
        first = why if repr(path) in why else f"{path}: {why}"
        notes.append(
            f"{counted(unread, 'file')} could not be read, and no query leaves {them} out: scan and count end with such"
            f" an error until what it names is done, and Spark reads {them} as it does; the first: {first}"
        )
    for key in built.ref.keys:
        if key.unkeyed_files > built.report.uncovered_files:
            names = ", ".join(column.name for column in key.columns)
            why = KINDS.rows_of(key).unkeyed_because
            notes.append(
                f"the {key.kind} of {names} leave out files with {why}: {key.unkeyed_files:,}, which every query of it"
                " reads"
            )
    if not settled:
        notes.append(
            "files were being changed while they were listed: those are read by every query until the next refresh"
        )
    return tuple(notes)


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
    beside: Callable[[], None] | None = None,
    *,
    digested: bool = True,
) -> BuiltRun:
    """Writes everything of a run for the given rows of the snapshot's files. Without a builder the run only names them
    (a quick refresh). `without_nan`: see `BuildRequest`; `others`: runs that stay beside it; `beside`: is done while
    the last parts are put. UnknownColumnError where every column of the index is gone."""
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
    report, columns = BuildReport(()), tuple(covered_column(leaf, leaf.type) for leaf in leaves)

    def sealed(many: RunSink, signs: pa.Array) -> RunRef:
        parts = _write_files(many, files, partition_ord, partitions, ids, signs)
        return many.sealed(
            [*parts, *report.parts],
            files=len(files),
            partitions=partitions.num_rows,
            files_digest=xxhash.xxh3_128_hexdigest(ids.buffers()[1] or b""),
            columns=columns,
            builder=builder.name if builder is not None else "",
            uncovered_files=report.uncovered_files,
            keys=report.keys,
            table_uuid=snapshot.table_uuid,
        )

    signs = pa.nulls(len(files), LATER["digest"])
    signed = digested and builder is not None and are_kept(snapshot, ref.storage)
    with side_by_side(sink) as many:
        if builder is not None:
            if plans := key_plans(kinds, snapshot.schema):
                report = builder.keys(request, plans, many, progress)
            if describing:
                report = builder.facts(request, many, progress).beside(report)
            if copies := KINDS.row_plans(kinds, snapshot.schema):
                report = report.beside(builder.rows(request, copies, many, progress))
        if not signed:
            run = sealed(many, signs)
            if beside is not None:
                beside()
    if signed:
        with suppress(DamagedIndexError):  # who cancelled it has removed its parts
            basis = Basis.of_parts(sink, columns, report.keys, len(files), report.parts, snapshot)
            signs = digests(basis, ref.storage, files, progress)
        with side_by_side(sink) as many:
            run = sealed(many, signs)
    return BuiltRun(run, report, rows)


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
    for column, of in zip(table.columns, table.schema, strict=True):
        if not pa.types.is_string(of.type) or column.nbytes <= most_bytes:
            columns.append(column.take(at).combine_chunks())
            continue
        wide = column.cast(pa.large_string()).combine_chunks()
        chunk_rows = max(1, len(rows) * most_bytes // (2 * column.nbytes))
        pieces = [wide.take(at.slice(start, chunk_rows)) for start in range(0, len(rows), chunk_rows)]
        columns.append(pa.chunked_array([piece.cast(of.type) for piece in pieces], of.type))
    return pa.Table.from_arrays(columns, schema=table.schema)


def _write_files(
    sink: RunSink,
    files: FileTable,
    partition_ord: npt.NDArray[np.int32],
    partitions: pa.Table,
    ids: pa.Array,
    signs: pa.Array,
) -> list[PartInfo]:
    ordinals = pa.array(np.arange(len(files), dtype=np.int32))
    columns = {"ordinal": ordinals, "partition_ord": pa.array(partition_ord), "file_id": ids, "digest": signs}
    by_ordinal = pa.table([columns[n] if n in columns else files.table.column(n) for n in FILES.names], schema=FILES)
    return [
        *write_sorted(sink, "files", by_ordinal),
        *write_sorted(sink, "file_ids", id_rows(ids)),
        *write_sorted(sink, "partitions", partitions.sort_by("partition_id")),
    ]
