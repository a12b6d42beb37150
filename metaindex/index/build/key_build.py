"""Builds the keys of a run in this process, and writes which files they know nothing of."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from metaindex.core import Progress
from metaindex.index.kinds.keyed import UNKEYED, Spill, Units
from metaindex.index.kinds.kind import PlannedKey
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.writer import RunSink, write_sorted
from metaindex.storage import LocalStorage

from .key_scan import KeyScan, scan_keys
from .protocol import BuildReport, BuildRequest

MEMORY_BYTES = 512 << 20
"""What the collectors of a run may hold together before they spill."""


@dataclass(frozen=True, slots=True)
class BuiltKey:
    """A written key: as the log entry names it, its parts, and the ordinals that are unkeyed."""

    key: CoveredKey
    parts: Sequence[PartInfo]
    unkeyed: Units


def build_keys(
    request: BuildRequest, plans: Sequence[PlannedKey], sink: RunSink, threads: int, progress: Progress | None
) -> BuildReport:
    """Build all keys; see `protocol.Builder.keys`. What exceeds memory is spilled to a temporary folder."""
    files = request.files.table
    count = files.num_rows
    numbered = pa.table(
        [
            files.column("path"),
            files.column("size_bytes"),
            pa.array(np.arange(count, dtype=np.int32)),
            pa.array(request.partition_ord),
        ],
        names=["path", "size_bytes", "ordinal", "partition_ord"],
    )
    source = KeyScan.of(request, plans, request.leaves)
    with tempfile.TemporaryDirectory(prefix="_metaindex-") as folder:
        storage = LocalStorage(folder)
        limit = MEMORY_BYTES // len(plans)
        collectors = [plan.kind.collector(plan, sink, Spill(storage, str(plan.place), limit), count) for plan in plans]
        report = scan_keys(request.ref.storage, source, numbered, collectors, threads, progress)
        request.scans.update(report.scans)
        built = []
        for collector in collectors:
            built.append(BuiltKey(*collector.close()))
            if progress is not None:
                progress("keys written", len(built), len(plans))
    return key_build(built, sink, request, report.problems, report.files_scanned)


def key_build(
    built: Sequence[BuiltKey],
    sink: RunSink,
    request: BuildRequest,
    problems: dict[int, str],
    files_scanned: int,
    first_part: int = 0,
) -> BuildReport:
    """Combine what was built of all keys, with the rows of `unkeyed`, whose parts are numbered from `first_part` on."""
    unkeyed = write_unkeyed(sink, [(key.key.key_id, key.unkeyed) for key in built], first_part)
    parts = (*(part for key in built for part in key.parts), *unkeyed)
    return BuildReport.of(request, parts, problems, files_scanned, (key.key for key in built))


def write_unkeyed(sink: RunSink, unkeyed: Sequence[tuple[int, Units]], first_part: int = 0) -> list[PartInfo]:
    """Rows of UNKEYED: by key id the ordinals of which it knows nothing. No part where there is none."""
    some = sorted((key, ordinals) for key, ordinals in unkeyed if len(ordinals))
    if not some:
        return []
    keys = np.repeat(np.array([key for key, _ in some], np.int64), [len(ordinals) for _, ordinals in some])
    ordinals = np.concatenate([np.sort(ordinals) for _, ordinals in some]).astype(np.int32)
    table = pa.Table.from_arrays([pa.array(keys), pa.array(ordinals)], schema=UNKEYED)
    return write_sorted(sink, "unkeyed", table, first_part)
