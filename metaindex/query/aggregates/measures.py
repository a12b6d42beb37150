"""Measures of a column: how often it has a value, its least and greatest value, their sum, and how many different ones
there are; and how partial answers are merged. Types and NULL, NaN and overflow are Spark's."""

from __future__ import annotations

from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ScanError, Vector, dataclass
from metaindex.formats import Field
from metaindex.query.order import as_compared, as_shown, compared_type

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
