"""Literals: the constants that a predicate compares columns with.

A literal is a Python value of one of twelve kinds. Promises: `Literal.of` takes what people hand in (NumPy scalars too)
and refuses the rest by name; two literals are equal when kind and value are (NaN equals NaN, -0.0 equals 0.0). The
domains in which bounds of many files compare as vectors are in `physical`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import TypeAlias
from uuid import UUID

from metaindex.core import LiteralTypeError, dataclass

LiteralValue: TypeAlias = bool | int | float | Decimal | str | bytes | dt.date | dt.datetime | dt.time | UUID | None


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A typed constant: bool, int, float, Decimal, str, bytes, date, datetime (naive: without zone; aware: an instant),
    time (of a day, without zone), UUID, or None.

    Two literals are equal when their kinds and values are (1, 1.0 and True are three literals); NaN equals NaN, and
    -0.0 is the same literal as 0.0, as no predicate can tell them apart.
    """

    value: LiteralValue

    @property
    def is_null(self) -> bool:
        return self.value is None

    @property
    def is_nan(self) -> bool:
        value = self.value
        return type(value) not in _PLAIN and isinstance(value, float) and math.isnan(value)

    @property
    def kind(self) -> str:
        """Return the kind's name: null, bool, int, float, decimal, string, binary, date, timestamp_ntz (naive),
        timestamp (aware), time, uuid."""
        match value := self.value:
            case None:
                return "null"
            case bool():
                return "bool"
            case int():
                return "int"
            case float():
                return "float"
            case Decimal():
                return "decimal"
            case str():
                return "string"
            case bytes():
                return "binary"
            case dt.datetime():
                return "timestamp_ntz" if value.utcoffset() is None else "timestamp"
            case dt.date():
                return "date"
            case dt.time():
                return "time"
            case UUID():
                return "uuid"

    @staticmethod
    def of(value: object) -> Literal:
        """Return the literal of a Python or NumPy value. Aware datetimes become UTC; what has no kind, or would lose
        something, is refused."""
        match value:
            case Literal():
                return value
            case None | bool():
                return Literal(value)
            case int():
                if int(value).bit_length() > _MOST_BITS:
                    raise LiteralTypeError(
                        f"a whole number has at most {_MOST_BITS:,} bits; got one of {int(value).bit_length():,}; no"
                        " column holds such a value"
                    )
                return Literal(int(value))
            case float():
                return Literal(float(value))
            case Decimal():
                if not value.is_finite():
                    raise LiteralTypeError(
                        f"a decimal literal is finite; got {value}; use float({str(value)!r}) for a float column"
                    )
                return Literal(value)
            case str():
                return Literal(str(value))
            case bytes() | bytearray() | memoryview():
                return Literal(bytes(value))
            case dt.datetime():
                return Literal(_plain_datetime(value))
            case dt.date():
                return Literal(dt.date(value.year, value.month, value.day))
            case dt.time():
                if value.tzinfo is not None:
                    raise LiteralTypeError(f"a time literal has no zone; got {value!r}; leave it out")
                return Literal(dt.time(value.hour, value.minute, value.second, value.microsecond))
            case UUID():
                return Literal(UUID(int=value.int))
            case _:
                return _from_numpy(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        value = self.value
        return hash(value) if value == value else 0  # kinds with equal values are told apart by equality

    def _key(self) -> tuple[str, object]:
        value = self.value
        if (plain := _PLAIN.get(type(value))) is not None:  # lists of 100,000 literals are compared again and again
            return plain, value
        # NaN is unequal to itself, so its key holds no NaN.
        return (self.kind, "nan") if isinstance(value, float) and math.isnan(value) else (self.kind, value)


class NotReadable(Exception):
    """Raised for what has a meaning that a literal or a node cannot say."""


def each_once(values: Iterable[Literal]) -> tuple[Literal, ...]:
    """Drop repeated literals, in order. Long lists of integers or texts are deduplicated by their values, which takes a
    fifth of the time."""
    every = tuple(values)
    plain = [literal.value for literal in every]
    if set(map(type, plain)) in ({int}, {str}):
        return tuple(dict(zip(plain, every, strict=True)).values())
    return tuple(dict.fromkeys(every))


_PLAIN = {bool: "bool", int: "int", str: "string", bytes: "binary"}
"""Kinds that the type alone says, and whose values equal themselves."""


_MOST_BITS = 10_000
"""Of an integer: Python writes no text of one that is far longer."""


def _plain_datetime(value: dt.datetime) -> dt.datetime:
    nanosecond = getattr(value, "nanosecond", 0)  # a pandas Timestamp is a datetime with more digits
    if nanosecond:
        raise LiteralTypeError(f"a timestamp literal has microseconds; {value} has nanoseconds; round it first")
    if value.utcoffset() is not None:
        value = value.astimezone(dt.UTC)
    return dt.datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.tzinfo
    )


def _from_numpy(value: object) -> Literal:
    # NumPy is not imported for this: its scalars say what they are by module, and `item` gives the Python value without
    # loss, save for times finer than 1 us.
    item = getattr(value, "item", None)
    if type(value).__module__ == "numpy" and callable(item) and getattr(value, "ndim", None) == 0:
        plain = item()
        if type(value).__name__ == "datetime64":
            if plain is None:
                return Literal(None)  # NaT
            if isinstance(plain, int):  # nanoseconds and finer, or years beyond Python's
                return _from_fine_datetime64(value)
        if plain is not value and isinstance(plain, bool | int | float | str | bytes | dt.date | dt.datetime):
            return Literal.of(plain)
    raise LiteralTypeError(
        "a literal is None, bool, int, float, Decimal, str, bytes, date, datetime, time or UUID; "
        f"got {type(value).__name__}; convert it first (a column can only be compared with a constant)"
    )


def _from_fine_datetime64(value: object) -> Literal:
    micros = value.astype("datetime64[us]")  # type: ignore[attr-defined]
    plain = micros.item()
    if micros != value or not isinstance(plain, dt.datetime):
        raise LiteralTypeError(
            f"a timestamp literal has microseconds and a year from 1 to 9999; got {value}; round it first"
        )
    return Literal(plain)
