"""Proves an index right, or says precisely what is wrong with it. Reads, and changes nothing.

log         every entry can be read and has the digest that it says
runs        every value of every live run is read back: digests, page checksums, and what follows from what
versions    every recorded version can be resolved; the newest ones have the files and deletes that the table has
statistics  of a sample of live data files (or all) every row is read and compared with what the index says of it
keys        of the same files the values are keyed again, and what the index names of them is exactly that
covering    of the same files the stored rows are those that they hold
claims      what the table's log says of its files is compared with what the index knows of them
dropped     for given predicates: the files that are proved out are read, and no row of them matches
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaindex.core import IndexNotFoundError, MetaIndexError, Progress
from metaindex.formats import Format, TableRef
from metaindex.index.kinds.registry import KINDS
from metaindex.index.log.entry import IndexLogEntry
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.sealed import digest
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.cache import StoreCache

from .claims import check_claims
from .report import Finding as Finding
from .report import Verification as Verification
from .report import judged
from .rows import Sample, check_rows
from .runs import RunRows, check_run, check_versions

if TYPE_CHECKING:
    from metaindex.formats import Snapshot


def verify(
    name: str,
    log: OperationLog,
    format_: Format,
    ref: TableRef,
    snapshot: Snapshot,
    sample: int | None,
    every_version: bool,
    progress: Progress | None = None,
) -> Verification:
    """Verify the latest readable entry. `sample`: data files to compare, None for all. Raises IndexNotFoundError if
    there is no log; StoragePermissionError, StorageUnavailableError if something cannot be looked at."""
    report = Verification(name)
    try:
        entry = _entries(log, report)
        if entry is not None:
            index = OpenIndex.of(name, entry, log.storage, StoreCache(limit_bytes=0))
            rows = _runs(index, entry, report, progress)
            sound = check_versions(index, rows, format_, ref, every_version, report)
            if sound and sample != 0:
                _check_files(Sample.made(index, rows, sound[-1], snapshot, ref, sample, report, progress))
                if not report.findings:
                    check_claims(index, snapshot, report)
            report.bytes_read = index.count.bytes
    except MetaIndexError as error:
        judged(error)
        raise
    return report


def _runs(
    index: OpenIndex, entry: IndexLogEntry, report: Verification, progress: Progress | None
) -> dict[str, RunRows]:
    """Return what can be read of the runs that are used; `entry` is as stored, with the runs that are not used."""
    stored = {run.run: run for run in entry.content.runs}
    for reason in index.left_out:
        report.skipped(reason)
    for run in stored.values():
        wrong = dict.fromkeys(why for key in run.keys if (why := KINDS.senseless(key)) is not None)
        report.found([Finding("log", f"a key of it cannot be asked: {why}", run=run.run) for why in wrong])
    rows = {}
    for run in index.entry.content.runs:
        checked = check_run(index, run, stored[run.run], report, progress)
        if checked is not None:
            rows[run.run] = checked
    return rows


def _check_files(files: Sample) -> None:
    """Compare what the index holds of data files with their rows."""
    runs = files.index.entry.content.runs
    check_rows(files)
    if any(KINDS.keyed(run) for run in runs):
        from .key_rows import check_key_rows

        check_key_rows(files)
    if any(KINDS.served_keys(run) for run in runs):
        from .served_rows import check_served_rows

        check_served_rows(files)


def _entries(log: OperationLog, report: Verification) -> IndexLogEntry | None:
    """Return the newest readable entry. A newer one that cannot be read is a finding; an older one only serves
    `history`."""
    newest: IndexLogEntry | None = None
    unreadable: list[Finding] = []
    numbers = log.numbers()
    if not numbers:
        raise IndexNotFoundError(f"verify needs an index; there is none named {report.index!r}")
    known = set(numbers)
    before: str | None = None  # the digest of the entry before, where there is one
    for number in numbers:
        report.entries += 1
        try:
            data = log.read(number)
            following, before = before, digest(data)
            entry = log.decoded(number, data)
        except MetaIndexError as error:
            judged(error)
            unreadable.append(Finding("log", str(error), f"entry {number}"))
        else:
            newest = entry
            for problem in unreadable:
                report.skipped(
                    "an entry of the log's past follows on one of another log, or on one that was changed"
                    if problem.message == _OF_ANOTHER
                    else "an entry of the log's past cannot be read: `history` has a gap there"
                )
            unreadable.clear()
            if number - 1 in known and following not in (None, entry.previous):
                unreadable.append(Finding("log", _OF_ANOTHER, f"entry {number}"))
    report.found(unreadable)
    for _ in log.listing().strays:
        report.skipped("an object of the log has a number that no entry has: clean removes it")
    return newest


_OF_ANOTHER = "it follows on an entry of another log, or on one that was changed; repair the index"
