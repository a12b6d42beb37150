"""The files that are proved out for a predicate, read: no row in them may match."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metaindex.index import Verification

from .readers.plan import ScanPlan
from .readers.recorded_scan import batches


def check_dropped(scan: ScanPlan, predicate: object, report: Verification) -> None:
    """Read the files that `scan` does not keep, and report those with rows that match."""
    scan = scan.whole()
    dropped = np.setdiff1d(np.arange(len(scan.snapshot.files)), scan.file_rows)
    report.files += len(dropped)
    report.compared.update(scan.snapshot.files.paths[int(row)].as_py() for row in dropped)
    if not _rows(replace(scan, rows=dropped)):
        return
    for row in dropped:
        if count := _rows(replace(scan, rows=np.array([row]))):
            report.matched(scan.snapshot.files.paths[int(row)].as_py(), predicate, count)


def _rows(scan: ScanPlan) -> int:
    return sum(batch.num_rows for batch in batches(scan))
