"""Column charts and strip plots, each with its text alternative and a table of its numbers.

In a column what counts is full (what was read), the frame above it comes with it (what was left out). A strip plot has
one line for each file, or for some, one below the other, from where its values begin to where they end: what lies above
each other is what one value reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metaindex.core import Column, Element, dataclass

HIGH = 88
_STEP, _GAP = 10.0, 2.0
_LEAST_SLOTS = 12
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
    form: Callable[[float], str]
    titles: tuple[str, ...]
    summary: str


def columns_figure(columns: ColumnChart) -> Element:
    """The figure, with its text alternative and its numbers."""
    most = max((full + frame for full, frame in _pairs(columns)), default=0.0)
    return Element(
        "figure",
        Element("figcaption", Element("strong", columns.title), f" {columns.summary}"),
        _drawn_columns(columns, most),
        _column_numbers(columns),
    )


def _pairs(columns: ColumnChart) -> list[tuple[float, float]]:
    frame = columns.frame or [0.0] * len(columns.full)
    return list(zip(columns.full, frame, strict=True))


def _drawn_columns(columns: ColumnChart, most: float) -> Element:
    wide = _slots(columns) * _STEP
    marks: list[Element | None] = []
    for at, (full, frame) in enumerate(_pairs(columns)):
        low, high = (part / most * HIGH if most else 0.0 for part in (full, full + frame))
        low = max(low, 1.0) if full > 0 else 0.0
        place = {"x": at * _STEP + _GAP / 2, "width": _STEP - _GAP}
        if high > low:
            above = {"fill": "currentColor", "fill_opacity": 0.12, "y": HIGH - high, "height": high - low}
            marks.append(Element("rect", class_="frame", **place, **above))
        marks.append(Element.filled(**place, y=HIGH - low, height=low) if low else None)
    plot = Element("svg", *marks, viewBox=f"0 0 {wide:g} {HIGH}", width="100%", height=HIGH, preserveAspectRatio="none")
    names = columns.names
    labels = [] if not names else [_label("0%", "start", names[0])]
    if len(names) >= _LABELLED:
        slots = _slots(columns)
        last = ("100%", "end") if len(names) == slots else (f"{(len(names) - 1) / slots:.1%}", "start")
        labels.append(_label(*last, names[-1]))
    line = Element("line", class_="axis", stroke="currentColor", x1="0", x2="100%", y1=HIGH + 0.5, y2=HIGH + 0.5)
    words = f"{columns.title}: {columns.summary}; the numbers are in the table below"
    return Element(
        "svg", plot, line, *labels, class_="plot", role="img", aria_label=words, width="100%", height=HIGH + 20
    )


def _slots(columns: ColumnChart) -> int:
    """Few columns do not fill the room."""
    return max(len(columns.names), _LEAST_SLOTS)


def _label(x: str, anchor: str, text: str) -> Element:
    return Element("text", text, x=x, y=HIGH + 15, text_anchor=anchor, fill="currentColor", font_size=12)


def _column_numbers(columns: ColumnChart) -> Element:
    first, *others = columns.titles
    headings = Column.named(first, *(f"{title}>" for title in others))
    rows = [
        (name, *(columns.form(value) for value in pair[: len(others)]))
        for name, pair in zip(columns.names, _pairs(columns), strict=True)
    ]
    return Element("details", Element("summary", "Numbers"), Element.grid(columns.title, headings, rows))


Mark = tuple[float, float]
"""The start and the end of a line, between 0 and 1."""

_WIDE = 1000
_LEAST = 3
"""Of a mark's width: what is one point can still be seen."""
_SPACED = 6
"""Lines as high as this stand apart."""
_PROFILE = 36
_TOP = 16


@dataclass(frozen=True, slots=True)
class Tick:
    """A place between 0 and 1: the value there, and how many files hold it. `drawn`: below the lines too; on a narrow
    page at the ends alone."""

    place: float
    value: str
    files: int
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class Strip:
    """`title`, `summary`: what is drawn, in words; `marks`: one below the other; `reads`: evenly from 0 to 1, how many
    of `files` hold the value there."""

    title: str
    summary: str
    marks: Sequence[Mark]
    reads: Sequence[float]
    files: int
    ticks: Sequence[Tick]


def strip_figure(strip: Strip) -> Element:
    """The figure, with its text alternative and its numbers."""
    return Element("figure", Element("figcaption", strip.summary), _drawn(strip), _numbers(strip), class_="strip")


def _drawn(strip: Strip) -> Element:
    step = min(max(220 // max(len(strip.marks), 1), 4), 12)
    high = step * len(strip.marks)
    below = _TOP + _PROFILE + 6 + high
    most = f"files that hold a value: {_most(strip)} of {strip.files:,}"
    words = f"Ranges of the files by {strip.title}. {strip.summary} The numbers are in the table below."
    return Element(
        "svg",
        Element("text", most, x=0, y=11, class_="small", fill="currentColor", font_size=12),
        _profile(strip),
        Element(
            "svg",
            _lines(strip, step),
            y=_TOP + _PROFILE + 6,
            viewBox=f"0 0 {_WIDE} {high}",
            width="100%",
            height=high,
            preserveAspectRatio="none",
        ),
        Element("line", class_="axis", stroke="currentColor", x1="0", x2="100%", y1=below + 0.5, y2=below + 0.5),
        *(_tick(tick, below) for tick in strip.ticks if tick.drawn),
        class_="plot",
        role="img",
        aria_label=words,
        width="100%",
        height=below + 22,
    )


def _most(strip: Strip) -> str:
    most = max(strip.reads, default=0.0)
    return f"up to {most:,.0f}" if most >= 1 else "less than 1"


def _profile(strip: Strip) -> Element:
    """Draw how many files hold a value, as an area over the lines."""
    count = max(len(strip.reads), 1)
    most = max(strip.files, 1)
    steps = []
    for at, files in enumerate(strip.reads):
        top = min(_PROFILE * (1 - files / most), _PROFILE - 1.5 if files > 0 else _PROFILE)
        steps.append(f"{'L' if at else 'M'}{at * _WIDE / count:.0f} {top:.1f}H{(at + 1) * _WIDE / count:.0f}")
    drawn = Element.filled(d=f"{''.join(steps)}V{_PROFILE}H0Z") if steps else None
    frame = Element("rect", class_="frame", fill="currentColor", fill_opacity=0.12, width=_WIDE, height=_PROFILE)
    return Element(
        "svg",
        frame,
        drawn,
        y=_TOP,
        viewBox=f"0 0 {_WIDE} {_PROFILE}",
        width="100%",
        height=_PROFILE,
        preserveAspectRatio="none",
    )


def _lines(strip: Strip, step: int) -> Element | None:
    """Draw all marks as one path, so that the size of the page is bounded."""
    height = step - 1 if step >= _SPACED else step
    drawn = []
    for line, (start, end) in enumerate(strip.marks):
        begin = round(start * _WIDE)
        width = max(round(end * _WIDE) - begin, _LEAST)
        drawn.append(f"M{min(begin, _WIDE - width)} {line * step}h{width}v{height}h-{width}z")
    return Element.filled(d="".join(drawn)) if drawn else None


def _tick(tick: Tick, below: float) -> Element:
    anchor = "start" if tick.place < 0.1 else "end" if tick.place > 0.9 else "middle"
    minor = " minor" if anchor == "middle" else ""
    return Element(
        "text",
        tick.value,
        x=f"{tick.place:.1%}",
        y=below + 16,
        class_=f"small{minor}",
        text_anchor=anchor,
        fill="currentColor",
        font_size=12,
    )


def _numbers(strip: Strip) -> Element:
    headings = Column.named("rows below it>", "value", "files that hold it>")
    rows = [(f"{tick.place:.0%}", tick.value, f"{tick.files:,}") for tick in strip.ticks]
    return Element(
        "details", Element("summary", "Numbers"), Element.grid(f"Files by values of {strip.title}", headings, rows)
    )
