"""The cost of a way to read a scan, in bytes: the one number that ranks indexes, and reading without one.

    source      what the needed columns take in the files that the scan would read; of CSV and JSON all of these files
    index       what they take in the parts that the filters leave, and the source's price for files that the index
                lacks
    shuffle     rows that stand in the buckets which a join or a group wants are not written, sent and read again:
                `SHUFFLED` times their bytes; nor sorted by a join, which rows of other files are merged
                into: `SORTED` times. A group's rows are put together before they are sent: of few keys hardly anything
                is left to be saved
    buckets     one without rows is a task all the same (`TASK`), and one with most of the rows keeps one core busy
                where others wait: from `HOT` on in a join or a window, whose exchange would bring a frequent
                key to one task as well (Spark splits what is larger in a join), from `HOT_GROUP` on in a group,
                of which each task of a plan with an exchange counts its own rows of the key
    reuse       scans that are alike up to the exchange are read once by a plan that has exchanges, and each for itself
                by one that has none
    pruning     where Spark leaves partitions out for a join when the query runs, the source, and what is shuffled of
                it, is `PRUNED` of what it would be; nobody knows before
    deletes     the lineage of every row, which is read; a mask says what is deleted for nearly nothing. More than a
                mask holds are left out by a join: for nearly nothing as long as they lie in a
                core's cache (`CACHED`), `DELETED` bytes for each one more

What the needed columns take is known of every index that is built: its log entry says it column by column. The same
values take about as much in the table's own files, which is how the source is priced, but for a leading column of whole
numbers: sorted, these take hardly anything (`KEY_SHARE`). An index that is not built yet (what if?) is priced by the
widths of its columns. Rows along a curve are priced by the number of their pages where no part of them is left out:
`share_along`. Shares of rows that a filter leaves are those of System R (Selinger et al., SIGMOD 1979) where
nothing better is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from metaindex.core import dataclass
from metaindex.expressions import And, ColumnRef, Comparison, In, IsNull, Op, Or, Predicate, StartsWith, conjuncts

EQUAL: Final = 0.1
BETWEEN: Final = 0.25
ONE_SIDED: Final = 1 / 3
SHUFFLED: Final = 1.0
SORTED: Final = 1.0
CACHED: Final = 10_000
DELETED: Final = 64
"""A join of TPC-H over 6,000,000 rows took 0.75 s of CPU, 1.1 s with 6,000 of them deleted (most of it to read lineage,
which is counted as bytes), 2.3 s with 600,000."""
GROUPED: Final = 0.5
"""Of the rows that a group sends, put together in part; how many these are follows from the number of keys."""
CORES: Final = 8
"""That work on a scan, if nobody knows better: each puts rows together by itself."""
SPLIT: Final = 128 << 20
"""Of a table's files, what Spark gives to a task."""
TASK: Final = 256 << 10
"""What is read in the time that a task takes which does nothing, some milliseconds."""
HOT: Final = 64 << 20
"""From so many bytes on a bucket that is larger than others counts as what its work costs while others wait."""
HOT_GROUP: Final = 4 << 20
"""A million rows or so, which take a tenth of a second."""
KEY_SHARE: Final = 0.5
"""Of the width of whole numbers, what they take in a table that is not sorted by them: 0.33 to 0.75 in TPC-H's keys,
0.4 in its days; in indexes 0.02 to 0.1."""
PRUNED: Final = EQUAL
"""Of a scan whose partitions Spark leaves out by the rows of the other side of a join, what is left."""
PAGE_ROWS: Final = 20_000
"""Of a page, of which no part is read alone."""
MARGIN: Final = 0.95
"""An index is taken where it costs less than this share of the source."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """The filters on one column: it equals one of `equal` values (0: no equality), or lies in a range with so many ends
    (0: no range). `measured`: the share of the rows, if somebody has counted."""

    equal: int = 0
    ends: int = 0
    measured: float | None = None

    @staticmethod
    def by_column(parts_of_and: Sequence[Predicate]) -> dict[ColumnRef, Restriction]:
        """Return restrictions by column, from the conjuncts that are on one column each."""
        asked: dict[ColumnRef, Restriction] = {}
        for condition in parts_of_and:
            match condition:
                case Comparison(op=Op.EQ | Op.NULL_SAFE_EQ, column=column):
                    asked[column] = Restriction(equal=1)
                case In(column=column, values=values) if values:
                    asked[column] = Restriction(equal=len(values))
                case IsNull(column=column):
                    asked[column] = Restriction(equal=1)
                case StartsWith(column=column):
                    asked.setdefault(column, Restriction(ends=2))
                case Comparison(op=Op.LT | Op.LE | Op.GT | Op.GE, column=column):
                    before = asked.get(column, Restriction())
                    asked[column] = before if before.equal else Restriction(ends=before.ends + 1)
                case And(parts=parts):
                    asked |= Restriction.by_column(parts)
                case Or(parts=parts):
                    asked |= _either([Restriction.by_column(conjuncts(part)) for part in parts])
                case _:
                    pass
        return asked

    @property
    def share(self) -> float:
        """Return the estimated share of the rows."""
        if self.measured is not None:
            return self.measured
        if self.equal:
            return min(1.0, EQUAL * self.equal)
        return BETWEEN if self.ends > 1 else ONE_SIDED if self.ends else 1.0

    @staticmethod
    def share_read(
        asked: Mapping[str, Restriction], indexed: Sequence[str], buckets: int, bounded: int = 1, rows: int = 0
    ) -> float:
        """Return the share of an index's bytes that a scan with these filters (by stable name) reads. `buckets`: 0 for
        ranges. Spark skips buckets if one column makes them; the order inside a part skips row groups and pages by the
        leading column, along a curve by each of the first `bounded` ones."""
        if not buckets and bounded > 1:
            return share_along([asked[name].share for name in indexed[:bounded] if name in asked], bounded, rows)
        first = asked.get(indexed[0], Restriction())
        if buckets and len(indexed) == 1 and first.equal:
            return min(first.equal / buckets, first.share)
        return first.share


def _either(parts: Sequence[Mapping[ColumnRef, Restriction]]) -> dict[ColumnRef, Restriction]:
    """Merge the restrictions of an OR, for the columns that every part restricts."""
    out = {}
    for column in set(parts[0]).intersection(*parts[1:]):
        every = [part[column] for part in parts]
        equal = sum(asked.equal for asked in every) if all(asked.equal for asked in every) else 0
        out[column] = Restriction(equal=equal) if equal else Restriction(ends=1)
    return out


def share_along(shares: Sequence[float], columns: int, rows: int) -> float:
    """Return the share read of rows that lie along a curve through so many columns, for conditions that leave these
    shares of some columns: a page is as wide in each column as its root of their number, and pages at the ends of a
    range hold other rows, too."""
    width = max(1.0, rows / PAGE_ROWS) ** (-1 / columns)
    return math.prod(min(1.0, share + width) for share in shares)


def buckets_left(asked: Mapping[str, Restriction], indexed: Sequence[str], rows_of_bucket: Sequence[int]) -> list[int]:
    """The rows of the buckets that filters leave, which Spark knows where one column makes them. Which buckets those
    are is not looked up: the largest."""
    first = asked.get(indexed[0], Restriction())
    ordered = sorted(rows_of_bucket, reverse=True)
    return ordered[: first.equal] if len(indexed) == 1 and first.equal else ordered


def unevenness(
    rows_of_bucket: Sequence[int], buckets: int, bytes_read: float, cores: int = CORES, hot: int = HOT
) -> float:
    """Return the cost of uneven buckets, in bytes. `rows_of_bucket`: of buckets that have rows."""
    rows = sum(rows_of_bucket)
    largest = bytes_read * max(rows_of_bucket) / rows if rows else 0.0
    waiting = largest * min(buckets, cores) - bytes_read if largest > hot else 0.0
    return TASK * (buckets - len(rows_of_bucket)) + max(0.0, waiting)


@dataclass(frozen=True, slots=True)
class Offer:
    """An index, built or not, for one scan. All in bytes of the needed columns. `wants`: the joins (by number and side)
    and groups (None) whose partitioning it has; `of_use`: to the scan alone, since its filters name the leading column,
    or it would read texts from end to end."""

    index: str
    source: float
    read: float
    of_use: bool
    wants: frozenset[tuple[int, int] | None]
    buckets: int
    order: tuple[str, ...]  # the bucket columns in their order, by the scan's names
    lacking: float = 0.0  # of `read`, from files that the index lacks: they are shuffled
    deleted_rows: int = 0  # of the index's, to be left out by a join
    sent: float = 1.0  # share of its rows that a group of the source's rows would send
    left: float = 1.0  # share of its rows that a group leaves
    uneven: float = 0.0  # what buckets without rows, and the largest one, cost where buckets are read one by one
    hot: float = 0.0  # what its largest bucket costs a group more than that
    grouped_first: frozenset[tuple[int, int]] = frozenset()  # of `wants`, the joins of what a group leaves
    unsorted: frozenset[tuple[int, int]] = frozenset()  # of `wants`, the joins that sort all the same
    pruned: float = 1.0  # share of its rows that a scan in its place would give to joins and groups
    alike: int = 1  # scans of the query that are read by the same exchange

    CORES: ClassVar = CORES
    KEY_SHARE: ClassVar = KEY_SHARE
    PAGE_ROWS: ClassVar = PAGE_ROWS
    PRUNED: ClassVar = PRUNED

    @property
    def alone(self) -> float:
        """Return what is saved without a join; at most zero if no rule of the paper allows its use."""
        saved = self.saved + self.grouped
        return saved if self.of_use or self.grouped else min(saved, 0.0)

    @property
    def grouped(self) -> float:
        """Return what a group saves that shuffles nothing; 0 if that is nothing: the index is then read as any files
        are."""
        return (
            max(0.0, GROUPED * self.placed * self.pruned * self.sent / self.alike - self.uneven - self.hot)
            if None in self.wants
            else 0.0
        )

    @property
    def saved(self) -> float:
        """Return what reading alone saves."""
        return self.source / self.alike * MARGIN - self.read - DELETED * max(0, self.deleted_rows - CACHED)

    def joined(self, join: tuple[int, int]) -> float:
        """Return what a side of a join saves that needs neither shuffle nor sort."""
        saved = (SHUFFLED / self.alike + SORTED * (join not in self.unsorted)) * self.placed * self.pruned
        if join in self.grouped_first:
            saved = saved * self.left + GROUPED * self.placed * self.pruned * self.sent / self.alike
            saved -= self.hot
        return saved - self.uneven

    @property
    def placed(self) -> float:
        """Return the bytes of rows that stand in their bucket already."""
        return self.read - self.lacking

    @staticmethod
    def share_sent(keys: int, rows: int, table_bytes: int) -> float:
        """Return the share of a scan's rows that a group by so many keys (0: not known) sends, once each task has
        combined its own."""
        tasks = max(CORES, -(-table_bytes // SPLIT))
        return min(1.0, keys * tasks / rows) if keys and rows else 1.0

    @staticmethod
    def bucket_costs(
        asked: Mapping[str, Restriction],
        indexed: Sequence[str],
        rows_of_bucket: Sequence[int],
        buckets: int,
        bytes_read: float,
        cores: int,
        *,
        spread: bool,
    ) -> tuple[float, float]:
        """Return what uneven buckets cost a join or a window, and what the largest one costs a group more: one that is
        `spread` over tasks. `rows_of_bucket`: of those that have any; which of them filters leave follows."""
        if not buckets:
            return 0.0, 0.0
        left = buckets_left(asked, indexed, rows_of_bucket)
        joined, grouped = (
            unevenness(left, buckets, bytes_read, cores, hot) for hot in (HOT, HOT_GROUP if spread else HOT)
        )
        return joined, grouped - joined

    @staticmethod
    def chosen(
        offers: Sequence[Sequence[Offer]], sides: Mapping[int, Mapping[int, tuple[int, tuple[str, ...]]]]
    ) -> list[Chosen | None]:
        """Choose as `choose` does. `sides`: of each join by number, for side 0 and 1, the scan and its names of the
        keys. A join of which a side is no scan, or that has a key twice, has no say."""
        joins = [
            JoinOf(join, (both[0][0], both[1][0]), (both[0][1], both[1][1]))
            for join, both in sides.items()
            if len(both) == 2 and len(set(both[0][1])) == len(both[0][1])
        ]
        return choose(offers, joins)


@dataclass(frozen=True, slots=True)
class JoinOf:
    """An equi-join of two scans (by number): the names that each has for the keys, pair by pair."""

    number: int
    scans: tuple[int, int]
    keys: tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The offer that is taken for a scan. `partitioned`: its partitioning is of use; `joined`: to a join."""

    offer: Offer
    partitioned: bool
    joined: bool = False


def choose(offers: Sequence[Sequence[Offer]], joins: Sequence[JoinOf]) -> list[Chosen | None]:
    """Choose one offer for each scan; None if none is expected to be cheaper than the source. Joins come first, the
    largest gain first."""
    chosen: list[Chosen | None] = []
    for some in offers:
        best = max(some, key=lambda offer: offer.alone, default=None)
        chosen.append(Chosen(best, best.grouped > 0) if best is not None and best.alone > 0 else None)
    fixed: set[int] = set()
    gains = []
    for join in joins:
        pair = _pair(join, offers)
        if pair is not None:
            before = sum(was.offer.alone for was in (chosen[scan] for scan in join.scans) if was is not None)
            gains.append((pair[0] - before, join, pair[1]))
    for gain, join, pair_of in sorted(gains, key=lambda gain_of_join: -gain_of_join[0]):
        taken = [chosen[scan] for scan in join.scans]
        same = all(
            scan not in fixed or (was is not None and was.offer is offer)
            for scan, was, offer in zip(join.scans, taken, pair_of, strict=True)
        )
        if gain > 0 and same:
            for scan, partner_offer in zip(join.scans, pair_of, strict=True):
                chosen[scan] = Chosen(partner_offer, partitioned=True, joined=True)
                fixed.add(scan)
    return chosen


def _pair(join: JoinOf, offers: Sequence[Sequence[Offer]]) -> tuple[float, tuple[Offer, Offer]] | None:
    """The two indexes that save most of a join, equal numbers of buckets before others: where they differ, one side is
    shuffled all the same."""
    best: tuple[float, tuple[Offer, Offer]] | None = None
    partner = dict(zip(*join.keys, strict=True))
    for left in offers[join.scans[0]]:
        for right in offers[join.scans[1]]:
            if (join.number, 0) not in left.wants or (join.number, 1) not in right.wants:
                continue
            if tuple(partner[name] for name in left.order) != right.order:
                continue
            sides = [left.joined((join.number, 0)), right.joined((join.number, 1))]
            if left.buckets != right.buckets:
                del sides[left.placed >= right.placed]
            saved = left.saved + right.saved + sum(sides)
            if best is None or saved > best[0]:
                best = saved, (left, right)
    return best if best is not None and best[0] > 0 else None
