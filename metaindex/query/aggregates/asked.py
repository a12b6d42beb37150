"""An aggregate query on a table's columns: measures, by groups."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from metaindex.core import ArgumentError, ScanError, dataclass
from metaindex.formats import Field, Schema
from metaindex.index import FileAggregate
from metaindex.query.order import has_order
from metaindex.query.readers.plan import shown_field

from .measures import How, Measure


@dataclass(frozen=True, slots=True)
class AggregateQuestion:
    """`keys`: columns whose values make a group; none: all rows are one."""

    keys: tuple[Field, ...]
    measures: tuple[Measure, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns that are asked, each once."""
        named = [*self.keys, *(m.field for m in self.measures if m.field is not None)]
        return tuple(dict.fromkeys(named))

    @property
    def added_up(self) -> tuple[Measure, ...]:
        """Return the measures whose partial answers an Arrow aggregation merges."""
        return tuple(m for m in self.measures if not m.tells_apart)

    @property
    def told_apart(self) -> tuple[Measure, ...]:
        """Return the measures of different values."""
        return tuple(m for m in self.measures if m.tells_apart)

    def asked(self, how: How) -> list[Field]:
        """The columns of which this is asked."""
        return [m.field for m in self.measures if m.how is how and m.field is not None]


def asked_of(
    schema: Schema,
    version: object,
    *,
    count: Sequence[str],
    least: Sequence[str],
    greatest: Sequence[str],
    total: Sequence[str],
    each_once: Sequence[str] = (),
    different: Sequence[str] = (),
    group_by: Sequence[str],
) -> AggregateQuestion:
    """Make a question from names as a user writes them; "*" among `count` means rows. Raises UnknownColumnError;
    ScanError for a column that cannot be compared or added; ArgumentError for no measure, or one given twice."""

    def field(name: str, use: str) -> Field:
        shown = shown_field(schema, name, version)
        column = next(f for f in schema.fields if f.name == shown.name)
        if use == "added" and (pa.types.is_dictionary(column.type) or not FileAggregate.SUM.takes(column.type)):
            raise ScanError(
                f"sums are of integers and decimals, which come to the same in any order; column {column.name!r} is"
                f" {column.type}; add it up by an engine that reads the scan"
            )
        if use == "told apart" and not FileAggregate.DISTINCT_VALUES.takes(column.type):
            raise ScanError(
                f"values are told apart that have an order{_fine(column.type)}; column {column.name!r} is"
                f" {column.type}; count its different values by an engine that reads the scan"
            )
        if use not in ("counted", "added") and not has_order(column.type):
            raise ScanError(
                f"what is {use} has an order; column {column.name!r} is {column.type}; ask for another column, or"
                " read the scan with an engine that compares such values"
            )
        return column

    measures = [
        *(Measure(How.COUNT, None if name == "*" else field(name, "counted")) for name in count),
        *(Measure(How.MIN, field(name, "compared")) for name in least),
        *(Measure(How.MAX, field(name, "compared")) for name in greatest),
        *(Measure(How.SUM, field(name, "added")) for name in total),
        *(Measure(How.COUNT_DISTINCT, field(name, "told apart")) for name in each_once),
        *(Measure(How.APPROX_DISTINCT, field(name, "told apart")) for name in different),
    ]
    asked = AggregateQuestion(tuple(field(name, "grouped by") for name in group_by), tuple(measures))
    names = [key.name for key in asked.keys] + [m.name for m in measures]
    if not measures:
        raise ArgumentError(
            "an aggregate asks something of the rows; nothing is asked; say count=True, count=, min=, max=,"
            " sum=, count_distinct= or approx_distinct="
        )
    if len(set(names)) < len(names):
        raise ArgumentError(f"each thing is asked once; asked are {', '.join(names)}; leave out the repetition")
    return asked


def _fine(type_: pa.DataType) -> str:
    return ", and are no times finer than a microsecond" if pa.types.is_temporal(type_) else ""
