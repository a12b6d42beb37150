"""The choice of a covering index to stand for each scan of a query: the ranker's, among the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from metaindex.core import counted, human_bytes
from metaindex.query import JoinOf, choose

from . import scans
from .candidates import CoverCandidate, Offered, as_they_are
from .reasons import Reason
from .request import JoinSide, SparkScan
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
            parts.append(f"in {self.candidate.layout.buckets} buckets of {', '.join(self.candidate.bucketed)}")
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
            "buckets": self.candidate.layout.buckets,
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
    joins = [
        JoinOf(join, (both[0][0], both[1][0]), (both[0][1], both[1][1]))
        for join, both in sides.items()
        if len(both) == 2 and len(set(both[0][1])) == len(both[0][1])
    ]
    for some, count in zip(offers, scans.alike(request), strict=True):
        if count > 1:
            some.candidates = [
                replace(candidate, offer=replace(candidate.offer, alike=count)) for candidate in some.candidates
            ]
    chosen = choose([[candidate.offer for candidate in some.candidates] for some in offers], joins)
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
