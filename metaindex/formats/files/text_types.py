"""Infers types of texts by the forms that Spark's inferSchema knows."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from .time_patterns import TimePattern

_FORMS: tuple[tuple[str, pa.DataType | None], ...] = (
    (r"^[+-]?[0-9]{1,38}$", None),
    (r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$|^NaN$|^[+-]?Inf(inity)?$", pa.float64()),
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", pa.date32()),
    (
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$",
        pa.timestamp("us", "UTC"),
    ),
    (r"^(?i:true|false)$", pa.bool_()),
)


def infer_text(values: pa.ChunkedArray, reader: Mapping[str, str] | None = None) -> pa.DataType:
    """The narrowest type whose form every value has; string for none and for no values. Where the options name a
    pattern of dates or times, that is their form."""
    values = values.drop_null()
    if not len(values):
        return pa.string()
    named = {pa.date32(): "dateformat", pa.timestamp("us", "UTC"): "timestampformat"}
    for form, t in _FORMS:
        pattern = (reader or {}).get(named.get(t, ""))
        if pattern is not None:
            known = TimePattern.of(pattern)
            if known is not None and pc.all(pc.match_substring_regex(values, known.text)).as_py():
                return t
            continue
        if not pc.all(pc.match_substring_regex(values, form)).as_py():
            continue
        if t is None:
            return _whole(values)
        if pa.types.is_date(t) and not _are_days(values):
            continue
        return t
    return pa.string()


def _whole(values: pa.ChunkedArray) -> pa.DataType:
    # Leading zeros and signs have no part in a number's size, 38 digits hold all.
    numbers = pc.replace_substring_regex(values, r"^\+", "").cast(pa.decimal128(38, 0))
    low, high = (int(v) for v in pc.min_max(numbers).as_py().values())
    if low >= -(2**31) and high < 2**31:
        return pa.int32()
    if low >= -(2**63) and high < 2**63:
        return pa.int64()
    return pa.decimal128(max(len(str(abs(low))), len(str(abs(high)))), 0)


def _are_days(values: pa.ChunkedArray) -> bool:
    try:
        values.cast(pa.date32())
    except pa.ArrowInvalid:
        return False
    return True
