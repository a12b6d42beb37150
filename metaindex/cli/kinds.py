"""The options of `metaindex create`, and the kinds of an index that they describe."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaindex.index import Kind


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add options of each kind, of installed packages too, in groups that say what the kind is for."""
    from metaindex.index import KINDS  # help of other commands need not wait for them

    for command in KINDS.commands():
        command.arguments(parser)


def kinds_of(args: argparse.Namespace) -> list[Kind]:
    """The kinds that were asked for. Raises ArgumentError for an option of a kind that is not among them."""
    from metaindex.index import KINDS

    asked = [(command, command.kinds(args, False)) for command in KINDS.commands()]
    alone = not any(kinds for _, kinds in asked)
    return [kind for command, kinds in asked for kind in (kinds or command.kinds(args, alone))]


def named_kinds(args: argparse.Namespace) -> list[Kind]:
    """Return the kinds that were asked for by name; none if no option names one."""
    from metaindex.index import KINDS

    return [kind for command in KINDS.commands() for kind in command.kinds(args, False)]
