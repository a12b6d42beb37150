"""A strip plot: one line for each file (or for some, one below the other), from where its values begin to where they
end. What lies above each other is what one value reads: the fuller the picture, the less can be told apart."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.core import ACCENT, Element, Heading, dataclass, filled, grid, tag

LEVELS = (0.35, 0.5, 0.65, 0.8, 1.0)
"""How full a mark is drawn."""

_WIDE = 1000
_LEAST = 3
"""Of a mark's width: what is one point can still be seen."""
_SPACED = 6
"""Lines as high as this stand apart."""
_PROFILE = 36
_TOP = 16


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of a line, from `start` to `end` between 0 and 1; `level`: how full, by its place in `LEVELS`."""

    line: int
    start: float
    end: float
    level: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A place between 0 and 1: the value there, and how many files hold it. `drawn`: below the lines too, where there
    is room (`roomy`) or always."""

    place: float
    value: str
    files: int
    drawn: bool = False
    roomy: bool = False


@dataclass(frozen=True, slots=True)
class Strip:
    """`title`, `summary`: what is drawn, in words; `lines`: how many; `reads`: evenly from 0 to 1, how many of `files`
    hold the value there."""

    title: str
    summary: str
    lines: int
    marks: Sequence[Mark]
    reads: Sequence[float]
    files: int
    ticks: Sequence[Tick]


def strip_figure(strip: Strip) -> Element:
    """The figure, with its text alternative and its numbers."""
    return tag("figure", tag("figcaption", strip.summary), _drawn(strip), _numbers(strip), class_="strip")


def _drawn(strip: Strip) -> Element:
    step = min(max(220 // max(strip.lines, 1), 4), 12)
    high = step * strip.lines
    below = _TOP + _PROFILE + 6 + high
    words = f"Ranges of the files by {strip.title}. {strip.summary} The numbers are in the table below."
    return tag(
        "svg",
        tag("text", f"files that hold a value: {_most(strip)} of {strip.files:,}", **_small(0, 11)),
        _profile(strip),
        tag(
            "svg",
            *_paths(strip, step),
            y=_TOP + _PROFILE + 6,
            viewBox=f"0 0 {_WIDE} {high}",
            width="100%",
            height=high,
            preserveAspectRatio="none",
        ),
        tag("line", class_="axis", stroke="currentColor", x1="0", x2="100%", y1=below + 0.5, y2=below + 0.5),
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


def _small(x: object, y: float) -> dict[str, object]:
    return {"x": x, "y": y, "class_": "small", "fill": "currentColor", "font_size": 12}


def _profile(strip: Strip) -> Element:
    """Draw how many files hold a value, as an area over the lines."""
    count = max(len(strip.reads), 1)
    most = max(strip.files, 1)
    steps = []
    for at, files in enumerate(strip.reads):
        top = min(_PROFILE * (1 - files / most), _PROFILE - 1.5 if files > 0 else _PROFILE)
        steps.append(f"{'L' if at else 'M'}{at * _WIDE / count:.0f} {top:.1f}H{(at + 1) * _WIDE / count:.0f}")
    drawn = filled(d=f"{''.join(steps)}V{_PROFILE}H0Z") if steps else None
    frame = tag("rect", class_="frame", fill="currentColor", fill_opacity=0.12, width=_WIDE, height=_PROFILE)
    return tag(
        "svg",
        frame,
        drawn,
        y=_TOP,
        viewBox=f"0 0 {_WIDE} {_PROFILE}",
        width="100%",
        height=_PROFILE,
        preserveAspectRatio="none",
    )


def _paths(strip: Strip, step: int) -> list[Element]:
    """Return one path for all marks of a level, so that the size of the page is bounded."""
    height = step - 1 if step >= _SPACED else step
    parts: list[list[str]] = [[] for _ in LEVELS]
    for mark in strip.marks:
        start, end = round(mark.start * _WIDE), round(mark.end * _WIDE)
        width = max(end - start, _LEAST)
        start = min(start, _WIDE - width)
        parts[mark.level].append(f"M{start} {mark.line * step}h{width}v{height}h-{width}z")
    return [
        tag("path", class_=f"full level{level}", fill=ACCENT, fill_opacity=LEVELS[level], d="".join(drawn))
        for level, drawn in enumerate(parts)
        if drawn
    ]


def _tick(tick: Tick, below: float) -> Element:
    anchor = "start" if tick.place < 0.1 else "end" if tick.place > 0.9 else "middle"
    minor = " minor" if tick.roomy else ""
    return tag(
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
    headings = [Heading("rows below it", number=True), Heading("value"), Heading("files that hold it", number=True)]
    rows = [(f"{tick.place:.0%}", tick.value, f"{tick.files:,}") for tick in strip.ticks]
    return tag("details", tag("summary", "Numbers"), grid(f"Files by values of {strip.title}", headings, rows))
