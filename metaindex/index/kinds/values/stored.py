"""The rows of `value_keys` and `value_lists` where they stand: parts are found by the manifest, row groups by the
footer. A key of one column whose physical domain is int64 is an integer, every other key is bytes.

Yields every value that a key keeps of its files, unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import DamagedIndexError, Vector, dataclass
from metaindex.index.kinds.different import DistinctKeys
from metaindex.index.kinds.keyed import Units
from metaindex.index.log.entry import CoveredKey
from metaindex.index.log.schema_codec import type_from_text
from metaindex.index.store.layout import PartInfo, bound_key, bound_number
from metaindex.index.store.reader import RunReader

from .asked import Key, Keys
from .encoding import key_type
from .rows import Layout

_INT64_MIN = -(2**63)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a key, with the least and greatest key of each. NULL counts as the least key there is."""

    parts: tuple[PartInfo, ...]
    least: Keys
    greatest: Keys


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """The row groups of a part that have keys: the first `start` have nothing but NULL."""

    start: int
    least: Keys
    greatest: Keys
    with_null: list[int]

    def between(self, low: Key | None, high: Key | None, *, beyond: bool = False) -> range:
        """Return those that may have a key from `low` to `high`; `beyond`: not `high` itself. Counted from `start`."""
        first = 0 if low is None else int(self.greatest.searchsorted(low))
        last = len(self.least) if high is None else int(self.least.searchsorted(high, "left" if beyond else "right"))
        return range(first, last)


class SortedRows:
    """Stored rows of one key of a run, sorted by a column: of integers, or of bytes."""

    def __init__(self, run: RunReader, key: CoveredKey, column: str, integers: bool) -> None:
        self._run, self._key = run, key
        self.column, self._integers = column, integers

    def parts(self) -> Parts:
        """Return the parts in the order of their keys."""

        def load() -> Parts:
            parts = tuple(p for p in self._run.parts(self._key.kind) if p.first_key == self._key.key_id and p.rows)
            bounds = (
                self._vector([self._bound(p, text) for p, text in zip(parts, texts, strict=True)])
                for texts in ([p.least for p in parts], [p.greatest for p in parts])
            )
            return Parts(parts, *bounds)

        loaded: Parts = self._run.derived(f"{self._key.kind} {self._key.key_id}", load)
        return loaded

    def groups(self, part: PartInfo) -> KeyGroups:
        """The row groups of a part."""
        footer = self._run.footer(part)
        groups: KeyGroups | None = footer.derived.get(self.column)
        if groups is None:
            said = footer.range(self.column)
            if not said.known.all():
                raise DamagedIndexError.for_repair(
                    f"the footer of {part.path} bounds the keys of its row groups; it does not"
                )
            start = next((at for at, least in enumerate(said.least) if least is not None), len(said.least))
            least, greatest = (self._vector(list(keys[start:])) for keys in (said.least, said.greatest))
            null = np.flatnonzero(said.nulls).tolist()
            groups = footer.derived[self.column] = KeyGroups(start, least, greatest, null)
        return groups

    def numbers(self, part: PartInfo, groups: Sequence[int], column: str, *, keep: bool) -> Units:
        """One column of integers alone."""
        return Vector(self._run.read(part, groups, [column], keep=keep).column(column)).numbers

    def _bound(self, part: PartInfo, text: str | None) -> Key:
        """A bound of a part."""
        if not self._integers:
            return bound_key(part, text)
        return _INT64_MIN if text == "" else bound_number(part, text)

    def _vector(self, keys: list[Key]) -> Keys:
        return np.array(keys, np.int64 if self._integers else object)


class StoredKeys(SortedRows):
    """Stored rows of `value_keys` or `value_lists`."""

    def __init__(self, run: RunReader, key: CoveredKey) -> None:
        self._run, self._key = run, key
        self.types = [self._type(column.type_text) for column in key.columns]
        self.type = key_type(self.types)
        integers = self.type == pa.int64()
        super().__init__(run, key, "key_int" if integers else "key", integers)
        if Layout.of(key.layout).integers != integers:
            raise self._damaged(f"keys of its columns are {self.type}; its layout says another form")

    def read(self, part: PartInfo, groups: Sequence[int], *, keep: bool) -> Iterator[tuple[pa.Array, Units]]:
        """Keys and units of some row groups, in order, in a piece or several."""
        if not groups:
            return
        table = self._run.read(part, groups, [self.column, "unit"], keep=keep)
        yield self.rows(table)

    def row_groups(self, part: PartInfo) -> range:
        """Return all row groups of a part."""
        return range(len(self._run.footer(part).rows))

    def whole(self, part: PartInfo) -> bytes:
        """A part, byte for byte."""
        return self._run.whole(part)

    def rows(self, table: pa.Table) -> tuple[pa.Array, Units]:
        """Keys and units of stored rows."""
        return Vector(table.column(self.column)).array, Vector(table.column("unit")).numbers

    def _damaged(self, what: str) -> DamagedIndexError:
        return self._run.damaged(f"{self._key.kind}/{self._run.run.run}", what)

    def _type(self, text: str) -> pa.DataType:
        type_ = type_from_text(text)
        if type_ is None:
            raise self._damaged(f"the type {text[:80]!r} of a column is not known")
        return type_


def each_value(reader: RunReader, key: CoveredKey) -> Iterator[tuple[Units, pa.Array]]:
    """Yield values by row group; see `KeepsValues`. The key has one column."""
    stored, bits = StoredKeys(reader, key), Layout.of(key.layout).group_bits
    (type_,) = stored.types
    for part in stored.parts().parts:
        for group in stored.row_groups(part):
            for keys, units in stored.read(part, [group], keep=False):
                ordinals = units >> bits
                if len(ordinals) and not (ordinals.min() >= 0 and ordinals.max() < reader.run.files):
                    raise DamagedIndexError.for_repair(
                        f"values are of files that their run has; run {reader.run.run} names others"
                    )
                there = Vector(keys).valid
                if there is not None:
                    ordinals = ordinals[there]
                    keys = keys.take(Vector.arrow(np.flatnonzero(there), None, pa.int64()))
                yield ordinals, keys.cast(DistinctKeys(type_).type)
