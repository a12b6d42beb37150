"""What a command writes: the answer to stdout, everything else to stderr.

For people: text and tables, drawn by rich on a terminal, and plain columns (no colour codes, nothing cut off) in a pipe.
For machines (`--json`): one JSON value on stdout and nothing else there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from metaindex.text_table import Column as Column
from metaindex.text_table import one_line as one_line
from metaindex.text_table import plain_table as plain_table
from metaindex.text_table import rich_table


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

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        if self.json:
            return
        if sys.stdout.isatty():
            from rich.console import Console

            Console(file=sys.stdout).print(rich_table(columns, rows))
        else:
            _print(plain_table(columns, rows), sys.stdout)


def _print(text: str, stream: TextIO) -> None:
    stream.write(text + "\n")
    stream.flush()
