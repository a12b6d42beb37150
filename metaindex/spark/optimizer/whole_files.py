"""Facts about whole files of a scan: in which every row passes the filters, how many rows live, and the columns'
extremes. Answers that skip files whose rows would pass (`first_rows`, `answered`) rest on them, so more is required
than of a skip: every filter has to be understood, and what a log says of columns is not believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, ObjectNotFoundError, UnknownColumnError, Vector
from metaindex.expressions import And, ArrowStatistics, ColumnBounds, ColumnRef, Constant, Opaque, Predicate
from metaindex.formats import FileTable, Leaf
from metaindex.index import ColumnFacts, FileStatistics, KnownCounts, shown_as
from metaindex.query import PruneResult, Queries, certain_files, surely
from metaindex.table import Table, handle_of

from . import text_scans
from .alike import are_columns_alike, is_read_as_written, judged_of_files
from .believed import counted_rows
from .reasons import Reason
from .replaced import replaced
from .replies import normal, packed, signs
from .request import Delta, Files, Iceberg, SparkScan
from .scans import at_version, named, of_this_table

Rows = npt.NDArray[np.int64]
_READ_ON: Final = frozenset({"ignorecorruptfiles", "ignoremissingfiles"})


@dataclass(frozen=True, slots=True)
class WholeFiles:
    """The files of a version, row by row of its snapshot. `kept`: those that the filters leave; `certain`: of which
    every row passes; `certain_by`: indexes whose statistics of the filters' columns prove that."""

    table: Table
    scan: SparkScan
    result: PruneResult
    files: FileTable
    kept: Mask
    certain: Mask
    bounds: FileStatistics
    deleted: KnownCounts
    certain_by: frozenset[str] = frozenset()

    @property
    def live(self) -> KnownCounts:
        """Rows that are not deleted."""
        return counted_rows(self.bounds).less(self.deleted)

    def leaf(self, name: str) -> Leaf | Reason:
        """The column of the scan, where Spark shows of it what an index knows."""
        schema = self.bounds.snapshot.schema
        stable = named(schema, self.scan).get((name,))
        found = next((leaf for leaf in schema.leaves() if leaf.stable == stable and len(leaf.path) == 1), None)
        need = next((need for need in self.scan.needs if need.name == name), None)
        if found is None or need is None or need.altered or not _same_type(found, need.type):
            return Reason.OTHER_TYPES
        if found.field.default is not None or not found.field.default_known:
            return Reason.OTHER_TYPES  # files without the column show it
        return found if are_columns_alike(self.table, [found], self.scan.source) else Reason.OTHER_TYPES

    def changed(self, rows: Rows) -> Mask:
        """Return a mask of the files that changed since an index read them: of plain files alone."""
        if not self.scan.plain or not len(rows):
            return np.zeros(len(rows), np.bool_)
        return replaced(self.files.take(pa.array(rows)), self.result.table)

    def told(self, rows: Rows) -> str:
        """Files, path and sign by turns."""
        some = self.files.take(pa.array(rows))
        return packed(pc.binary_join_element_wise(normal(some, self.result.table), signs(some), "\0").to_pylist())

    def proof(self, rows: Rows) -> str:
        """Return the files' names and signs with the number of deleted rows of each."""
        some, gone = self.files.take(pa.array(rows)), pa.array(self.deleted.values[rows]).cast(pa.string())
        names = normal(some, self.result.table)
        return packed(pc.binary_join_element_wise(names, signs(some), gone, "\0").to_pylist())

    def without(self, out: Mask) -> PruneResult:
        """The answer to the filters without these files."""
        paths = self.files.paths.filter(pa.array(out)).combine_chunks()
        return self.result.without(np.asarray(pc.is_in(self.result.files.paths, value_set=paths)))


def whole_files(table: Table, scan: SparkScan, allowed: Sequence[str] | None) -> WholeFiles | Reason:
    """`allowed`: names of the indexes that may be asked."""
    source = scan.source
    if isinstance(source, Iceberg) and source.version is None:
        return Reason.NO_VERSION
    if not is_read_as_written(source) or _reads_on(source):
        return Reason.READER_OPTIONS
    conditions = [condition for condition in scan.conditions if condition != Constant(True)]
    if any(isinstance(leaf, Opaque) for condition in conditions for leaf in condition.leaves()):
        return Reason.PART_UNKNOWN
    if isinstance(source, Files):
        judged = judged_of_files(table, conditions, source) if conditions else conditions
        if isinstance(judged, Reason) or len(judged) < len(conditions):
            return Reason.PART_UNKNOWN
    asked = at_version(And(tuple(conditions)), scan) if conditions else Constant(True)
    try:
        every = handle_of(table).made(Queries).over_files(asked, None, source.version, None, allowed)
    except UnknownColumnError:
        return Reason.PART_UNKNOWN
    except ObjectNotFoundError:
        if scan.plain:
            return Reason.CHANGED  # a file that the index recorded is gone
        raise
    result, snapshot = every.result, every.snapshot
    assert result is not None, "a predicate was asked"
    if not of_this_table(scan, snapshot.version):
        return Reason.OTHER_TABLE
    if scan.text and not text_scans.tabs_are_told(table, (snapshot.files.paths,)):
        return Reason.READER_OPTIONS
    kept = np.zeros(len(snapshot.files), np.bool_)
    kept[every.file_rows] = True
    indexes = handle_of(table).open_indexes(allowed)[0]
    bounds = FileStatistics(snapshot, indexes, storage=every.storage, opens=False, logged=False)
    certain = certain_files(every) & kept
    by = frozenset[str]()
    if certain.any():
        told = _told_of(result.predicate, bounds)
        certain &= _certain_without_log(result.predicate, told, len(snapshot.files))
        by = frozenset(name for facts in told.values() for name in indexes_of(facts))
    deleted = KnownCounts.deleted(snapshot.files)
    return WholeFiles(table, scan, result, snapshot.files, kept, certain, bounds, deleted, by)


def indexes_of(facts: ColumnFacts) -> set[str]:
    """Names of the indexes that know the column."""
    return {source.removeprefix("index ") for source in facts.sources if source.startswith("index ")}


def _told_of(predicate: Predicate, bounds: FileStatistics) -> dict[ColumnRef, ColumnFacts]:
    """Return what indexes and partitions know of its columns."""
    of_schema = {leaf.parts: leaf for leaf in bounds.snapshot.schema.leaves()}
    asked = {ref: of_schema[ref.parts] for ref in predicate.columns if ref.parts in of_schema}
    return dict(zip(asked, bounds.columns(list(asked.values())), strict=True))


def _certain_without_log(predicate: Predicate, told: Mapping[ColumnRef, ColumnFacts], count: int) -> Mask:
    """Return a mask of the files in which indexes and partitions prove that every row passes: nobody would see that a
    bound in a log is wrong if no row is read."""
    return surely(predicate, ArrowStatistics(count, {ref: _bounds(facts) for ref, facts in told.items()}), count)


def _bounds(told: ColumnFacts) -> ColumnBounds:
    def said(name: str) -> pa.Array:
        return Vector(told.facts.column(name)).array

    counts = said("null_count"), said("nan_count"), said("value_count")
    return ColumnBounds(told.leaf.type, said("lower"), said("upper"), *counts, said("lower_exact"), said("upper_exact"))


def _reads_on(source: Delta | Iceberg | Files) -> bool:
    """Return whether the reader skips missing or damaged files instead of failing."""
    said = {} if isinstance(source, Iceberg) else source.options
    return any(name.lower() in _READ_ON and value.lower() != "false" for name, value in said.items())


def _same_type(leaf: Leaf, spark: object) -> bool:
    """Return whether it is the type that Spark has for the column."""
    type_ = leaf.type
    if leaf.field.logical:
        return False
    if leaf.field.partition and pa.types.is_timestamp(type_):
        return False  # a text that is read in some zone
    if pa.types.is_timestamp(type_) and type_.unit != "ns":
        type_ = pa.timestamp("us", type_.tz)
    if pa.types.is_fixed_size_binary(type_) or pa.types.is_binary_view(type_):
        return False  # nobody has tried what Spark makes of their values
    shown = shown_as(type_)
    return shown is not None and shown == spark
