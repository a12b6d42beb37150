"""The ranges of a table's files by a column, as they are drawn: from left to right lie all rows, in the order of their
values, and each file reaches from its first row to its last. So the full part of the picture is the share of files that
one value reads on average (`ColumnClustering.value_share`), whatever the values and however far apart.

Of many files some share a line: a part of it is as full as the share of these files that reach over it. A picture is
as large for a million files as for a thousand.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from metaindex.advisor.figures.strip import LEVELS, Mark, Strip, Tick
from metaindex.core import Vector, counted, dataclass, percent
from metaindex.expressions import from_physical

from .clustering import ColumnClustering, Measured
from .overlap import Floats, Ints, Numbers, RowPlaces

_LINES, _PARTS = 48, 120
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


def strip_of(measured: Measured, told: ColumnClustering) -> Strip:
    """The picture of a column that some file has bounds of."""
    reach = _Reach.of(measured)
    count = len(reach.start)
    order = np.lexsort((reach.end, reach.start))
    lines = min(count, _LINES)
    line = np.arange(count) * lines // count
    start, end = reach.start[order], reach.end[order]
    reads = _reached(np.zeros(count, np.int64), start, end, 1, _PROFILE)[0] + told.unknown_files
    marks = list(_each(start, end)) if count <= _LINES else list(_together(line, start, end, lines))
    return Strip(
        told.column, _summary(told, count, lines), lines, marks, reads.tolist(), told.files, _ticks(measured, reach)
    )


def _each(start: Floats, end: Floats) -> Iterator[Mark]:
    """A line for each file."""
    full = len(LEVELS) - 1
    return (Mark(at, a, b, full) for at, (a, b) in enumerate(zip(start.tolist(), end.tolist(), strict=True)))


def _together(line: Ints, start: Floats, end: Floats, lines: int) -> Iterator[Mark]:
    """Lines of several files, equally full parts of a line as one mark."""
    share = _reached(line, start, end, lines, _PARTS) / np.bincount(line, minlength=lines)[:, None]
    level = np.where(share > 1e-12, np.digitize(share, (0.1, 0.3, 0.6, 0.9)), -1)
    for at in range(lines):
        changes = np.flatnonzero(np.diff(level[at])) + 1
        edges = [0, *changes.tolist(), _PARTS]
        for first, last in pairwise(edges):
            if level[at, first] >= 0:
                yield Mark(at, first / _PARTS, last / _PARTS, int(level[at, first]))


def _reached(line: Ints, start: Floats, end: Floats, lines: int, parts: int) -> Floats:
    """Return for each part of each line how many files reach over it; one that covers half of it counts half."""
    covered = _filled(line, start, lines, parts) - _filled(line, end, lines, parts)
    reached: Floats = np.clip(np.diff(covered, axis=1) * parts, 0.0, None)
    return reached


def _filled(line: Ints, points: Floats, lines: int, parts: int) -> Floats:
    """Return at each edge of a part the sum of how far it lies behind the points of the line."""
    part = np.minimum((points * parts).astype(np.int64), parts - 1)
    place = line * parts + part
    number = np.bincount(place, minlength=lines * parts).reshape(lines, parts).cumsum(axis=1)
    total = np.bincount(place, weights=points, minlength=lines * parts).reshape(lines, parts).cumsum(axis=1)
    edges = np.arange(1, parts + 1) / parts
    filled: Floats = np.zeros((lines, parts + 1))
    filled[:, 1:] = edges * number - total
    return filled


def _summary(told: ColumnClustering, count: int, lines: int) -> str:
    each = "Each line is a file" if lines == count else f"Each line is some {round(count / lines):,} files"
    always = "" if not told.unknown_files else f" {counted(told.unknown_files, 'file')} without bounds are always read."
    return (
        f"One value reads {told.value_files:,.1f} of {counted(told.files, 'file')} ({percent(told.value_share)}), a"
        f" range over 1% of the rows {told.range_files:,.1f} ({percent(told.range_share)}). {each}, from its minimum"
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
        ticks.setdefault(text, Tick(float(places[at]), text, files, drawn, place in _DRAWN[3:]))
    return _with_room(sorted(ticks.values(), key=lambda tick: tick.place))


def _with_room(ticks: list[Tick]) -> list[Tick]:
    """The middle one has no room on a narrow page, where they are long."""
    always = [tick for tick in ticks if tick.drawn and not tick.roomy]
    if sum(len(tick.value) for tick in always) <= 36:
        return ticks
    return [
        Tick(tick.place, tick.value, tick.files, tick.drawn, tick.roomy or 0.1 <= tick.place <= 0.9) for tick in ticks
    ]


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
