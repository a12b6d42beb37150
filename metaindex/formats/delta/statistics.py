"""Column statistics from the log, for every file, corrected for known faults of writers.

fault or doubt                                    answer
column outside the indexed ones, null, damaged    unknown
times are cut, and lose seconds of zone offsets    wider, as `uncut_times` says
texts are cut to some length, max gets a mark     lower as it is; upper is above everything that starts so
a deletion vector, whatever `tightBounds` says    unknown: the numbers may be those of the rows left
tightBounds false, no deletion vector             bounds, not exact; null count unknown
NaN as a bound                                    both unknown; nan_count is never known
float printed before the column became double     loosened to the nearest floats
decimals of many digits passed through a double   both bounds wider by their size / 2^50, never exact
whole decimals at an end of int64                 that bound is unknown: it may have been cut off there
lower above upper, counts beyond the rows         unknown
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector
from metaindex.expressions import ColumnBounds, physical_type, to_physical
from metaindex.formats.columns import (
    consistent,
    int64_values,
    rows_array,
    some_rows,
    unchunked,
    uncut_times,
    where,
)
from metaindex.formats.model import Leaf
from metaindex.storage import Storage

from .decimals import loosened
from .parquet_part import Batch, batches, has_field, opened
from .stats_json import FEW_TEXTS, read_leaves
from .stats_rows import Column, LeafStatistics, Row, parsed_rows, read_rows

_MARKS = ("\ufffd".encode(), "\U0010ffff".encode())
_CUT_LENGTH = 32


@dataclass(frozen=True, slots=True)
class LogStatistics:
    """Statistics of live files: each file's are row `delta_row` of part `delta_part`, or of `loose` if that is -1."""

    storage: Storage
    table: str
    parts: tuple[str, ...]
    loose: pa.Array
    files: pa.Table
    once_float: frozenset[tuple[str, ...]]
    _rows: list[Row] = field(default_factory=list)  # of the loose ones, where they are few

    @property
    def record_count(self) -> pa.Array:
        return some_rows(unchunked(self.files.column("record_count")))

    def null_lists(self, leaf: Leaf) -> ColumnBounds | None:
        """Return in which files no list or map is NULL. A count above 0 may count elements, or include empty lists, as
        in footers."""
        (written,) = self._written([(leaf.source, pa.binary())])  # whose bounds are never read
        repaired = _repaired(written, self.files, pa.binary(), False)
        if repaired is None or repaired.null_count is None:
            return None
        nulls, known = int64_values(repaired.null_count)
        none = Vector.arrow(np.zeros(len(nulls), np.int64), known & (nulls == 0), pa.int64())
        return ColumnBounds(pa.binary(), None, None, none, None, self.record_count)

    def many_bounds(self, leaves: Sequence[Leaf]) -> list[ColumnBounds | None]:
        """The bounds of each leaf; what says them is read once for all."""
        asked = [leaf for leaf in leaves if physical_type(leaf.type) is not None]
        written = self._written([(leaf.source, leaf.type) for leaf in asked]) if asked else []
        # One after the other, so that of millions of files no column is held twice but one.
        return [
            _repaired(written.pop(0), self.files, leaf.type, leaf.source in self.once_float)
            if physical_type(leaf.type) is not None
            else None
            for leaf in leaves
        ]

    def _written(self, columns: Sequence[Column]) -> list[LeafStatistics]:
        """Aligned with the files."""
        pieces: list[list[LeafStatistics]] = []
        parts = Vector(self.files.column("delta_part")).items(np.int32)
        rows = Vector(self.files.column("delta_row")).items(np.int64)
        order = np.zeros(len(parts), np.int64)
        start = 0
        for number in (*range(len(self.parts)), -1):
            files = np.flatnonzero(parts == number)
            if not len(files):
                continue
            if number < 0:
                piece = self._of_loose(rows[files], columns)
            else:
                path = self.parts[number]
                with opened(self.storage, path, f"{self.table}, {path}") as part:
                    piece = _of_part(part, rows[files], columns)
            order[files] = np.arange(start, start + len(files))
            start += len(files)
            pieces.append(piece)
        if not pieces:
            return [LeafStatistics.unknown(0, type_) for _, type_ in columns]
        out = [LeafStatistics.joined([piece.pop(0) for piece in pieces]) for _ in columns]
        as_asked = bool((order == np.arange(len(order))).all())
        return out if as_asked else [column.take(order) for column in out]

    def _of_loose(self, rows: npt.NDArray[np.int64], columns: Sequence[Column]) -> list[LeafStatistics]:
        if len(self.loose) > FEW_TEXTS:
            return read_leaves(self.loose.take(rows_array(rows)), columns)
        if not self._rows:
            self._rows.extend(parsed_rows(self.loose))
        some = [self._rows[row] for row in rows.tolist()]
        return [read_rows(some, source, type_) for source, type_ in columns]


def _of_part(part: Any, rows: npt.NDArray[np.int64], columns: Sequence[Column]) -> list[LeafStatistics]:
    """Return the statistics of some rows of a part, in ascending order."""
    pieces = []
    for batch in batches(part):
        first, last = np.searchsorted(rows, [batch.first_row, batch.first_row + batch.rows])
        if first < last:
            pieces.append(_of_batch(batch, rows[first:last] - batch.first_row, columns))
    return [LeafStatistics.joined([piece.pop(0) for piece in pieces]) for _ in columns]


def _of_batch(batch: Batch, rows: npt.NDArray[np.int64], columns: Sequence[Column]) -> list[LeafStatistics]:
    """Return statistics of a batch's rows: from the parsed struct if the checkpoint has one, else the text."""
    add = batch.part.schema_arrow.field("add").type
    texts = has_field(add, "stats")
    if not has_field(add, "stats_parsed"):
        if not texts:
            return [LeafStatistics.unknown(len(rows), type_) for _, type_ in columns]
        return read_leaves(_texts(batch, rows), columns)
    out = []
    for source, type_ in columns:
        statistics, without = _of_struct(batch, add.field("stats_parsed").type, rows, source, type_)
        if texts and len(without):
            order = np.arange(len(rows))
            order[without] = len(rows) + np.arange(len(without))
            said = read_leaves(_texts(batch, rows[without]), [(source, type_)])
            statistics = LeafStatistics.joined([statistics, *said]).take(order)
        out.append(statistics)
    return out


def _texts(batch: Batch, rows: npt.NDArray[np.int64]) -> pa.Array:
    return batch.adds(["stats"])["stats"].take(rows_array(rows)).cast(pa.string())


def _of_struct(
    batch: Batch, parsed: pa.DataType, rows: npt.NDArray[np.int64], source: tuple[str, ...], type_: pa.DataType
) -> tuple[LeafStatistics, npt.NDArray[np.int64]]:
    """The statistics, and which of `rows` have no struct."""
    import pyarrow.compute as pc

    paths = {
        kind: [kind, *source] for kind in ("minValues", "maxValues", "nullCount") if _reaches(parsed, (kind, *source))
    }
    for flag in ("tightBounds", "numRecords"):
        if has_field(parsed, flag):
            paths[flag] = [flag]
    unknown = LeafStatistics.unknown(len(rows), type_)
    if not paths:
        return unknown, np.arange(len(rows))
    columns = ["stats_parsed." + ".".join(path) for path in paths.values()]
    struct = batch.adds(columns)["stats_parsed"].take(rows_array(rows))
    without = where(struct.is_null())

    def leaf(kind: str) -> pa.Array | None:
        return pc.struct_field(struct, paths[kind]) if kind in paths else None

    def bound(kind: str, default: pa.Array, upper: bool) -> pa.Array:
        bounds = leaf(kind)
        if bounds is None or pa.types.is_binary(type_):
            return default
        try:
            if pa.types.is_timestamp(bounds.type) and pa.types.is_timestamp(type_):
                return to_physical(bounds, type_, upper=upper)  # whatever its unit
            return to_physical(bounds.cast(type_), type_, upper=upper)
        except (pa.ArrowException, TypeError):
            return default

    lower, upper = bound("minValues", unknown.lower, False), bound("maxValues", unknown.upper, True)
    nulls, tight = leaf("nullCount"), leaf("tightBounds")
    loose = unknown.loose
    if tight is not None and pa.types.is_boolean(tight.type):
        loose = ~Vector(tight).truths(null=True)
    counted = nulls.cast(pa.int64()) if nulls is not None and pa.types.is_integer(nulls.type) else unknown.null_count
    said = LeafStatistics(lower, upper, counted, loose)
    return said.without_nan(leaf("minValues"), leaf("maxValues")) if pa.types.is_floating(type_) else said, without


def _reaches(type_: pa.DataType, path: Sequence[str]) -> bool:
    for name in path:
        if not has_field(type_, name):
            return False
        type_ = type_.field(name).type
    return not pa.types.is_nested(type_)


# Repairs ----------------------------------------------------------------------------------------------------------


def _repaired(written: LeafStatistics, files: pa.Table, type_: pa.DataType, once_float: bool) -> ColumnBounds | None:
    record_count = some_rows(unchunked(files.column("record_count")))
    with_deletes = Vector(files.column("deletes")).present
    lower, upper = written.lower, written.upper
    is_ = pa.types
    exact = not (is_.is_string(type_) or is_.is_timestamp(type_) or is_.is_decimal(type_) or once_float)
    if is_.is_timestamp(type_):
        lower, upper = uncut_times(lower, upper)
    elif is_.is_string(type_):
        upper = _above_cut_texts(upper)
    elif is_.is_decimal(type_):
        lower, upper = loosened(lower, upper, type_)
    elif once_float and is_.is_float64(type_):
        lower, upper = _wider_floats(lower, upper)

    rows, rows_known = int64_values(record_count)
    nulls, nulls_known = int64_values(written.null_count)
    nulls_known &= ~written.loose & ~with_deletes
    sound, nulls_known = consistent(lower, upper, nulls, nulls_known, rows, rows_known)
    low_known, high_known = (Vector(bound).present & sound & ~with_deletes for bound in (lower, upper))
    if not (low_known.any() or high_known.any() or nulls_known.any()):
        return None
    every = np.arange(len(rows))
    exactly = Vector.arrow(~written.loose & low_known) if exact else None
    exactly_high = Vector.arrow(~written.loose & high_known) if exact else None
    return ColumnBounds(
        type=type_,
        lower=lower.take(rows_array(every, low_known)),
        upper=upper.take(rows_array(every, high_known)),
        null_count=Vector.arrow(nulls.copy(), nulls_known, pa.int64()),
        nan_count=None,
        row_count=record_count,
        lower_exact=exactly,
        upper_exact=exactly_high,
    )


def _wider_floats(lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array]:
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = Vector(lower).items(np.float64), Vector(upper).items(np.float64)
        low = np.minimum(low, low.astype(np.float32).astype(np.float64))
        high = np.maximum(high, high.astype(np.float32).astype(np.float64))
    return Vector.arrow(low, Vector(lower).valid, pa.float64()), Vector.arrow(high, Vector(upper).valid, pa.float64())


def _above_cut_texts(upper: pa.Array) -> pa.Array:
    """A max that may have been cut: an upper bound of every text that begins like it.

    Writers cut to 32 characters (a setting) and append U+FFFD or U+10FFFF; the first of them sorts below an emoji, so
    the mark is taken off and a byte that no UTF-8 text holds is put on.
    """

    def above(value: bytes | None) -> bytes | None:
        if value is None or (len(value) < _CUT_LENGTH and not value.endswith(_MARKS)):
            return value
        while value.endswith(_MARKS):
            value = value.removesuffix(_MARKS[0]).removesuffix(_MARKS[1])
        return value + b"\xff"

    return Vector.arrow([above(value) for value in upper.to_pylist()])
