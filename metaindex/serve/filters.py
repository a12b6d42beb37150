"""Filters of requests: Iceberg's expression JSON, read by the type of the column.

Clients spell values differently (dates as days or text, timestamps as microseconds or text without a zone, decimals as
text, bytes as hexadecimal of either case), so a value means nothing without its column. Each leaf becomes a `Term` with
values in one physical form, from which two readings are made:

    for_pruning   a predicate that passes every row that any client's reader passes: it only drops files where no reader
                  finds a row
    terms         the leaves themselves, which `partitions` evaluates exactly on partition values

What cannot be read keeps every file. NOT is pushed down while reading, without recursion.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from metaindex.core import ExpressionError, dataclass
from metaindex.expressions import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Literal,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)
from metaindex.formats import Field, Schema

from .refusal import Refusal

MOST_LEAVES: Final = 5_000  # each is evaluated over all files, while others who ask for a plan of the table wait
MOST_VALUES: Final = 100_000  # of all IN lists together
Value = bool | int | float | str | bytes | Decimal
_EPOCH = dt.datetime(1970, 1, 1)
NEGATED = {
    "lt": "gt-eq", "lt-eq": "gt", "gt": "lt-eq", "gt-eq": "lt", "eq": "not-eq", "in": "not-in",
    "is-null": "not-null", "is-nan": "not-nan", "starts-with": "not-starts-with",
}  # fmt: skip
NEGATED |= {negated: op for op, negated in NEGATED.items()}
LACKING_MATCHES = frozenset({"is-null", "not-in", "not-eq", "not-starts-with", "not-nan"})
"""Operators that pyiceberg takes for true of a file that lacks the column."""
_COMPARED = {"lt": Op.LT, "lt-eq": Op.LE, "gt": Op.GT, "gt-eq": Op.GE, "eq": Op.EQ, "not-eq": Op.NE}
_UNARY = {"is-null", "not-null", "is-nan", "not-nan"}
_GREATEST = float(np.finfo(np.float32).max)
_ABOVE_ZERO = {Op.LT: Op.LE, Op.GT: Op.GE}


class Unreadable(Exception):
    """Raised for a part of a filter whose meaning is unknown."""


@dataclass(frozen=True, slots=True)
class Term:
    """A leaf of a filter. `transform`: applied to the column before it is compared, empty for none. `values`: dates as
    days and times as microseconds since 1970, UUIDs as bytes. `turned`: read under NOT, and the operator negated."""

    op: str
    column: ColumnRef
    type: pa.DataType
    transform: str
    values: tuple[Value, ...]
    turned: bool = False

    @property
    def finds_lacking(self) -> bool:
        """Return whether pyiceberg takes it for true of a file that lacks the column, where NULL does not match."""
        return self.op != "is-null" and (
            self.op in LACKING_MATCHES or (self.turned and NEGATED[self.op] not in LACKING_MATCHES)
        )


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter over one schema: AND and OR over leaves that are opaque but for their `terms`. `unread`: the operators
    of the others, and whether each stands under NOT."""

    tree: Predicate
    terms: Mapping[Opaque, Term]
    unread: Collection[tuple[str, bool]] = ()

    def for_pruning(self, schema: Schema, time_zone: str, *, lacking: bool = False) -> Predicate:
        """Return the wide predicate, bound to the schema. A leaf that cannot be bound is opaque, and with `lacking` one
        that pyiceberg takes for true of a file without the column."""
        lowered = {leaf: _lowered(term) for leaf, term in self.terms.items() if not (lacking and term.finds_lacking)}
        whole = self.tree.transform(lambda leaf: lowered.get(leaf, leaf) if isinstance(leaf, Opaque) else leaf)
        try:
            return schema.bound(whole, time_zone)
        except ExpressionError:
            bound = {leaf: _bound(tree, schema, time_zone) for leaf, tree in lowered.items()}
            return self.tree.transform(lambda leaf: bound.get(leaf, leaf) if isinstance(leaf, Opaque) else leaf)


def read_filter(
    said: object, schema: Schema, *, case_sensitive: bool = True, unsure: Collection[str] = frozenset()
) -> Filter:
    """Read the JSON of a filter. `unsure`: names of columns by which a client may mean others, as `Field.alike` gives
    them. Raises Refusal for what is no expression, or too large to be read."""
    columns, terms, leaves, values = _Columns(schema, case_sensitive, unsure), dict[Opaque, Term](), 0, 0
    unread: set[tuple[str, bool]] = set()
    todo: list[tuple[object, bool] | tuple[str]] = [(said, False)]
    done: list[Predicate] = []
    while todo:
        match todo.pop():
            case (str(joined),):
                right, left = done.pop(), done.pop()
                done.append(And((left, right)) if joined == "and" else Or((left, right)))
            case (bool(constant) | {"type": "literal", "value": bool(constant)}, turned):
                done.append(Constant(constant != turned))
            case ({"type": "true" | "false" as constant}, turned):
                done.append(Constant((constant == "true") != turned))
            case ({"type": "not", "child": child}, turned):
                todo.append((child, not turned))
            case ({"type": "and" | "or" as joined, "left": left, "right": right}, turned):
                todo += [({"and": "or", "or": "and"}[joined] if turned else joined,), (right, turned), (left, turned)]
            case (dict({"type": str(op)}) as node, turned):
                leaves, among = leaves + 1, node.get("values")
                values += len(among) if isinstance(among, list) else 0
                leaf = Opaque(f"{leaves}: {op[:40]}")
                try:
                    terms[leaf] = _term(node, columns, turned)
                except (Unreadable, ValueError, OverflowError, InvalidOperation, TypeError, KeyError):
                    unread.add((op.lower(), turned))  # it is opaque, and keeps every file
                done.append(leaf)
            case _:
                raise Refusal("a filter is an expression of the REST specification; got something else")
        if leaves > MOST_LEAVES or values > MOST_VALUES:
            raise Refusal(f"a filter has at most {MOST_LEAVES:,} leaves and {MOST_VALUES:,} values; this one has more")
    (tree,) = done
    return Filter(tree, terms, unread)


def text_of(said: object, schema: Schema | None) -> str:
    """Return the JSON of a filter as text. `schema`: for Iceberg's Java, which writes infinities as texts and reads
    them as numbers beyond all others."""
    text = json.dumps(said, separators=(",", ":"))
    if schema is None or "Infinity" not in text:
        return text
    floats = {".".join(leaf.parts).lower() for leaf in schema.columns if pa.types.is_floating(leaf.field.type)}
    mark, todo = secrets.token_hex(16), [json.loads(text)]
    whole = todo[0]
    while todo:
        node = todo.pop()
        if not isinstance(node, dict):
            continue
        todo += [node[side] for side in ("left", "right", "child") if side in node]
        if isinstance(name := node.get("term"), str) and name.lower() in floats:
            for key, value in node.items():
                if key == "value" and value in ("Infinity", "-Infinity"):
                    node[key] = mark + value
                if key == "values" and isinstance(value, list):
                    node[key] = [mark + item if item in ("Infinity", "-Infinity") else item for item in value]
    text = json.dumps(whole, separators=(",", ":"))
    return text.replace(f'"{mark}Infinity"', "1e999").replace(f'"{mark}-Infinity"', "-1e999")


class _Columns:
    """Primitive columns by the dotted names that Iceberg gives them."""

    def __init__(self, schema: Schema, case_sensitive: bool, unsure: Collection[str]) -> None:
        self._spelled: Callable[[str], str] = str if case_sensitive else str.lower
        self._known: dict[str, tuple[ColumnRef, pa.DataType] | None] = {}
        for leaf in schema.columns:
            if not leaf.field.children:
                name = self._spelled(".".join(leaf.parts))
                doubtful = name in self._known or Field.alike(name) in unsure
                self._known[name] = None if doubtful else (ColumnRef(leaf.parts), leaf.field.asked)

    def find(self, name: str) -> tuple[ColumnRef, pa.DataType]:
        known = self._known.get(self._spelled(name))
        if known is None:
            raise Unreadable
        return known


def _term(node: Mapping[str, object], columns: _Columns, turned: bool) -> Term:
    op = str(node["type"]).lower()
    if op not in NEGATED:
        raise Unreadable
    transform, name = "", node.get("term")
    match name:
        case {"type": "transform", "transform": str(transform), "term": inner}:
            name = inner
        case {"type": "reference", "term": inner}:
            name = inner
    if isinstance(name, dict) and name.get("type") == "reference":
        name = name.get("term")
    if not isinstance(name, str):
        raise Unreadable
    column, of = columns.find(name)
    said = [] if op in _UNARY else node["values"] if op in ("in", "not-in") else [node["value"]]
    if not isinstance(said, list):
        raise Unreadable
    if None in (plain := list(map(_plain, said))):
        raise Refusal("a comparison has a value; got null, as pyiceberg sends infinities; ask with a finite number")
    compared = result_type(transform, of)
    values = tuple(_physical(value, compared) for value in plain)
    if op.endswith("starts-with") and not all(isinstance(value, str) for value in values):
        raise Unreadable
    return Term(NEGATED[op] if turned else op, column, of, transform, values, turned)


def _plain(said: object) -> object:
    match said:
        case {"type": "literal", "value": value}:
            return value
    return said


def result_type(transform: str, of: pa.DataType) -> pa.DataType:
    """Return the type of a transform's result. Raises Unreadable for unknown transforms."""
    name = transform.partition("[")[0]
    if name in ("", "identity", "truncate", "void"):
        return of
    if name == "day":
        return pa.date32()
    if name in ("bucket", "year", "month", "hour"):
        return pa.int32()
    raise Unreadable


# Values ---------------------------------------------------------------------------------------------------------------


def _physical(said: object, of: pa.DataType) -> Value:
    """Return a value of the JSON in the physical form of the type. Raises Unreadable, ValueError."""
    types = pa.types
    if types.is_boolean(of) and isinstance(said, bool):
        return said
    if isinstance(said, bool):
        raise Unreadable
    if types.is_integer(of):
        return said if isinstance(said, int) else _whole(said)
    if types.is_floating(of):
        if not isinstance(said, int | float | str):
            raise Unreadable
        return _narrowed(float(said)) if of == pa.float32() else float(said)
    if types.is_decimal(of):
        return _decimal(said, of)
    if types.is_temporal(of) and isinstance(said, int) and abs(said) >= 2**62:
        raise Unreadable
    if types.is_date(of):
        return said if isinstance(said, int) else (dt.date.fromisoformat(_text(said)) - _EPOCH.date()).days
    if types.is_timestamp(of) and of.unit == "us":
        return said if isinstance(said, int) else _micros(_text(said), of)
    if types.is_time(of) and of.bit_width == 64:
        if isinstance(said, int):
            return said
        time = dt.time.fromisoformat(_text(said))
        return (dt.datetime.combine(_EPOCH, time) - _EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(of, pa.UuidType):
        return UUID(_text(said)).bytes
    if types.is_string(of) or types.is_large_string(of):
        return _text(said)
    if types.is_binary(of) or types.is_large_binary(of) or types.is_fixed_size_binary(of):
        return bytes.fromhex(_text(said))
    raise Unreadable


def _text(said: object) -> str:
    if not isinstance(said, str):
        raise Unreadable
    return said


def _whole(said: object) -> int:
    text = _text(said)
    if not re.fullmatch(r"[+-]?[0-9]{1,40}", text):
        raise Unreadable
    return int(text)


def _decimal(said: object, of: pa.DataType) -> Decimal:
    if not isinstance(said, int | str):  # a float of JSON has lost what the text said
        raise Unreadable
    value = Decimal(said)
    exact = value.is_finite() and len(value.as_tuple().digits) <= 60 and abs(value.adjusted()) <= 60
    if not exact or value != value.quantize(Decimal(1).scaleb(-of.scale)):
        raise Unreadable  # readers round such a value, each in its own way
    return value


def _micros(text: str, of: pa.DataType) -> int:
    """Return the microseconds of a text. pyiceberg leaves out the zone of a time in UTC."""
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        if of.tz is None:
            raise Unreadable
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def _logical(value: Value, of: pa.DataType) -> Any:
    """Return a physical value as the library's literals have it. Raises OverflowError beyond Python's calendar."""
    if pa.types.is_date(of) and isinstance(value, int):
        return _EPOCH.date() + dt.timedelta(days=value)
    if pa.types.is_timestamp(of) and isinstance(value, int):
        moment = _EPOCH + dt.timedelta(microseconds=value)
        return moment if of.tz is None else moment.replace(tzinfo=dt.UTC)
    if pa.types.is_time(of) and isinstance(value, int):
        return (_EPOCH + dt.timedelta(microseconds=value)).time()
    if isinstance(of, pa.UuidType) and isinstance(value, bytes):
        return UUID(bytes=value)
    return value


# Wide reading ---------------------------------------------------------------------------------------------------------


def _bound(tree: Predicate, schema: Schema, time_zone: str) -> Predicate:
    try:
        return schema.bound(tree, time_zone)
    except ExpressionError as error:
        return Opaque(f"unbound: {type(error).__name__}")


def _lowered(term: Term) -> Predicate:
    """Return what a term proves of files: wide where the clients' readers differ.

    They do on NULL (`!=`, NOT IN and NOT STARTS WITH pass it in some), on -0.0, on NaN under NOT, and on what a literal
    is in files from before their column was widened, to whose type pyiceberg brings it.
    """
    if term.transform:
        return Opaque(f"{term.transform}({term.column.name}) {term.op}", (term.column,))
    try:
        wide = [_leaf(term, term.values)]
        if pa.types.is_integer(term.type) and any(_clamped(value) != value for value in term.values):
            nearest = [_leaf(term, tuple(map(_clamped, term.values)))] if term.op == "in" else []
            wide += [IsNull(term.column), *nearest]
        if pa.types.is_float64(term.type) and (narrow := tuple(map(_narrowed, term.values))) != term.values:
            wide.append(_leaf(term, narrow))
    except (OverflowError, Unreadable):
        return Opaque(f"{term.column.name} {term.op}: out of range", (term.column,))
    return Or(tuple(wide)) if len(wide) > 1 else wide[0]


def _clamped(value: Value) -> Value:
    return min(max(value, -(2**31)), 2**31 - 1) if isinstance(value, int) else value


def _narrowed(value: Value) -> Value:
    """Return the nearest number of 32 bits. Raises Unreadable beyond them, where pyiceberg compares with a limit."""
    assert isinstance(value, float)
    if abs(value) > _GREATEST and math.isfinite(value):
        raise Unreadable
    return float(np.float32(value))


def _leaf(term: Term, values: tuple[Value, ...]) -> Predicate:
    column, literals = term.column, tuple(Literal(_logical(value, term.type)) for value in values)
    match term.op:
        case "is-null":
            return IsNull(column)
        case "not-null":
            return Not(IsNull(column))
        case "is-nan":
            return IsNan(column)
        case "not-nan":
            return Not(IsNan(column))
        case "in":
            return In(column, literals)
        case "not-in":
            among = In(column, tuple(literal for literal in literals if not _is_zero(literal)))
            return Or((Not(among), IsNull(column)))
        case "starts-with" | "not-starts-with":
            starts = StartsWith(column, str(values[0]))
            return starts if term.op == "starts-with" else Or((Not(starts), IsNull(column)))
    op, (value,) = _COMPARED[term.op], literals
    if op is Op.NE:
        return Constant(True) if _is_zero(value) else Or((Comparison(column, op, value), IsNull(column)))
    compared = Comparison(column, _ABOVE_ZERO.get(op, op) if _is_zero(value) else op, value)
    nan_too = term.turned and op in (Op.LT, Op.LE) and pa.types.is_floating(term.type)
    return Or((compared, IsNan(column))) if nan_too else compared


def _is_zero(literal: Literal) -> bool:
    return isinstance(literal.value, float) and literal.value == 0.0
