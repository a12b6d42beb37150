"""The first rows of a scan, of any or of an order: which files may hold some, and in which order they are read, so that
few have to be opened.

A threshold is proved first. Of a file of which every row matches, all live values lie between its bounds, whichever
they are: so many rows stand at its worse bound or before it. Where no row is deleted and the better bound is attained,
one row stands there. As soon as such rows are as many as are asked, a file whose best row would stand behind them holds
none of the answer. Bounds that merely enclose (cut texts) say where rows stand at worst and at best, never that one
does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ArgumentError, Mask, ScanError, UnknownColumnError, Vector, dataclass
from metaindex.expressions import Family
from metaindex.formats import Schema
from metaindex.index import ColumnFacts, FileStatistics, OpenIndex
from metaindex.query.order import Direction, has_order
from metaindex.query.order_places import NULL_FIRST, VALUE, OrderPlace, OrderPlaces, nan_rank, null_rank
from metaindex.query.readers.first_rows import FirstRows, SortKey
from metaindex.query.readers.plan import shown_field
from metaindex.query.readers.scan import Scan

from .counts import KnownCounts
from .known import certain_by, leaves_of, live_rows, only

_SIDES = {"asc": False, "desc": True}
_NULLS = {"nulls first": True, "nulls last": False}
_FORMS = "order_by=['a'], [('a', 'desc')] or [('a', 'desc', 'nulls first')]"


def sort_keys(order_by: object, schema: Schema, version: object) -> tuple[SortKey, ...]:
    """Names of columns, each alone or with a direction and a place of NULL: by default ascending with NULL first,
    descending with NULL last, as in Spark. ArgumentError, UnknownColumnError; ScanError for a column that has no
    order."""
    several = not isinstance(order_by, str) and isinstance(order_by, Iterable)
    keys = [_key(each, schema, version) for each in (order_by if several else [order_by])]  # type: ignore[attr-defined]
    if not keys or len({key.column for key in keys}) < len(keys):
        raise ArgumentError(f"rows are sorted by columns, each once, as in {_FORMS}; got {order_by!r}")
    return tuple(keys)


def _key(given: object, schema: Schema, version: object) -> SortKey:
    words = (given,) if isinstance(given, str) else given
    if not isinstance(words, tuple | list) or not 1 <= len(words) <= 3 or not all(isinstance(w, str) for w in words):
        raise ArgumentError(f"rows are sorted by columns, as in {_FORMS}; got {given!r}")
    name, side, nulls = (*words, *("asc", "")[len(words) - 1 :])[:3] if len(words) < 3 else words
    side, nulls = side.lower(), " ".join(nulls.lower().split())
    if side not in _SIDES or (nulls and nulls not in _NULLS):
        raise ArgumentError(
            f"a direction is asc or desc, and NULL stands nulls first or nulls last, as in {_FORMS}; got {given!r}"
        )
    try:
        field = shown_field(schema, name, version)
    except UnknownColumnError as error:
        if name.split()[-1:] and name.split()[-1].lower() in _SIDES:
            raise ArgumentError(
                f"a direction stands in a pair with its column, as in {_FORMS}; got {given!r}; write the pair"
            ) from error
        raise
    type_ = next(f for f in schema.fields if f.name == field.name).type
    if not has_order(type_):
        raise ScanError(
            f"rows are sorted by columns that have an order; column {field.name!r} is {type_}; sort by another column,"
            " or read the scan with an engine that compares such values"
        )
    return SortKey(field.name, Direction(_SIDES[side], _NULLS[nulls] if nulls else not _SIDES[side]))


@dataclass(frozen=True, slots=True)
class Threshold:
    """A place behind which no row of an answer stands. `proof`: the files whose rows prove it."""

    place: OrderPlace
    proof: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sorted:
    """The statistics of a column as they bear on an order by it, file by file."""

    told: ColumnFacts
    direction: Direction

    def best(self) -> OrderPlaces:
        """Return the place in the order of each file's best row; an unknown one may stand before all others."""
        bound, bounded = self._bound(better=True), self._bounded(better=True)
        no_nan, no_null = (counts.known & (counts.values == 0) for counts in (self._nans, self._nulls))
        of_nan = nan_rank(self.direction)
        ranks = np.where(bounded, VALUE, of_nan)
        if self.direction.descending:
            ranks = np.where(bounded & no_nan, VALUE, of_nan)
        if self.direction.nulls_first:
            ranks = np.where(no_null, ranks, NULL_FIRST)
        ranks = np.where(self.told.all_null, null_rank(self.direction), ranks)
        ranks = np.where(self.told.unknown_files, NULL_FIRST, ranks).astype(np.int8)
        return OrderPlaces(ranks, only(bound, ranks == VALUE), self.direction)

    def threshold(self, limit: int, live: KnownCounts, deleted: KnownCounts, certain: Mask) -> Threshold | None:
        """A place at which, or before which, `limit` live rows stand in files of which every row matches. None if that
        is not known of so many."""
        all_null, null = self.told.all_null, self._nulls
        null_counts = np.where(all_null, live.values + deleted.values, null.values)
        sure = certain & live.known & deleted.known & (null.known | all_null) & self._nans.known
        gone = np.where(sure, deleted.values, 0)
        values = live.values - null_counts - self._nans.values  # at least so many live ones are values
        bounded = sure & self._bounded(better=False) & (values > 0)
        attained = bounded & self._attained & (gone == 0)
        nulls = sure & self.direction.nulls_first & (null_counts > gone)
        nans = sure & self.direction.descending & (self._nans.values > gone)
        entries = [
            (nulls, null_rank(self.direction), None, null_counts - gone),
            (nans, nan_rank(self.direction), None, self._nans.values - gone),
            (attained, VALUE, self._bound(better=True), np.ones(len(gone), np.int64)),
            (bounded, VALUE, self._bound(better=False), values - attained),
        ]
        places, counts, files = self._joined(entries)
        order = places.best_first()
        reached = np.cumsum(counts[order]) >= limit
        if not reached.any():
            return None
        last = int(np.argmax(reached))
        return Threshold(places[int(order[last])], np.unique(files[order[: last + 1]]))

    def _joined(
        self, entries: Sequence[tuple[Mask, int, pa.Array | None, npt.NDArray[np.int64]]]
    ) -> tuple[OrderPlaces, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Entries of files as one list, how many rows each has, and of which file it is. An entry: where, at which
        rank, at which bound, how many rows."""
        domain = self._bound(better=True).type
        ranks, values, counts, files = [], [], [], []
        for where, rank, bound, rows in entries:
            at = np.flatnonzero(where)
            files.append(at)
            ranks.append(np.full(len(at), rank, np.int8))
            values.append(
                pa.nulls(len(at), domain) if bound is None else bound.take(Vector.arrow(at, None, pa.int64()))
            )
            counts.append(rows[at])
        places = OrderPlaces(np.concatenate(ranks), pa.concat_arrays(values), self.direction)
        return places, np.concatenate(counts), np.concatenate(files)

    @property
    def _nulls(self) -> KnownCounts:
        return KnownCounts.of(self.told.facts.column("null_count"))

    @property
    def _nans(self) -> KnownCounts:
        if not Family.may_be_nan(self.told.leaf.type):
            count = self.told.facts.num_rows
            return KnownCounts(np.zeros(count, np.int64), np.ones(count, np.bool_))
        return KnownCounts.of(self.told.facts.column("nan_count"))

    def _bound(self, *, better: bool) -> pa.Array:
        return Vector(self.told.facts.column("upper" if self.direction.descending is better else "lower")).array

    def _bounded(self, *, better: bool) -> Mask:
        return self.told.bounded & Vector(self._bound(better=better)).present

    @property
    def _attained(self) -> Mask:
        side = "upper" if self.direction.descending else "lower"
        return Vector(self.told.facts.column(f"{side}_exact")).truths(null=False)


_MOST = 1 << 62
"""More rows than any table has."""


def first_rows(scan: Scan, limit: object) -> Scan:
    """The scan, of at most `limit` rows. Files of which every row matches come first, those without a live row last;
    else they keep their order. Raises ArgumentError for what is no number of rows."""
    rows = _limit(limit)
    # An index may have recorded other files: to find that out, every footer would be opened.
    scan = replace(scan.whole(), anew=None)
    files = scan.file_rows
    certain = certain_files(scan, claims=True)[files]  # what is read first is no answer
    live = KnownCounts.physical(scan.snapshot.files).less(KnownCounts.deleted(scan.snapshot.files))
    empty = (live.known & (live.values == 0))[files]
    order = np.argsort(np.where(empty, 2, np.where(certain, 0, 1)), kind="stable")
    sure = int(np.count_nonzero(certain & ~empty)) if scan.predicate is not None else 0
    return replace(scan, rows=files[order], first=FirstRows(rows, sure))


def first_in_order(scan: Scan, limit: object, order_by: object, indexes: Sequence[OpenIndex]) -> Scan:
    """The scan, of the first `limit` rows in an order (`order_by.sort_keys`). Files that cannot hold any are left out
    as far as bounds and counts prove it, the others stand in the order of the best row that each may have."""
    snapshot = scan.snapshot
    keys = sort_keys(order_by, snapshot.schema, snapshot.version)
    if limit is None:
        raise ArgumentError(
            "order_by says which rows are the first, and limit= how many; no limit was given; say one, or sort what"
            " the scan gives"
        )
    rows = _limit(limit)
    leaf = next(leaf for leaf in snapshot.schema.leaves() if leaf.parts == (keys[0].column,))
    facts = FileStatistics(snapshot, indexes, storage=scan.storage, claims=False)
    (told,) = facts.columns([leaf])
    files, certain, live = scan.file_rows, certain_files(scan), live_rows(facts, [_rows(told)])
    lacking = np.zeros(len(snapshot.files), np.bool_)
    lacking[files] = (told.unknown_files | ~live.known)[files]
    if lacking.any():
        scan = replace(scan, budget=scan.budget.after_footers(snapshot.files, np.flatnonzero(lacking)))
        # What the log claims of them would leave some out: their footers say whether it is so.
        (claimed,) = replace(facts, claims=True).columns([leaf])
        lacking &= ~claimed.unknown_files
    if lacking.any() and facts.ask_footers(lacking, leaves_of(snapshot, scan.predicate, [leaf.field])):
        (told,) = facts.columns([leaf])
        certain |= False if scan.predicate is None else certain_by(scan.predicate, facts)
        live = live_rows(facts, [_rows(told)])
    column = Sorted(told, keys[0].direction)
    best = column.best()
    threshold = column.threshold(rows, live, KnownCounts.deleted(snapshot.files), certain)
    if threshold is not None:
        files = files[~best.behind(threshold.place)[files]]
    files = files[best.take(files).best_first()]
    return replace(scan, rows=files, first=FirstRows(rows, keys=keys, best=best.take(files)))


def _rows(told: ColumnFacts) -> KnownCounts:
    return KnownCounts.of(told.facts.column("value_count"))


def _limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 0:
        raise ArgumentError(f"a limit is a number of rows, 0 or more; got {limit!r}; leave it out for all rows")
    return min(int(limit), _MOST)


def certain_files(scan: Scan, *, claims: bool = False) -> Mask:
    """The files of the snapshot of which every row matches, by facts; by what the table's log claims, too."""
    files = scan.snapshot.files
    if scan.keys is not None:  # the answer is of what the keys say of files, which more rows may match
        return np.zeros(len(files), np.bool_)
    if scan.result is None:
        return np.ones(len(files), np.bool_)
    certain_ = scan.result.claimed if claims else scan.result.certain
    certain = pc.is_in(files.paths, value_set=certain_.paths.combine_chunks())
    return Vector(certain).truths(null=False)
