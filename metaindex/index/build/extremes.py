"""The least and greatest value of a column over the batches of a file, with its NULLs and NaNs: what a scan adds up.

Values keep the type in which they were written until the end; then the extremes of all files of a column go into the
column's physical domain at once, by promotions that keep order and lose nothing. A type that does not promote so gives
no bounds (lesson A 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions import ColumnBounds, Family, physical_type, to_physical
from metaindex.index.kinds.facts import domain_of


@dataclass(slots=True)
class ColumnScan:
    """Statistics of one column of a file, accumulated by batches. `unfit`: why its values have no bounds; `unread`: why
    nothing is known about it."""

    rows: int = 0
    nulls: int = 0
    nans: int = 0
    least: list[pa.Array] = field(default_factory=list)
    greatest: list[pa.Array] = field(default_factory=list)
    unfit: str | None = None
    unread: str | None = None

    def add(self, values: pa.Array) -> None:
        """Add a batch."""
        values = comparable(values)
        self.rows += len(values)
        self.nulls += values.null_count
        if values.null_count == len(values):
            return
        if pa.types.is_floating(values.type):
            self.nans += pc.sum(pc.is_nan(values)).as_py() or 0
        if physical_type(values.type) is None:
            self.unfit = f"values of type {values.type} have no bounds"
            return
        low, high = _extremes(values)
        self.least.append(low)
        self.greatest.append(high)

    def close(self) -> None:
        """Reduce to one pair of extremes after the last batch."""
        if len(self.least) > 1:
            self.least = [_extremes(pa.concat_arrays(self.least))[0]]
            self.greatest = [_extremes(pa.concat_arrays(self.greatest))[1]]


def bounds_of(scans: Sequence[ColumnScan], type_: pa.DataType) -> ColumnBounds:
    """The closed scans of one column in many files as bounds in the column's physical domain. COMPUTED: exact unless
    the domain is coarser than the written type."""
    lower, upper = _physical(scans, "least", type_), _physical(scans, "greatest", type_)
    fit = pa.array([scan.unfit is None and scan.unread is None for scan in scans], pa.bool_())
    counts = np.array([(scan.nulls, scan.nans, scan.rows) for scan in scans], np.int64).reshape(-1, 3)
    unread = np.array([scan.unread is not None for scan in scans], np.bool_)
    nulls, nans, rows = (pa.array(counts[:, at], mask=unread) for at in range(3))
    return ColumnBounds(
        type_,
        lower=pc.if_else(fit, lower[0], None),
        upper=pc.if_else(fit, upper[1], None),
        null_count=nulls,
        nan_count=nans,
        row_count=rows,
        lower_exact=pc.equal(lower[0], lower[1]),
        upper_exact=pc.equal(upper[0], upper[1]),
    )


def comparable(values: pa.Array) -> pa.Array:
    """Return the values in a type that Arrow can order, without extensions, dictionaries, views and half floats."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    type_ = values.type
    if pa.types.is_dictionary(type_):
        return comparable(values.dictionary_decode())
    if pa.types.is_run_end_encoded(type_):
        return comparable(pc.run_end_decode(values))
    if pa.types.is_float16(type_):
        return values.cast(pa.float32())
    if pa.types.is_string_view(type_):
        return values.cast(pa.large_string())
    if pa.types.is_binary_view(type_):
        return values.cast(pa.large_binary())
    return values


def inside(values: pa.Array, path: Sequence[str]) -> pa.Array:
    """Return the values of a field inside a struct; null where it or a struct around it is null."""
    return pc.struct_field(values, indices=list(path)) if path else values


def promoted(values: pa.Array, type_: pa.DataType) -> pa.Array | None:
    """Values written in one type as a column of another type shows them; None where that is not certain.
    Raises ArrowInvalid where a value does not fit."""
    is_, have = pa.types, values.type
    if have == type_:
        return values
    if is_.is_integer(have):
        if is_.is_integer(type_):
            return values.cast(type_)
        if is_.is_float64(type_):
            return values.cast(type_, safe=False)  # rounding keeps the order
        return values.cast(type_) if is_.is_decimal128(type_) else None
    if is_.is_floating(have):
        return values.cast(type_) if is_.is_floating(type_) and type_.bit_width >= have.bit_width else None
    if is_.is_decimal(have):
        # In 128 bits the product of a cast to a larger scale may wrap around to a number that fits.
        room = is_.is_decimal(type_) and type_.scale >= have.scale
        return values.cast(pa.decimal256(76, type_.scale)).cast(type_) if room else None
    if is_.is_date(have):
        if is_.is_timestamp(type_) and type_.tz is None:
            return values.cast(pa.timestamp("us"))
        return values if is_.is_date(type_) else None
    if is_.is_timestamp(have):
        same_clock = is_.is_timestamp(type_) and (have.tz is None) == (type_.tz is None)
        return values if same_clock else None
    if is_.is_time(have):
        return values if is_.is_time(type_) else None
    if _is_bytes(have):
        return values.cast(pa.large_binary()) if _is_bytes(type_) else None
    return None


def _extremes(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    both = pc.min_max(values)
    return pa.repeat(both["min"], 1), pa.repeat(both["max"], 1)


def _physical(scans: Sequence[ColumnScan], side: str, type_: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """The extremes of one side, rounded down and rounded up; null for scans without values."""
    domain = domain_of(type_)
    groups: dict[pa.DataType, list[int]] = {}
    for place, scan in enumerate(scans):
        if values := getattr(scan, side):
            groups.setdefault(values[0].type, []).append(place)
    known, rounded = [], ([pa.nulls(0, domain)], [pa.nulls(0, domain)])
    for places in groups.values():
        for some in _castable(scans, places, side, type_):
            values = pa.concat_arrays([getattr(scans[place], side)[0] for place in some])
            fit = promoted(values, type_)
            if fit is None or physical_type(type_) is None:
                continue
            known += some
            for up in (False, True):
                rounded[up].append(to_physical(fit, type_, upper=up))
    at = np.full(len(scans), -1, np.int64)
    at[known] = np.arange(len(known))
    take = pa.array(at, mask=at < 0)
    return pa.concat_arrays(rounded[0]).take(take), pa.concat_arrays(rounded[1]).take(take)


def _castable(scans: Sequence[ColumnScan], places: list[int], side: str, type_: pa.DataType) -> list[list[int]]:
    """Return the places in groups that promote as a whole, without those of values that do not fit."""
    try:
        promoted(pa.concat_arrays([getattr(scans[place], side)[0] for place in places]), type_)
    except pa.ArrowException:
        if len(places) == 1:
            return []
        middle = len(places) // 2
        return _castable(scans, places[:middle], side, type_) + _castable(scans, places[middle:], side, type_)
    return [places]


def _is_bytes(type_: pa.DataType) -> bool:
    return Family.of(type_) in (Family.TEXT, Family.BYTES)
