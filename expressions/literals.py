"""Literals, and the physical domains in which bounds are compared.

A literal is a Python value of one of ten kinds. A column type (a pyarrow DataType) belongs to one of three physical domains, int64, double
or bytes in order-preserving encoding, so that the bounds of a million files compare as whole vectors.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

LiteralValue = bool | int | float | Decimal | str | bytes | dt.date | dt.datetime | None


@dataclass(frozen=True, slots=True)
class Literal:
    """A typed constant: bool, int, float, Decimal, str, bytes, date, datetime (naive: without zone; aware: an instant), or None.

    Two literals are equal when their kinds and values are (1, 1.0 and True are three literals); NaN equals NaN.
    """

    value: LiteralValue
