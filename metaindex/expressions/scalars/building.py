"""Calls of functions, with Spark's implicit casts made explicit, and column-free expressions evaluated."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from metaindex.core import dataclass
from metaindex.expressions.literals import Literal, LiteralValue, NotReadable
from metaindex.expressions.zones import fixed_offset, later_in_zone, zone_of

from .folding import folded
from .functions import TABLE
from .nodes import Fixed, FunctionCall, Scalar
from .types import BIGINT, CLOCK, DATE, INSTANT, INT, STRING, casts, spark_name
from .units import later_by_months


class UnknownMeaning(NotReadable):
    """Raised for an expression that is unknown, or ambiguous between engines; the text names the part."""


@dataclass(frozen=True, slots=True)
class ScalarBuilder:
    """Builds scalars. `zone`: the session's, for times without a zone."""

    zone: str

    def call(self, name: str, *arguments: Scalar) -> Scalar:
        """UnknownMeaning for types of which the function's meaning is not known."""
        signature = TABLE[name].signature([part.type for part in arguments])
        if signature is None:
            raise UnknownMeaning(f"{name} of {' and '.join(shown(part.type) for part in arguments)}")
        wanted, result = signature
        return folded(
            FunctionCall(name, tuple(self.cast(a, t) for a, t in zip(arguments, wanted, strict=True)), result)
        )

    def cast(self, scalar: Scalar, t: pa.DataType) -> Scalar:
        """Cast as Spark does."""
        source = scalar.type
        if source == t:
            return scalar
        if not casts(source, t):
            raise UnknownMeaning(f"a cast of {shown(source)} to {shown(t)}")
        if source == INSTANT:
            return self.cast(self.local_time(scalar), t)
        if t == INSTANT and isinstance(scalar, Fixed) and scalar.value.is_null:
            return Fixed(Literal(None), t)
        if t == INSTANT:
            return self.as_instant(self.cast(scalar, CLOCK))
        return folded(FunctionCall("cast", (scalar,), t))

    def local_time(self, instant: Scalar) -> Scalar:
        """The clock in the session's zone."""
        if zone_of(self.zone) is None:
            raise UnknownMeaning(f"times of zone {self.zone!r}")
        return folded(FunctionCall("local_time", (instant, text(self.zone)), CLOCK))

    def as_instant(self, clock: Scalar) -> Scalar:
        """Return the instant at which clocks of the session's zone show the local time."""
        made = folded(FunctionCall("as_instant", (clock, text(self.zone)), INSTANT))
        if not isinstance(made, Fixed) and fixed_offset(self.zone) is None:
            raise UnknownMeaning(f"an instant by clocks of {self.zone}, where they change")
        return made

    def calendar(self, moment: Scalar) -> Scalar:
        """Return a date or a clock, from which days and hours are extracted."""
        return self.local_time(moment) if moment.type == INSTANT else moment

    def later(self, moment: Scalar, months: int, days: int, micros: int) -> Scalar:
        """Moved on by an interval."""
        if moment.type == DATE:
            if micros:
                raise UnknownMeaning("hours added to a date")
            moved = self.call("add_months", moment, whole(months, INT)) if months else moment
            return self.call("date_add", moved, whole(days, INT)) if days else moved
        if moment.type == INSTANT and (months or days) and fixed_offset(self.zone) is None:
            moment, days, months = self._later_in_zone(moment, months, days), 0, 0
        if moment.type not in (CLOCK, INSTANT):
            raise UnknownMeaning(f"an interval added to {shown(moment.type)}")
        if months:
            clock = self.call("add_clock_months", self.calendar(moment), whole(months, INT))
            moment = self.as_instant(clock) if moment.type == INSTANT else clock
        micros += days * 86_400_000_000
        return self.call("add_micros", moment, whole(micros, BIGINT)) if micros else moment

    def _later_in_zone(self, moment: Scalar, months: int, days: int) -> Scalar:
        zone = zone_of(self.zone)
        at = moment.value.value if isinstance(moment, Fixed) else None
        if zone is None or not isinstance(at, dt.datetime):
            raise UnknownMeaning(f"days added by clocks of {self.zone}, where they change")

        def step(clock: dt.datetime) -> dt.datetime:
            return later_by_months(clock, months) + dt.timedelta(days=days)

        try:
            return Fixed(Literal(later_in_zone(at, step, zone)), INSTANT)
        except (OverflowError, ValueError):
            raise UnknownMeaning("an interval that leads beyond the years from 1 to 9999") from None


def whole(value: int, t: pa.DataType) -> Fixed:
    return Fixed(Literal(value), t)


def text(value: str) -> Fixed:
    return Fixed(Literal(value), STRING)


def fixed(value: LiteralValue, t: pa.DataType) -> Fixed:
    return Fixed(Literal(value), t)


def shown(t: pa.DataType) -> str:
    """A type, for people."""
    try:
        return spark_name(t).lower()
    except KeyError:
        return str(t)
