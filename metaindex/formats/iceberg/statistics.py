"""Column statistics that manifests state, as `ColumnBounds`: truncated strings never exact, NaN or crossed bounds
unknown, bytes decoded by the type they were written with.

    written                     decoded as
    4 bytes, int / long         int32, whatever the column was widened to since (of a timestamp: a date)
    4 bytes, float / double     float32
    decimal                     big-endian unscaled integer of any length
    string, binary, fixed       bytes; a bound may be cut
    uuid                        nothing: writers disagree about the order
    timestamp                   wider where it may have been cut (`uncut_times`): Delta's UniForm copies its log's
    timestamp of imported files nothing: Iceberg's import copies bounds of millisecond files as if they were
    microseconds
    4 bytes of a time           nothing: the same

A column that a file's entry does not mention is unknown there. Statistics describe the physical rows, since deletes are
other files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector
from metaindex.expressions import ColumnBounds, physical_type
from metaindex.formats.columns import consistent, uncut_times
from metaindex.formats.model import Leaf

if TYPE_CHECKING:
    import polars as pl

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


_OF_BOUNDS = ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")


@dataclass(slots=True)
class ManifestStatistics:
    """The statistics of all files of a snapshot. `load` reads maps by name, a list of (key, value) a file; it is called
    when a column is first asked for."""

    load: Callable[[Sequence[str]], pl.DataFrame]
    rows: Ints  # record count of each file
    imported: bool = False  # the table has a name mapping, so some of its files may come from elsewhere
    _maps: dict[str, _Map] = field(default_factory=dict)

    def bounds(self, leaf: Leaf) -> ColumnBounds | None:
        """Return the column's bounds from the manifests; None if they have none for any file."""
        field_id = leaf.field.field_id
        if field_id is None:
            return None
        rows = self.rows
        total = self._counts("value_counts", field_id)
        nulls = self._counts("null_value_counts", field_id)
        nans = self._counts("nan_value_counts", field_id) if pa.types.is_floating(leaf.type) else None
        lower, upper = self._decoded("lower_bounds", leaf), self._decoded("upper_bounds", leaf)
        if lower is None and nulls is None and upper is None and nans is None:
            return None
        domain = physical_type(leaf.type) or pa.int64()
        low, high = (pa.nulls(len(rows), domain) if bound is None else bound for bound in (lower, upper))
        if pa.types.is_floating(leaf.type):  # the writer had no valid order
            number = ~(Vector(pc.is_nan(low)).truths(null=False) | Vector(pc.is_nan(high)).truths(null=False))
            low, high = kept(low, number), kept(high, number)
        elif pa.types.is_timestamp(leaf.type):
            low, high = uncut_times(low, high, finer=leaf.type.unit == "ns")
        counted, known = nulls or (np.zeros(len(rows), np.int64), np.zeros(len(rows), bool))
        if total is not None:
            known = known & (~total[1] | (total[0] == rows))
        sound, known = consistent(low, high, counted, known, rows, np.ones(len(rows), bool))
        return ColumnBounds(
            type=leaf.type,
            lower=None if lower is None else kept(low, sound),
            upper=None if upper is None else kept(high, sound),
            null_count=None if nulls is None else counts(counted, known),
            nan_count=None if nans is None else counts(*nans),
            row_count=counts(rows, rows > 0),
        )

    def _of(self, name: str, field_id: int) -> tuple[Ints, pa.Array] | None:
        """Ordinals of the files that mention the field, and their values."""
        if name not in self._maps:
            frame = self.load(_OF_BOUNDS)
            self._maps |= {column: _Map.of(frame[column]) for column in _OF_BOUNDS if column in frame.columns}
        return self._maps[name].get(field_id) if name in self._maps else None

    def _counts(self, name: str, field_id: int) -> tuple[Ints, Bools] | None:
        """A count per file, and where it is known."""
        counted = self._of(name, field_id)
        if counted is None:
            return None
        values, known = np.zeros(len(self.rows), np.int64), np.zeros(len(self.rows), bool)
        counts = Vector(counted[1]).items(np.int64)
        sane = counts >= 0
        values[counted[0][sane]], known[counted[0][sane]] = counts[sane], True
        return values, known

    def _decoded(self, name: str, leaf: Leaf) -> pa.Array | None:
        if leaf.type == pa.binary(16) or (self.imported and pa.types.is_timestamp(leaf.type)):
            return None
        bounds = self._of(name, leaf.field.field_id or 0)
        if bounds is None:
            return None
        files, binary = bounds
        if pa.types.is_string(leaf.type) or pa.types.is_binary(leaf.type) or pa.types.is_fixed_size_binary(leaf.type):
            if name == "upper_bounds" and pa.types.is_string(leaf.type):
                # A cut bound whose last character was raised into the surrogates was written as "?", below the real
                # maximum.
                sound = ~Vector(pc.ends_with(binary, "?")).truths(null=False)
                files, binary = files[sound], binary.filter(Vector.arrow(sound))
            index = np.full(len(self.rows), -1, np.int64)
            index[files] = np.arange(len(files))
            return binary.cast(pa.binary()).take(Vector.arrow(index, index >= 0, pa.int64()))
        values, known = decode(binary, leaf.type, upper=name == "upper_bounds")
        return scatter(files[known], values[known], len(self.rows), leaf.type)


@dataclass(frozen=True, slots=True)
class _Map:
    """A map of all files, flattened: its keys and values, and which file each belongs to."""

    keys: npt.NDArray[np.int32]
    values: pa.Array
    files: npt.NDArray[np.intp]  # of each key

    @classmethod
    def of(cls, column: pl.Series) -> _Map:
        lists = column.rechunk().to_arrow()
        pairs = lists.flatten()  # what stands behind NULL is left out
        lengths = Vector(pc.list_value_length(lists)).numbers
        lengths = np.where(Vector(lists).present, lengths, 0)
        keys, values = pairs.flatten()
        whole = Vector(pc.and_(keys.is_valid(), values.is_valid())).truths(null=False)
        files = np.repeat(np.arange(len(lists)), lengths)
        if not whole.all():
            there = Vector.arrow(whole)
            keys, values, files = keys.filter(there), values.filter(there), files[whole]
        if not pa.types.is_integer(values.type):
            values = values.cast(pa.large_binary())
        return cls(Vector(keys).items(np.int32), values, files)

    def get(self, field_id: int) -> tuple[Ints, pa.Array] | None:
        """Ordinals of the files that have the key, and their values."""
        at = np.flatnonzero(self.keys == field_id)
        if not len(at):
            return None
        return self.files[at], self.values.take(Vector.arrow(at, None, pa.int64()))


def decode(raw: pa.LargeBinaryArray, to: pa.DataType, *, upper: bool) -> tuple[npt.NDArray[Any], Bools]:
    """Bounds of fixed width in the physical domain of the column (of decimals: 16 big-endian bytes), and which of them
    could be decoded."""
    if not len(raw):
        return np.zeros((0, 16), np.uint8) if pa.types.is_decimal(to) else np.zeros(0, np.int64), np.zeros(0, bool)
    _, offsets_buffer, data_buffer = raw.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[raw.offset : raw.offset + len(raw) + 1]
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)

    def of_width(width: int) -> tuple[Bools, npt.NDArray[np.uint8]]:
        chosen = lengths == width
        return chosen, data[starts[chosen][:, None] + np.arange(width)]

    known = np.zeros(len(raw), bool)
    if pa.types.is_decimal(to):
        wide = np.zeros((len(raw), 16), np.uint8)
        for width in np.unique(lengths):
            if 0 < width <= 16:
                chosen, digits = of_width(int(width))
                sign = np.where(digits[:, :1] & 0x80, 0xFF, 0).astype(np.uint8)
                wide[chosen] = np.concatenate([np.repeat(sign, 16 - width, axis=1), digits], axis=1)
                known |= chosen
        return wide, known
    if pa.types.is_floating(to):
        numbers = np.zeros(len(raw), np.float64)
        for width, kind in ((4, "<f4"), (8, "<f8")):
            chosen, digits = of_width(width)
            if chosen.any():
                numbers[chosen] = signed_zero(digits.copy().view(kind)[:, 0].astype(np.float64), upper)
            known |= chosen
        return numbers, known
    whole = np.zeros(len(raw), np.int64)
    if pa.types.is_integer(to) or pa.types.is_temporal(to) or pa.types.is_boolean(to):
        for width, kind in _WIDTHS.get(str(to), ((4, "<i4"), (8, "<i8"))):
            chosen, digits = of_width(width)
            if chosen.any():
                read = digits.copy().view(kind)[:, 0].astype(np.int64)
                whole[chosen], known[chosen] = whole_numbers(read, to, days=width == 4, upper=upper)
    return whole, known


_WIDTHS = {"bool": ((1, "u1"),), "time64[us]": ((8, "<i8"),)}


def signed_zero(values: npt.NDArray[np.float64], upper: bool) -> npt.NDArray[np.float64]:
    """Widen bounds to both signs of zero, which are equal."""
    return np.where(values == 0, 0.0 if upper else -0.0, values)


def whole_numbers(read: Ints, to: pa.DataType, *, days: bool, upper: bool) -> tuple[Ints, Bools]:
    """Integers as written, in the physical domain; and which fit. `days`: written when a timestamp column was a
    date."""
    sane = np.ones(len(read), bool)
    if pa.types.is_timestamp(to):
        if days:
            sane = np.abs(read) < (1 << 63) // _MICROS_PER_DAY
            return np.where(sane, read, 0) * _MICROS_PER_DAY, sane
        if to.unit == "ns":
            down = read // 1000
            return down + (read - down * 1000 != 0) if upper else down, sane
    return read, sane


_MICROS_PER_DAY = 86_400_000_000


def scatter(files: Ints, values: npt.NDArray[Any], count: int, of: pa.DataType) -> pa.Array:
    known = np.zeros(count, bool)
    known[files] = True
    if values.ndim == 2:
        wide = np.zeros((count, 16), np.uint8)
        wide[files] = values
        return decimals(wide, known, of)
    full = np.zeros(count, values.dtype)
    full[files] = values
    return Vector.arrow(full, known, pa.float64() if full.dtype.kind == "f" else pa.int64())


def decimals(wide: npt.NDArray[np.uint8], known: Bools, of: pa.DataType) -> pa.Array:
    """Unscaled decimals (16 big-endian bytes each) in the physical domain of their type."""
    if of.precision <= 18:
        low = wide[:, 8:].copy().view(">i8")[:, 0].astype(np.int64)
        fits = (wide[:, :8] == np.where(low < 0, 0xFF, 0).astype(np.uint8)[:, None]).all(axis=1)
        return Vector.arrow(low, known & fits, pa.int64())
    ordered = wide.copy()
    ordered[:, 0] ^= 0x80
    return Vector.arrow(ordered, known)


def kept(values: pa.Array, where: Bools) -> pa.Array:
    """Unknown elsewhere."""
    return values if where.all() else pc.if_else(Vector.arrow(where), values, pa.nulls(len(values), values.type))


def counts(values: Ints, known: Bools) -> pa.Array:
    return Vector.arrow(values, known, pa.int64())
