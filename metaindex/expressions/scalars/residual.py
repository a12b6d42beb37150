"""The residual of a predicate that no node expresses, applied to rows in hand by DuckDB: TRUE, FALSE or NULL, as in
Spark.

DuckDB is given columns under names of ours, and text that is written from the parsed expression: nothing of the user's
is SQL there. Upper and lower case, and clocks of zones where they change, are worked out before, as its own rules of
them are others.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Cure, Mask, MissingDependencyError, ScanError, Vector, first_line
from metaindex.expressions.column_ref import ColumnRef
from metaindex.expressions.engines.scalar_text import DUCKDB, ScalarWriter, is_written_first
from metaindex.expressions.engines.sql_text import literal_writer
from metaindex.expressions.normal_form import normalize
from metaindex.expressions.tree import And, Not, Opaque, Or, Predicate

from .cases import cased
from .nodes import ColumnValue, Fixed, FunctionCall, Scalar
from .types import CLOCK, INSTANT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PREFIX = "c"


class RowScalars:
    """Works out expressions, row by row. Threads may ask at once."""

    def __init__(self) -> None:
        self._connection = _connected()
        self._local = threading.local()
        self._written: dict[Scalar, str] = {}

    def values(self, scalar: Scalar, batch: pa.RecordBatch, text: str) -> pa.Array:
        """Compute the value for each row. `text`: as a person reads it. Raises ScanError where Spark fails, too."""
        if not batch.num_rows:
            return pa.nulls(0, scalar.type)
        columns: list[pa.Array] = []
        names: dict[Scalar, ColumnValue] = {}
        plain = self._with_columns(scalar, batch, text, columns, names)
        try:
            return self._asked(plain, columns, batch.num_rows)
        except Exception as error:
            if type(error).__module__.split(".")[0] not in ("duckdb", "_duckdb"):
                raise
            raise ScanError(
                f"a condition is worked out for each row that is read; {text!r} cannot be for one of them"
                f" ({first_line(error)}); rule such rows out by another part of the condition, before it"
            ) from error

    def _asked(self, scalar: Scalar, columns: Sequence[pa.Array], rows: int) -> pa.Array:
        written = self._written.get(scalar)
        if written is None:
            writer = ScalarWriter(DUCKDB, lambda value: value.column.parts[0], literal_writer(DUCKDB))
            written = self._written[scalar] = writer.write(scalar)
        if not columns:
            columns = [pa.nulls(rows, pa.bool_())]
        table = pa.table(dict(zip((f"{_PREFIX}{i}" for i in range(len(columns))), columns, strict=True)))
        passing = self._cursor.from_arrow(table).project(f"{written} AS r").to_arrow_table()
        return Vector(passing.column(0)).array

    def _with_columns(
        self,
        scalar: Scalar,
        batch: pa.RecordBatch,
        text: str,
        columns: list[pa.Array],
        names: dict[Scalar, ColumnValue],
    ) -> Scalar:
        """The expression with columns that DuckDB is given in the place of those of the batch, and of what is worked
        out before."""
        if isinstance(scalar, Fixed):
            return scalar
        if isinstance(scalar, FunctionCall) and not is_written_first(scalar):
            parts = (self._with_columns(part, batch, text, columns, names) for part in scalar.arguments)
            return FunctionCall(scalar.function, tuple(parts), scalar.type)
        if scalar not in names:
            names[scalar] = ColumnValue(ColumnRef((f"{_PREFIX}{len(columns)}",)), scalar.type)
            columns.append(pa.nulls(0))
            place = len(columns) - 1
            if isinstance(scalar, ColumnValue):
                columns[place] = _given(scalar, batch)
            else:
                columns[place] = _worked_out(scalar, self.values(scalar.arguments[0], batch, text), text)
        return names[scalar]

    @property
    def _cursor(self) -> DuckDBPyConnection:
        cursor: Any = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._connection.cursor()
        return cursor  # type: ignore[no-any-return]


@functools.cache
def _connected() -> DuckDBPyConnection:
    """Return the process's connection: it holds nothing, and is given what it reads."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingDependencyError.lacking("a condition with functions or arithmetic", "duckdb") from error
    sealed = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    connection = duckdb.connect(":memory:", config={**sealed, "enable_external_access": "false"})
    connection.execute("SET enable_progress_bar = false")
    # Else `i + 1 > 0` is asked as `i > -1`, of which nothing overflows.
    connection.execute("SET disabled_optimizers = 'expression_rewriter'")
    return connection


def _given(value: ColumnValue, batch: pa.RecordBatch) -> pa.Array:
    """A column, or a field inside of one, as DuckDB is given it: instants as clocks in UTC."""
    first, *inside = value.column.parts
    column = batch.column(first)
    for name in inside:
        column = pc.struct_field(column, name)
    if value.type == INSTANT:
        return column.cast(pa.timestamp("us", tz="UTC")).cast(CLOCK)
    return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column


def _worked_out(call: FunctionCall, argument: pa.Array, text: str) -> pa.Array:
    if call.function == "local_time":
        zone = call.arguments[1]
        assert isinstance(zone, Fixed), "a zone is named"
        return pc.local_timestamp(argument.cast(INSTANT).cast(pa.timestamp("us", tz=str(zone.value.value))))
    changed = cased(argument, upper=call.function == "upper")
    if changed is None:
        raise ScanError(
            f"texts are brought to {call.function} case as Spark does; {text!r} meets a character of which that is not"
            f" known here; compare it as it is written, or {Cure('spark')}"
        )
    return changed


class ResidualFilter:
    """The rows for which a predicate is TRUE that has parts of this kind. What is understood decides first; the others
    are worked out, in their order, for rows that are not decided by then: a row that Spark need not look at raises
    nothing."""

    def __init__(self, predicate: Predicate, plain: Any) -> None:
        """`plain`: makes of a predicate without such parts what tells its rows."""
        self._predicate = normalize(predicate)
        self._plain = plain
        self._told: dict[Predicate, Any] = {}
        self._scalars = RowScalars()

    def mask(self, batch: pa.RecordBatch) -> Mask:
        return self._where(self._predicate, batch, np.ones(batch.num_rows, np.bool_))

    def _where(self, part: Predicate, batch: pa.RecordBatch, among: Mask) -> Mask:
        """Return a mask of the rows `among` for which the part is TRUE."""
        passing = np.zeros(batch.num_rows, np.bool_)
        if not among.any():
            return passing
        if not part.has_opaque:
            passing[among] = self._told_plainly(part, _rows(batch, among))
            return passing
        match part:
            case And(parts):
                for some in _plain_first(parts, And):
                    among = self._where(some, batch, among)
                return among
            case Or(parts):
                for some in _plain_first(parts, Or):
                    passing |= self._where(some, batch, among & ~passing)
                return passing
            case Not(Opaque() as opaque):
                passing[among] = self._leaf(opaque, _rows(batch, among), wanted=False)
                return passing
            case Opaque():
                passing[among] = self._leaf(part, _rows(batch, among), wanted=True)
                return passing
            case _:
                raise AssertionError("NOT stands above leaves in normal form")

    def _leaf(self, opaque: Opaque, batch: pa.RecordBatch, *, wanted: bool) -> Mask:
        assert opaque.scalar is not None, "what cannot be applied was refused"
        said = self._scalars.values(opaque.scalar, batch, opaque.text).cast(pa.bool_())
        return Vector(said if wanted else pc.invert(said)).truths(null=False)

    def _told_plainly(self, part: Predicate, batch: pa.RecordBatch) -> Mask:
        tells = self._told.get(part)
        if tells is None:
            tells = self._told[part] = self._plain(part)
        mask: Mask = tells(batch)
        return mask


def _plain_first(parts: Sequence[Predicate], joined: type[And | Or]) -> list[Predicate]:
    plain = tuple(part for part in parts if not part.has_opaque)
    first = [plain[0] if len(plain) == 1 else joined(plain)] if plain else []
    return [*first, *(part for part in parts if part.has_opaque)]


def _rows(batch: pa.RecordBatch, among: Mask) -> pa.RecordBatch:
    return batch if among.all() else batch.filter(pa.array(among))
