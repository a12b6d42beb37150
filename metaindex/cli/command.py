"""A command: its name, help, arguments and verb. `main.COMMANDS` lists them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from metaindex.core import Output


@dataclass(frozen=True, slots=True)
class Command:
    """`line` stands in the list of commands, `about` (with the terms explained) and `examples` in the command's own
    help. `run` returns the exit code; what goes wrong it raises. `more`: arguments that it takes time to find, for
    which only the command itself is made to wait."""

    name: str
    line: str
    about: str
    examples: tuple[str, ...]
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Output], int]
    more: Callable[[argparse.ArgumentParser], None] | None = None
