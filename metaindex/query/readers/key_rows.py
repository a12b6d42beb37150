"""A semi-join: the rows of a batch whose key columns stand together among the keys of another table.

    a column's values   integers, times, booleans and floats by their words, decimals, texts and bytes by a hash and
                        then by themselves; each becomes the place of its value among the keys' (or none)
    several columns     the places as one number, looked up among those of the keys

Keys are sorted once; a batch is looked up in them by bisection, so that ten million keys cost a batch little more than
ten. NaN equals NaN and -0.0 equals 0.0, as everywhere here. A NULL is equal to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector, dataclass
from metaindex.index import DistinctKeys

_Words = npt.NDArray[np.int64]
_NAN = 0x7FF8000000000000
_MOST = 1 << 62
"""Numbers that several places make together stay below."""
_MANY = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class KeyRows:
    """The keys of a scan: `columns` of the table, and for each the values that the keys have in it. `groups`: which
    values stand together, after each column behind the first; the last one is the keys."""

    columns: tuple[str, ...]
    values: tuple[_Values, ...]
    groups: tuple[_Words, ...]
    count: int
    """Distinct keys without a NULL, of values that the columns can have."""

    @classmethod
    def of(cls, columns: Sequence[str], keys: Sequence[pa.Array]) -> KeyRows:
        """`keys`: a column each, of the type of the table's column. Rows with a NULL are passed over."""
        values = tuple(_Values.of(column) for column in keys)
        if len(values) == 1:
            return cls(tuple(columns), values, (), len(values[0]))
        places = [each.places(column) for each, column in zip(values, keys, strict=True)]
        there = np.logical_and.reduce([place >= 0 for place in places])
        groups: list[_Words] = []
        together = places[0][there]
        for each, place in zip(values[1:], places[1:], strict=True):
            together = _paired(together, place[there], len(each))
            groups.append(each_word(together))
            if len(groups) < len(values) - 1:
                together = np.searchsorted(groups[-1], together)
        return cls(tuple(columns), values, tuple(groups), len(groups[-1]))

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same keys."""
        if not isinstance(other, KeyRows):
            return NotImplemented
        groups = len(self.groups) == len(other.groups) and all(map(np.array_equal, self.groups, other.groups))
        return groups and (self.columns, self.values) == (other.columns, other.values)

    __hash__ = None  # type: ignore[assignment]  # as of the arrays that it has

    def matching(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows whose keys are among these."""
        among = self._among(batch)
        return batch if among.all() else batch.filter(Vector.arrow(among))

    def _among(self, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        together = self.values[0].places(batch.column(self.columns[0]))
        among: npt.NDArray[np.bool_] = together >= 0
        for name, each, known in zip(self.columns[1:], self.values[1:], self.groups, strict=True):
            rows = np.flatnonzero(among)
            places = each.places(batch.column(name).take(pa.array(rows)))
            pairs = _paired(together[rows], places, len(each))
            at = _found(known, pairs)
            at[places < 0] = -1
            together = np.full(len(among), -1, np.int64)
            together[rows] = at
            among = together >= 0
        return among


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Distinct values of a column, by their words in order. `exact`: what the words are of, where two values may have
    the same; those of one word stand one behind the other, at most `most` of them."""

    words: _Words
    exact: pa.Array | None
    most: int

    @classmethod
    def of(cls, keys: pa.Array) -> _Values:
        keys = _plain(keys).drop_null()
        words = _words(keys)
        if words is not None:
            return cls(each_word(words), None, 1)
        keys = pc.unique(keys)
        hashes = DistinctKeys.hashes(keys)
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])) if len(hashes) else hashes
        most = int(np.diff(np.append(starts, len(hashes))).max()) if len(hashes) else 1
        return cls(hashes, keys.take(pa.array(order)), most)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Values):
            return NotImplemented
        return np.array_equal(self.words, other.words) and self.exact == other.exact

    __hash__ = None  # type: ignore[assignment]  # as of the arrays that it has

    def __len__(self) -> int:
        return len(self.words)

    def places(self, column: pa.Array | pa.ChunkedArray) -> _Words:
        """Return the place of each value among these, -1 for NULL and for one that is none of them."""
        column = _plain(column)
        words = _words(column)
        if words is not None:
            out = _found(self.words, words)
        else:
            assert self.exact is not None, "a column's type says how its values are told apart"
            out = self._by_hash(column, DistinctKeys.hashes(column), self.exact)
        out[~Vector(column).present] = -1
        return out

    def _by_hash(self, column: pa.Array, hashes: _Words, exact: pa.Array) -> _Words:
        first = _found(self.words, hashes)
        out = np.full(len(first), -1, np.int64)
        rows = np.flatnonzero(first >= 0)
        for step in range(self.most):  # more than one where hashes collide, which hardly any do
            places = first[rows] + step
            inside = places < len(self.words)
            rows, places = rows[inside], places[inside]
            equal = pc.equal(column.take(pa.array(rows)), exact.take(pa.array(places)))
            same = np.asarray(pc.fill_null(equal, False))
            out[rows[same]] = places[same]
            rows = rows[~same]
        return out


def each_word(words: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct numbers, sorted: for many, sorting takes a tenth of the time of NumPy's `unique`."""
    words = np.sort(words)
    return words[np.append(True, words[1:] != words[:-1])] if len(words) else words


def _found(known: _Words, asked: _Words) -> _Words:
    """Return the first place of each among sorted numbers, -1 for one that is none of them."""
    if not len(known):
        return np.full(len(asked), -1, np.int64)
    if len(known) < _MANY:
        at = np.searchsorted(known, asked)
    else:  # in order, so that what one has read of `known` is at hand for the next
        order = np.argsort(asked)
        at = np.empty(len(asked), np.int64)
        at[order] = np.searchsorted(known, asked[order])
    at[at == len(known)] = 0
    return np.where(known[at] == asked, at, -1)


def _paired(left: _Words, right: _Words, many: int) -> _Words:
    assert len(left) == 0 or int(left.max()) < _MOST // max(many, 1), "keys are fewer than 2^31"
    return left * many + right


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The values by themselves: out of dictionaries, extensions and views."""
    column = Vector(column).array
    if isinstance(column.type, pa.ExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        return column.cast(pa.large_binary())
    return column


def _words(column: pa.Array) -> _Words | None:
    """Return numbers that are equal where the values are; None for longer values. What stands under a NULL is
    arbitrary."""
    t, is_ = column.type, pa.types
    if is_.is_boolean(t):
        return Vector(column.cast(pa.int8())).items(np.int8).astype(np.int64)
    if is_.is_floating(t):
        doubles = Vector(column).items({16: np.float16, 32: np.float32, 64: np.float64}[t.bit_width]).astype(np.float64)
        doubles = doubles + 0.0  # -0.0 becomes 0.0
        return np.where(np.isnan(doubles), np.int64(_NAN), doubles.view(np.int64))
    if is_.is_integer(t):
        return Vector(column).items(t.to_pandas_dtype()).astype(np.int64)
    if is_.is_temporal(t):
        return Vector(column).items(np.int32 if t.bit_width == 32 else np.int64).astype(np.int64)
    return None
