"""A self-contained page: one file without any requests. Its policy forbids every fetch, every script except the one of
ours that it may have, and every style except the one in its head.

Full is read, empty is left out: told by lightness, not by hue. Contrast of all text is 4.5 to 1 and more in both
schemes; a test computes it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence

from metaindex.core import Column, Element, dataclass

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #ffffff; --text: #1c2126; --quiet: #57606a; --line: #d8dee4; --soft: #f4f6f8;
  --accent: #0b6aa8; --frame: #d9e0e7;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15181c; --text: #e4e7ea; --quiet: #a0a9b3; --line: #343a41; --soft: #1d2126;
    --accent: #5aa9dd; --frame: #363d46;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: auto; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 62rem;
  background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; text-wrap: balance; }
h1 { font-size: 1.75rem; margin: 0 0 .5rem; font-weight: 650; letter-spacing: -.01em; }
h2 {
  font-size: 1.25rem; margin: 3rem 0 .75rem;
  padding-top: 1rem; border-top: 1px solid var(--line); font-weight: 650;
}
h3 { font-size: 1rem; margin: 2rem 0 .25rem; font-weight: 650; }
h3 small { font-weight: 400; font-size: .8125rem; color: var(--quiet); }
p { margin: .5rem 0; max-width: 46rem; overflow-wrap: anywhere; }
.lead { font-size: 1.0625rem; }
.note, figcaption, caption, footer, dt { color: var(--quiet); font-size: .875rem; }
a { color: var(--accent); text-underline-offset: .15em; }
a:focus-visible, summary:focus-visible, pre:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
code, pre { font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; }
pre {
  margin: .5rem 0; padding: .75rem 1rem; background: var(--soft); border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; margin: 1.25rem 0 0; }
nav a { display: inline-block; padding: .25rem 0; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 1rem 1.5rem; margin: 1rem 0; }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .75rem 0 1rem; font-size: .875rem; }
caption { text-align: left; padding-bottom: .375rem; }
th, td { padding: .375rem 1.25rem .375rem 0; text-align: left; vertical-align: baseline; overflow-wrap: anywhere; }
thead th, .short { overflow-wrap: normal; }
.short { white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--quiet); font-weight: 500; border-bottom: 1px solid var(--line); vertical-align: bottom; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody th { font-weight: 600; overflow-wrap: break-word; }
.number { text-align: right; }
td.number { white-space: nowrap; }
.barred { width: 13rem; }
.barred > span { display: flex; align-items: center; justify-content: space-between; gap: .75rem; }
svg.bar { flex: 0 1 6rem; width: 6rem; min-width: 3rem; height: .75rem; border-radius: 2px; }
svg.plot { display: block; overflow: visible; }
.full { fill: var(--accent); }
.frame { fill: var(--frame); fill-opacity: 1; }
.axis { stroke: var(--line); }
svg text { fill: var(--quiet); font: 12px/1 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
figure { margin: 1rem 0 1.5rem; }
figcaption { margin-bottom: .5rem; max-width: 46rem; }
figcaption strong { color: var(--text); font-weight: 600; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 2.5rem; }
summary { color: var(--quiet); font-size: .8125rem; cursor: pointer; padding: .375rem 0; width: max-content; }
ul.notes { padding-left: 1.1rem; margin: .5rem 0; }
ul.notes li { margin: .25rem 0; overflow-wrap: anywhere; }
body.wide { max-width: 96rem; }
.wide th, .wide td { padding-right: .75rem; }
.wide tbody th { font-weight: 500; min-width: 9rem; }
.wide table { font-size: .8125rem; }
.wide .barred { width: 6.5rem; }
.wide .barred > span { gap: .5rem; }
.wide svg.bar { flex-basis: 1.75rem; width: 1.75rem; min-width: 1.5rem; }
.wide td:last-child { min-width: 12rem; }
.scrolled { overflow-x: auto; }
.scrolled:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
.picking { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: center; margin: 1rem 0 .5rem; }
.picking label { color: var(--quiet); font-size: .875rem; display: flex; gap: .5rem; align-items: center; }
.picking [role="status"] { color: var(--quiet); font-size: .875rem; margin-left: auto; }
input, select, button { font: inherit; font-size: .875rem; color: var(--text); }
input, select, .picking button {
  background: var(--soft); border: 1px solid var(--line); border-radius: 6px;
  padding: .375rem .625rem; min-height: 2rem;
}
input { width: 16rem; max-width: 100%; }
button { cursor: pointer; }
button[aria-pressed="true"] { border-color: var(--accent); color: var(--accent); }
th button { background: none; border: 0; padding: 0; color: inherit; font-weight: inherit; text-align: inherit; }
th button::after { content: "\\2195"; opacity: .35; padding-left: .25rem; }
th[aria-sort="ascending"] button::after { content: "\\2191"; opacity: 1; }
th[aria-sort="descending"] button::after { content: "\\2193"; opacity: 1; }
button:focus-visible, input:focus-visible, select:focus-visible {
  outline: 2px solid var(--accent); outline-offset: 2px;
}
.picking .narrow { display: none; }
[hidden] { display: none !important; }
footer { margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
@media (max-width: 860px) {
  .minor { display: none; }
}
@media (max-width: 640px) {
  body { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.375rem; }
  .pair { grid-template-columns: 1fr; }
  dl { grid-template-columns: 1fr 1fr; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, caption { display: block; }
  tbody tr { display: block; padding: .625rem 0; }
  tbody tr + tr { border-top: 1px solid var(--line); }
  tbody tr + tr > * { border-top: 0; }
  tbody th, tbody th.number {
    display: block; padding: 0 0 .25rem;
    font-size: .9375rem; text-align: left; white-space: normal;
  }
  tbody td, tbody td.number {
    display: flex; justify-content: space-between;
    gap: 1rem; padding: .125rem 0; white-space: normal;
  }
  tbody td::before { content: attr(data-label); color: var(--quiet); flex: 0 0 auto; max-width: 50%; }
  td:has(> span:empty) { display: none; }
  td > span { text-align: right; min-width: 0; }
  .barred { width: auto; }
  td.barred > span { flex: 0 1 13rem; }
  .short { white-space: normal; }
  nav a { padding: .5rem 0; }
  .wide th, .wide td { padding-right: 0; }
  .wide .barred { width: auto; }
  .wide td:last-child { min-width: 0; }
  .scrolled { overflow-x: visible; }
  .picking .narrow { display: inline-flex; align-items: center; }
  input { width: 100%; }
  .picking > label:first-child { flex: 1 1 100%; }
  .picking button { min-height: 2.75rem; }
  summary { padding: .75rem 0; }
}
@media print {
  :root {
    --ground: #ffffff; --text: #000000; --quiet: #444c54; --line: #c4cad0; --soft: #f4f6f8;
    --accent: #0b6aa8; --frame: #d9e0e7;
  }
  body { max-width: none; padding: 0; font-size: 11pt; }
  nav, summary, .minor, .picking { display: none; }
  .scrolled { overflow-x: visible; }
  .wide table { font-size: 7.5pt; }
  .wide tbody th, .wide td:last-child { min-width: 0; }
  .wide .number, .wide .short { white-space: normal; }
  th button::after { content: none; }
  details::details-content { display: block; content-visibility: visible; height: auto; }
  figure, tr, h2, h3, pre { break-inside: avoid; }
  h2, h3, caption, figcaption { break-after: avoid; }
  svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  a { color: inherit; text-decoration: none; }
}
"""


GENERATOR = "metaindex report"
"""What a page of ours says of itself in its head."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page, under a heading of its own. `key` is its anchor."""

    key: str
    title: str
    children: tuple[Element | str | None, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """`lead` stands below the title, `foot` at the end. `script`: a text of this project, never one with data in it;
    `wide`: it has a table of many columns."""

    title: str
    lead: tuple[Element | str | None, ...]
    sections: Sequence[Section]
    foot: tuple[Element | str | None, ...] = ()
    script: str = ""
    wide: bool = False

    def html(self) -> str:
        """The document."""
        return f"<!DOCTYPE html>\n{self._document().html()}\n"

    def _document(self) -> Element:
        return Element("html", self._head(), self._body(), lang="en")

    def _head(self) -> Element:
        return Element(
            "head",
            Element("meta", charset="utf-8"),
            _meta("generator", GENERATOR),
            Element("meta", **{"http-equiv": "Content-Security-Policy"}, content=policy(self.script)),
            _meta("viewport", "width=device-width, initial-scale=1"),
            _meta("color-scheme", "light dark"),
            _meta("referrer", "no-referrer"),
            Element("title", self.title),
            _raw("style", STYLE),
        )

    def _body(self) -> Element:
        contents = [Element("li", Element("a", section.title, href=f"#{section.key}")) for section in self.sections]
        return Element(
            "body",
            Element("header", Element("h1", self.title), *self.lead),
            Element("nav", Element("ul", *contents), aria_label="Contents"),
            Element("main", *(_section(section) for section in self.sections)),
            Element("footer", *self.foot),
            _raw("script", self.script) if self.script else None,
            class_="wide" if self.wide else None,
        )


def copied(text: str) -> Element:
    """Lines to be copied. They can be reached by keys: a narrow page may have to move them."""
    block = Element.pre(text)
    block.set("tabindex", "0")
    return block


def policy(script: str = "") -> str:
    """Nothing is fetched; the style, and the script where there is one, are those that have these digests."""
    runs = f"script-src {_digest(script)}; " if script else ""
    return f"default-src 'none'; {runs}style-src {_digest(STYLE)}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _meta(name: str, content: str) -> Element:
    return Element("meta", name=name, content=content)


def _raw(name: str, text: str) -> Element:
    """Return a text of this project unescaped: none of it is data."""
    assert "</" not in text
    element = Element(name)
    element.text = text
    return element


def _section(section: Section) -> Element:
    heading = Element("h2", section.title, id=f"{section.key}-title")
    return Element("section", heading, *section.children, id=section.key, aria_labelledby=f"{section.key}-title")


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
