"""A scan by what an index recorded of a version, its columns and files: rows are read so as long as they can be.

Who wrote the entry may have recorded something else than the table has. That is found out by the footers of the files
before an engine is told of columns, or when reading fails before a row was given; the table is asked instead then.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from metaindex.core import ScanError
from metaindex.storage import is_remote

from .arrow import read_batches, try_out
from .plan import ScanPlan


def readable(scan: ScanPlan) -> ScanPlan:
    """The scan, if its files have its columns; else what the table itself says. Any other trouble is left to who
    reads."""
    if scan.anew is None:
        return scan
    try:
        try_out(scan)
    except Exception:  # noqa: BLE001 - told by the reading itself, where no index is to blame
        return scan.by_table() or scan
    return scan


def batches(scan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """Its rows as they are read, the table's own where what an index recorded fails."""
    return read_batches(scan) if scan.anew is None else _guarded(scan)


def _guarded(scan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """Yield the batches. Footers in an object store are not checked first: that would be one more request a file."""
    if scan.first is None:
        scan.check_budget()
    looked = scan if is_remote(scan.storage.root) else readable(scan)
    return looked.trying(lambda tried: _stream(tried, read_batches(tried)))


def _stream(scan: ScanPlan, read: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    given = False
    try:
        for batch in read:
            given = True
            yield batch
        return
    except Exception as error:
        own = scan.by_table()
        if own is None:
            raise
        if given:
            raise ScanError(
                f"rows are read as an index recorded the table's columns and files; those of {scan.snapshot.table} are "
                "others, found out after some rows were given; ask again: the index is left out now"
            ) from error
    yield from batches(own)
