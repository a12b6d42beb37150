"""Combines raw statistics of row groups into bounds of files, whole columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector
from metaindex.expressions import physical_type, to_physical
from metaindex.formats.older_calendar import GREGORIAN_DAY, GREGORIAN_MICROS

from .schema import Coding, FileType
from .trust import Doubt, Found
from .writers import Claim

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class RawColumn:
    """A column over the row groups of many files of one layout, as in their footers. None: missing there."""

    place: Found
    lower: list[Any] = field(default_factory=list)
    upper: list[Any] = field(default_factory=list)
    nulls: list[int | None] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    compressed: list[int] = field(default_factory=list)
    uncompressed: list[int] = field(default_factory=list)
    nans: list[int | None] = field(default_factory=list)  # none at all where no file of the layout may count them

    def cut(self, length: int) -> None:
        """Forgets what was appended behind `length`."""
        for column in (self.lower, self.upper, self.nulls, self.values, self.compressed, self.uncompressed, self.nans):
            del column[length:]


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column over files: bounds in the physical domain (None: the type has none), counts, and doubts by ordinal in
    `DOUBTS` (-1: none)."""

    lower: pa.Array | None
    upper: pa.Array | None
    exact: Flags
    nulls: pa.Array
    compressed: Ints
    uncompressed: Ints
    doubt: npt.NDArray[np.int8]
    nans: pa.Array | None = None


DOUBTS = list(Doubt)


def aggregate(raw: RawColumn, groups: Ints, group_rows: Ints, legacy: Flags, table: pa.DataType) -> FileColumn:
    """`groups`: row groups per file (all row groups in file order); `group_rows`: rows per row group; `legacy`:
    files in an older calendar."""
    files = len(groups)
    starts = np.concatenate([[0], np.cumsum(groups)[:-1]]).astype(np.int64) if files else np.zeros(0, np.int64)
    values = np.array(raw.values, np.int64)
    if raw.place.required:
        null_known, nulls = np.ones(len(values), np.bool_), np.zeros(len(values), np.int64)
    else:
        null_known = np.array([n is not None for n in raw.nulls], np.bool_)
        nulls = np.array([0 if n is None else n for n in raw.nulls], np.int64)
        # A count that cannot be, is not known.
        null_known &= (nulls >= 0) & (nulls <= values) & (values == group_rows)
        null_known &= _believed(raw.place.believed, nulls, values)
        null_known |= group_rows == 0
        nulls[group_rows == 0] = 0
    said = np.array([value is not None for value in raw.lower], np.bool_)
    # A row group cannot be all NULL and have bounds: one of the two is wrong, so neither is believed.
    contradiction = said & null_known & (nulls == values) & (group_rows > 0)
    null_known &= ~contradiction
    no_values = (null_known & (nulls == values)) | (group_rows == 0)

    doubt = np.full(files, -1, np.int8)
    lower = upper = None
    exact = np.zeros(files, np.bool_)
    domain = physical_type(table)
    if raw.place.doubt is not None:
        doubt[:] = DOUBTS.index(raw.place.doubt)
        doubt[_every(no_values, starts, groups)] = -1
        if domain is not None:
            lower = upper = pa.nulls(files, domain)
    elif domain is not None:
        low, high = (_physical(r, raw.place.type, table, upper=u) for r, u in ((raw.lower, False), (raw.upper, True)))
        if low is None or high is None:
            lower = upper = pa.nulls(files, domain)
            doubt[~_every(no_values, starts, groups)] = DOUBTS.index(Doubt.OTHER_TYPE)
        else:
            known = Vector(low).present & Vector(high).present
            reversed_ = known & _greater(low, high)
            group_doubt = np.full(len(values), -1, np.int8)
            group_doubt[~no_values & ~known] = DOUBTS.index(_misfit(table))
            group_doubt[~no_values & ~said] = DOUBTS.index(Doubt.NO_STATISTICS)
            group_doubt[~no_values & reversed_] = DOUBTS.index(Doubt.REVERSED)
            group_doubt[contradiction] = DOUBTS.index(Doubt.CONTRADICTION)
            cutoff = _cutoff(table)
            if cutoff is not None and legacy.any():
                old = np.repeat(legacy, groups) & known & (Vector(low).items(np.int64) < cutoff)
                group_doubt[~no_values & old] = DOUBTS.index(Doubt.LEGACY_CALENDAR)
            use = known & ~no_values & (group_doubt < 0)
            doubt = _worst(group_doubt, starts, groups)
            keep = (doubt < 0) & ~_every(~use, starts, groups)
            lower = _extreme(low, use, keep, starts, groups, lowest=True)
            upper = _extreme(high, use, keep, starts, groups, lowest=False)
            exact = keep & (Claim.ATTAINED in raw.place.believed and _is_exact(raw.place.type, table))
    return FileColumn(
        lower,
        upper,
        exact,
        Vector.arrow(_sum(nulls, starts, groups), _every(null_known, starts, groups), pa.int64()),
        _sum(np.array(raw.compressed, np.int64), starts, groups),
        _sum(np.array(raw.uncompressed, np.int64), starts, groups),
        doubt,
        _nans(raw, nulls, null_known, values, starts, groups),
    )


def _nans(raw: RawColumn, nulls: Ints, null_known: Flags, values: Ints, starts: Ints, groups: Ints) -> pa.Array | None:
    """The counts of NaN that are stated and can be."""
    if not raw.nans or Claim.NANS not in raw.place.believed:
        return None
    nans = np.array([-1 if count is None else count for count in raw.nans], np.int64)
    known = (nans >= 0) & null_known & (nans <= values - nulls)
    return Vector.arrow(_sum(nans, starts, groups), _every(known, starts, groups), pa.int64())


def _believed(claims: Claim, nulls: Ints, values: Ints) -> Flags:
    """The counts of NULLs that are believed."""
    none, every, some = (claim in claims for claim in (Claim.NO_NULL, Claim.ALL_NULL, Claim.SOME_NULLS))
    return np.where(nulls == 0, none, np.where(nulls == values, every, some))


def _is_exact(file: FileType, table: pa.DataType) -> bool:
    """Numbers are written whole. Text and bytes may be truncated; nanoseconds and float conversions are rounded on
    the way to the physical domain."""
    if file.coding in (Coding.BYTES, Coding.NONE):
        return False
    if pa.types.is_timestamp(file.arrow) or pa.types.is_time(file.arrow):
        return bool(file.arrow.unit != "ns")
    return not (pa.types.is_floating(table) and not pa.types.is_floating(file.arrow))


def _misfit(table: pa.DataType) -> Doubt:
    """Return the doubt of a bound that is stated but has no valid value."""
    return Doubt.NAN if pa.types.is_floating(table) else Doubt.OTHER_TYPE


def _cutoff(table: pa.DataType) -> int | None:
    if pa.types.is_date(table):
        return GREGORIAN_DAY
    return GREGORIAN_MICROS if pa.types.is_timestamp(table) else None


def _physical(raw: Sequence[Any], file: FileType, table: pa.DataType, *, upper: bool) -> pa.Array | None:
    """Raw statistics in the physical domain of the table's type; None where they do not fit it."""
    try:
        values = _decode(raw, file)
        while pa.types.is_dictionary(table):
            table = table.value_type
        if pa.types.is_floating(table) and pa.types.is_integer(file.arrow):
            values = values.cast(pa.float64(), safe=False)  # rounding keeps the order
        elif pa.types.is_timestamp(table) and pa.types.is_date(file.arrow):
            values = values.cast(pa.timestamp("us"))
        elif pa.types.is_integer(table) and pa.types.is_integer(file.arrow):
            values = _within(values, table)
        return to_physical(values, table, upper=upper)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError, ValueError):
        return None


def _within(values: pa.Array, table: pa.DataType) -> pa.Array:
    """The integers that the table's type holds; null for others, which readers would wrap or refuse."""
    (least, greatest), (low, high) = _range(values.type), _range(table)
    if low <= least and greatest <= high:
        return values
    import pyarrow.compute as pc

    t = values.type
    fits = pc.and_(
        pc.greater_equal(values, pa.scalar(max(least, low), t)),
        pc.less_equal(values, pa.scalar(min(greatest, high), t)),
    )
    return pc.if_else(fits, values, pa.scalar(None, t))


def _range(t: pa.DataType) -> tuple[int, int]:
    if pa.types.is_unsigned_integer(t):
        return 0, 2**t.bit_width - 1
    return -(2 ** (t.bit_width - 1)), 2 ** (t.bit_width - 1) - 1


def _decode(raw: Sequence[Any], file: FileType) -> pa.Array:
    """Raw statistics as values of the file's type."""
    match file.coding:
        case Coding.NUMBER if pa.types.is_boolean(file.arrow) or pa.types.is_floating(file.arrow):
            return pa.array(raw, pa.bool_() if pa.types.is_boolean(file.arrow) else pa.float64())
        case Coding.NUMBER:
            width = pa.int32() if file.arrow.bit_width == 32 else pa.int64()
            return pa.array(raw, width).view(file.arrow)
        case Coding.UNSIGNED:
            mask = 2**file.arrow.bit_width - 1
            return pa.array([None if r is None else r & mask for r in raw], file.arrow)
        case Coding.UNSCALED:
            return _decimals(raw, file.arrow)
        case Coding.DECIMAL_BYTES:
            return _decimals([None if r is None else int.from_bytes(r, "big", signed=True) for r in raw], file.arrow)
        case Coding.HALF:
            valid = np.array([r is not None for r in raw], np.bool_)
            halves = np.frombuffer(b"".join(b"\0\0" if r is None else r for r in raw), "<f2")
            return Vector.arrow(halves.astype(np.float64), valid, pa.float64())
        case Coding.BYTES | Coding.NONE:
            return pa.array([r if isinstance(r, bytes) else None for r in raw], pa.binary())


def _decimals(unscaled: Sequence[int | None], t: pa.DataType) -> pa.Array:
    words = b"".join((u or 0).to_bytes(16, "little", signed=True) for u in unscaled)
    valid = np.array([u is not None for u in unscaled], np.bool_)
    return Vector.arrow(np.frombuffer(words, np.int64).reshape(-1, 2), valid, t)


def _numbers(values: pa.Array) -> npt.NDArray[Any]:
    return Vector(values).items(np.int64 if pa.types.is_integer(values.type) else np.float64)


def _greater(low: pa.Array, high: pa.Array) -> Flags:
    if pa.types.is_binary(low.type):
        pairs = zip(low.to_pylist(), high.to_pylist(), strict=True)
        return np.array([a is not None and b is not None and a > b for a, b in pairs], np.bool_)
    return np.asarray(_numbers(low) > _numbers(high), np.bool_)


def _extreme(values: pa.Array, use: Flags, keep: Flags, starts: Ints, groups: Ints, *, lowest: bool) -> pa.Array:
    """The least or greatest of each file's row groups in use; null where the file is not kept."""
    if len(use) == len(keep) and (groups == 1).all():
        if pa.types.is_binary(values.type):
            return pa.array([v if k else None for v, k in zip(values.to_pylist(), keep, strict=True)], pa.binary())
        return Vector.arrow(_numbers(values), keep, values.type)
    if pa.types.is_binary(values.type):
        pick = min if lowest else max
        data = values.to_pylist()
        spans = zip(starts.tolist(), groups.tolist(), keep.tolist(), strict=True)
        chosen = [pick(data[i] for i in range(s, s + n) if use[i]) if k else None for s, n, k in spans]
        return pa.array(chosen, pa.binary())
    numbers = _numbers(values)
    info: Any = np.iinfo(np.int64) if pa.types.is_integer(values.type) else None
    neutral = (info.max if lowest else info.min) if info else (np.inf if lowest else -np.inf)
    filled = np.where(use, numbers, neutral)
    reduced = _reduce(np.minimum if lowest else np.maximum, filled, starts, groups, neutral)
    return Vector.arrow(reduced, keep, values.type)


def _reduce(how: np.ufunc, values: npt.NDArray[Any], starts: Ints, groups: Ints, empty: Any) -> npt.NDArray[Any]:
    """Reduce each file's row groups by `how`; `empty` for files without any."""
    out = np.full(len(groups), empty, values.dtype)
    some = groups > 0
    if some.any():
        # reduceat runs to the next start, and files without row groups have none of their own.
        out[some] = how.reduceat(values, starts[some])
    return out


def _sum(values: Ints, starts: Ints, groups: Ints) -> Ints:
    return _reduce(np.add, values, starts, groups, 0)


def _every(flags: Flags, starts: Ints, groups: Ints) -> Flags:
    return _reduce(np.logical_and, flags, starts, groups, True).astype(np.bool_)


def _worst(doubt: npt.NDArray[np.int8], starts: Ints, groups: Ints) -> npt.NDArray[np.int8]:
    return _reduce(np.maximum, doubt, starts, groups, -1).astype(np.int8)
