"""The output of a command: its answer goes to stdout, everything else to stderr.

For people: text and tables, drawn by rich on a terminal, and plain columns (no colour codes, nothing cut off) in a
pipe. For machines (`--json`): one JSON value on stdout and nothing else there.

Names, paths, predicates and messages are others' texts. All that a command writes goes through `show` (or rich, by
`text_table`), where what would steer a terminal is written as an escape.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from metaindex.core import Column, TextTable, one_line


@dataclass(slots=True)
class Output:
    """`json` is what the user asked for; `write` and `table` are for people and write nothing then."""

    json: bool = False

    def write(self, text: str = "") -> None:
        """A line (or lines) of the answer, for people."""
        if not self.json:
            show(text, sys.stdout)

    def exact(self, names: Sequence[str]) -> None:
        """A name a line, as it is: for a program in a pipe. A terminal gets what it can show."""
        if sys.stdout.isatty():
            self.write("\n".join(map(one_line, names)))
        else:
            sys.stdout.write("\n".join(names) + "\n")
            sys.stdout.flush()

    def say(self, text: str) -> None:
        """A remark beside the answer."""
        show(text, sys.stderr)

    def data(self, value: object) -> None:
        """The answer for machines. Nothing is written unless --json was given."""
        if self.json:
            show(json_text(value, indent=2), sys.stdout)

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        if self.json:
            return
        drawn = TextTable(tuple(columns), tuple(map(tuple, rows)))
        if sys.stdout.isatty():
            from rich.console import Console

            Console(file=sys.stdout).print(drawn)
        else:
            show(str(drawn), sys.stdout)


def show(text: str, stream: TextIO) -> None:
    """A line, or lines."""
    stream.write("\n".join(map(one_line, text.split("\n"))) + "\n")
    stream.flush()


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that a terminal shows as it is: characters that would steer it are escaped as JSON does. Other letters stay
    readable."""
    text = json.dumps(value, indent=indent, allow_nan=False, default=str, ensure_ascii=False)
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
