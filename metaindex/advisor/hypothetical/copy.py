"""A covering index as a candidate: rows of the sample are put as its rows would be, for their size; the share of the
rows that a query's conditions on its first column keep is counted on the sample, and priced as the rule of Spark's
optimizer prices it (`pruning.ranking`), with what was counted in place of its constants. Along a curve the rows of the
sample are cut into as many parts, and pages, as the index would have, and those are asked as the index's parts are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyarrow.types import is_floating

from metaindex.advisor.clustering.sample import of_leaf
from metaindex.core import BuildError, MetaIndexError, arrow_array, dataclass
from metaindex.expressions import And, ColumnRef, Predicate, columns, conjuncts
from metaindex.formats import Leaf
from metaindex.index import (
    TEXT_BYTES,
    CoveredKey,
    RowKind,
    RowPlan,
    RowSizes,
    Sandbox,
    ServedRows,
    StoredPart,
    columns_of,
    named,
    width,
    with_lineage,
)
from metaindex.query import PAGE_ROWS, Offer, Restriction, Scan, restrictions, share_read

from .answer import Reads
from .baseline import Rows
from .candidates import in_part
from .cost import Weighed, Weight, size_of
from .effect import Now
from .posterior import Estimate, Floats
from .sample_context import SampleContext

_Z = 1.645
"""A normal number is within so many standard deviations with 90%."""
_MOST_BYTES = 1 << 30
"""Of rows of the sample, as they are held: a file may hold far more than its size."""
_OPENED = 8 << 10
"""Read of a part beside its pages: its footer and its page index."""
_BUFFER = 64 << 10
"""Spark reads pages that stand together, but no fewer bytes at once (`spark.buffer.size`)."""
_SELDOM = 0.98
"""Of the rows of a sample, so many different values: the others come again."""
_DICTIONARY_BYTES = 256 << 10
"""Values that take more have none."""
_GUESSED = "no sampled file tells the share of its rows, which is guessed"


@dataclass(frozen=True, slots=True)
class Copy:
    """`kind` with its buckets; `plan`: its columns at the version. `trials`: the sample, a half, a quarter."""

    kind: RowKind
    plan: RowPlan
    trials: tuple[Weighed, ...]
    size: Estimate
    rows: float  # of the table
    stored: Mapping[tuple[str, ...], Estimate]  # of the size, by column; a query reads no lineage
    again: Set[tuple[str, ...]]  # columns whose values come again, so that they have a dictionary
    pieces: Pieces | None = None  # along a curve

    @property
    def names(self) -> list[tuple[str, ...]]:
        return [leaf.parts for leaf in self.plan.columns]


def copied(bench: Sandbox, sight: SampleContext, kind: RowKind, portions: Sequence[Rows]) -> Copy:
    """Puts the rows of these files, and of fewer. Raises what a scan, or the kind, raises."""
    schema = bench.snapshot.schema
    total = bench.snapshot.files.size_bytes
    sized = kind.sized(schema, total)
    assert isinstance(sized, RowKind), "a kind that keeps rows stays one"
    plan = sized.planned(schema, 0)
    trials: list[Weighed] = []
    table = pa.table({})
    for rows in reversed(portions):  # what is loaded by the first counts for nothing then
        started = time.process_time()
        table = _rows(sight, plan, rows)
        plan = sized.planned(schema, 0).settled((), 0, lambda _, rows=table: rows)  # type: ignore[misc]
        sizes = plan.tried(table, bench.sink())
        seconds = time.process_time() - started
        trials.append(Weighed(Weight.of(bench.snapshot, rows), dict(sizes.column_bytes), 0, seconds))
    trials.reverse()
    every = Weight.of(bench.snapshot)
    size = size_of(trials, every)
    count = table.num_rows * every.rows / trials[0].weight.rows  # a weight counts bytes where some file tells no rows
    pieces = Pieces.of(plan, table, count, plan.parts_at(size.expected)) if sized.bounded > 1 else None
    stored = {
        leaf.parts: size_of([replace(one, part_bytes=_only(one.part_bytes, kept.name)) for one in trials], every)
        for leaf, kept in zip(plan.columns, plan.stored, strict=True)
    }
    again = _again(plan, table, plan.parts_at(size.expected))
    return Copy(sized, plan, tuple(trials), size, count, stored, again, pieces)


def _again(plan: RowPlan, rows: pa.Table, parts: int) -> set[tuple[str, ...]]:
    """Return the columns with a dictionary. All rows of a value of the first one are together, wherever they lie in the
    table: what recurs in a sample of its files at all recurs there, and each of its `parts` has other values."""
    again = set()
    for at, (leaf, kept) in enumerate(zip(plan.columns, plan.stored, strict=True)):
        column = rows[kept.name]
        if pa.types.is_nested(kept.type) or pa.types.is_null(kept.type) or not len(column):
            continue
        values = column.unique()
        few = len(values) <= len(column) * (_SELDOM if at == 0 else 0.5)
        if few and values.nbytes <= _DICTIONARY_BYTES * (parts if at == 0 else 1):
            again.add(leaf.parts)
    return again


def _only(sizes: Mapping[str, int], name: str) -> dict[str, int]:
    return {name: sizes[name]}


def _rows(sight: SampleContext, plan: RowPlan, rows: Rows) -> pa.Table:
    """The stored columns of all rows of these files, with lineage."""
    tables = []
    held = 0
    for ordinal, row in enumerate(rows.tolist()):
        batches = []
        for batch in (stream := sight.scan(row, plan.columns).to_reader()):
            batches.append(batch)
            held += batch.nbytes
            if held > _MOST_BYTES:
                raise BuildError(
                    f"a covering index is weighed over rows of at most {_MOST_BYTES:,} bytes; those of the sample"
                    " are more once they are read; give a smaller sample, such as sample=0.001"
                )
        table = pa.Table.from_batches(batches, schema=stream.schema)
        stored = [of_leaf(table, leaf).cast(one.type) for leaf, one in zip(plan.columns, plan.stored, strict=True)]
        count = table.num_rows
        ordinals = arrow_array(np.full(count, ordinal, np.int32), None, pa.int32())
        places = arrow_array(np.arange(count, dtype=np.int64), None, pa.int64())
        tables.append(pa.Table.from_arrays([*stored, ordinals, places], schema=with_lineage(plan.stored)))
    return pa.concat_tables(tables)


def _count(plan: Scan) -> int:
    return sum(batch.num_rows for batch in plan.to_reader())


@dataclass(frozen=True, slots=True)
class CopyRead:
    """The reads of a query from a copy, or why the rule would read the table. `instead_of`: what the same columns take
    in the files that it reads now."""

    reads: Reads | None
    instead_of: float = 0.0
    note: str = ""


def read_of(sight: SampleContext, now: Now, needs: frozenset[tuple[str, ...]], copy: Copy) -> CopyRead:
    """Apply the rules of covering indexes: all columns of the query are there, a struct that it needs whole as such,
    and it has a condition on the first one."""
    if parts_of := in_part(needs):
        return CopyRead(None, note=f"the query reads a part of the column {parts_of[0]}, which Spark reads alone")
    own = (ref.parts for ref in columns(now.tree))
    asked_for = [*(parts for parts in own if parts[:1] == parts or parts[:1] not in needs), *sorted(needs)]
    missing = [ColumnRef(parts).name for parts in asked_for if parts not in copy.names]
    if missing:
        return CopyRead(None, note=f"it does not have the column {missing[0]}")
    first = [ColumnRef(parts) for parts in copy.names[: copy.kind.bounded]]
    asked = restrictions(conjuncts(now.tree))
    if first[0] not in asked and not (len(first) > 1 and _asks_of(now.tree, first)):
        which = f"first column, {first[0].name}" if len(first) == 1 else "indexed columns"
        return CopyRead(None, note=f"the query asks nothing of its {which}")
    left = _of_order(sight, now, copy, asked[first[0]]) if copy.pieces is None else _of_curve(copy, copy.pieces, now)
    read = _bytes_of(copy, set(asked_for), left, asked.get(first[0], Restriction()).equal)
    source = _source(sight, now, copy, set(asked_for))
    buckets = copy.kind.buckets_at(sight.snapshot.files.size_bytes)
    if Offer("", source, read.expected, True, frozenset(), buckets, ()).alone <= 0:
        return CopyRead(None, note="the table is read: the columns take no more in the files that it reads now")
    return CopyRead(Reads(left.parts, None, read), source, left.note)


def _bytes_of(copy: Copy, needs: Set[tuple[str, ...]], left: Left, equal: int) -> Estimate:
    """Estimate what is read of these columns. Rows of a value, or of a range, begin and end amid a page, in each part
    or for each value; pieces along a curve are pages themselves."""
    whole = copy.size.expected / copy.plan.parts_at(copy.size.expected)
    runs = (left.parts.low, left.parts.expected, left.parts.high)
    bounds = []
    for bound, share, parts in zip(("low", "expected", "high"), left.shares, runs, strict=True):
        times = max(parts, equal, 1.0)
        pages = buffered = 0.0
        for name in needs:
            size = getattr(copy.stored[name], bound)
            page = size * min(1.0, PAGE_ROWS * times / max(copy.rows, 1.0))
            begun = page if copy.pieces is None and bound != "low" else 0.0
            read = min(max(size * share + begun, page), size)
            alone = (name in copy.again) + (2 if bound == "high" else 1)  # a dictionary, and pages that stand together
            pages, buffered = pages + read, buffered + max(read, _BUFFER * times * (1 if bound == "low" else alone))
        bounds.append(float(parts * _OPENED + max(pages, min(buffered, parts * whole))))
    return Estimate(*bounds)


def _asks_of(tree: Predicate, some: Sequence[ColumnRef]) -> bool:
    """Return whether some condition is on these columns alone."""
    asked = (set(columns(part)) for part in conjuncts(tree))
    return any(refs and refs <= set(some) for refs in asked)


def _of_curve(copy: Copy, pieces: Pieces, now: Now) -> Left:
    left = pieces.asked(copy.kind.rows(), copy.plan.columns, conjuncts(now.tree))
    return left.in_parts(copy.plan.parts_at(copy.size.expected))


def _of_order(sight: SampleContext, now: Now, copy: Copy, asked: Restriction) -> Left:
    """Estimate the rows left in buckets, or in the order of the first column."""
    first, indexed = ColumnRef(copy.names[0]), [".".join(parts) for parts in copy.names[: copy.plan.indexed]]
    counted = sight.once(("share", _about(now.tree, first)), lambda: _share(sight, _about(now.tree, first), first))
    buckets = copy.kind.buckets_at(sight.snapshot.files.size_bytes)
    shares = [asked.share] * 3 if counted is None else [counted.low, counted.expected, counted.high]
    left = [share_read({indexed[0]: replace(asked, measured=share)}, indexed, buckets) for share in shares]
    parts = copy.plan.parts_at(copy.size.expected)
    if buckets:
        some = min(buckets, asked.equal) if asked.equal and len(indexed) == 1 else buckets
        files = Estimate.exactly(float(some))
    else:  # a range begins and ends in the midst of parts
        few = [min(parts, max(1.0, np.floor(share * parts))) for share in shares]
        files = Estimate(float(few[0]), float(few[1]), float(min(parts, few[2] + 1)))
    return Left((left[0], left[1], left[2]), files, "" if counted is not None else _GUESSED)


def _about(tree: Predicate, first: ColumnRef) -> tuple[Predicate, ...]:
    """The conditions on a column alone."""
    return tuple(part for part in conjuncts(tree) if set(columns(part)) == {first})


def _share(sight: SampleContext, parts: tuple[Predicate, ...], first: ColumnRef) -> Estimate | None:
    """Estimate the share of rows for which these conditions on a column are true: counted in sampled files of those
    that statistics and indexes keep for them; other files have none."""
    if not parts:
        return None
    alone = And(parts) if len(parts) > 1 else parts[0]
    kept = sight.standing.kept(sight.standing.answer(alone))
    rows = sight.sample[kept[sight.sample]]
    if not kept.any():
        return Estimate.exactly(0.0)
    if not len(rows):
        return None
    leaf = named(columns_of(sight.snapshot.schema), first.name, "a condition names columns of the table")
    counts: list[tuple[int, int]] = []
    for row in rows.tolist():
        plan = sight.scan(row, [leaf])
        try:
            every = _count(plan)
            counts.append((_count(replace(plan, predicate=alone)), every))
        except (MetaIndexError, OSError):
            continue
    if not counts:
        return None
    hits, trials = (np.array(one, np.float64) for one in zip(*counts, strict=True))
    scope = Weight.of(sight.snapshot, np.flatnonzero(kept)).rows / Weight.of(sight.snapshot).rows
    return _of_rows(hits, trials, scope, whole=len(rows) == int(kept.sum()))


def _of_rows(hits: Floats, trials: Floats, scope: float, *, whole: bool) -> Estimate:
    """The share with its bounds: files are alike as far as those of the sample are."""
    share = float(hits.sum() / max(trials.sum(), 1.0))
    if whole:
        return Estimate.exactly(share * scope)
    count = len(hits)
    spread = float(np.sqrt(((hits - share * trials) ** 2).sum() / max(count - 1, 1)) / max(trials.mean(), 1.0))
    off = _Z * spread / np.sqrt(count) * (1 + 2 / count) if count > 1 else share
    least = 3.0 / max(trials.sum(), 1.0)  # what was seen in no row may be in so many
    return Estimate(max(share - off, 0.0) * scope, share * scope, min(max(share + off, least), 1.0) * scope)


def _source(sight: SampleContext, now: Now, copy: Copy, needs: Set[tuple[str, ...]]) -> float:
    """Estimate what these columns take in the files that the query reads now: by the footers of the sampled ones, else
    by the widths of their types; for CSV and JSON the whole files."""
    size = float(sight.sizes[now.kept].sum())
    if not sight.grouped:
        return size
    needed = [leaf for leaf in copy.plan.columns if leaf.parts in needs]
    shares: list[float] = sight.once(("stored", *sorted(needs)), lambda: _stored_shares(sight, needed))
    if shares:
        return size * float(np.mean(shares))
    whole = sum(width(one.type) for one in sight.snapshot.schema.fields) or 1
    widths = {leaf.parts: width(leaf.type) for leaf in columns_of(sight.snapshot.schema)}
    return size * min(1.0, sum(widths.get(parts, TEXT_BYTES) for parts in needs) / whole)


def _stored_shares(sight: SampleContext, needed: Sequence[Leaf]) -> list[float]:
    each = (_stored_share(sight, row, needed) for row in sight.sample.tolist())
    return [share for share in each if share is not None]


def _stored_share(sight: SampleContext, row: int, needed: Sequence[Leaf]) -> float | None:
    """Return the share of a file's bytes that the chunks of these columns have; None if its footer does not tell."""
    path = sight.snapshot.files.paths[row].as_py()
    chunks = sight.groups.chunk_bytes(path)
    sources = [".".join(leaf.source) for leaf in needed]
    inside = [size for name, size in chunks.items() if any(f"{name}.".startswith(f"{one}.") for one in sources)]
    return sum(inside) / max(float(sight.sizes[row]), 1.0) if inside else None


_OFF = 0.25
"""By so much a share of the pieces of a sample is off that of the index's, in nine cases of ten."""
_LEAST_ROWS = 16
"""Of a piece of the sample: those of fewer are narrower than pages of their number would be."""


@dataclass(frozen=True, slots=True)
class Left:
    """The rest of a copy that a query reads: shares of its bytes at least, probably and at most; and how many parts."""

    shares: tuple[float, float, float]
    parts: Estimate
    note: str = ""

    def in_parts(self, count: int) -> Left:
        """Scale the share of parts to so many."""
        low, high = np.floor(self.parts.low * count), np.ceil(self.parts.high * count)
        return replace(self, parts=Estimate(float(low), self.parts.expected * count, float(min(high, count))))


@dataclass(frozen=True, slots=True)
class Pieces:
    """The rows of the sample, cut as the index's would be."""

    key: CoveredKey
    parts: Sequence[StoredPart]
    pages: Sequence[StoredPart]

    @classmethod
    def of(cls, plan: RowPlan, rows: pa.Table, every_row: float, parts: int) -> Pieces:
        """`every_row`: how many the table has; `parts`: the index."""
        most = max(1, rows.num_rows // _LEAST_ROWS)
        pages = min(most, max(parts, int(every_row // PAGE_ROWS)))
        return cls(plan.covered(RowSizes({}), 0), plan.cut(rows, min(most, parts)), plan.cut(rows, pages))

    def asked(self, rows: type[ServedRows], columns: Sequence[Leaf], conditions: Sequence[Predicate]) -> Left:
        """Shares, of parts too. Parts are left out by the bounds of every indexed column, pages by those of columns of
        which Parquet keeps any: not of floats."""
        names = {ColumnRef(leaf.parts): leaf.stable for leaf in columns}
        paged = {ColumnRef(leaf.parts): leaf.stable for leaf in columns if not is_floating(leaf.type)}
        parts = rows.parts_left(self.key, self.parts, conditions, names)
        there = {part.path for part in parts}
        pages = [page for page in rows.parts_left(self.key, self.pages, conditions, paged) if self._part(page) in there]
        share = _rows_in(pages) / max(1, _rows_in(self.pages))
        shares = share * (1 - _OFF), share, min(1.0, share * (1 + _OFF))
        of_parts = len(parts) / max(1, len(self.parts))
        return Left(shares, Estimate(of_parts * (1 - _OFF), of_parts, min(1.0, of_parts * (1 + _OFF))))

    def _part(self, page: StoredPart) -> str:
        """The part that a page is in: both are numbered in the order of the rows."""
        return self.parts[int(page.path) * len(self.parts) // max(1, len(self.pages))].path


def _rows_in(parts: Sequence[StoredPart]) -> int:
    return sum(part.info.rows for part in parts)
