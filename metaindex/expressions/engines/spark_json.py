r"""Spark's own predicate trees, from the JSON that `TreeNode.toJSON` writes, into predicates.

By an allow-list of Catalyst's classes: what another version adds, and every function, is Opaque. Spark's JSON loses
some values, so whoever holds the live tree adds these keys to its nodes (`spark.py` does; a Java rule may):

    Literal of binary            "hex": "0aff"
    Literal of timestamp         "micros": 1577836800000000     (the JSON prints local time, which an hour each autumn
                                                                is two instants)
    InSet                        "values": [{"value": ..., "hex" or "micros": ...}, ...]
    Like                         "escape": "\\"
    UnresolvedAttribute          "parts": ["a", "b"]

Without the key such a node is Opaque (a timestamp is read when a zone is given and the local time is one instant in
it).
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from metaindex.core import ExpressionError
from metaindex.expressions.literals import Literal, LiteralValue, NotReadable
from metaindex.expressions.scalars.types import type_of_name
from metaindex.expressions.tree import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)
from metaindex.expressions.zones import zone_of

from .casts import loses_nothing
from .nullness import null_of
from .sql_values import cast_value, date_value, like_pattern, timestamp_value

Node = Mapping[str, Any]

_CATALYST: Final = "org.apache.spark.sql.catalyst.expressions."
_ANALYSIS: Final = "org.apache.spark.sql.catalyst.analysis."
_TRANSPARENT: Final = {"KnownFloatingPointNormalized", "NormalizeNaNAndZero", "optimizer.NormalizeNaNAndZero"}
_COMPARISONS: Final = {
    "EqualTo": Op.EQ,
    "EqualNullSafe": Op.NULL_SAFE_EQ,
    "LessThan": Op.LT,
    "LessThanOrEqual": Op.LE,
    "GreaterThan": Op.GT,
    "GreaterThanOrEqual": Op.GE,
}
_STRICT: Final = _COMPARISONS.keys() - {"EqualNullSafe"}
_CONDITIONS: Final = {*_COMPARISONS, "And", "Or", "Not", "In", "InSet", "IsNull", "IsNotNull", "StartsWith", "Like"}
_FUNCTIONS: Final = {
    "=": "EqualTo",
    "==": "EqualTo",
    "<=>": "EqualNullSafe",
    "equal_null": "EqualNullSafe",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
    "and": "And",
    "or": "Or",
    "not": "Not",
    "!": "Not",
    "in": "In",
    "isnull": "IsNull",
    "isnotnull": "IsNotNull",
    "isnan": "IsNaN",
    "startswith": "StartsWith",
    "like": "Like",
}
"""Functions by the name that a Column gives them before Spark has resolved it."""
_EPOCH: Final = dt.datetime(1970, 1, 1)


def from_spark_json(text: str | Sequence[Node], timezone: str | None = None) -> Predicate:
    """The predicate of a Catalyst expression's JSON. `timezone` is the session's, in which Spark printed timestamps."""
    try:
        nodes = json.loads(text) if isinstance(text, str) else text
        root, rest = _tree(nodes)
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration):
        raise ExpressionError(
            "a Spark expression is read from the JSON that its toJSON writes; this text is not such"
        ) from None
    if rest:
        raise ExpressionError(f"the JSON of one Spark expression is wanted; {rest} nodes follow it")
    return _SparkReader(timezone).predicate(root)


class _Expression:
    """A node with its children. Built without recursion, as a long AND is a deep tree."""

    __slots__ = ("children", "fields", "kind")

    def __init__(self, fields: Node, children: tuple[_Expression, ...]) -> None:
        self.fields, self.children = fields, children
        self.kind = _kind(str(fields["class"])) or _function_kind(fields)

    def walk(self) -> Iterator[_Expression]:
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo += reversed(node.children)


@lru_cache(1024)
def _kind(name: str) -> str:
    """Return the kind of a node from its class in Spark; empty if a function's name tells it."""
    if name == _ANALYSIS + "UnresolvedFunction":
        return ""
    if name in (_ANALYSIS + "UnresolvedAttribute", _ANALYSIS + "UnresolvedExtractValue"):
        return name.removeprefix(_ANALYSIS)
    return name.removeprefix(_CATALYST) if name.startswith(_CATALYST) else f"<{name}>"


def _tree(nodes: Sequence[Node]) -> tuple[_Expression, int]:
    """Pre-order with counts of children, read from the end: a node's children are then already built."""
    built: list[_Expression] = []
    for fields in reversed(nodes):
        count = int(fields["num-children"])
        if count > len(built):
            raise ValueError("children are missing")
        children = tuple(built.pop() for _ in range(count))
        built.append(_Expression(fields, children))
    return built.pop(), len(built)


def _function_kind(fields: Node) -> str:
    plain = not fields.get("isDistinct") and not fields.get("ignoreNulls") and not fields.get("filter")
    name = str(fields.get("nameParts", "")).removeprefix("[").removesuffix("]").lower()
    return _FUNCTIONS.get(name, f"<{name}>") if plain else f"<{name}>"


class _SparkReader:
    def __init__(self, timezone: str | None) -> None:
        self.timezone = timezone
        self.pairs: dict[Opaque, tuple[ColumnRef, ColumnRef]] = {}

    def predicate(self, node: _Expression) -> Predicate:
        try:
            return self._read(node)
        except NotReadable:
            return Opaque(_text(node), tuple(dict.fromkeys(_columns(node))))

    def _read(self, node: _Expression) -> Predicate:
        children = node.children
        match node.kind:
            case "And":
                return And(tuple(self.predicate(part) for part in _flat(node)))
            case "Or":
                return Or(tuple(self.predicate(part) for part in _flat(node)))
            case "Not":
                return Not(self.predicate(children[0]))
            case kind if kind in _STRICT and all(child.kind != "Literal" for child in children):
                return self._of_two(node)
            case kind if kind in _COMPARISONS and len(children) == 2:
                return self._comparison(_COMPARISONS[kind], *children)
            case "In":
                column, type_ = self._column(children[0])
                if any(child.kind != "Literal" for child in children[1:]):
                    raise NotReadable
                values = [self._literal(child.fields, child.fields.get("dataType")) for child in children[1:]]
                kinds = {type(value.value) for value in values if value.value is not None}
                if type_ is None and len(kinds) > 1:
                    # A Column that Spark has not resolved: it will cast values and column to one type.
                    raise NotReadable
                return In(column, tuple(values))
            case "InSet":
                column, type_ = self._column(children[0])
                if type_ is None or not isinstance(node.fields.get("values"), list):
                    raise NotReadable
                return In(column, tuple(self._literal(value, type_) for value in node.fields["values"]))
            case "IsNull":
                return self._is_null(children[0])
            case "IsNotNull":
                return Not(self._is_null(children[0]))
            case "IsNaN":
                return IsNan(self._column(children[0])[0])
            case "StartsWith":
                return StartsWith(self._text_column(children[0]), self._string(children[1]))
            case "Like":
                return self._like(node)
            case "Literal":
                value = self._literal(node.fields, node.fields.get("dataType")).value
                if value is None or isinstance(value, bool):
                    return Constant(value)
                raise NotReadable
            case _:
                column, type_ = self._column(node)
                if type_ not in {"boolean", None}:
                    raise NotReadable
                return Comparison(column, Op.EQ, Literal(True))

    def _is_null(self, node: _Expression) -> Predicate:
        """Read IS NULL. A comparison that Spark has resolved is NULL exactly if its column is: its casts are in the
        tree, and lossy ones are not read."""
        if node.kind not in _CONDITIONS:
            return IsNull(self._column(node)[0])
        if any("Unresolved" in str(inner.fields["class"]) for inner in node.walk()):
            raise NotReadable
        return null_of(self.predicate(node), self.pairs, lambda _column, _value: True)

    def _of_two(self, node: _Expression) -> Opaque:
        (left, type_), (right, other) = map(self._column, node.children)
        opaque = Opaque(_text(node), tuple(dict.fromkeys(_columns(node))))
        if isinstance(type_, str) and isinstance(other, str):
            self.pairs[opaque] = left, right
        return opaque

    def _comparison(self, op: Op, left: _Expression, right: _Expression) -> Predicate:
        if left.kind == "Literal":
            left, right, op = right, left, op.mirrored
        if right.kind != "Literal":
            raise NotReadable
        column, _ = self._column(left)
        return Comparison(column, op, self._literal(right.fields, right.fields.get("dataType")))

    def _like(self, node: _Expression) -> Predicate:
        column, pattern = self._text_column(node.children[0]), self._string(node.children[1])
        escape = node.fields.get("escape")
        if not _kind(str(node.fields["class"])):  # a function, of which an argument says it
            escape = self._string(node.children[2]) if len(node.children) == 3 else "\\"
        if not isinstance(escape, str):
            raise NotReadable
        text, is_prefix = like_pattern(pattern, escape)
        if is_prefix:
            return StartsWith(column, text)
        same = Comparison(column, Op.EQ, Literal(text))
        # Of a column that is no text its text is matched (1 is not LIKE '01'): a beginning is opaque there.
        return same if self._column(node.children[0])[1] == "string" else And((StartsWith(column, text), same))

    def _text_column(self, node: _Expression) -> ColumnRef:
        column, type_ = self._column(node)
        if type_ not in {"string", None}:
            raise NotReadable
        return column

    def _string(self, node: _Expression) -> str:
        if node.kind != "Literal" or node.fields.get("dataType") != "string":
            raise NotReadable
        value = self._literal(node.fields, "string").value
        if not isinstance(value, str):
            raise NotReadable
        return value

    def _column(self, node: _Expression) -> tuple[ColumnRef, Any]:
        """The column and its type as JSON, None where Spark has not resolved it."""
        fields = node.fields
        match node.kind:
            case "AttributeReference" if fields["name"] != "_metadata":  # Spark's own struct of a file's facts
                _refuse_special(fields.get("dataType"), fields.get("metadata"))
                return ColumnRef((str(fields["name"]),)), fields["dataType"]
            case "GetStructField":
                column, type_ = self._column(node.children[0])
                if not isinstance(type_, Mapping) or type_.get("type") != "struct":
                    raise NotReadable
                field = type_["fields"][int(fields["ordinal"])]
                _refuse_special(field.get("type"), field.get("metadata"))
                return ColumnRef((*column.parts, str(field["name"]))), field["type"]
            case "Cast":
                column, type_ = self._column(node.children[0])
                target = fields.get("dataType")
                if not isinstance(type_, str) or not isinstance(target, str) or not _loses_nothing(type_, target):
                    raise NotReadable
                return column, target
            case "UnresolvedAttribute" if fields.get("parts"):
                return ColumnRef(tuple(str(part) for part in fields["parts"])), None
            case "UnresolvedExtractValue":
                column, _ = self._column(node.children[0])
                return ColumnRef((*column.parts, self._string(node.children[1]))), None
            case kind if kind in _TRANSPARENT:
                return self._column(node.children[0])
            case _:
                raise NotReadable

    def _literal(self, fields: Node, data_type: Any) -> Literal:
        return Literal(self._value(fields, data_type))

    def _value(self, fields: Node, data_type: Any) -> LiteralValue:
        text = fields.get("value")
        if not isinstance(data_type, str):
            raise NotReadable
        name = _SQL_NAMES.get(data_type, data_type)
        if "hex" in fields and name == "binary":
            return bytes.fromhex(str(fields["hex"]))
        if "micros" in fields and name in {"timestamp", "timestamp_ntz"}:
            return _from_micros(int(fields["micros"]), aware=name == "timestamp")
        if text is None:
            return None
        text = str(text)
        match name:
            case "string":
                return text
            case "tinyint" | "smallint" | "int" | "bigint" | "float" | "double" | "boolean":
                return cast_value(text, name, "UTC")
            case "date":
                return date_value(text)
            case "timestamp_ntz":
                return (
                    _from_micros(int(text), aware=False) if text.lstrip("-").isdigit() else timestamp_value(text, None)
                )
            case "timestamp" if self.timezone is not None:
                return _one_instant(text, self.timezone)
            case _ if name.startswith("decimal("):
                return cast_value(text, name, "UTC")
            case _:
                raise NotReadable


_SQL_NAMES: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


def _loses_nothing(source: str, target: str) -> bool:
    given, wanted = (type_of_name(_SQL_NAMES.get(name, name)) for name in (source, target))
    return source == target or loses_nothing(given, wanted)


def _refuse_special(data_type: Any, metadata: Any) -> None:
    """A collation orders and equates text its own way; a metadata column is no column of the table; a default is shown
    by files that hold nothing of the column."""
    if isinstance(data_type, str) and data_type.startswith("string") and data_type != "string":
        raise NotReadable
    if metadata and isinstance(metadata, Mapping) and any(key in metadata for key in _SPECIAL_METADATA):
        raise NotReadable


_SPECIAL_METADATA: Final = (
    "__COLLATIONS",
    "__metadata_col",
    "__file_source_metadata_col",
    "__qualified_access_only",
    "EXISTS_DEFAULT",
)


def _from_micros(micros: int, *, aware: bool) -> dt.datetime:
    try:
        moment = _EPOCH + dt.timedelta(microseconds=micros)
    except OverflowError:
        raise NotReadable from None
    return moment.replace(tzinfo=dt.UTC) if aware else moment


def _one_instant(text: str, timezone: str) -> dt.datetime:
    """Local time that the zone has twice (or never) is two instants (or none)."""
    local, zone = timestamp_value(text, None), zone_of(timezone)
    if local.replace(tzinfo=zone).utcoffset() != local.replace(tzinfo=zone, fold=1).utcoffset():
        raise NotReadable
    return timestamp_value(text, timezone)


def _flat(node: _Expression) -> Iterator[_Expression]:
    """The parts of a chain of ANDs (or ORs), in order."""
    todo = [node]
    while todo:
        inner = todo.pop()
        if inner.kind == node.kind:
            todo += reversed(inner.children)
        else:
            yield inner


def _columns(node: _Expression) -> Iterator[ColumnRef]:
    for inner in node.walk():
        if inner.kind == "AttributeReference":
            yield ColumnRef((str(inner.fields["name"]),))
        elif inner.kind == "UnresolvedAttribute" and inner.fields.get("parts"):
            yield ColumnRef(tuple(str(part) for part in inner.fields["parts"]))


def _text(node: _Expression) -> str:
    """Return the classes and names of an expression for messages, cut if there are many."""
    words: list[str] = []
    for inner in node.walk():
        label = inner.fields.get("name") if inner.kind == "AttributeReference" else None
        label = inner.fields.get("value") if inner.kind == "Literal" else label
        words.append(str(label) if label is not None else inner.kind.strip("<>").rsplit(".", 1)[-1])
        if len(words) == 40:
            words.append("...")
            break
    return " ".join(words)
