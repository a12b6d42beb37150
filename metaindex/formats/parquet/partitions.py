"""The values that files have in common: partition columns, one value a file, exact and typed."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Cure, ScanError
from metaindex.expressions import ColumnBounds, from_physical
from metaindex.formats.model import Field, Leaf, Snapshot

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


class PartitionValues:
    """The partition columns of a snapshot, asked file by file; what the format says of a column is loaded once."""

    def __init__(self, snapshot: Snapshot, time_zone: str = "UTC") -> None:
        self._snapshot = snapshot
        self._time_zone = time_zone
        self._offered: dict[tuple[str, int | None], tuple[pa.Array, npt.NDArray[np.bool_]] | None] = {}
        self._bounds: dict[str, ColumnBounds | None] = {}
        self._values: dict[str, pa.Array | None] = {}

    def known(self, field: Field, row: int) -> pa.Scalar | None:
        """The column's value in file `row`, where the format knows it: NULL is a known value."""
        typed = self._typed(field)
        if typed is not None:
            return typed[row].cast(field.type)
        offered = self._known(field)
        if offered is not None:
            return offered[0][row] if offered[1][row] else None
        if field.name not in self._bounds:
            self._bounds[field.name] = self._snapshot.details.partition_bounds(Leaf((field,)))
        bounds = self._bounds[field.name]
        if _is_null(self._snapshot.files.table.column("partition")[row].as_py(), field):
            return pa.scalar(None, field.type)
        if bounds is not None and bounds.lower is not None and bounds.upper is not None:
            low, high = bounds.lower[row].as_py(), bounds.upper[row].as_py()
            if low is not None and low == high and _is_tight(bounds, row):
                return _typed(low, field.type)
            if low is None and _equal(bounds.null_count, bounds.row_count, row):
                return pa.scalar(None, field.type)
            if low is None and _equal(bounds.nan_count, bounds.row_count, row) and pa.types.is_floating(field.type):
                return pa.scalar(float("nan"), pa.float64()).cast(field.type)
        return None

    def missing(self, field: Field, row: int) -> Field:
        """The field as file `row` shows it where the file lacks the column: with the value of the file's own partition,
        or its default where the partition says nothing."""
        if field.children:
            return replace(field, children=tuple(self.missing(child, row) for child in field.children))
        if field.default_known or field.field_id is None:
            return field
        defaults = self._known(field)
        if defaults is not None and defaults[1][row]:
            return replace(field, default=defaults[0][row], default_known=True)
        said = self._snapshot.details.initial_default(field.field_id)
        return field if said is None else replace(field, default=said[1], default_known=said[0])

    def _typed(self, field: Field) -> pa.Array | None:
        """The values themselves, of a format that offers them beside their bounds."""
        if field.name not in self._values:
            self._values[field.name] = self._snapshot.details.partition_values(Leaf((field,)))
        return self._values[field.name]

    def _known(self, field: Field) -> tuple[pa.Array, npt.NDArray[np.bool_]] | None:
        """Return values, and which are known, for a format that parses partition texts itself."""
        key = (field.name, field.field_id)
        if key not in self._offered:
            self._offered[key] = self._snapshot.details.known_partition_values(Leaf((field,)), self._time_zone)
        return self._offered[key]

    def value(self, field: Field, row: int) -> pa.Scalar:
        """Like `known`, but raises ScanError if the value is unknown."""
        known = self.known(field, row)
        if known is not None:
            return known
        where = self._snapshot.described(self._snapshot.files.paths[row].as_py())
        raise ScanError(
            f"a partition column has one known value per file; that of {field.name!r} is not known for {where}; "
            f"leave it out of columns and predicate, or {Cure('spark')}"
        )


def _is_null(text: str, field: Field) -> bool:
    for part in text.split("/") if text else ():
        name, _, value = part.partition("=")
        if unquote(name) == field.name:
            return value == _HIVE_NULL  # as it stands: a value that reads like it has its first letter encoded
    return False


def _is_tight(bounds: ColumnBounds, row: int) -> bool:
    """Bounds that meet prove one value only for rows that have one; the formats call those of an identity partition
    exact."""
    tight = (bounds.lower_exact, bounds.upper_exact)
    return all(t is not None and t[row].as_py() for t in tight)


def _equal(count: pa.Array | None, rows: pa.Array | None, row: int) -> bool:
    if count is None or rows is None:
        return False
    number = count[row].as_py()
    return number is not None and number > 0 and number == rows[row].as_py()


def _typed(value: object, t: pa.DataType) -> pa.Scalar:
    """A physical value as a scalar of the column's type; days and microseconds beyond Python's calendar too."""
    if pa.types.is_date32(t) and isinstance(value, int):
        return pa.scalar(value, pa.int32()).cast(t)
    if pa.types.is_timestamp(t) and isinstance(value, int):
        return pa.scalar(value, pa.int64()).cast(pa.timestamp("us")).cast(t)
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        assert isinstance(value, bytes)
        return pa.scalar(value, pa.binary()).cast(t)
    return pa.scalar(from_physical(value, t), t)  # type: ignore[arg-type]  # an Arrow scalar of a physical domain is a physical value
