"""The options of `metaindex create`, and the kinds of an index that they describe."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaindex.index import Kind, KindCommand


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add options of each kind, of installed packages too, in groups that say what the kind is for."""
    for command in _commands():
        command.arguments(parser)


def kinds_of(args: argparse.Namespace) -> list[Kind]:
    """The kinds that were asked for. Raises ArgumentError for an option of a kind that is not among them."""
    asked = [(command, command.kinds(args, False)) for command in _commands()]
    alone = not any(kinds for _, kinds in asked)
    return [kind for command, kinds in asked for kind in (kinds or command.kinds(args, alone))]


def named_kinds(args: argparse.Namespace) -> list[Kind]:
    """Return the kinds that were asked for by name; none if no option names one."""
    return [kind for command in _commands() for kind in command.kinds(args, False)]


def _commands() -> Sequence[KindCommand[Kind]]:
    from metaindex.index import KINDS  # help of other commands need not wait for them

    return [command for kind in (*KINDS, *KINDS.others().values()) if (command := kind.command()) is not None]
