"""Predicates as JSON and back, without loss.

    {"predicate": 1, "nodes": [["=", ["day"], {"date": "2013-01-09"}], ["null", ["tailnum"]], ["not"], ["and", 2]]}

The nodes are in postfix order: a leaf pushes itself, "not" takes one node, "and" and "or" the stated number. Nesting
would hit the depth limit of JSON parsers on trees that people's tools do generate. A literal is an object with one
entry, kind and value; numbers that JSON parsers may round are text.

    node                                               arguments
    "=" "!=" "<" "<=" ">" ">=" "<=>"                   column, literal
    "in"                                               column, list of literals
    "null" "nan"                                       column
    "prefix"                                           column, text
    "opaque"                                           text, list of columns
    "constant"                                         true, false or null
    "not"                                              none
    "and" "or"                                         number of parts

    literal kinds: null, bool, int, float (as Python's repr), decimal, string, binary (hexadecimal), date, time,
    timestamp_ntz, timestamp (all ISO 8601), uuid
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any, assert_never
from uuid import UUID

from .errors import ExpressionError
from .literals import Literal, kind
from .tree import (
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

_VERSION = 1
_OPS = {op.value: op for op in Op}


def to_json(p: Predicate) -> str:
    nodes: list[list[object]] = []
    todo: list[tuple[Predicate, bool]] = [(p, False)]
    while todo:
        node, ready = todo.pop()
        match node:
            case Not() | And() | Or() if not ready:
                todo.append((node, True))
                parts = (node.child,) if isinstance(node, Not) else node.parts
                todo += ((part, False) for part in reversed(parts))
            case Not():
                nodes.append(["not"])
            case And():
                nodes.append(["and", len(node.parts)])
            case Or():
                nodes.append(["or", len(node.parts)])
            case Comparison():
                nodes.append([node.op.value, node.column.parts, _literal_out(node.value)])
            case In():
                nodes.append(["in", node.column.parts, [_literal_out(value) for value in node.values]])
            case IsNull():
                nodes.append(["null", node.column.parts])
            case IsNan():
                nodes.append(["nan", node.column.parts])
            case StartsWith():
                nodes.append(["prefix", node.column.parts, node.prefix])
            case Opaque():
                nodes.append(["opaque", node.text, [column.parts for column in node.columns]])
            case Constant():
                nodes.append(["constant", node.value])
            case _:
                assert_never(node)
    return json.dumps({"predicate": _VERSION, "nodes": nodes}, separators=(",", ":"))


def from_json(text: str) -> Predicate:
    """The predicate; ExpressionError for what is damaged or newer than this library."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ExpressionError(
            f"a predicate is stored as JSON; got {text[:40]!r}: {error}; write it again with to_json"
        ) from error
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise ExpressionError(
            f"a stored predicate has 'predicate' and 'nodes'; got {text[:40]!r}; write it again with to_json"
        )
    if data.get("predicate") != _VERSION:
        raise ExpressionError(
            f"this library reads predicates of version {_VERSION}; got version {data.get('predicate')!r}; upgrade metaindex"
        )
    done: list[Predicate] = []
    for node in data["nodes"]:
        try:
            done.append(_node_in(node, done))
        except (TypeError, ValueError, ArithmeticError, AttributeError, KeyError, IndexError, AssertionError) as error:
            if isinstance(error, ExpressionError):
                raise
            raise ExpressionError(
                f"a stored node is a name and its arguments; got {json.dumps(node)[:80]}: {error}; write the predicate again with to_json"
            ) from error
    if len(done) != 1:
        raise ExpressionError(f"a stored predicate is one tree; got {len(done)}; write it again with to_json")
    return done[0]


def _node_in(node: Any, done: list[Predicate]) -> Predicate:
    name, *arguments = node
    match name, arguments:
        case "not", []:
            return Not(_take(done, 1)[0])
        case "and", [int() as count]:
            return And(_take(done, count))
        case "or", [int() as count]:
            return Or(_take(done, count))
        case str(), [column, value] if name in _OPS:
            return Comparison(_column_in(column), _OPS[name], _literal_in(value))
        case "in", [column, list() as values]:
            return In(_column_in(column), tuple(map(_literal_in, values)))
        case "null", [column]:
            return IsNull(_column_in(column))
        case "nan", [column]:
            return IsNan(_column_in(column))
        case "prefix", [column, str() as prefix]:
            return StartsWith(_column_in(column), prefix)
        case "opaque", [str() as text, list() as columns]:
            return Opaque(text, tuple(map(_column_in, columns)))
        case "constant", [bool() | None as value]:
            return Constant(value)
        case _:
            raise ExpressionError(
                f"a stored node is one that this library knows, with its arguments; got {json.dumps(node)[:80]}; upgrade metaindex"
            )


def _take(done: list[Predicate], count: int) -> tuple[Predicate, ...]:
    if not 0 <= count <= len(done):
        raise ValueError(f"{count} parts of {len(done)}")
    parts = tuple(done[len(done) - count :])
    del done[len(done) - count :]
    return parts


def _column_in(parts: Any) -> ColumnRef:
    if not (isinstance(parts, list) and parts and all(isinstance(part, str) for part in parts)):
        raise ValueError(f"{parts!r} is no column")
    return ColumnRef(tuple(parts))


def _literal_out(lit: Literal) -> dict[str, object]:
    value = lit.value
    match value:
        case None | bool() | str():
            stored: object = value
        case bytes():
            stored = value.hex()
        case dt.date() | dt.time():
            stored = value.isoformat()
        case float():
            stored = repr(value)
        case _:
            stored = str(value)
    return {kind(value): stored}


def _literal_in(stored: Any) -> Literal:
    ((name, value),) = stored.items()
    match name, value:
        case ("null", None) | ("bool", bool()) | ("string", str()):
            return Literal(value)
        case "int", str():
            return Literal(int(value))
        case "float", str():
            return Literal(float(value))
        case "decimal", str():
            return Literal(Decimal(value))
        case "binary", str():
            return Literal(bytes.fromhex(value))
        case "date", str():
            return Literal(dt.date.fromisoformat(value))
        case (("timestamp_ntz" | "timestamp"), str()):
            return Literal(dt.datetime.fromisoformat(value))
        case "time", str():
            return Literal(dt.time.fromisoformat(value))
        case "uuid", str():
            return Literal(UUID(value))
        case _:
            raise ExpressionError(
                f"a stored literal is of a known kind; got {json.dumps(stored)[:80]}; upgrade metaindex"
            )
