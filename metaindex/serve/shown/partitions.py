"""Partition values as constants of tasks, and the partition specs that say which columns have one.

A value that is NULL is not written, as one client refuses NULL with the whole plan: its file is given a spec without
that column. One more spec has no columns at all: seeing that a filter does not select whole partitions of every spec,
a client keeps the filter on rows, and counts no rows from tasks.
"""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, dataclass
from metaindex.expressions import to_physical
from metaindex.formats import Schema, Snapshot
from metaindex.serve.clients import Spelling
from metaindex.serve.refusal import Refusal
from metaindex.serve.served import Json

from .columns import Column, Path, primitive

_ALL_MASKS = 4  # partition columns of which every choice of NULLs has a spec, whatever values there are now
_SPECS = 64
_FIRST_FIELD = 1000
_TRIED = ("boolean", "int", "long", "float", "double", "date", "decimal", "string", "timestamp", "timestamptz")

Nulls = tuple[bool, ...]
"""Whether each partition column is NULL."""


def spec_id(columns: Sequence[Column]) -> int:
    """Return the id of the spec of these columns. It follows from them: a client that holds older metadata finds no
    other spec under it."""
    if not columns:
        return 0
    said = "\0".join(f"{'/'.join(column.path)} {column.type}" for column in columns)
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:4], "big") >> 1 | 1


@dataclass(frozen=True, slots=True)
class Specs:
    """The specs that a table's metadata has, by the columns that are NULL in their files."""

    columns: tuple[Column, ...]
    nulls: frozenset[Nulls]

    @classmethod
    def of(cls, columns: Sequence[Column], now: Constants) -> Specs:
        """`now`: the values of the current version."""
        count = len(columns)
        some = product((False, True), repeat=count) if count <= _ALL_MASKS else now.some_nulls(_SPECS)
        return cls(tuple(columns), frozenset([*some, (False,) * count, (True,) * count]))

    def json(self, ids: Mapping[Path, int]) -> list[Json]:
        """Iceberg's JSON of the specs, that of all columns first."""
        return [self._spec(nulls, ids) for nulls in sorted(self.nulls)]

    def _spec(self, nulls: Nulls, ids: Mapping[Path, int]) -> Json:
        placed = [(place, column) for place, column in enumerate(self.columns) if not nulls[place]]
        fields = [
            {
                "source-id": ids[column.path],
                "field-id": _FIRST_FIELD + place,
                "name": column.name,
                "transform": "identity",
            }
            for place, column in placed
        ]
        return {"spec-id": spec_id([column for _, column in placed]), "fields": fields}


@dataclass(frozen=True, slots=True)
class Constants:
    """The values of a version's partition columns, one a file, and of which files they are known."""

    columns: tuple[Column, ...]
    values: tuple[pa.Array, ...]
    known: tuple[Mask, ...]

    @classmethod
    def of(cls, snapshot: Snapshot, columns: Sequence[Column], time_zone: str) -> Constants:
        """`time_zone`: of times that the table's log writes without one."""
        placed = [column for column in columns if column.partition]
        for column in placed:
            if (primitive(column.type) or "").partition("(")[0] not in _TRIED:
                raise Refusal(
                    f"partition columns of shown tables are of types that clients were seen to read right;"
                    f" {column.name!r} of {snapshot.table} is {column.type}; read the table by metaindex itself"
                )
        both = [_values(snapshot, column, time_zone) for column in placed]
        return cls(tuple(placed), tuple(values for values, _ in both), tuple(known for _, known in both))

    def some_nulls(self, most: int) -> list[Nulls]:
        """Return which columns are NULL together in some file."""
        if not self.columns:
            return []
        return [tuple(row) for row in np.unique(self._nulls(), axis=0)[:most].tolist()]

    def _nulls(self) -> npt.NDArray[np.bool_]:
        return np.column_stack([np.asarray(values.is_null()) for values in self.values])

    def given(self, files: npt.NDArray[np.int64]) -> list[frozenset[Path]]:
        """Return the columns that tasks of these files give a value for."""
        if not self.columns:
            return [frozenset()] * len(files)
        paths = [column.path for column in self.columns]
        nulls, made = self._nulls()[files], dict[bytes, frozenset[Path]]()
        for row in np.unique(nulls, axis=0):
            made[row.tobytes()] = frozenset(path for path, null in zip(paths, row.tolist(), strict=True) if not null)
        return [made[row.tobytes()] for row in nulls]

    def spelt(self, files: npt.NDArray[np.int64], spelling: Spelling, specs: Specs, table: str) -> list[Json]:
        """Return what tasks of these files say of partitions: a spec, and the values of its fields."""
        if not self.columns:
            return [{"spec-id": 0, "partition": []}] * len(files)
        for column, known in zip(self.columns, self.known, strict=True):
            if not known[files].all():
                raise _unshown(column, table, "that is not known")
        rows = pa.array(files)
        spell = _typed if spelling is Spelling.TYPED else _physical
        texts = [spell(c, v.take(rows), table) for c, v in zip(self.columns, self.values, strict=True)]
        made: list[Json] = []
        ids: dict[Nulls, int] = {}
        for values in zip(*texts, strict=True):
            nulls = tuple(value is None for value in values)
            if nulls not in ids:
                if nulls not in specs.nulls:
                    raise _unshown(self.columns[nulls.index(True)], table, "NULL, beside others not seen at present")
                ids[nulls] = spec_id([c for c, null in zip(self.columns, nulls, strict=True) if not null])
            made.append({"spec-id": ids[nulls], "partition": [value for value in values if value is not None]})
        return made


def _unshown(column: Column, table: str, said: str) -> Refusal:
    return Refusal(
        f"a shown table has partition values that clients were seen to read right; {column.name!r} of {table} has one"
        f" {said}; read the table by metaindex itself"
    )


def _values(snapshot: Snapshot, column: Column, time_zone: str) -> tuple[pa.Array, Mask]:
    (leaf,) = (leaf for leaf in Schema(snapshot.schema.fields).leaves() if leaf.source == column.path)
    known = snapshot.details.known_partition_values(leaf, time_zone)
    if known is not None:
        return known
    values = snapshot.details.partition_values(leaf)
    count = len(snapshot.files)
    if values is None:
        return pa.nulls(count, column.type), np.zeros(count, np.bool_)
    return values, np.ones(count, np.bool_)


def _typed(column: Column, values: pa.Array, table: str) -> list[object]:
    """Return values as Iceberg's JSON has single ones, by their type."""
    try:
        return [_single(column, value, table) for value in values.to_pylist()]
    except (OverflowError, ValueError) as error:  # beyond Python's calendar
        raise _unshown(column, table, "before the year 1 or after 9999") from error


def _single(column: Column, value: object, table: str) -> object:
    match value:
        case float() if not math.isfinite(value):
            raise _unshown(column, table, "that is no finite number")
        case decimal.Decimal():
            return format(value, "f")
        case dt.datetime():
            text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
            return text + ("" if value.tzinfo is None else "+00:00")
        case dt.date():
            return value.isoformat()
        case _:
            return value


def _physical(column: Column, values: pa.Array, table: str) -> list[object]:
    """Return values as pyiceberg holds them: it does not read the JSON by type. A decimal cannot be said so."""
    if pa.types.is_temporal(values.type):
        return [*to_physical(values, values.type, upper=False).to_pylist()]
    return _typed(column, values, table)
