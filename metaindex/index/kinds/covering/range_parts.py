"""The parts of a covering index in ranges, or along a curve, that a filter leaves: the manifest says the least and the
greatest value that the rows of each have, of the leading column or of every indexed one, as keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, dataclass
from metaindex.expressions import And, ColumnRef, Interval, Literal, ManyFiles, Predicate, may_match
from metaindex.index.kinds.canonical import Absent
from metaindex.index.kinds.served import StoredPart
from metaindex.index.kinds.values.asked import Key, encode_interval, encode_literal
from metaindex.index.kinds.values.encoding import CUT, KEPT, as_bytes

from .bounds import bounds_of
from .layout import CoveringLayout


@dataclass(frozen=True, slots=True)
class SaidColumn:
    """A column with bounds in parts, at a place of a part's bounds. `type`: as stored."""

    place: int
    type: pa.DataType


def columns_said(layout: CoveringLayout, names: Mapping[ColumnRef, str]) -> dict[ColumnRef, SaidColumn]:
    """Return the columns whose bounds the layout's parts have, named as in a predicate. `names`: their stable names."""
    first, bounded = layout.placement.first, layout.stored.names[: layout.bounded]
    fields = {name: SaidColumn(first + place, layout.stored.field(place).type) for place, name in enumerate(bounded)}
    return {ref: fields[stable] for ref, stable in names.items() if stable in fields}


def parts_left(
    parts: Sequence[StoredPart], conjuncts: Sequence[Predicate], columns: Mapping[ColumnRef, SaidColumn]
) -> list[StoredPart]:
    """Return the parts that may hold matching rows. `columns`: named as in the predicate. A part with unknown bounds is
    kept."""
    if not parts or not conjuncts or not columns:
        return list(parts)
    kept = may_match(And(tuple(conjuncts)), _Bounds(parts, columns))
    return [part for part, keep in zip(parts, kept.tolist(), strict=True) if keep]


class _OfColumn:
    """The bounds of a column in all parts. Keys are bytes in the order of the values; NULL, which comes first, is the
    empty text."""

    def __init__(self, parts: Sequence[StoredPart], said: SaidColumn) -> None:
        self.type = said.type
        pairs = [bounds_of(part.info, said.place) for part in parts]
        self._bounds = [
            (least or b"", greatest or b"", least is not None and greatest is not None) for least, greatest in pairs
        ]

    def touched(self, low: bytes | None, high: bytes | None) -> Mask:
        return np.array(
            [
                not known or ((low is None or greatest >= low) and (high is None or least <= high))
                for least, greatest, known in self._bounds
            ],
            np.bool_,
        )

    def nullable(self) -> Mask:
        return np.array([not known or least == b"" for least, _, known in self._bounds], np.bool_)


class _Bounds(ManyFiles):
    """PruningStatistics[Mask] over parts. Of values that are not NULL nothing is known: an empty text has the bound of
    NULL."""

    def __init__(self, parts: Sequence[StoredPart], columns: Mapping[ColumnRef, SaidColumn]) -> None:
        super().__init__(len(parts))
        self._columns = {ref: _OfColumn(parts, said) for ref, said in columns.items()}

    def some_between(self, column: ColumnRef, interval: Interval) -> Mask:
        bounds = self._columns.get(column)
        keys = None if bounds is None else encode_interval(interval, bounds.type, bounds.type)
        if bounds is None or keys is None:
            return self.constant(True)
        return self.constant(False) if isinstance(keys, Absent) else bounds.touched(_bytes(keys.low), _bytes(keys.high))

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> Mask:
        bounds = self._columns.get(column)
        if bounds is None:
            return self.constant(True)
        out = self.constant(False)
        for value in values:
            key = encode_literal(value, bounds.type, bounds.type)
            if key is None:
                return self.constant(True)
            if not isinstance(key, Absent):
                low, high = _around(_bytes(key))
                out |= bounds.touched(low, high)
        return out

    def some_null(self, column: ColumnRef) -> Mask:
        bounds = self._columns.get(column)
        return self.constant(True) if bounds is None else bounds.nullable()


def _around(key: bytes | None) -> tuple[bytes | None, bytes | None]:
    """Return the limits that a part's bounds are compared with for one value: from KEPT bytes on a bound may be cut,
    and the hash at its end has no order."""
    if key is None or len(key) < KEPT:
        return key, key
    return key[:KEPT], key[:KEPT] + b"\xff" * (CUT - KEPT + 1)


def _bytes(key: Key | None) -> bytes | None:
    if key is None or isinstance(key, bytes):
        return key
    encoded: bytes = as_bytes(pa.array([key], pa.int64()))[0].as_py()
    return encoded
