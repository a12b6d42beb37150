"""PySpark's Columns and the expressions of Catalyst, in; a Column, out.

Only classic PySpark, which has a JVM at hand: a Spark Connect Column is refused with advice. Nothing is imported but
what the Column brought along.
"""

from __future__ import annotations

import datetime as dt
import json
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metaindex.core import ExpressionError
from metaindex.expressions.normal_form import halved
from metaindex.expressions.tree import Leaf, Predicate

from .spark_json import from_spark_json
from .sql_text import to_sql

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def from_spark(column: Any) -> Predicate:
    """The predicate of a Column; what cannot be read is Opaque."""
    if "pyspark.sql.connect" in type(column).__module__:
        raise ExpressionError(
            "a Spark Connect expression cannot be read on this side; give the condition as SQL text or with col(...)"
        )
    return from_catalyst(_column_expression(column))


def _column_expression(column: Any) -> Any:
    """The Catalyst expression of a Column: its own in Spark 3, converted from the Column's node in Spark 4."""
    from pyspark import __version__

    java = column._jc
    if __version__.startswith("3."):
        return java.expr()
    converter = getattr(_jvm(java).org.apache.spark.sql.classic, "ColumnNodeToExpressionConverter$")
    return getattr(converter, "MODULE$").apply(java.node())


def _jvm(java: Any) -> Any:
    from pyspark import SparkContext

    jvm = SparkContext._jvm
    if jvm is None:
        raise ExpressionError("a Column is read by the Spark that made it; its session has ended")
    return jvm


def from_catalyst(expression: Any) -> Predicate:
    """The predicate of a Catalyst expression, a JVM object."""
    nodes = json.loads(expression.toJSON())
    if any(_incomplete(node) for node in nodes):
        for node, java in zip(nodes, _pre_order(expression), strict=True):
            if _incomplete(node):
                _complete(node, java)
    return from_spark_json(nodes)


def _incomplete(node: dict[str, Any]) -> bool:
    kind = str(node["class"]).rsplit(".", 1)[-1]
    if kind == "Literal":
        return node.get("dataType") in {"binary", "timestamp", "timestamp_ntz"} and node.get("value") is not None
    return kind in {"InSet", "Like", "UnresolvedAttribute"}


def _pre_order(expression: Any) -> Iterator[Any]:
    todo = [expression]
    while todo:
        java = todo.pop()
        yield java
        children = java.children()
        todo += [children.apply(i) for i in reversed(range(children.size()))]


def _complete(node: dict[str, Any], java: Any) -> None:
    match str(node["class"]).rsplit(".", 1)[-1]:
        case "Literal":
            node |= _exact(java.value(), str(node["dataType"]))
        case "InSet":
            data_type = json.loads(java.child().dataType().json())
            members = java.hset().iterator()
            node["values"] = []
            while members.hasNext():
                node["values"].append(_exact(members.next(), data_type))
        case "Like":
            node["escape"] = str(java.escapeChar())
        case "UnresolvedAttribute":
            parts = java.nameParts()
            node["parts"] = [parts.apply(i) for i in range(parts.size())]


def _exact(value: Any, data_type: object) -> dict[str, Any]:
    """A value of Catalyst's own representation, with the keys that `spark_json` reads."""
    if value is None:
        return {"value": None}
    if data_type == "binary":
        return {"hex": bytes(value).hex()}
    if data_type in {"timestamp", "timestamp_ntz"}:
        return {"micros": int(value)}
    if data_type == "date":
        try:
            return {"value": (dt.date(1970, 1, 1) + dt.timedelta(days=int(value))).isoformat()}
        except OverflowError:
            return {"value": "beyond Python's years"}
    if isinstance(value, bool | int | float):
        return {"value": str(value)}
    return {"value": value.toString() if hasattr(value, "toString") else str(value)}


def to_spark(
    predicate: Predicate | str, schema: pa.Schema | None = None, session: SparkSession | None = None
) -> Column:
    """A Column with the reference semantics in all three values; bind the predicate first. Opaque raises
    ExpressionError. A text is Spark's own, handed over as it is.

    It goes by way of SQL text, which types and escapes every literal, leaf by leaf; `schema` as in `to_sql`. The text
    is read by the thread's active session, or by `session`, whose frame takes the Column: Spark 4 asks that one. Where
    one of them would read another text, as of `${env:HOME}`, a variable even inside of names and texts, it is refused.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    def read(text: str) -> Column:
        name = "spark.sql.variable.substitute"
        readers = (SparkSession.getActiveSession(), *(() if session is None else (session,)))
        for reader in readers if "${" in text else ():
            if reader is None or str(reader.conf.get(name, "true")).lower() != "false":
                raise ExpressionError(
                    f"a condition is handed to Spark as it is; its session puts a variable's value in the place of"
                    f" ${{...}} in {text[:200]!r}; set {name} to false"
                )
        return f.expr(text)

    if isinstance(predicate, str):
        return read(predicate)

    def leaf(node: Leaf) -> Column:
        return read(to_sql(node, "spark column", schema))

    def joined(parts: list[Column], every: bool) -> Column:
        return halved(parts, operator.and_ if every else operator.or_) if parts else f.lit(every)

    return predicate.fold(
        leaf, lambda child: ~child, lambda parts: joined(parts, True), lambda parts: joined(parts, False)
    )
