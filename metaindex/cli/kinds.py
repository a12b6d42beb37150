"""The options of `metaindex create`, and the kinds of an index that they describe."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from metaindex.index import KINDS, Kind, KindCommand, others

_OWN = tuple(command for kind in KINDS if (command := kind.command()) is not None)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of each kind of metaindex, in groups that say what the kind is for."""
    for command in _OWN:
        command.arguments(parser)


def arguments_of_others(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of kinds that installed packages bring."""
    for command in _of_others():
        command.arguments(parser)


def kinds_of(args: argparse.Namespace) -> list[Kind]:
    """The kinds that were asked for. Raises ArgumentError for an option of a kind that is not among them."""
    asked = [(command, command.kinds(args, False)) for command in (*_OWN, *_of_others())]
    alone = not any(kinds for _, kinds in asked)
    return [kind for command, kinds in asked for kind in (kinds or command.kinds(args, alone))]


def named_kinds(args: argparse.Namespace) -> list[Kind]:
    """Return the kinds that were asked for by name; none if no option names one."""
    return [kind for command in (*_OWN, *_of_others()) for kind in command.kinds(args, False)]


def _of_others() -> Sequence[KindCommand[Kind]]:
    return [command for kind in others().values() if (command := kind.command()) is not None]
