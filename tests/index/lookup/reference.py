"""A key's reader that is its definition: the values of every row group of every file in a dictionary, compared one by
one. What the kinds answer is judged by it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from metaindex.core import LiteralTypeError
from metaindex.expressions import ColumnRef, Interval, Literal
from metaindex.index.kinds.keyed import Hits
from metaindex.index.log.entry import CoveredKey
from metaindex.index.lookup.key_source import AskedKey
from tests.evaluate import compare_values

Rows = Sequence[tuple[object, ...]]


@dataclass(frozen=True)
class Reference:
    """`files`: of each file, its row groups; of each row group, its rows; of each row, the values of the key's columns.
    `able`: the questions that it answers."""

    files: Sequence[Sequence[Rows]]
    group_bits: int = 4
    able: frozenset[str] = frozenset({"among", "between", "other", "null", "value", "nan"})

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        def one_of(row: tuple[object, ...]) -> bool:
            return any(
                all(v is not None and equal(v, lit) for v, lit in zip(row, value, strict=True)) for value in values
            )

        return self._where("among", one_of)

    def between(self, interval: Interval) -> Hits | None:
        def inside(row: tuple[object, ...]) -> bool:
            (value,) = row
            if value is None or is_nan(value):
                return False
            low, high = interval.low, interval.high
            below = low is not None and compare_values(value, low.value) < (1 if interval.low_open else 0)  # type: ignore[arg-type]
            above = high is not None and compare_values(value, high.value) > (-1 if interval.high_open else 0)  # type: ignore[arg-type]
            return not below and not above

        return self._where("between", inside)

    def other(self, values: Sequence[Literal]) -> Hits | None:
        return self._where("other", lambda row: row[0] is not None and not any(equal(row[0], v) for v in values))

    def null(self) -> Hits | None:
        return self._where("null", lambda row: row[0] is None)

    def value(self) -> Hits | None:
        return self._where("value", lambda row: row[0] is not None)

    def nan(self) -> Hits | None:
        return self._where("nan", lambda row: is_nan(row[0]))

    def _where(self, question: str, is_one: Callable[[tuple[object, ...]], bool]) -> Hits | None:
        if question not in self.able:
            return None
        most = 1 << self.group_bits
        units = set()
        try:
            for ordinal, groups in enumerate(self.files):
                for i, rows in enumerate(groups):
                    if any(is_one(row) for row in rows):
                        group = i if len(groups) <= most else i * most // len(groups)
                        units.add(ordinal << self.group_bits | group)
        except LiteralTypeError:
            return None  # cannot be compared: nothing is known
        return Hits(units=np.array(sorted(units), np.int64), group_bits=self.group_bits)

    def asked(self, columns: tuple[ColumnRef, ...], kind: str = "values", unkeyed: Sequence[int] = ()) -> AskedKey:
        """As a run's key over the columns; of the files `unkeyed` it knows nothing."""
        gone = np.zeros(len(self.files), np.bool_)
        gone[list(unkeyed)] = True
        known = type(self)([[] if gone[i] else f for i, f in enumerate(self.files)], self.group_bits, self.able)
        number = hash((kind, columns)) & ((1 << 62) - 1)
        key = CoveredKey(kind, number, (), {}, len(unkeyed))
        return AskedKey(key, columns, lambda: known, lambda: gone)


def is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def equal(value: object, lit: Literal) -> bool:
    return compare_values(value, lit.value) == 0  # type: ignore[arg-type]
