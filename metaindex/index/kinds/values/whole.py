"""Yields every value that a key keeps of its files, unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from metaindex.core import DamagedIndexError, Vector, arrow_array
from metaindex.index.kinds.different import DistinctKeys
from metaindex.index.kinds.keyed import Units
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.reader import RunReader

from .rows import Layout
from .stored import StoredKeys


def each_value(reader: RunReader, key: CoveredKey) -> Iterator[tuple[Units, pa.Array]]:
    """Yield values by row group; see `KeepsValues`. The key has one column."""
    stored, bits = StoredKeys(reader, key), Layout.of(key.layout).group_bits
    (type_,) = stored.types
    for part in stored.parts().parts:
        for group in stored.row_groups(part):
            for keys, units in stored.read(part, [group], keep=False):
                ordinals = units >> bits
                if len(ordinals) and not (ordinals.min() >= 0 and ordinals.max() < reader.run.files):
                    raise DamagedIndexError.for_refresh(
                        f"values are of files that their run has; run {reader.run.run} names others"
                    )
                there = Vector(keys).valid
                if there is not None:
                    ordinals = ordinals[there]
                    keys = keys.take(arrow_array(np.flatnonzero(there), None, pa.int64()))
                yield ordinals, keys.cast(DistinctKeys(type_).type)
