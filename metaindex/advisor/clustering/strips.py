"""The ranges of a table's files by a column, as they are drawn: from left to right lie all rows, in the order of their
values, and each file reaches from its first row to its last. So the full part of the picture is the share of files that
one value reads on average (`ColumnClustering.value_share`), whatever the values and however far apart.

Of many files some are drawn, evenly spaced, so that a picture is as large for a million files as for a thousand.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Literal

import numpy as np

from metaindex.advisor.figures import Mark, Strip, Tick
from metaindex.core import Vector, counted, dataclass, percent
from metaindex.expressions import from_physical

from .clustering import ColumnClustering, Measured
from .overlap import Floats, Ints, Numbers, RowPlaces

_LINES = 48
"""Files that are drawn, of many evenly spaced ones."""
_PROFILE = 240
_LONGEST = 22
"""Characters of a value below the lines."""
_DRAWN = (0.0, 1.0, 0.5, 0.25, 0.75)
_OTHERS = (0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9)
_NEAR = 0.08
"""So far from its place a value may stand that is drawn there."""


@dataclass(frozen=True, slots=True)
class _Reach:
    """The place where each file begins and ends among the rows, between 0 and 1; in the order of `Measured.ranges`."""

    start: Floats
    end: Floats

    @classmethod
    def of(cls, measured: Measured) -> _Reach:
        ranges = measured.ranges
        rows = RowPlaces.of(ranges.lower, ranges.upper, measured.weights)
        below = np.append(0.0, np.cumsum(rows.shares))

        def before(ordered: Numbers, order: Ints, side: Literal["left", "right"]) -> Floats:
            reached = np.empty(len(ordered))
            reached[order] = below[np.searchsorted(rows.places, ordered, side=side)]  # sorted: by far the faster way
            return np.clip(reached, 0.0, 1.0)

        return cls(before(ranges.begins, ranges.begun, "left"), before(ranges.ends, ranges.ended, "right"))


def strip_of(measured: Measured, stats: ColumnClustering) -> Strip:
    """The picture of a column that some file has bounds of."""
    reach = _Reach.of(measured)
    count = len(reach.start)
    some = np.lexsort((reach.end, reach.start))[:: -(-count // _LINES)]
    marks = list(zip(reach.start[some].tolist(), reach.end[some].tolist(), strict=True))
    edges = np.arange(_PROFILE + 1) / _PROFILE
    reads = np.diff(_behind(reach.start, edges) - _behind(reach.end, edges)) * _PROFILE
    reads = np.clip(reads, 0.0, None) + stats.unknown_files
    return Strip(
        stats.column, _summary(stats, count, marks), marks, reads.tolist(), stats.files, _ticks(measured, reach)
    )


def _behind(points: Floats, edges: Floats) -> Floats:
    """Return for each edge the sum of how far it lies behind the points before it."""
    ordered = np.sort(points)
    before = np.searchsorted(ordered, edges)
    behind: Floats = edges * before - np.append(0.0, np.cumsum(ordered))[before]
    return behind


def _summary(stats: ColumnClustering, count: int, marks: Sequence[Mark]) -> str:
    each = "Each line is a file" if len(marks) == count else f"Each line is one of {round(count / len(marks)):,} files"
    always = (
        "" if not stats.unknown_files else f" {counted(stats.unknown_files, 'file')} without bounds are always read."
    )
    return (
        f"One value reads {stats.value_files:,.1f} of {counted(stats.files, 'file')} ({percent(stats.value_share)}), a"
        f" range over 1% of the rows {stats.range_files:,.1f} ({percent(stats.range_share)}). {each}, from its minimum"
        f" to its maximum; left to right are all rows by value.{always}"
    )


def _ticks(measured: Measured, reach: _Reach) -> Sequence[Tick]:
    """Bounds of files that lie nearest to the quarters and tenths of the rows, each once. Values in between are not
    known."""
    ranges = measured.ranges
    places = np.concatenate([reach.start, reach.end])
    values = np.concatenate([ranges.lower, ranges.upper])
    ticks: dict[str, Tick] = {}
    for place in (*_DRAWN, *_OTHERS):
        at = int(np.argmin(np.abs(places - place)))
        value = values[at]
        text = _value(measured, "lower" if at < len(ranges) else "upper", at % len(ranges))
        files = int((ranges.lower <= value).sum() - (ranges.upper < value).sum())
        drawn = place in _DRAWN and abs(float(places[at]) - place) <= _NEAR
        ticks.setdefault(text, Tick(float(places[at]), text, files, drawn))
    return sorted(ticks.values(), key=lambda tick: tick.place)


def _value(measured: Measured, side: str, at: int) -> str:
    """A bound in words, as short as it has to be."""
    row = int(np.flatnonzero(measured.bounded)[at])
    bound = Vector(measured.facts.facts.column(side)).array[row].as_py()
    value = from_physical(bound, measured.facts.leaf.type)
    match value:
        case bytes():
            text = value.hex()
        case float():
            text = f"{value:g}"
        case dt.datetime():
            text = value.strftime("%Y-%m-%d %H:%M:%S").removesuffix(" 00:00:00")
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
