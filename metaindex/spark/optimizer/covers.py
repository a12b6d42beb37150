"""The choice of a covering index to stand for each scan of a query: the ranker's, among the candidates. And the reply
about it: its parts, the files it serves, and the rows to be removed (`Covering.java`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from metaindex.advisor import Offer
from metaindex.core import counted, human_bytes

from . import scans
from .candidates import CoverCandidate, Offered, as_they_are
from .reasons import Reason
from .replies import packed, signed
from .request import Delta, JoinSide, SparkScan
from .serving import Serving
from .settings import RuleConfig


@dataclass(frozen=True)
class Cover:
    """The index that stands for a scan. `partitioned`: a join or a group uses its buckets; `joined`: a join, which
    wants their order too; `leaves_out`: Spark is told of buckets only so that filters leave some out. `read_bytes`,
    `source_bytes`: predicted, of the needed columns."""

    candidate: CoverCandidate
    partitioned: bool
    bucket_spec: bool
    joined: bool
    leaves_out: bool = False

    @property
    def index(self) -> str:
        return self.candidate.name

    @property
    def read_bytes(self) -> int:
        return int(self.candidate.offer.read)

    @property
    def source_bytes(self) -> int:
        return int(self.candidate.offer.source)

    @property
    def all_the_same(self) -> str:
        """Return why the index is chosen although its files are larger than the table's; empty if they are not."""
        stored = sum(part.info.size_bytes for _, part in self.candidate.parts)
        table = self.candidate.serving.total_bytes
        if stored <= table:
            return ""
        gains = ["less of the needed columns is read"] if self.read_bytes < self.source_bytes else []
        gains += [f"the {'join' if self.joined else 'group'} has fewer rows to shuffle"] if self.partitioned else []
        larger = f"its files are larger ({human_bytes(stored)}, the table's {human_bytes(table)})"
        return f"{larger}, and {' and '.join(gains)}" if gains else larger

    def __str__(self) -> str:
        served = self.candidate.serving
        lacks = served.total_files - len(served.files)
        parts = [
            f"index {self.index!r} stands for it at version {served.version}: about {human_bytes(self.read_bytes)} of"
            f" the needed columns in place of {human_bytes(self.source_bytes)}"
        ]
        if self.partitioned:
            parts.append(f"in {self.candidate.key.layout.buckets} buckets of {', '.join(self.candidate.bucketed)}")
        if self.all_the_same:
            parts.append(self.all_the_same)
        if lacks:
            parts.append(f"read from the table, as it lacks them: {counted(lacks, 'file')}")
        if served.deleted_rows:
            parts.append(f"{served.deleted_rows:,} deleted rows are left out")
        return "; ".join(parts)

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        served = self.candidate.serving
        return {
            "index": self.index,
            "version": str(served.version),
            "read_bytes": self.read_bytes,
            "source_bytes": self.source_bytes,
            "partitioned": self.partitioned,
            "buckets": self.candidate.key.layout.buckets,
            "files_served": len(served.files),
            "files_lacking": served.total_files - len(served.files),
            "deleted_rows": served.deleted_rows,
        }


def ranked(request: Sequence[SparkScan], offers: Sequence[Offered], rule: RuleConfig) -> list[Cover | None]:
    """The index that stands for each scan, if one does. Of the others it is noted in `offers` that they cost more."""
    sides: dict[int, dict[int, tuple[int, tuple[str, ...]]]] = {}
    for number, scan in enumerate(request):
        for want in scan.wants:
            if isinstance(want, JoinSide):
                sides.setdefault(want.join, {})[want.side] = number, want.keys
    for some, count in zip(offers, scans.alike(request), strict=True):
        if count > 1:
            some.candidates = [
                replace(candidate, offer=replace(candidate.offer, alike=count)) for candidate in some.candidates
            ]
    chosen = Offer.chosen([[candidate.offer for candidate in some.candidates] for some in offers], sides)
    covers: list[Cover | None] = []
    for some, scan, taken in zip(offers, request, chosen, strict=True):
        cover = None
        for candidate_ in some.candidates:
            if taken is not None and candidate_.offer is taken.offer:
                spec = bool(candidate_.bucketed) and (
                    taken.partitioned or _one_bucket(candidate_, scan) or rule.use_bucket_spec
                )
                partitioned = taken.partitioned and bool(candidate_.bucketed)
                leaves_out = spec and not (
                    taken.partitioned or rule.use_bucket_spec or _meets_by_buckets(candidate_, scan)
                )
                cover = Cover(candidate_, partitioned, spec, taken.joined, leaves_out)
            else:
                some.refused.setdefault(candidate_.name, Reason.COSTS_MORE)
        if cover is not None:
            some.refused.pop(cover.index, None)
        covers.append(cover)
    return covers


def cover_now(cover: Cover, root: str, some: Offered, rule: RuleConfig) -> Cover | None:
    """Return an index that stands for plain files, without the rows of files that changed. None if it is too far behind
    then, which is noted in the offer."""
    left = as_they_are(cover.candidate, root, rule)
    if isinstance(left, Reason):
        some.refused[cover.index] = left
        return None
    return replace(cover, candidate=left)


def _meets_by_buckets(candidate: CoverCandidate, scan: SparkScan) -> bool:
    """Return whether a join or a group may save an exchange by the buckets, whatever was expected of it. None does
    above a join that sends these rows to every task."""
    for want in scan.wants:  # those below come first
        if set(candidate.bucketed) <= set(want.keys):
            return True
        if isinstance(want, JoinSide) and want.sent:
            return False
    return False


def _one_bucket(candidate: CoverCandidate, scan: SparkScan) -> bool:
    """Return whether the filters name values of the only bucket column, so that Spark reads no other bucket."""
    if len(candidate.bucketed) != 1:
        return False
    said = scans.asked(candidate.serving.schema, scan).get(candidate.columns[candidate.bucketed[0]])
    return said is not None and said.equal > 0


_HELD: Final = 16
"""Of how many indexes and versions what is told of them is held packed: it follows from immutable things."""


def cover_reply(cover: Cover, scan: SparkScan, root: str) -> dict[str, object]:
    """The reply about one scan."""
    candidate, served = cover.candidate, cover.candidate.serving
    reply: dict[str, object] = {
        "label": f"{cover.index}: covering",
        "columns": dict(candidate.columns),
        "buckets": candidate.key.layout.buckets if cover.bucket_spec else 0,
        "bucketed": list(candidate.bucketed),
        "bucketed_as": [candidate.columns[name] for name in candidate.bucketed],
        "partitioned": cover.partitioned,
        "leaves_out": cover.leaves_out,
        "joined": cover.joined,
        "bytes": _size(candidate, scan),
        "rows_of_key": sum(part.info.rows for _, part in candidate.parts) / served.keys if served.keys else 0,
        "parts": packed(_parts(candidate, scan.root)),
        "dead": _dead(served),
    }
    if not isinstance(scan.source, Delta) or not served.whole:
        reply["served"] = _files(served, root)
    if served.deleted:
        reply |= {"masked": served.masked, **_deleted(served)}
    return reply


def _size(candidate: CoverCandidate, scan: SparkScan) -> int:
    """Return the size of the index for Spark, by which it decides whether to send it to every task: what its rows take
    in memory, and no more than it takes the table for."""
    needed = sum(candidate.serving.column_bytes.get(name, 0) for name in candidate.columns.values())
    rows = sum(part.info.rows for _, part in candidate.parts)
    held = rows * (8 + candidate.key.value_bytes(*candidate.columns.values()))
    return max(1, needed, held if scan.bytes is None else min(held, scan.bytes))


def _parts(candidate: CoverCandidate, root: str) -> list[str]:
    """Number of the run, what Spark opens, and size of each part."""
    scheme = re.match(r"s3[an]?://", root)
    out = []
    for number, part in sorted(candidate.parts, key=lambda each: each[0]):
        uri = candidate.serving.index.storage.uri(part.path)
        if scheme is not None:
            uri = re.sub(r"^s3[an]?://", scheme[0], uri)
        out += [str(number), uri, str(part.info.size_bytes)]
    return out


@lru_cache(_HELD)
def _dead(served: Serving) -> str:
    """Number of the run and ordinal of each file whose rows the index has and that is not served."""
    rows = [(str(run.key.number), str(ordinal)) for run in served.runs for ordinal in run.dead.tolist()]
    return packed([text for row in rows for text in row])


@lru_cache(_HELD)
def _files(served: Serving, root: str) -> str:
    """Path, sign, number of the run and ordinal of each served file."""
    runs = np.repeat([run.key.number for run in served.runs], [len(run.served) for run in served.runs])
    ordinals = np.concatenate([run.served for run in served.runs])
    return packed(signed(served.files, root, *(pa.array(each).cast(pa.string()) for each in (runs, ordinals))))


@lru_cache(_HELD)
def _deleted(served: Serving) -> dict[str, object]:
    """Deleted rows as numbers: run, ordinal and position side by side in 63 bits."""
    row_bits = max(int(max(positions)) for _, _, positions in served.deleted).bit_length()
    file_bits = max(ordinal for _, ordinal, _ in served.deleted).bit_length()
    file_bits = max(file_bits, max(run.key.run.files for run in served.runs).bit_length())
    run_bits = max(run.key.number for run in served.runs).bit_length()
    row_bits = max(row_bits, 40)  # rows behind the last deleted one must not run into the ordinal
    if row_bits + file_bits + run_bits > 62:
        raise OverflowError("places of deleted rows do not fit into 62 bits")
    places = [
        str((run << (row_bits + file_bits)) | (ordinal << row_bits) | int(row))
        for run, ordinal, positions in served.deleted
        for row in positions
    ]
    return {"deleted": packed(places), "run_shift": row_bits + file_bits, "file_shift": row_bits}
