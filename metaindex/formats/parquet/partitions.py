"""The values that files have in common: partition columns, one value a file, exact and typed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Cure, ScanError
from metaindex.expressions import ColumnBounds
from metaindex.formats.columns import from_domain
from metaindex.formats.model import Field, Leaf, Snapshot

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


class PartitionValues:
    """The partition columns of a snapshot, asked file by file; what the format says of a column is loaded once."""

    def __init__(self, snapshot: Snapshot, time_zone: str = "UTC") -> None:
        self._snapshot = snapshot
        self._time_zone = time_zone
        self._held: dict[tuple[str, str, int | None], Any] = {}

    def known(self, field: Field, row: int) -> pa.Scalar | None:
        """The column's value in file `row`, where the format knows it: NULL is a known value."""
        typed: pa.Array | None = self._once("values", field, self._snapshot.details.partition_values)
        if typed is not None:
            return typed[row].cast(field.type)
        offered = self._known(field)
        if offered is not None:
            return offered[0][row] if offered[1][row] else None
        bounds: ColumnBounds | None = self._once("bounds", field, self._snapshot.details.partition_bounds)
        if _is_null(self._snapshot.files.table.column("partition")[row].as_py(), field):
            return pa.scalar(None, field.type)
        if bounds is not None and bounds.lower is not None and bounds.upper is not None:
            low, high = bounds.lower[row].as_py(), bounds.upper[row].as_py()
            if low is not None and low == high and _is_tight(bounds, row):
                return from_domain(pa.array([low], bounds.lower.type), field.type)[0]
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

    def _once(self, what: str, field: Field, load: Callable[[Leaf], Any]) -> Any:
        key = (what, field.name, field.field_id)
        if key not in self._held:
            self._held[key] = load(Leaf((field,)))
        return self._held[key]

    def _known(self, field: Field) -> tuple[pa.Array, npt.NDArray[np.bool_]] | None:
        """Return values, and which are known, for a format that parses partition texts itself."""
        details, zone = self._snapshot.details, self._time_zone
        known: tuple[pa.Array, npt.NDArray[np.bool_]] | None = self._once(
            "known", field, lambda leaf: details.known_partition_values(leaf, zone)
        )
        return known

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
