"""Base class of values that display themselves: in one line by `repr`, in full by `print`, as HTML in a notebook, and
on a terminal through rich."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from metaindex.core.records import dataclass

if TYPE_CHECKING:
    from rich.console import Group

LINES, WIDTH = 100, 2000
"""What a notebook, or IPython's prompt, shows of an answer; `print` gives all of it."""
BRIEF = 160
"""Characters of an answer in a line."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Numbers stand to the right."""

    title: str
    right: bool = False

    @classmethod
    def named(cls, *titles: str) -> tuple[Column, ...]:
        """Return columns; `>` behind a title puts them to the right."""
        return tuple(cls(title.rstrip(">"), right=title.endswith(">")) for title in titles)


class Tabular(Protocol):
    """A table for people."""

    def _repr_html_(self) -> str: ...


class Printer(Protocol):
    """IPython's, which asks for what a prompt shows."""

    def text(self, text: str) -> None: ...


class Shown:
    """Gives a class with `_printed`, or with `shown` (texts and tables, one below the other), all ways to be looked at:
    names and values in them steer no terminal. A dataclass of it says `repr=False`. One whose first line does not say
    what it is has a `brief`, too."""

    __slots__ = ()

    @property
    def shown(self) -> Sequence[str | Tabular]:
        return (str(self),)

    @property
    def pictured(self) -> Sequence[str | Tabular]:
        """Like `shown`, for a notebook: with pictures, if a class has any."""
        return self.shown

    @property
    def brief(self) -> str:
        """One-line summary."""
        return self._printed().partition("\n")[0]

    def _printed(self) -> str:
        return "\n".join(map(str, self.shown))

    def __str__(self) -> str:
        return lines(self._printed())

    def __repr__(self) -> str:
        """Return one line, for lists, logs and failed assertions."""
        return in_a_line(type(self).__name__, self.brief)

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        """Print at IPython's prompt what `print` shows."""
        printer.text(bounded(str(self)))

    def _repr_html_(self) -> str:
        parts = (_preformatted(part) if isinstance(part, str) else part._repr_html_() for part in self.pictured)
        return f"<div>{''.join(parts)}</div>"

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        return Group(*(Text(lines(part)) if isinstance(part, str) else part for part in self.shown))  # type: ignore[arg-type]


def in_a_line(name: str, brief: str) -> str:
    """`<name: brief>`, not too long."""
    said = one_line(brief.strip())
    return f"<{name}: {said if len(said) <= BRIEF else said[: BRIEF - 3] + '...'}>"


def bounded(text: str) -> str:
    """The first lines, and of these the beginning, without what would steer a terminal."""
    every = text.split("\n")
    shown = [one_line(line if len(line) <= WIDTH else line[:WIDTH] + "...") for line in every[:LINES]]
    left = len(every) - len(shown)
    return "\n".join([*shown, *([f"... and {left:,} more lines; print() shows all"] if left else [])])


def _preformatted(text: str) -> str:
    """Text in HTML, as it is printed: nothing in it is markup."""
    import html

    return f"<pre>{html.escape(bounded(text))}</pre>"


def html_table(
    titles: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], drawn: Mapping[int, Sequence[str]] | None = None
) -> str:
    """Columns (their title, and whether they stand to the right) and rows of texts: nothing in them is markup. `drawn`:
    of a column, by its place, the markup that stands before each text."""
    import html

    def row(tag: str, cells: Sequence[str], before: Mapping[int, str]) -> str:
        sides = ("right" if right else "left" for _, right in titles)
        shown = (
            f'<{tag} style="text-align: {side}">{before.get(at, "")}{html.escape(bounded(cell))}</{tag}>'
            for at, (side, cell) in enumerate(zip(sides, cells, strict=True))
        )
        return f"<tr>{''.join(shown)}</tr>"

    head = row("th", [title for title, _ in titles], {})
    left = len(rows) - LINES
    more = f"<p>... and {left:,} more; print() shows all</p>" if left > 0 else ""
    beside = [{at: f"{column[number]} " for at, column in (drawn or {}).items()} for number in range(len(rows[:LINES]))]
    body = "".join(row("td", cells, before) for cells, before in zip(rows[:LINES], beside, strict=True))
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{more}"


def one_line(text: str) -> str:
    """Control characters would break a table or steer a terminal: they are written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def lines(text: str) -> str:
    """Like `one_line`, for a text of several lines."""
    return text if text.isprintable() else "\n".join(map(one_line, text.split("\n")))
