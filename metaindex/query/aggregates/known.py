"""Statistics of a snapshot's files that need no file opened: how many rows live, which are deleted, and of a column the
exact extremes, counts, and its value in files that have a single one.

Only facts count here (`index.FileStatistics`), and what is attained: a bound that merely encloses (a cut text, a
widened time) leaves files out elsewhere, and is no answer. A claim of the table's log can but contradict: where sources
differ about a number of rows, the file's footer is asked, and what that does not settle is read. One number is taken
from the log as every reader takes it: of all rows of a table, where no index has counted them and none is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, Vector, dataclass
from metaindex.expressions import ArrowStatistics, ColumnRef, Family, Predicate
from metaindex.formats import Field, Leaf, Snapshot
from metaindex.index import ColumnFacts, FileStatistics, Kept
from metaindex.query.order import as_compared, compared_type
from metaindex.query.pruning.walk import surely

from .counts import KnownCounts
from .measures import AggregateQuestion, How


@dataclass(frozen=True, slots=True)
class Attained:
    """A value a file, as values are compared (`expressions.order`); where it is not `known` it means nothing."""

    values: pa.Array
    known: Mask


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column in each file, deletes aside."""

    rows: KnownCounts
    nulls: KnownCounts
    nans: KnownCounts
    all_null: Mask
    least: Attained
    greatest: Attained

    @property
    def constant(self) -> Attained:
        """Return the one value that all rows have; NULL if no row has another."""
        import pyarrow.compute as pc

        least, greatest = self.least, self.greatest
        one_value = Vector(pc.equal(least.values, greatest.values)).truths(null=False)
        without = self.nulls.known & (self.nulls.values == 0) & self.nans.known & (self.nans.values == 0)
        return Attained(least.values, self.all_null | (least.known & greatest.known & one_value & without))

    @classmethod
    def of(cls, told: ColumnFacts) -> KnownColumn:
        facts, type_ = told.facts, told.leaf.type
        all_null = told.all_null
        nans = KnownCounts.of(facts.column("nan_count"))
        if not Family.may_be_nan(type_):
            nans = KnownCounts(np.zeros(len(all_null), np.int64), np.ones(len(all_null), np.bool_))
        least = _attained(told, "lower", all_null)
        greatest = _attained(told, "upper", all_null)
        no_nan = nans.known & (nans.values == 0)
        return cls(
            KnownCounts.of(facts.column("value_count")),
            KnownCounts.of(facts.column("null_count")),
            nans,
            all_null,
            least,
            Attained(greatest.values, greatest.known & (all_null | no_nan)),  # NaN is greater than what is bounded
        )


@dataclass(frozen=True, slots=True)
class KnownFiles:
    """The files of a snapshot. `live`: rows that are not deleted; `deletes`: where some may be. Columns are those of
    the snapshot's schema: the asker may call them otherwise."""

    live: KnownCounts
    deletes: Mask
    columns: Mapping[Field, KnownColumn]
    sums: Mapping[Field, Kept]
    sketches: Mapping[Field, Kept]
    values: Mapping[Field, Kept]

    @classmethod
    def of(cls, bounds: FileStatistics, question: AggregateQuestion, *, by_log: bool = False) -> KnownFiles:
        """Collect the statistics that the question needs. `by_log`: rows may be counted by the table's log."""
        files = bounds.snapshot.files
        leaves = {leaf.field: leaf for leaf in bounds.snapshot.schema.leaves() if len(leaf.path) == 1}
        asked = [leaves[field] for field in question.fields if field in leaves]
        columns = {told.leaf.field: KnownColumn.of(told) for told in bounds.columns(asked)}

        def kept(how: How, of: Callable[[FileStatistics, Leaf], Kept | None]) -> dict[Field, Kept]:
            told = {field: of(bounds, leaves[field]) for field in question.asked(how) if field in leaves}
            return {field: answer for field, answer in told.items() if answer is not None}

        sums, sketches = kept(How.SUM, Kept.sums), kept(How.APPROX_DISTINCT, Kept.sketches)
        values = kept(How.COUNT_DISTINCT, Kept.values)
        counted = [KnownCounts.of(told.rows) for told in (*sums.values(), *sketches.values())]
        counted += [column.rows for column in columns.values()]
        return cls(live_rows(bounds, counted, by_log=by_log), files.with_deletes, columns, sums, sketches, values)

    def claimed(self, bounds: FileStatistics) -> KnownFiles:
        """Return what would be known if the table's log could be believed, and footers told the rows: what is worth
        asking. `bounds`: with claims."""
        claims = {told.leaf.field: KnownColumn.of(told) for told in bounds.columns([Leaf((f,)) for f in self.columns])}
        everything = np.ones(len(self.deletes), np.bool_)
        return replace(self, live=KnownCounts(self.live.values, everything), columns=claims)


def live_rows(bounds: FileStatistics, counted: Sequence[KnownCounts], *, by_log: bool = False) -> KnownCounts:
    """Return the rows of each file that are not deleted, as indexes `counted` them and footers say, where the table's
    log does not contradict. Where nothing is known, the value is the likeliest."""
    files, claimed = bounds.snapshot.files, KnownCounts.physical(bounds.snapshot.files)
    counted = [KnownCounts.of(pa.nulls(len(files), pa.int64())), *counted]
    if not KnownCounts.agreed(counted).known.all():
        leaves = _a_leaf_of_each_run(bounds)
        counted += [KnownCounts.of(bounds.indexed(leaf).facts.column("value_count")) for leaf in leaves]
    facts, some = KnownCounts.agreed(counted), np.logical_or.reduce([counts.known for counts in counted])
    known = facts.known & (~claimed.known | (claimed.values == facts.values))
    known |= by_log & claimed.known & ~some & ~files.with_deletes
    values = np.where(some, facts.values, claimed.values)
    footers = KnownCounts.of(bounds.footer_rows)
    settled = KnownCounts.agreed([footers, *counted])
    rows = KnownCounts(np.where(footers.known, footers.values, values), np.where(footers.known, settled.known, known))
    return rows.less(KnownCounts.deleted(files))


def _a_leaf_of_each_run(bounds: FileStatistics) -> list[Leaf]:
    """Columns, such that each run of an index that has statistics has them of one of these."""
    leaves = {leaf.stable: leaf for leaf in bounds.snapshot.schema.leaves()}
    leaf_of_runs: dict[str, Leaf] = {}
    for index in bounds.indexes:
        for run in index.entry.content.runs:
            known = [column.stable for column in run.columns if not column.partition and column.stable in leaves]
            if known and not any(stable in leaf_of_runs for stable in known):
                leaf_of_runs[known[0]] = leaves[known[0]]
    return list(leaf_of_runs.values())


def leaves_of(snapshot: Snapshot, predicate: Predicate | None, fields: Iterable[Field]) -> list[Leaf]:
    """Return the columns of a predicate, and others."""
    named = set() if predicate is None else {ref.parts for ref in predicate.columns}
    named |= {(field.name,) for field in fields}
    return [leaf for leaf in snapshot.schema.leaves() if leaf.parts in named]


def facts_of(predicate: Predicate, bounds: FileStatistics) -> dict[ColumnRef, ColumnFacts]:
    """Return what is known of the predicate's columns."""
    of_schema = {leaf.parts: leaf for leaf in bounds.snapshot.schema.leaves()}
    asked = {ref: of_schema[ref.parts] for ref in predicate.columns if ref.parts in of_schema}
    return dict(zip(asked, bounds.columns(list(asked.values())), strict=True))


def certain_by(predicate: Predicate, bounds: FileStatistics) -> Mask:
    """Return a mask of the files in which it is proved that every row passes."""
    count = len(bounds.snapshot.files)
    told = {ref: facts.as_bounds for ref, facts in facts_of(predicate, bounds).items()}
    return surely(predicate, ArrowStatistics(count, told), count)


def _attained(told: ColumnFacts, side: str, all_null: Mask) -> Attained:
    """Return a bound that some row has, if nothing else can be less (or greater): NULL where all rows are."""
    values = told.bounds(side)
    if values is None:
        return Attained(pa.nulls(told.facts.num_rows, compared_type(told.leaf.type)), all_null)
    exact = Vector(told.facts.column(f"{side}_exact")).truths(null=False)
    known = exact & Vector(values).present
    return Attained(only(as_compared(values), known), all_null | known)


def only(values: pa.Array, where: Mask) -> pa.Array:
    """The values there, NULL elsewhere."""
    return values.take(Vector.arrow(np.arange(len(values)), where, pa.int64()))
