"""The cost of a candidate: from what it took over the sample, and over half of it.

bytes      of each metadata partition in two ways: a row adds as much as those of the sample did; or bytes are a
           power of the rows (what is one of many values adds less and less). Expected is the middle of the two
CPU        with the bytes of data files, beside what every build takes
upkeep     what a day adds, at the table's own rate of commits
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from metaindex.core import MetaIndexError, Vector, dataclass
from metaindex.formats import At, Diff, Format, Snapshot, TableRef

from .answer import Rate, Upkeep
from .baseline import Rows
from .estimates import Estimate, Floats

_LOOSE = 0.05
"""How far what the sample tells may be off."""
_LOOSER = 0.5
"""The same of the least: nothing tells how growth slows down once nearly all values are there."""
_LEAST_SHARE = 0.4
"""Of the processor time of the sample's files, what others take at least."""


@dataclass(frozen=True, slots=True)
class Weight:
    """The weight of some files: rows (bytes if some file does not tell) and bytes."""

    rows: float
    size_bytes: float

    @classmethod
    def of(cls, snapshot: Snapshot, rows: Rows | None = None) -> Weight:
        files = snapshot.files.table
        counts = Vector(files.column("record_count")).array
        sizes = Vector(files.column("size_bytes")).numbers.astype(np.float64)
        known = sizes if Vector(counts).valid is not None else Vector(counts).numbers.astype(np.float64)
        if rows is not None:
            known, sizes = known[rows], sizes[rows]
        return cls(max(float(known.sum()), 1.0), max(float(sizes.sum()), 1.0))


@dataclass(frozen=True, slots=True)
class Weighed:
    """A build over some files: bytes by kind of part, those of footers, processor time."""

    weight: Weight
    part_bytes: Mapping[str, int]
    footer_bytes: int
    cpu_seconds: float


def size_of(trials: Sequence[Weighed], every: Weight) -> Estimate:
    """Estimate the size of the whole index. `trials`: the sample, and half of it."""
    last = trials[0]
    times = every.rows / last.weight.rows
    footers = float(last.footer_bytes)
    if times <= 1.0:
        return Estimate.exactly(footers + sum(last.part_bytes.values()))
    low = expected = high = footers
    rows = np.array([one.weight.rows for one in trials])
    for name in last.part_bytes:
        sizes = np.array([one.part_bytes.get(name, 0) for one in trials], np.float64)
        ways, least = _grown(sizes, rows, every.rows)
        low += least * (1 - _LOOSE)
        expected += float(np.mean(ways))
        high += max(ways) * (1 + _LOOSE)
    return Estimate(low, expected, high + footers * min(times - 1, 4.0))


def _grown(sizes: Floats, rows: Floats, every: float) -> tuple[list[float], float]:
    """Bytes of so many rows, each way that they may grow, and the least that they may be. `sizes` of `rows`: the
    largest first."""
    size, least = float(sizes[0]), float(sizes[-1])
    if len(sizes) < 2 or not least or rows[-1] >= rows[0]:
        even = size * every / float(rows[0])
        return [even], min(even, size)
    slope = max(size - least, 0.0) / float(rows[0] - rows[-1])
    power = float(np.clip(np.log(size / least) / np.log(rows[0] / rows[-1]), 0.0, 1.1))
    ways = [size + slope * (every - float(rows[0])), size * float(every / rows[0]) ** power]
    return ways, max(min(ways) * (1 - _LOOSER), size)


def build_seconds(trials: Sequence[Weighed], every: Weight) -> float:
    """Estimate the processor time of a build."""
    last, first = trials[0], trials[-1]
    even = last.cpu_seconds / last.weight.size_bytes
    more = every.size_bytes - last.weight.size_bytes
    slope = even
    if last.weight.size_bytes > first.weight.size_bytes:
        added = last.cpu_seconds - first.cpu_seconds
        slope = added / (last.weight.size_bytes - first.weight.size_bytes)
    return last.cpu_seconds + more * float(np.clip(slope, _LEAST_SHARE * even, even))


def upkeep_of(size: Estimate, seconds: float, rate: Rate, every: Weight) -> Upkeep | None:
    """A day's; None if the table's rate is not known."""
    if rate.reason:
        return None
    share = rate.bytes_a_day / every.size_bytes
    return Upkeep(size.expected * share, seconds * share)


_COMMITS = 100
"""How far back is looked."""
_DAY_MS = 86_400_000
_LEAST_MS = 3_600_000
"""Less of a history says nothing of a day."""


def rate_of(table_format: Format, ref: TableRef, snapshot: Snapshot) -> Rate:
    """Return the rate of commits, from the versions that can still be read; for plain files, whose only versions are
    those that indexes recorded, from the times of the files."""
    try:
        if not table_format.has_log:
            return _by_files(snapshot)
        versions = list(table_format.versions(ref))
        at = next((number for number, one in enumerate(versions) if one.id == snapshot.version.id), len(versions) - 1)
        first = max(0, at - _COMMITS)
        if at - first < 1:
            return Rate(reason="no older version can be read")
        before = table_format.snapshot(ref, At.of(versions[first]))
    except MetaIndexError as error:
        return Rate(reason=f"no older version can be read ({error})")
    return _rate(
        snapshot.timestamp_ms - before.timestamp_ms, at - first, Diff.between(before, snapshot).appended.size_bytes
    )


def _by_files(snapshot: Snapshot) -> Rate:
    """A commit is all files of one minute."""
    modified = Vector(snapshot.files.table.column("modified_ms")).array
    if len(modified) < 2 or Vector(modified).valid is not None:
        return Rate(reason="the times of its files do not tell")
    times = Vector(modified).numbers
    minutes = np.unique(times // 60_000)
    later = times // 60_000 > minutes[0]
    sizes = Vector(snapshot.files.table.column("size_bytes")).numbers
    return _rate(int(times.max() - times.min()), len(minutes) - 1, int(sizes[later].sum()))


def _rate(milliseconds: int, commits: int, added_bytes: int) -> Rate:
    if milliseconds < _LEAST_MS:
        return Rate(reason="its history is shorter than an hour")
    return Rate(milliseconds / _DAY_MS, commits, added_bytes)
