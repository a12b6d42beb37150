"""Layout of a covering key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import dataclass
from metaindex.index.kinds.served import RowSizes
from metaindex.index.log.entry import CoveredKey

if TYPE_CHECKING:  # what puts rows is loaded by who reads or writes them
    from .placement import Placement

PARTITION = "covering"
"""The metadata partition that holds the rows of all covering kinds: `CoveredKey.kind`."""


@dataclass(frozen=True)
class RowLayout:
    """Layout of a covering key."""

    buckets: int  # 0: rows are in ranges
    indexed: int
    schema_json: str  # a StructType of Spark, lineage apart
    sizes: RowSizes
    inner: Mapping[str, str]  # of columns that hold structs, by stable name: `inner_fields`, where ids tell them apart
    curve: tuple[int, tuple[str, ...]] | None = None  # bits of a rank, and the cut points of each indexed column

    @classmethod
    def of(cls, key: CoveredKey) -> RowLayout:
        said = key.layout
        sizes = {name.removeprefix(_BYTES): int(value) for name, value in said.items() if name.startswith(_BYTES)}
        counted = RowSizes(sizes, int(said.get(_KEYS, 0)))
        inner = {name.removeprefix(INNER): str(value) for name, value in said.items() if name.startswith(INNER)}
        indexed = int(said["indexed"])
        curve = None
        if said["by"] == CURVE:
            curve = int(said[BITS_OF]), tuple(str(said[f"{CUTS}{place}"]) for place in range(indexed))
        return cls(int(said["buckets"]), indexed, str(said["schema"]), counted, inner, curve)

    @property
    def bounded(self) -> int:
        """Number of the first indexed columns by whose bounds parts are skipped; 0 in buckets."""
        return 0 if self.buckets else 1 if self.curve is None else self.indexed

    @cached_property
    def placement(self) -> Placement:
        """Placement of the rows. Raises ValueError if the cut points of a curve are invalid."""
        from .placement import ByColumns, ByCurve  # no look-up asks for it

        return ByColumns(self.indexed) if self.curve is None else ByCurve(*self.curve)

    @property
    def spark_types(self) -> Mapping[str, object]:
        """The type of each stored column by its name, as JSON of Spark's. DamagedIndexError."""
        from metaindex.index.kinds.spark_types import stored_types

        return stored_types(self.schema_json)

    @cached_property
    def stored(self) -> pa.Schema:
        """The columns of a part, lineage apart."""
        from metaindex.index.kinds.spark_types import arrow_schema  # no look-up asks for it

        return arrow_schema(self.schema_json)


_BYTES, _KEYS = "bytes:", "keys"
INNER = "fields:"
"""Before the stable name of a column: see `RowLayout.inner`."""
CURVE, BITS_OF, CUTS = "curve", "bits", "cuts:"
"""What a layout says of rows along a curve: `by`; bits of a rank; and of each indexed column by its place."""


def said_of(sizes: RowSizes) -> dict[str, int | str]:
    """Return the sizes as entries of the layout."""
    return {**{f"{_BYTES}{name}": size for name, size in sizes.column_bytes.items()}, _KEYS: sizes.keys}
