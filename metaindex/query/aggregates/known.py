"""Statistics of a snapshot's files that need no file opened: how many rows live, which are deleted, and of a column the
exact extremes, counts, and its value in files that have a single one.

Only what is attained counts here: a bound that merely encloses (a cut text, a widened time) leaves files out elsewhere,
and is no answer. Sources that differ about a number of rows are believed in no part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, Vector, arrow_array, dataclass
from metaindex.expressions import Family
from metaindex.formats import Field, FileTable, Leaf
from metaindex.index import ColumnFacts, FileStatistics, Kept
from metaindex.query.order import as_compared, compared_type

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
    def of(cls, bounds: FileStatistics, question: AggregateQuestion) -> KnownFiles:
        """Collect the statistics that the question needs."""
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
        return cls(_live(files, bounds, columns, counted), files.with_deletes, columns, sums, sketches, values)


def _live(
    files: FileTable, bounds: FileStatistics, columns: Mapping[Field, KnownColumn], counted: Sequence[KnownCounts]
) -> KnownCounts:
    told = [KnownCounts.physical(files), *(column.rows for column in columns.values()), *counted]
    if not KnownCounts.agreed(told).known.all() and (leaf := _covered(bounds)) is not None:
        told += [KnownColumn.of(facts).rows for facts in bounds.columns([leaf])]
    return KnownCounts.agreed(told).less(KnownCounts.deleted(files))


def _covered(bounds: FileStatistics) -> Leaf | None:
    """A column of which some index has statistics: they count the rows, too."""
    return next((leaf for leaf in bounds.snapshot.schema.leaves() if bounds.covering(leaf).any()), None)


def _attained(told: ColumnFacts, side: str, all_null: Mask) -> Attained:
    """Return a bound that some row has, if nothing else can be less (or greater): NULL where all rows are."""
    values = told.bounds(side)
    if values is None:
        return Attained(pa.nulls(told.facts.num_rows, compared_type(told.leaf.type)), all_null)
    exact = Vector(told.facts.column(f"{side}_exact")).truths(null=False)
    stands = Vector(values).valid
    known = exact if stands is None else exact & stands
    return Attained(_only(as_compared(values), known), all_null | known)


def _only(values: pa.Array, where: Mask) -> pa.Array:
    """The values there, NULL elsewhere."""
    return values.take(arrow_array(np.arange(len(values)), where, pa.int64()))
