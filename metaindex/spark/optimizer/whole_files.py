"""Whole files of a scan, of which every row passes its filters: which of them are not read for an aggregate or the
first rows of an order, as what indexes hold of them answers (`query.WholeFiles`), and which come first where some rows
are taken. What Spark shows of a column has to be what an index knows."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, ObjectNotFoundError, UnknownColumnError, Vector, counted
from metaindex.expressions import And, Constant, Opaque
from metaindex.formats import Leaf
from metaindex.index import ServedKey
from metaindex.query import PruneResult, Queries, Unproved, WholeFiles
from metaindex.table import Table, handle_of

from . import text_scans
from .alike import are_columns_alike, is_read_as_written, judged_of_files
from .reasons import Reason
from .replaced import replaced
from .replies import packed, signed
from .request import AggregateAsked, Delta, Files, FirstAsked, Iceberg, SparkScan
from .scans import at_version, named, of_this_table

Rows: TypeAlias = npt.NDArray[np.int64]
_READ_ON: Final = frozenset({"ignorecorruptfiles", "ignoremissingfiles"})


@dataclass(frozen=True, slots=True)
class ScanFiles:
    """The files of a scan's version, as far as indexes know them whole."""

    table: Table
    scan: SparkScan
    whole: WholeFiles

    def leaf(self, name: str) -> Leaf | Reason:
        """The column of the scan, where Spark shows of it what an index knows."""
        schema = self.whole.bounds.snapshot.schema
        stable = named(schema, self.scan).get((name,))
        found = next((leaf for leaf in schema.leaves() if leaf.stable == stable and len(leaf.path) == 1), None)
        need = next((need for need in self.scan.needs if need.name == name), None)
        if found is None or need is None or need.altered or not _same_type(found, need.type):
            return Reason.OTHER_TYPES
        if found.field.default is not None or not found.field.default_known:
            return Reason.OTHER_TYPES  # files without the column show it
        return found if are_columns_alike(self.table, [found], self.scan.source) else Reason.OTHER_TYPES

    def first(self, asked: FirstAsked) -> FirstFound | Reason:
        """Return the files behind the first rows, or why none is."""
        leaf = self.leaf(asked.column)
        found = leaf if isinstance(leaf, Reason) else self.whole.first(leaf, asked.direction, asked.rows)
        if isinstance(found, Reason | Unproved):
            return Reason[found.name]
        return FirstFound(asked, self, found.behind, found.proof, self.whole.without(found.behind), found.indexes)

    def aggregate(self, asked: AggregateAsked) -> Answered | Reason:
        """Return the files that are answered for, or why none is."""
        meant: dict[str, Leaf] = {}
        for name in asked.columns:
            leaf = self.leaf(name)
            if isinstance(leaf, Reason):
                return leaf
            meant[name] = leaf
        text = self.scan.text is not None
        if text and not self.scan.needs:
            return Reason.LINES
        measures = [(how, None if name is None else meant[name].field) for how, name in asked.measures]
        found = self.whole.aggregate([meant[name].field for name in asked.keys], measures, values=not text)
        if found is Unproved.NOTHING_ANSWERED and text and asked.tells_apart:
            return Reason.TEXT_VALUES
        if isinstance(found, Unproved):
            return Reason[found.name]
        rows = [list(row) for block in found.blocks for row in zip(*map(_as_texts, block), strict=True)]
        return Answered(self, found.files, rows, self.whole.without(found.files), found.indexes, found.values)

    def certain_first(self) -> CertainFirst | Reason:
        """Return the certain files if some of the files are, and some are not."""
        rows = self.whole.certain_first()
        return Reason.NOTHING_CERTAIN if rows is None else CertainFirst(self, rows, self.whole.result)

    def told(self, rows: Rows, *more: pa.Array) -> str:
        """Return the files' names and signs, and what `more` has of each."""
        return packed(signed(self.whole.files.take(pa.array(rows)), self.whole.result.table, *more))

    def proof(self, rows: Rows) -> str:
        """Return the files' names and signs with the number of deleted rows of each."""
        return self.told(rows, pa.array(self.whole.deleted.values[rows]).cast(pa.string()))


@dataclass(frozen=True, slots=True)
class Answered:
    """`files`: those that are not read, as `rows` says what they bring in: a group each, keys and then answers."""

    known: ScanFiles
    files: Rows
    rows: list[list[str | None]]
    result: PruneResult
    indexes: tuple[str, ...]
    values: int = 0  # different ones, that stand in the plan

    def __str__(self) -> str:
        values = f" ({counted(self.values, 'different value')})" if self.values else ""
        return f"{len(self.files):,} files are answered for by what is known of them{values}"

    def reply(self, before: str) -> dict[str, object]:
        """Return the reply. `before`: label of the filters' answer."""
        label = ", ".join(part for part in (before, f"{len(self.files)} files answered") if part)
        return {"label": label, "proof": self.known.proof(self.files), "rows": self.rows}


@dataclass(frozen=True, slots=True)
class FirstFound:
    """The proof for the first rows. `out`: files dropped beside the filters'; `proof`: those whose rows come first."""

    asked: FirstAsked
    known: ScanFiles
    out: Rows
    proof: Rows
    result: PruneResult
    indexes: tuple[str, ...]

    def __str__(self) -> str:
        way = " DESC" if self.asked.direction.descending else ""
        return f"the first {self.asked.rows:,} by {self.asked.column}{way}"

    def reply(self, before: str) -> dict[str, object]:
        """Return the reply. `before`: label of the filters' answer."""
        label = ", ".join(part for part in (before, str(self)) if part)
        return {"label": label, "dropped": self.known.told(self.out), "proof": self.known.proof(self.proof)}


@dataclass(frozen=True, slots=True)
class CertainFirst:
    """`certain`: files that are read before the others. Nothing is left out for it."""

    known: ScanFiles
    certain: Rows
    result: PruneResult
    indexes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "some rows, of certain files first"

    def reply(self, before: str) -> dict[str, object]:
        """Return the reply. `before`: label of the filters' answer."""
        return {"label": before, "files": self.known.told(self.certain)}


def scan_files(table: Table, scan: SparkScan, allowed: Sequence[str] | None) -> ScanFiles | Reason:
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
        queries = handle_of(table).made(Queries)
        every = queries.over_files(queries.ask(asked, source.version, indexes=allowed))
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
    files, root = snapshot.files, result.table

    def changed(rows: Rows) -> Mask:
        """Return a mask of the files that changed: of plain files alone."""
        if not scan.plain or not len(rows):
            return np.zeros(len(rows), np.bool_)
        return replaced(files.take(pa.array(rows)), root)

    return ScanFiles(table, scan, WholeFiles.of(every, handle_of(table).open_indexes(allowed)[0], changed))


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
    shown = ServedKey.spark_type(type_)
    return shown is not None and shown == spark


def _as_texts(values: pa.Array | pa.ChunkedArray) -> list[str | None]:
    """Numbers in digits (of floats: the bits of the double), days since 1970, microseconds, base64 of bytes."""
    values = Vector(values).array
    type_ = values.type
    if pa.types.is_floating(type_):
        bits = Vector(values.cast(pa.float64())).items(np.float64).view(np.int64)
        return _texts(Vector.arrow(bits, Vector(values).valid, pa.int64()))
    if pa.types.is_date(type_):
        return _texts(values.cast(pa.date32()).cast(pa.int32()))
    if pa.types.is_timestamp(type_):
        return _texts(values.cast(pa.timestamp("us", type_.tz)).cast(pa.int64()))
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return [None if value is None else base64.b64encode(value).decode() for value in values.to_pylist()]
    if pa.types.is_decimal(type_):
        return [None if value is None else str(value) for value in values.to_pylist()]
    return _texts(values)


def _texts(values: pa.Array) -> list[str | None]:
    texts: list[str | None] = values.cast(pa.string()).to_pylist()
    return texts
