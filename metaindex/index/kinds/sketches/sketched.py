"""The sketch of a file's values."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from metaindex.index.kinds.canonical import plain_type
from metaindex.index.kinds.theta.sketch import Theta


class SketchOfFile:
    """Sketches a file's values; see `of_files.OfFile`."""

    def __init__(self, type_: pa.DataType, entries: int) -> None:
        self._type, self._entries = plain_type(type_), entries
        self._rows = self._values = 0
        self._empty = False
        self._sketch = Theta.nothing()

    def add(self, values: pa.Array) -> None:
        self._rows += len(values)
        self._values += len(values) - values.null_count
        self._sketch, empty = self._sketch.with_values(values, self._type, self._entries)
        self._empty |= empty

    def row(self) -> Mapping[str, object]:
        return {
            "row_count": self._rows,
            "value_count": self._values,
            "has_empty": self._empty,
            "sketch": self._sketch.to_bytes(),
        }
