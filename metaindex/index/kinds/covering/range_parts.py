"""The parts of a covering index in ranges, or along a curve, that a filter leaves: the manifest says the least and the
greatest value that the rows of each have, of the leading column or of every indexed one, as keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, dataclass
from metaindex.expressions import And, ColumnRef, Literal, ManyFiles, Predicate, Question, may_match
from metaindex.index.kinds.canonical import Absent
from metaindex.index.kinds.served import StoredPart
from metaindex.index.kinds.values.asked import Key, encode_each_interval, encode_literal
from metaindex.index.kinds.values.encoding import CUT, KEPT, as_bytes

from .bounds import bounds_of
from .layout import RowLayout


@dataclass(frozen=True, slots=True)
class SaidColumn:
    """A column with bounds in parts, at a place of a part's bounds. `type`: as stored."""

    place: int
    type: pa.DataType


def columns_said(layout: RowLayout, names: Mapping[ColumnRef, str]) -> dict[ColumnRef, SaidColumn]:
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
    """PruningStatistics[Mask] over parts."""

    def __init__(self, parts: Sequence[StoredPart], columns: Mapping[ColumnRef, SaidColumn]) -> None:
        super().__init__(len(parts))
        self._columns = {ref: _OfColumn(parts, said) for ref, said in columns.items()}

    def _ask(self, question: Question) -> Mask:
        bounds = self._columns.get(question.column)
        match question.name:
            case "some_between" if bounds is not None:
                (keys,) = encode_each_interval(question.arguments, bounds.type, bounds.type)
                if keys is None:
                    return self.constant(True)
                if isinstance(keys, Absent):
                    return self.constant(False)
                return bounds.touched(_bytes(keys.low), _bytes(keys.high))
            case "some_among" if bounds is not None:
                return self._among(question.arguments[0], bounds)
            case "some_null" if bounds is not None:
                return bounds.nullable()
            case _:  # an empty text has the bound of NULL: no part is without values
                return self.constant(True)

    def _among(self, values: Sequence[Literal], bounds: _OfColumn) -> Mask:
        out = self.constant(False)
        for value in values:
            key = encode_literal(value, bounds.type, bounds.type)
            if key is None:
                return self.constant(True)
            if not isinstance(key, Absent):
                low, high = _around(_bytes(key))
                out |= bounds.touched(low, high)
        return out


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
