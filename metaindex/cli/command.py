"""A command: its name, help, arguments and verb. `main.COMMANDS` lists them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from metaindex.cli.output import Output

from .arguments import Part


@dataclass(frozen=True, slots=True)
class Command:
    """`line` stands in the list of commands, `about` (with the terms explained) and `examples` in the command's own
    help. `run` returns the exit code; what goes wrong it raises. `also`: names that it had, which are not listed."""

    name: str
    line: str
    about: str
    examples: tuple[str, ...]
    parts: tuple[Part, ...]
    run: Callable[[argparse.Namespace, Output], int]
    also: tuple[str, ...] = ()

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments to a parser."""
        for part in self.parts:
            part(parser)
