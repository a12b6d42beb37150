"""A condition for a MERGE, UPDATE or DELETE by key that follows from the keys alone, so that the format's own
statistics skip files.

Every row of the table whose key columns equal those of some source row satisfies it, whatever files the table has and
whoever writes them meanwhile: beside the equality it changes nothing, of no clause of a MERGE. It never names files,
nor partitions that an index found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ArgumentError, Shown, dataclass
from metaindex.expressions import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    Family,
    In,
    IsNan,
    IsNull,
    Leaf,
    Literal,
    Op,
    Or,
    Predicate,
    as_column,
)
from metaindex.formats import Schema
from metaindex.query.readers.plan import shown_field

from .condition import condition_of
from .sources import Pairs, key_table

if TYPE_CHECKING:
    from pyspark.sql import Column

MOST_VALUES = 1_000
MOST_RANGES = 32


@dataclass(frozen=True, slots=True, repr=False)
class Narrowed(Shown):
    """A condition on a command's target, by `narrowed`. `predicate`: of its columns. `told`: the keys in words.
    `types`: of its columns, as the predicate names them."""

    predicate: Predicate
    told: str
    types: pa.Schema

    MOST_VALUES: ClassVar = MOST_VALUES
    MOST_RANGES: ClassVar = MOST_RANGES

    @classmethod
    def of(
        cls,
        source: object,
        on: object,
        *,
        schema: Schema | None = None,
        version: object = None,
        generated: Mapping[str, str] | None = None,
        target: str | None = "target",
        null_safe: bool = False,
        most_values: int = MOST_VALUES,
        most_ranges: int = MOST_RANGES,
        time_zone: str = "UTC",
    ) -> Self:
        """Implement `mi.narrowed`. `schema`: the target's columns; without it those of the source have the same
        types."""
        for name, value in (("most_values", most_values), ("most_ranges", most_ranges)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ArgumentError(f"{name} is a number from 1 on; got {value!r}; leave it out for the default")
        if target is not None and (not isinstance(target, str) or not target):
            raise ArgumentError(f"target is the name by which the command calls the table; got {target!r}; or None")
        pairs = Pairs.of(on)
        rows = key_table(source, pairs)
        names, columns, types = [], [], []
        for name, values in zip(rows.schema.names, rows.columns, strict=True):
            t = values.type
            if schema is not None:
                name = shown_field(schema, name, version).name
                t = next(f.asked for f in schema.fields if f.name == name)
            names.append(name)
            types.append(t)
            columns.append(as_column(values, t, name, time_zone, plain=True))
        nulls = [column.null_count > 0 for column in rows.columns]
        whole = pa.table(columns, names=[str(at) for at in range(len(names))])
        said = _of_keys(names, whole, types, nulls, null_safe, most_values, most_ranges)
        parts = [said.predicate]
        for name, expression in (generated or {}).items():
            follows = _generated(name, expression, names, columns, nulls if null_safe else [False] * len(names), schema)
            parts += [] if follows is None else [follows]
        predicate: Predicate = And(tuple(parts)) if len(parts) > 1 else parts[0]
        fields = [pa.field(name, _of_delta(t)) for name, t in zip(names, types, strict=True)]
        if target is not None:
            fields = [pa.field(target, pa.struct(fields))]
        return cls(predicate.transform(_ForEngines(target).leaf), said.told, pa.schema(fields))

    @property
    def sql(self) -> str:
        """Return text for Spark SQL's MERGE ... ON, UPDATE and DELETE. Raises ArgumentError for a name in whose place a
        session may put the value of a variable."""
        text = self._printed()
        if "${" in text:  # of texts none is left
            raise ArgumentError(
                "a session of Spark puts a variable's value in the place of ${...}, in names too;"
                f" {text[:200]!r} has one; rename the column or the target, or take .column()"
            )
        return text

    @property
    def deltalake(self) -> str:
        """Return text for the predicate of deltalake's `merge`, `update` and `delete`."""
        from metaindex.expressions import to_sql

        return to_sql(self.predicate, "datafusion", self.types)

    def column(self) -> Column:
        """Return a Spark Column, for DeltaTable.merge and the like."""
        from metaindex.expressions import to_spark

        return to_spark(self.predicate)

    def _printed(self) -> str:
        from metaindex.expressions import to_sql

        return to_sql(self.predicate, "spark column")


@dataclass(frozen=True, slots=True)
class _SaidOfKeys:
    predicate: Predicate
    told: str


def _of_keys(
    names: Sequence[str],
    rows: pa.Table,
    types: Sequence[pa.DataType],
    nulls: Sequence[bool],
    null_safe: bool,
    most_values: int,
    most_ranges: int,
) -> _SaidOfKeys:
    """`null_safe`: keys are compared by <=>, so that a NULL of the source finds NULL."""
    whole = rows.drop_null().combine_chunks()
    if not null_safe or not any(nulls):
        keys = [_one(column) for column in whole.columns]
        condition = condition_of(names, keys, types, most_values=most_values, most_ranges=most_ranges)
        return _SaidOfKeys(condition.predicate, condition.told)
    parts: list[Predicate] = []
    for name, column, t, null in zip(names, rows.columns, types, nulls, strict=True):
        keys = [_one(column.drop_null().combine_chunks())]
        part = condition_of([name], keys, [t], most_values=most_values, most_ranges=most_ranges).predicate
        parts.append(Or((part, IsNull(ColumnRef((name,))))) if null else part)
    return _SaidOfKeys(And(tuple(parts)) if len(parts) > 1 else parts[0], "column by column, with NULL")


def _of_delta(t: pa.DataType) -> pa.DataType:
    """Return the type of a column of such keys in a Delta table, whose integers are of any width up to 64 bits."""
    if pa.types.is_dictionary(t):
        return _of_delta(t.value_type)
    return pa.int64() if pa.types.is_integer(t) else t


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])


@dataclass(frozen=True, slots=True)
class _ForEngines:
    """Leaves as every engine's comparison finds them: either zero, and NaN by its function. `target`: before each
    column."""

    target: str | None

    def leaf(self, node: Leaf) -> Predicate:
        match node:
            case Comparison(column, op, value):
                return self._comparison(self._column(column), op, value)
            case In(column, values):
                plain = tuple(value for value in values if not value.is_nan)
                if any(isinstance(value.value, float) and value.value == 0.0 for value in plain):
                    plain += (Literal(-0.0), Literal(0.0))
                parts: list[Predicate] = [In(self._column(column), plain)] if plain else []
                parts += [IsNan(self._column(column))] if _has_nan(values) else []
                return parts[0] if len(parts) == 1 else Or(tuple(parts))
            case IsNull(column):
                return IsNull(self._column(column))
            case _:
                return node

    def _comparison(self, column: ColumnRef, op: Op, value: Literal) -> Predicate:
        number = value.value
        if not isinstance(number, float):
            return Comparison(column, op, value)
        if math.isnan(number):
            return IsNan(column)
        if number == 0.0 and op is Op.EQ:
            return In(column, (Literal(-0.0), Literal(0.0)))
        if number == 0.0:
            return Comparison(column, op, Literal(-0.0 if op is Op.GE else 0.0))
        return Comparison(column, op, value)

    def _column(self, column: ColumnRef) -> ColumnRef:
        return column if self.target is None else ColumnRef((self.target, *column.parts))


def _has_nan(values: Sequence[Literal]) -> bool:
    return any(value.is_nan for value in values)


_NAME = r"(`(?:[^`]|``)+`|\w+)"
_CALLS: dict[str, re.Pattern[str]] = {
    "day": re.compile(
        rf"\s*(?:CAST\s*\(\s*{_NAME}\s+AS\s+DATE\s*\)|(?:TO_)?DATE\s*\(\s*{_NAME}\s*\))\s*", re.IGNORECASE
    ),
    "year": re.compile(rf"\s*YEAR\s*\(\s*{_NAME}\s*\)\s*", re.IGNORECASE),
    "beginning": re.compile(rf"\s*(?:SUBSTR|SUBSTRING)\s*\(\s*{_NAME}\s*,\s*[01]\s*,\s*(\d+)\s*\)\s*", re.IGNORECASE),
}


def _generated(
    name: str,
    expression: str,
    keys: Sequence[str],
    columns: Sequence[pa.Array],
    nulls: Sequence[bool],
    schema: Schema | None,
) -> Predicate | None:
    """Return what the keys imply for a generated column. None unless its expression is understood, and of one key."""
    for call, pattern in _CALLS.items():
        match = pattern.fullmatch(expression)
        groups = [] if match is None else [group for group in match.groups() if group is not None]
        at = _place(groups[0], keys) if groups else None
        if at is None or nulls[at]:
            continue
        values = _following(call, columns[at].drop_null(), groups[1:])
        if values is None:
            return None
        if schema is not None:
            field = next((f for f in schema.fields if f.name == name), None)
            if field is None or not field.type.equals(values.type):
                return None
        return condition_of([name], [values], [values.type]).predicate if len(values) else Constant(False)
    return None


def _place(written: str, keys: Sequence[str]) -> int | None:
    plain = written[1:-1].replace("``", "`") if written.startswith("`") else written
    places = [at for at, key in enumerate(keys) if key.lower() == plain.lower()]
    return places[0] if len(places) == 1 else None


def _following(call: str, values: pa.Array, rest: Sequence[str]) -> pa.Array | None:
    """The values that a generated column has, and maybe some more: an instant's day depends on the zone of the session
    that wrote the row, which is at most a day away from that of UTC."""
    t, is_ = values.type, pa.types
    instants = is_.is_timestamp(t) and t.tz is not None
    if call == "beginning":
        if Family.of(t) is not Family.TEXT:
            return None
        return pc.unique(pc.utf8_slice_codeunits(values, 0, int(rest[0])).cast(pa.string()))
    if not (is_.is_timestamp(t) or is_.is_date32(t)):
        return None
    days: Any = values if is_.is_date32(t) else pc.floor_temporal(_utc(values), unit="day").cast(pa.date32())
    if instants:
        numbers = days.cast(pa.int32())
        around = [pc.add(numbers, pa.scalar(step, pa.int32())) for step in (-1, 0, 1)]
        days = pa.concat_arrays(around).cast(pa.date32())
    days = pc.unique(days)
    return days if call == "day" else pc.unique(pc.year(days).cast(pa.int32()))


def _utc(values: pa.Array) -> pa.Array:
    """Instants as times of UTC; what has no zone as it is."""
    if values.type.tz is None:
        return values
    return values.cast(pa.timestamp(values.type.unit, "UTC")).cast(pa.timestamp(values.type.unit))
