"""What the layout of a covering key says."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from metaindex.expressions.records import dataclass
from metaindex.kinds.served import RowSizes
from metaindex.log.entry import CoveredKey

PARTITION = "covering"
"""The metadata partition that holds the rows of both kinds: `CoveredKey.kind`."""


@dataclass(frozen=True)
class CoveringLayout:
    """What the layout of a covering key says."""

    buckets: int  # 0: rows are in ranges
    indexed: int
    schema_json: str  # a StructType of Spark, lineage apart
    sizes: RowSizes

    @classmethod
    def of(cls, key: CoveredKey) -> CoveringLayout:
        said = key.layout
        sizes = {name.removeprefix(_BYTES): int(value) for name, value in said.items() if name.startswith(_BYTES)}
        counted = RowSizes(sizes, int(said.get(_KEYS, 0)))
        return cls(int(said["buckets"]), int(said["indexed"]), str(said["schema"]), counted)

    @cached_property
    def stored(self) -> pa.Schema:
        """The columns of a part, lineage apart."""
        from metaindex.kinds.spark_types import arrow_schema  # no look-up asks for it

        return arrow_schema(self.schema_json)


_BYTES, _KEYS = "bytes:", "keys"


def said_of(sizes: RowSizes) -> dict[str, int | str]:
    """As the layout says them."""
    return {**{f"{_BYTES}{name}": size for name, size in sizes.column_bytes.items()}, _KEYS: sizes.keys}
