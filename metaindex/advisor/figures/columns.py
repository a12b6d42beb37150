"""Columns side by side: how much there is of each size, or on each day. Full at the bottom is what counts (what was
read), the frame above it what comes with it (what was left out). The numbers stand in a table that opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metaindex.core import Element, Heading, dataclass, filled, grid, tag

HIGH = 88
_STEP, _GAP = 10.0, 2.0
_LEAST = 12
_LABELLED = 6
"""Of so many columns the last one has its name below it, too."""


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """`names` of the columns in order; `full` of each, and `frame` above it (none if empty). `said` formats a value;
    `titles` name the table's columns: the names, what is full, what is framed."""

    title: str
    names: Sequence[str]
    full: Sequence[float]
    frame: Sequence[float]
    said: Callable[[float], str]
    titles: tuple[str, ...]
    summary: str


def columns_figure(columns: ColumnChart) -> Element:
    """The figure, with its text alternative and its numbers."""
    most = max((full + frame for full, frame in _pairs(columns)), default=0.0)
    return tag(
        "figure",
        tag("figcaption", tag("strong", columns.title), f" {columns.summary}"),
        _drawn(columns, most),
        _numbers(columns),
    )


def _pairs(columns: ColumnChart) -> list[tuple[float, float]]:
    frame = columns.frame or [0.0] * len(columns.full)
    return list(zip(columns.full, frame, strict=True))


def _drawn(columns: ColumnChart, most: float) -> Element:
    wide = _slots(columns) * _STEP
    marks: list[Element | None] = []
    for at, (full, frame) in enumerate(_pairs(columns)):
        low, high = (part / most * HIGH if most else 0.0 for part in (full, full + frame))
        low = max(low, 1.0) if full > 0 else 0.0
        place = {"x": at * _STEP + _GAP / 2, "width": _STEP - _GAP}
        if high > low:
            above = {"fill": "currentColor", "fill_opacity": 0.12, "y": HIGH - high, "height": high - low}
            marks.append(tag("rect", class_="frame", **place, **above))
        marks.append(filled(**place, y=HIGH - low, height=low) if low else None)
    plot = tag("svg", *marks, viewBox=f"0 0 {wide:g} {HIGH}", width="100%", height=HIGH, preserveAspectRatio="none")
    names = columns.names
    labels = [] if not names else [_label("0%", "start", names[0])]
    if len(names) >= _LABELLED:
        ends = len(names) == _slots(columns)
        labels.append(_label("100%", "end", names[-1]) if ends else _label(_place(columns), "start", names[-1]))
    line = tag("line", class_="axis", stroke="currentColor", x1="0", x2="100%", y1=HIGH + 0.5, y2=HIGH + 0.5)
    words = f"{columns.title}: {columns.summary}; the numbers are in the table below"
    return tag("svg", plot, line, *labels, class_="plot", role="img", aria_label=words, width="100%", height=HIGH + 20)


def _slots(columns: ColumnChart) -> int:
    """Few columns do not fill the room."""
    return max(len(columns.names), _LEAST)


def _place(columns: ColumnChart) -> str:
    return f"{(len(columns.names) - 1) / _slots(columns):.1%}"


def _label(x: str, anchor: str, text: str) -> Element:
    return tag("text", text, x=x, y=HIGH + 15, text_anchor=anchor, fill="currentColor", font_size=12)


def _numbers(columns: ColumnChart) -> Element:
    first, *others = columns.titles
    headings = [Heading(first), *(Heading(title, number=True) for title in others)]
    rows = [
        (name, *(columns.said(value) for value in pair[: len(others)]))
        for name, pair in zip(columns.names, _pairs(columns), strict=True)
    ]
    return tag("details", tag("summary", "Numbers"), grid(columns.title, headings, rows))
