"""Texts for people: lines in which nothing steers a terminal, and columns of tables; as HTML, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaindex.core.records import dataclass

LINES, WIDTH = 100, 2000
"""What a notebook, or IPython's prompt, shows of an answer; `print` gives all of it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Numbers stand to the right."""

    title: str
    right: bool = False

    @classmethod
    def named(cls, *titles: str) -> tuple[Column, ...]:
        """Return columns; `>` behind a title puts them to the right."""
        return tuple(cls(title.rstrip(">"), right=title.endswith(">")) for title in titles)


def bounded(text: str) -> str:
    """The first lines, and of these the beginning, without what would steer a terminal."""
    every = text.split("\n")
    shown = [one_line(line if len(line) <= WIDTH else line[:WIDTH] + "...") for line in every[:LINES]]
    left = len(every) - len(shown)
    return "\n".join([*shown, *([f"... and {left:,} more lines; print() shows all"] if left else [])])


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
