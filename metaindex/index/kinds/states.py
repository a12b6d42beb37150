"""The state of what is known of a column in a file, which is never a sentinel.

    UNKNOWN   the values are not bounded, both bounds are null: the file is kept; counts stand for themselves and may be
              known
    ALL_NULL  every row is NULL (a file of zero rows too): bounds are null because there is nothing to bound; null_count
              = value_count
    VALUES    lower and upper, both present, enclose every non-null, non-NaN value; or both null where all values are
              NaN

A value with no upper bound (64 bytes of 0xFF) is UNKNOWN: so the least lower and greatest upper bound of a row group
without UNKNOWN rows bound it whole.
"""

from __future__ import annotations

from enum import IntEnum


class StatState(IntEnum):
    UNKNOWN = 0
    ALL_NULL = 1
    VALUES = 2


BOUND_BYTES = 64
"""Longer byte bounds are cut: the lower to its first bytes, the upper to the successor of its first bytes; neither is
exact then."""
