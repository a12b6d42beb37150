"""User's specification of a sketch of distinct values for every file; and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from metaindex.core import ArgumentError, DamagedIndexError, dataclass
from metaindex.index.kinds.canonical import plain_type
from metaindex.index.kinds.kind import LayoutRule
from metaindex.index.kinds.of_files import FileAggregate, OfFile, OfFilesKind, one_column_each
from metaindex.index.kinds.theta.sketch import Theta
from metaindex.index.log.entry import CoveredKey

if TYPE_CHECKING:
    from metaindex.index.kinds.command import KindCommand

SKETCHES = pa.schema(
    [
        pa.field("key_id", pa.int64(), nullable=False),
        pa.field("ordinal", pa.int32(), nullable=False),
        pa.field("row_count", pa.int64(), nullable=False),
        pa.field("value_count", pa.int64(), nullable=False),  # that are not NULL
        pa.field("has_empty", pa.bool_(), nullable=False),  # an empty text, which sketches do not know
        pa.field("sketch", pa.binary(), nullable=False),  # a compact theta sketch of Apache DataSketches
    ]
)
"""The metadata partition `sketches`: a row a file and key, sorted by (key_id, ordinal)."""


@dataclass(frozen=True, slots=True, init=False)
class Sketches(OfFilesKind):
    """A theta sketch of a column's different values in every file, so that `aggregate(approx_distinct=...)` opens only
    the files of which not every row matches.

    `entries`: hashes that a sketch keeps at most, 8 bytes each. So many different values are counted exactly, more with
    a standard error of one by the root of `entries`: 1.6% of 4,096.
    """

    keys: tuple[tuple[str, ...], ...]
    entries: int
    name = "sketches"
    words = ("sketches", "sketch", "theta")
    layout = LayoutRule(frozenset({"entries"}), {}, {"entries": Theta.MOST_ENTRIES})
    schema = SKETCHES
    tells = FileAggregate.DISTINCT_VALUES
    taken = "values that have an order, and are no times finer than a microsecond"

    def __init__(self, *columns: str | Sequence[str], entries: int = Theta.ENTRIES) -> None:
        if type(entries) is not int or not 16 <= entries <= Theta.MOST_ENTRIES:
            raise ArgumentError(f"entries is a whole number from 16 to {Theta.MOST_ENTRIES:,}; got {entries!r}")
        object.__setattr__(self, "keys", one_column_each("Sketches", columns))
        object.__setattr__(self, "entries", entries)

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(*cls.said_keys(said), entries=said.get("entries", Theta.ENTRIES))

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from metaindex.index.kinds.command import Keys

        return Keys(
            cls,
            "--sketches",
            "sketches: how many different values there are, about",
            "keep a sketch of this column's different values for each file; can be repeated",
            entries={
                "type": int,
                "metavar": "N",
                "help": "hashes that a sketch keeps, 8 bytes each; default: 4096",
            },
        )

    @property
    def said_layout(self) -> dict[str, int | str]:
        return {"entries": self.entries}

    @property
    def row_bytes(self) -> int:
        return 8 * self.entries + 200

    def of_file(self, type_: pa.DataType) -> OfFile:
        return SketchOfFile(type_, self.entries)

    @classmethod
    def together(cls, key: CoveredKey, other: CoveredKey) -> bool:
        return key.layout == other.layout

    @classmethod
    def made_by(cls, key: CoveredKey) -> Self:
        return cls(*(column.name for column in key.columns), entries=int(key.layout["entries"]))

    @classmethod
    def wrong_row(cls, row: Mapping[str, Any]) -> str | None:
        rows, values, sketch = row["row_count"], row["value_count"], row["sketch"]
        if rows is None or values is None or not 0 <= values <= rows:
            return "counts more values than rows"
        try:
            held = Theta.from_bytes(sketch or b"")
        except DamagedIndexError:
            return "has no sketch of Apache DataSketches"
        return None if len(held.hashes) <= values else "has more different values than values"


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
