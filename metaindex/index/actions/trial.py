"""Trials: kinds built over some files of a table into a temporary folder, as an index that is behind its table; and
what that costs: bytes by metadata partition, and processor time."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from metaindex.core import dataclass
from metaindex.formats import At, ReadOptions, Snapshot, TableRef, format_named
from metaindex.index.build.local import LocalBuilder
from metaindex.index.kinds.kind import Kind
from metaindex.index.log.entry import Content
from metaindex.index.log.states import State
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage

from .change import Change, merged
from .create import Create, record_of
from .runs import build_run, in_order
from .target import Target

Rows = npt.NDArray[np.int64]

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

    @property
    def size_bytes(self) -> int:
        return sum(self.part_bytes.values()) + self.footer_bytes


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
        target = Target(format_named(snapshot.format), self.ref, at, snapshot.version, _snapshot=snapshot)
        builder, sink = LocalBuilder(scans=scans), self.sink(_RUN)
        entry = Create(name, target, specs, builder, sink, options).first_entry(None)
        started = time.process_time()
        built = build_run(self.ref, snapshot, rows, entry.kinds, builder, sink, without_nan=without_nan)
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
