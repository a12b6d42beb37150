"""Turns a condition in any engine's words into the predicate of a version: the one way for conditions of all engines.

What is not understood is Opaque and keeps every file. Refused is what is no condition (text that is no SQL, an object
of no engine that is known) and, where it is bound, a name or a literal that the columns have no place for.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Hashable
from typing import Any, Final, Protocol

import pyarrow as pa

from metaindex.core import LiteralTypeError, dataclass
from metaindex.expressions import ColumnRef, Comparison, In, Opaque, Predicate, StartsWith


class Columns(Protocol):
    """A table's schema, as far as conditions need it."""

    @property
    def named_types(self) -> list[tuple[tuple[str, ...], pa.DataType]]: ...

    def asked(self) -> pa.Schema: ...

    def bound(self, predicate: Predicate, time_zone: str = "UTC", *, as_held: bool = False) -> Predicate: ...


@dataclass(frozen=True, slots=True)
class OfSchema:
    """A predicate that depends on the table's columns at the queried version. `told`: its source; equal sources give
    equal predicates for a schema. None: it equals no other."""

    make: Callable[[Any], Predicate]
    told: Hashable = None

    @staticmethod
    def at_moment(condition: object) -> object:
        """Return the condition with one reading of the clock, where it may need one."""
        if isinstance(condition, str) and _CLOCK.search(condition):
            return AtMoment(condition, dt.datetime.now(dt.UTC))
        return condition


@dataclass(frozen=True, slots=True)
class AtMoment:
    """The text of a condition that may ask what time it is, and what time that is for the whole query."""

    text: str
    now: dt.datetime


_MOST_FIELDS: Final = 12
"""Of a struct, that are named."""
_CLOCK: Final = re.compile(r"\b(now|current_timestamp|current_date|curdate|localtimestamp)\b", re.IGNORECASE)


def predicate_of(condition: object, schema: Columns, time_zone: str, *, seen: pa.Schema | None = None) -> Predicate:
    """The predicate with the names and types of the schema. What has no zone of its own is read in `time_zone`, a Spark
    Column in its session's. `seen`: the columns as the engine that made the condition has them, where it has others."""
    if isinstance(condition, OfSchema):
        condition = condition.make(schema)
    if isinstance(condition, Predicate):
        named = schema.bound(condition, time_zone)
        _refuse_structs(condition, named, schema)
        return named
    from metaindex.expressions import engine_of, to_predicate

    engine = engine_of(condition)
    if engine == "pyspark":
        time_zone = _session_zone() or time_zone
    now = None
    asked = condition
    if isinstance(condition, AtMoment):
        asked, now = condition.text, condition.now
    tree = to_predicate(asked, schema.asked() if seen is None else seen, time_zone=time_zone, now=now)
    named = schema.bound(tree, time_zone, as_held=engine not in (None, "pyspark"))
    _refuse_structs(tree, named, schema)
    return named


def _refuse_structs(tree: Predicate, named: Predicate, schema: Columns) -> None:
    """LiteralTypeError where a struct is compared with a value, which no engine answers: a field of it is meant."""
    if not any(isinstance(leaf, Opaque) for leaf in named.leaves()):
        return
    paths = [path for path, _ in schema.named_types]
    for leaf in tree.leaves():
        if not isinstance(leaf, Comparison | In | StartsWith):
            continue
        at = len(leaf.column.parts)
        folded = [part.lower() for part in leaf.column.parts]
        inside = [path for path in paths if len(path) > at and [part.lower() for part in path[:at]] == folded]
        fields = list(dict.fromkeys(ColumnRef(path[: at + 1]).in_sql for path in inside))
        if fields:
            more = ", ..." if len(fields) > _MOST_FIELDS else ""
            raise LiteralTypeError(
                f"a literal is a value of its column's type; {leaf.column} is a struct; compare a field of it:"
                f" {', '.join(fields[:_MOST_FIELDS])}{more}"
            )


def _session_zone() -> str | None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    return None if session is None else session.conf.get("spark.sql.session.timeZone")
