"""User's specification of the sum of a column for every file; and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import pyarrow as pa

from metaindex.core import dataclass
from metaindex.index.kinds.exact_sums import SUM_BYTES, SumOfFile
from metaindex.index.kinds.kind import LayoutRule
from metaindex.index.kinds.of_files import FileAggregate, OfFile, OfFilesKind, one_column_each
from metaindex.index.log.entry import CoveredKey

SUMS = pa.schema(
    [
        pa.field("key_id", pa.int64(), nullable=False),
        pa.field("ordinal", pa.int32(), nullable=False),
        pa.field("row_count", pa.int64(), nullable=False),
        pa.field("value_count", pa.int64(), nullable=False),  # that are not NULL
        pa.field("sum", pa.binary(SUM_BYTES)),  # unscaled, two's complement, little-endian; null where no value is
    ]
)
"""The metadata partition `sums`: a row a file and key, sorted by (key_id, ordinal)."""


@dataclass(frozen=True, slots=True, init=False)
class Sums(OfFilesKind):
    """The exact sum of a column of integers or decimals in every file, so that `aggregate(sum=...)` and Spark's
    `sum(...)` open only the files of which not every row matches."""

    keys: tuple[tuple[str, ...], ...]
    name = "sums"
    words = ("sums", "sum")
    layout = LayoutRule()
    schema = SUMS
    tells = FileAggregate.SUM
    taken = "integers and decimals, which come to the same in any order"

    def __init__(self, *columns: str | Sequence[str]) -> None:
        object.__setattr__(self, "keys", one_column_each("Sums", columns))

    @property
    def row_bytes(self) -> int:
        return 120

    def of_file(self, type_: pa.DataType) -> OfFile:
        return SumOfFile(type_)

    @classmethod
    def made_by(cls, key: CoveredKey) -> Self:
        return cls(*(column.name for column in key.columns))

    @classmethod
    def wrong_row(cls, row: Mapping[str, Any]) -> str | None:
        rows, values, total = row["row_count"], row["value_count"], row["sum"]
        if rows is None or values is None or not 0 <= values <= rows:
            return "counts more values than rows"
        return None if (total is None) == (values == 0) else "has a sum of no values, or values without a sum"
