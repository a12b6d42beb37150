"""`metaindex history TABLE NAME`: what happened to an index, and how far behind its table it was."""

from __future__ import annotations

import argparse

from metaindex.core import Output

from . import arguments
from .arguments import DONE
from .command import Command
from .indexes import write_shown
from .opening import open_from
from .progress import Progress

_SHOWN = 30


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)
    parser.add_argument(
        "--last",
        type=arguments.at_least_zero,
        default=_SHOWN,
        metavar="N",
        help=f"the last N entries; default: {_SHOWN}; 0: all that the log has",
    )


def _run(args: argparse.Namespace, out: Output) -> int:
    with Progress() as progress, progress.during("reading the index's log"):
        history = open_from(args).history(args.name, last=args.last or None)
    out.data(history.to_json())
    if out.json:
        return DONE
    write_shown(history.shown, out)
    return DONE


COMMAND = Command(
    "history",
    "what happened to an index, by whom, how long it took, how far behind it was",
    """Lists the entries of an index's log, oldest first, times in UTC. An operation that takes time has two: its
begin and its end ("commit", "abandon" where it failed, "cancel"). "took" is from begin to end; "behind" (lag) is from
the table's commit to the index standing at that version, for versions that a refresh recorded. Commits between two
refreshes are not counted: the later refresh served them all. `clean` removes old entries.""",
    (
        "metaindex history lake/flights stats",
        "metaindex history lake/flights stats --last 5",
        "metaindex history lake/flights stats --last 0 --json | jq .lag",
    ),
    _arguments,
    _run,
)
