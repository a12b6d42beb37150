"""An aggregate query: groups, and measures of a column: how often it has a value, its least and greatest value, their
sum, and how many different ones there are; and how partial answers are merged. Types and NULL, NaN and overflow are
Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ArgumentError, ScanError, Vector, dataclass
from metaindex.formats import Field, Schema
from metaindex.index import Kept
from metaindex.query.order import as_compared, as_shown, compared_type, has_order
from metaindex.query.readers.plan import shown_field

_SPARK_DIGITS = 38
_MORE_DIGITS = 10  # of a sum than of what is added
_FEW_DIGITS = 18  # so many never overflow 38 when added


class How(Enum):
    """The function of a measure."""

    COUNT = "count"
    MIN = "min"
    MAX = "max"
    SUM = "sum"
    # What partial answers of these are, and how they are put together, `each_value` and `distinct` say.
    COUNT_DISTINCT = "count_distinct"
    APPROX_DISTINCT = "approx_distinct"


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate over the rows of a group. `field`: of which column; None: of the rows themselves, which are
    counted."""

    how: How
    field: Field | None = None

    @property
    def name(self) -> str:
        """The result's column."""
        return f"{self.how.value}({'*' if self.field is None else self.field.name})"

    @property
    def compares(self) -> bool:
        """Return whether the answer is one of the values."""
        return self.how in (How.MIN, How.MAX)

    @property
    def tells_apart(self) -> bool:
        """Return whether the measure is about different values."""
        return self.how in (How.COUNT_DISTINCT, How.APPROX_DISTINCT)

    @property
    def merge(self) -> str:
        """Return the Arrow aggregation that merges partial answers."""
        self._check()
        return "sum" if self.how in (How.COUNT, How.SUM) else str(self.how.value)

    @property
    def partial_type(self) -> pa.DataType:
        """Return the type of partial answers."""
        if self.field is None or self.how is How.COUNT:
            return pa.int64()
        return _added(self.field.type) if self.how is How.SUM else compared_type(self.field.type)

    @property
    def type(self) -> pa.DataType:
        """Return the type of the answer."""
        if self.field is None or self.how is How.COUNT or self.tells_apart:
            return pa.int64()
        return summed_type(self.field.type) if self.how is How.SUM else self.field.type

    def partial(self, column: pa.Array | None, rows: int) -> pa.Array:
        """Return what each of `rows` rows contributes. `column`: the values, if the measure is of a column."""
        if column is None:
            return pa.repeat(pa.scalar(1, pa.int64()), rows)
        self._check()
        if self.how is How.COUNT:
            return pc.is_valid(column).cast(pa.int64())
        return column.cast(self.partial_type) if self.how is How.SUM else as_compared(column)

    def answer(self, merged: pa.ChunkedArray) -> pa.Array:
        """The answers of all groups. Raises ScanError for a sum that does not fit its type."""
        values = Vector(merged).array
        self._check()
        if self.how is How.COUNT:
            return pc.fill_null(values, 0).cast(pa.int64())
        if self.compares:
            return as_shown(values, self.type)
        try:
            return values.cast(self.type)
        except pa.ArrowInvalid as error:
            raise ScanError(
                f"a sum fits its type, which is {self.type} here as in Spark; {self.name} does not; narrow the"
                " condition, or add up the column in a wider type by an engine that reads the scan"
            ) from error

    def _check(self) -> None:
        assert not self.tells_apart, "different values are no partial answers of Arrow's"


def summed_type(type_: pa.DataType) -> pa.DataType:
    """Return Spark's type for a sum of such numbers: bigint for integers, ten digits more for decimals."""
    if pa.types.is_uint64(type_):
        return pa.decimal128(20 + _MORE_DIGITS, 0)
    if pa.types.is_integer(type_):
        return pa.int64()
    return pa.decimal128(min(_SPARK_DIGITS, type_.precision + _MORE_DIGITS), type_.scale)


def _added(type_: pa.DataType) -> pa.DataType:
    """Return a type in which no addition overflows."""
    if pa.types.is_integer(type_):
        return pa.decimal128(_SPARK_DIGITS, 0)
    if type_.precision <= _FEW_DIGITS:
        return pa.decimal128(_SPARK_DIGITS, type_.scale)
    return pa.decimal256(76, type_.scale)


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
        if use == "added" and (pa.types.is_dictionary(column.type) or not Kept.may_be_summed(column.type)):
            raise ScanError(
                f"sums are of integers and decimals, which come to the same in any order; column {column.name!r} is"
                f" {column.type}; add it up by an engine that reads the scan"
            )
        if use == "told apart" and not Kept.may_be_told_apart(column.type):
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
