"""How the rows of a key of several runs become those of one, by kind. Each is loaded when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from expressions.physical import physical_type
from metaindex.log.entry import CoveredKey

from .canonical import answers_for
from .layouts import readable

if TYPE_CHECKING:  # what writes is loaded by the verbs that write
    from metaindex.store.layout import PartInfo
    from metaindex.store.reader import RunReader
    from metaindex.store.writer import RunSink

    from .covering.merge import WritesPieces

KeyRows = tuple["RunReader", CoveredKey, npt.NDArray[np.int64]]
"""The rows of a key in one run, and the new ordinal of each of its files: -1 where nothing is taken of it. Each new
ordinal is taken from one run at most."""

Merge = Callable[
    [CoveredKey, Sequence[KeyRows], "RunSink", Callable[[int], int]], tuple[dict[str, int | str], "list[PartInfo]"]
]
"""Writes the rows of a key; its layout, and its parts. The last argument gives the number of the key's n-th part, for
`RunSink.write`."""


def _entries() -> Merge:
    from .values.merge import merge_entries

    return merge_entries


def _values() -> Merge:
    from .values.merge import merge_values

    return merge_values


def _filters() -> Merge:
    from .bloom.merge import merge_filters

    return merge_filters


_MERGES: Mapping[str, Callable[[], Merge]] = {
    "bloom_filters": _filters,
    "values": _entries,
    "value_keys": _values,
    "value_lists": _values,
}

MERGED = frozenset({*_MERGES, "covering"})
"""The metadata partitions whose rows are merged. A run with keys in others stays as it is."""

_HASHED = frozenset({"values", "bloom_filters"})


def mergeable(key: CoveredKey) -> bool:
    """Can the rows of this key be merged? Not those of a partition, or in a form, that this metaindex does not know."""
    return key.kind in MERGED and readable(key)


def merge(
    key: CoveredKey,
    some: Sequence[KeyRows],
    sink: RunSink,
    number: Callable[[int], int],
    write: WritesPieces | None = None,
) -> tuple[dict[str, int | str], list[PartInfo]]:
    """Writes the rows of a key, which is `mergeable`, as the kind does it. `write`: who writes those of a covering
    index; threads of this process where it is not given."""
    if key.kind == "covering":
        from .covering.merge import merge_rows

        return merge_rows(key, some, sink, number, write)
    return _MERGES[key.kind]()(key, some, sink, number)


def rows_carry_over(partition: str, old: pa.DataType, new: pa.DataType) -> bool:
    """Are rows of values that were written under one type those that the same values have under another? Of hashes
    where the values are the same; of the values themselves, where their bytes are, too. Rows of a covering index are of
    one type: its hash decides the bucket."""
    if partition == "covering":
        return bool(old == new)
    if not answers_for(old, new):
        return False
    if partition in _HASHED:
        return True
    decimals = pa.types.is_decimal(old) or pa.types.is_decimal(new)
    temporal = any(pa.types.is_temporal(one) for one in (old, new))
    return physical_type(old) == physical_type(new) and not decimals and not temporal
