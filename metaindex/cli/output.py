"""What a command writes: the answer to stdout, everything else to stderr.

For people: text and tables, drawn by rich on a terminal, and plain columns (no colour codes, nothing cut off) in a pipe.
For machines (`--json`): one JSON value on stdout and nothing else there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TextIO


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Numbers stand to the right."""

    title: str
    right: bool = False


@dataclass(slots=True)
class Output:
    """`json` is what the user asked for; `write` and `table` are for people and write nothing then."""

    json: bool = False

    def write(self, text: str = "") -> None:
        """A line (or lines) of the answer, for people."""
        if not self.json:
            _print(text, sys.stdout)

    def say(self, text: str) -> None:
        """A remark beside the answer."""
        _print(text, sys.stderr)

    def data(self, value: object) -> None:
        """The answer for machines. Nothing is written unless --json was given."""
        if self.json:
            _print(json.dumps(value, indent=2, allow_nan=False, default=str, ensure_ascii=False), sys.stdout)

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]], title: str = "") -> None:
        if self.json:
            return
        if title:
            _print(title, sys.stdout)
        if sys.stdout.isatty():
            _rich_table(columns, rows)
        else:
            _print(plain_table(columns, rows), sys.stdout)


def plain_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns two spaces apart. Line breaks inside a cell are written as \\n, so that a row is a line."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max([len(c.title), *(len(row[i]) for row in cells)]) for i, c in enumerate(columns)]

    def line(values: Sequence[str]) -> str:
        aligned = (v.rjust(w) if c.right else v.ljust(w) for v, w, c in zip(values, widths, columns, strict=True))
        return "  ".join(aligned).rstrip()

    return "\n".join([line([c.title for c in columns]), line(["-" * w for w in widths]), *map(line, cells)])


def one_line(text: str) -> str:
    """Control characters would break a table or steer a terminal: they are written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _rich_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        # What a row is called stays in one piece on a narrow terminal.
        least = min(max((len(row[at]) for row in rows), default=0), 24) if at == 0 else None
        justify: Literal["right", "left"] = "right" if column.right else "left"
        drawn.add_column(Text(column.title), justify=justify, overflow="fold", min_width=least)
    for row in rows:
        drawn.add_row(*(Text(one_line(cell)) for cell in row))
    Console(file=sys.stdout).print(drawn)


def _print(text: str, stream: TextIO) -> None:
    stream.write(text + "\n")
    stream.flush()
