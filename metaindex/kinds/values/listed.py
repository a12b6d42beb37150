"""Stored rows of values and of hashes, as people read them."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.expressions.vectors import numbers
from metaindex.kinds.keyed import Units
from metaindex.kinds.kind import Listed
from metaindex.log.entry import CoveredKey
from metaindex.log.types import type_from_text

from .decoding import decoded
from .rows import Layout


def listed_entries(rows: pa.Table, key: CoveredKey) -> Listed:
    """Of hashes: their first bits, in binary digits."""
    layout = Layout.of(key.layout)
    entries = numbers(rows.column("entry")).astype(np.int64)
    units = entries & ((1 << layout.unit_bits) - 1)
    hashes = [f"{head:0{layout.hash_bits}b}" for head in (entries >> layout.unit_bits).tolist()]
    return Listed(units >> layout.group_bits, _row_groups(units, layout), hashes=hashes)


def listed_values(rows: pa.Table, key: CoveredKey) -> Listed:
    """Of values: as text, several columns as a JSON array."""
    layout = Layout.of(key.layout)
    units = numbers(rows.column("unit")).astype(np.int64)
    stored = rows.column("key_int" if "key_int" in rows.column_names else "key").to_pylist()
    texts = [_text(value, key) for value in stored]
    nulls = [value is None for value in stored]
    return Listed(units >> layout.group_bits, _row_groups(units, layout), texts=texts, nulls=nulls)


def _row_groups(units: Units, layout: Layout) -> npt.NDArray[np.int64] | None:
    """The row group of each, where the key tells it."""
    return units & ((1 << layout.group_bits) - 1) if layout.group_bits and not layout.shared else None


def _text(stored: int | bytes | None, key: CoveredKey) -> str | None:
    types = [type_from_text(column.type_text) for column in key.columns]
    values = None if stored is None or None in types else decoded(stored, types)
    if values is None:
        return None
    shown = [value.hex() if isinstance(value, bytes) else str(value) for value in values]
    return shown[0] if len(shown) == 1 else json.dumps(shown, ensure_ascii=False)
