"""Trials: kinds built over some files of a table into a temporary folder, as an index that is behind its table; and
what that costs: bytes by metadata partition, and processor time."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import BuildError, Vector, dataclass
from metaindex.expressions import ColumnRef, Predicate
from metaindex.formats import At, Format, Leaf, ReadOptions, Snapshot, TableRef
from metaindex.index.build.local import LocalBuilder
from metaindex.index.kinds.kind import Kind
from metaindex.index.kinds.registry import RowKind
from metaindex.index.kinds.row_plan import RowPlan
from metaindex.index.kinds.served import RowSizes, StoredPart, with_lineage
from metaindex.index.log.entry import Content
from metaindex.index.log.states import State
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage

from .change import Change, merged
from .create import Create, build_run, in_order, record_of
from .target import Target

Rows = npt.NDArray[np.int64]

MOST_BYTES = 1 << 30
"""Of stored rows, as they are held: a file may hold far more than its size."""
_RUN = f"r{'0' * 16}"
"""Of a trial's run, which has a folder of its own: random names would make equal trials differ by some bytes."""


@dataclass(frozen=True, slots=True)
class Trial:
    """`part_bytes`: by metadata partition, without footers; `footer_bytes` is all of these and the manifest.
    `unread_files`: those whose data was not read although a build reads it."""

    index: OpenIndex
    part_bytes: dict[str, int]
    footer_bytes: int
    cpu_seconds: float
    notes: tuple[str, ...] = ()
    unread_files: int = 0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The place of trials: the table at a version, and a folder of the process's own."""

    ref: TableRef
    snapshot: Snapshot
    folder: str

    def sink(self, run: str = "") -> RunSink:
        """Return a place for a run in a folder of its own."""
        return RunSink(LocalStorage(f"{self.folder}/{uuid.uuid4().hex}"), run or new_run_id())

    def in_order(self, rows: Rows) -> Rows:
        """Return rows of the snapshot's files in the order in which an index numbers these."""
        return in_order(self.snapshot.files.table, rows)[1]

    def tried(
        self,
        name: str,
        kinds: Sequence[Kind],
        rows: Rows,
        *,
        scans: bool = True,
        without_nan: frozenset[str] = frozenset(),
    ) -> Trial:
        """Build the kinds over the files in these rows. `scans`: may data be read, or footers alone? `without_nan`:
        float columns that are taken to have none. Over all files it is as if the index had been created. Raises what a
        build raises."""
        snapshot = self.snapshot
        specs = [kind.sized(snapshot.schema, snapshot.files.size_bytes).spec() for kind in kinds]
        file_format = snapshot.details.read_options().get("file_format", "")
        options = {**ReadOptions.of(self.ref.options).said, "file_format": file_format}
        at = At.of(snapshot.version)
        target = Target(Format.named(snapshot.format), self.ref, at, snapshot.version, _snapshot=snapshot)
        builder, sink = LocalBuilder(scans=scans), self.sink(_RUN)
        entry = Create(name, target, specs, builder, sink, options).first_entry(None)
        started = time.process_time()
        # Without digests: they begin at random, and equal questions have equal answers.
        built = build_run(self.ref, snapshot, rows, entry.kinds, builder, sink, without_nan=without_nan, digested=False)
        seconds = time.process_time() - started
        whole = built.ref.files == len(snapshot.files)
        change = Change((built.ref,), record=record_of(built, snapshot) if whole else None, schema=snapshot.schema)
        entry = replace(entry, stable=State.ACTIVE, content=merged(Content(), change, Content()))
        index = OpenIndex.of(name, entry, sink.storage)
        parts: dict[str, int] = {}
        footers = built.ref.manifest_bytes
        reader = index.reader(built.ref)
        for part in (part for kind in sorted(reader.kinds()) for part in reader.parts(kind)):
            parts[part.kind] = parts.get(part.kind, 0) + part.size_bytes - part.footer_bytes
            footers += part.footer_bytes
        notes = tuple(f"{path}: {why}" for path, why in built.report.uncovered[:3])
        return Trial(index, parts, footers, seconds, notes, built.report.files_scanned if not scans else 0)

    def tried_rows(
        self, kind: Kind, rows: Rows, scan: Callable[[int, Sequence[Leaf]], pa.RecordBatchReader]
    ) -> TrialRows:
        """Store the rows of the files in these rows as the kind would. `scan`: of some columns of a file. Raises what a
        scan, or the kind, raises."""
        started = time.process_time()
        schema = self.snapshot.schema
        sized = kind.sized(schema, self.snapshot.files.size_bytes)
        assert isinstance(sized, RowKind), "a kind that keeps rows stays one"
        table = _stored(sized.planned(schema, 0), rows, scan)
        plan = sized.planned(schema, 0).settled((), 0, lambda _: table)
        sizes = plan.tried(table, self.sink())
        return TrialRows(sized, plan, table, dict(sizes.column_bytes), time.process_time() - started)


def _stored(plan: RowPlan, rows: Rows, scan: Callable[[int, Sequence[Leaf]], pa.RecordBatchReader]) -> pa.Table:
    """Return the stored columns of all rows of these files, with lineage."""
    tables = []
    held = 0
    for ordinal, row in enumerate(rows.tolist()):
        batches = []
        for batch in (stream := scan(row, plan.columns)):
            batches.append(batch)
            held += batch.nbytes
            if held > MOST_BYTES:
                raise BuildError(
                    f"a covering index is weighed over rows of at most {MOST_BYTES:,} bytes; those of the sample"
                    " are more once they are read; give a smaller sample, such as sample=0.001"
                )
        table = pa.Table.from_batches(batches, schema=stream.schema)
        columns = [_column(table, leaf).cast(kept.type) for leaf, kept in zip(plan.columns, plan.stored, strict=True)]
        ordinals = Vector.arrow(np.full(table.num_rows, ordinal, np.int32), None, pa.int32())
        places = Vector.arrow(np.arange(table.num_rows, dtype=np.int64), None, pa.int64())
        tables.append(pa.Table.from_arrays([*columns, ordinals, places], schema=with_lineage(plan.stored)))
    return pa.concat_tables(tables)


def _column(table: pa.Table, leaf: Leaf) -> pa.Array:
    values = Vector(table.column(leaf.parts[0])).array
    for part in leaf.parts[1:]:
        values = pc.struct_field(values, part)
    return values


@dataclass(slots=True)
class TrialRows:
    """Rows of some files, stored as a kind that keeps rows would. `column_bytes`: by stable name, lineage too."""

    kind: RowKind
    plan: RowPlan
    rows: pa.Table
    column_bytes: dict[str, int]
    cpu_seconds: float
    _cuts: dict[int, list[StoredPart]] = field(default_factory=dict)

    def left(self, conditions: Sequence[Predicate], parts: int, pages: int) -> tuple[float, float]:
        """Return the share of parts, and of rows by pages, that conditions leave along a curve, if the rows were cut
        into so many. Parts are skipped by the bounds of every indexed column, pages by those of columns of which
        Parquet keeps any: not of floats."""
        key, columns = self.plan.covered(RowSizes({}), 0), self.plan.columns
        names = {ColumnRef(leaf.parts): leaf.stable for leaf in columns}
        paged = {ColumnRef(leaf.parts): leaf.stable for leaf in columns if not pa.types.is_floating(leaf.type)}
        every_part, every_page = self._cut(parts), self._cut(pages)
        stored = self.kind.rows()
        kept = {part.path for part in stored.parts_left(key, every_part, conditions, names)}
        left = [
            page
            for page in stored.parts_left(key, every_page, conditions, paged)
            # Both are numbered in the order of the rows.
            if every_part[int(page.path) * len(every_part) // len(every_page)].path in kept
        ]
        rows, every_row = (sum(page.info.rows for page in some) for some in (left, every_page))
        return len(kept) / max(1, len(every_part)), rows / max(1, every_row)

    def _cut(self, count: int) -> list[StoredPart]:
        if count not in self._cuts:
            self._cuts[count] = self.plan.cut(self.rows, count)
        return self._cuts[count]
