"""The parts of a covering index in ranges that a filter leaves: each holds the rows between its least and its greatest
value of the leading column, which the manifest states as keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metaindex.expressions.literals import Literal
from metaindex.expressions.skipping import may_match
from metaindex.expressions.statistics import Interval, ManyFiles, Mask
from metaindex.expressions.tree import And, ColumnRef, Predicate
from metaindex.kinds.canonical import Absent
from metaindex.kinds.served import StoredPart
from metaindex.kinds.values.asked import Key, encode_interval, encode_literal
from metaindex.kinds.values.encoding import CUT, KEPT, as_bytes


def parts_left(
    parts: Sequence[StoredPart], conjuncts: Sequence[Predicate], column: ColumnRef, type_: pa.DataType
) -> list[StoredPart]:
    """Those that may hold rows that match. `column`: the leading one, as the predicate names it; `type_`: as it is
    stored. A part whose bounds are not known is kept."""
    if not parts or not conjuncts:
        return list(parts)
    kept = may_match(And(tuple(conjuncts)), _Bounds(parts, column, type_))
    return [part for part, keep in zip(parts, kept.tolist(), strict=True) if keep]


class _Bounds(ManyFiles):
    """PruningStatistics[Mask] over parts. Keys are bytes in the order of the values; NULL, which comes first, is the
    empty text."""

    def __init__(self, parts: Sequence[StoredPart], column: ColumnRef, type_: pa.DataType) -> None:
        super().__init__(len(parts))
        self._column, self._type = column, type_
        self._known = [part.info.least is not None and part.info.greatest is not None for part in parts]
        self._least = [bytes.fromhex(part.info.least or "") for part in parts]
        self._greatest = [bytes.fromhex(part.info.greatest or "") for part in parts]

    def some_between(self, column: ColumnRef, interval: Interval) -> Mask:
        keys = encode_interval(interval, self._type, self._type) if column == self._column else None
        if keys is None:
            return self.constant(True)
        return self.constant(False) if isinstance(keys, Absent) else self._touched(_bytes(keys.low), _bytes(keys.high))

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> Mask:
        if column != self._column:
            return self.constant(True)
        out = self.constant(False)
        for value in values:
            key = encode_literal(value, self._type, self._type)
            if key is None:
                return self.constant(True)
            if not isinstance(key, Absent):
                low, high = _around(_bytes(key))
                out |= self._touched(low, high)
        return out

    def some_other(self, column: ColumnRef, values: Sequence[Literal]) -> Mask:
        return self.constant(True)

    def some_null(self, column: ColumnRef) -> Mask:
        if column != self._column:
            return self.constant(True)
        return np.array(
            [not known or least == b"" for known, least in zip(self._known, self._least, strict=True)], np.bool_
        )

    def some_value(self, column: ColumnRef) -> Mask:
        return self.constant(True)  # an empty text has the bound of NULL

    def some_nan(self, column: ColumnRef) -> Mask:
        return self.constant(True)

    def _touched(self, low: bytes | None, high: bytes | None) -> Mask:
        rows = zip(self._known, self._least, self._greatest, strict=True)
        return np.array(
            [
                not known or ((low is None or greatest >= low) and (high is None or least <= high))
                for known, least, greatest in rows
            ],
            np.bool_,
        )


def _around(key: bytes | None) -> tuple[bytes | None, bytes | None]:
    """What a part's bounds are compared with for one value: from KEPT bytes on a bound may be cut, and the hash that
    ends it has no order."""
    if key is None or len(key) < KEPT:
        return key, key
    return key[:KEPT], key[:KEPT] + b"\xff" * (CUT - KEPT + 1)


def _bytes(key: Key | None) -> bytes | None:
    if key is None or isinstance(key, bytes):
        return key
    encoded: bytes = as_bytes(pa.array([key], pa.int64()))[0].as_py()
    return encoded
