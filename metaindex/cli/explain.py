"""`metaindex explain TABLE PREDICATE`: how a query would be planned."""

from __future__ import annotations

import argparse

from metaindex.core import Output
from metaindex.statements import in_options

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.predicate(parser)
    arguments.version(parser)
    arguments.only_indexes(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    with Progress() as progress, progress.during("planning"):
        explanation = open_from(args).explain(args.predicate, args.version, args.timestamp, indexes=args.index)
    out.data(explanation.to_json())
    out.write("" if out.json else in_options(str(explanation)))
    return DONE


COMMAND = Command(
    "explain",
    "how would a query be planned, and why?",
    """Shows the predicate as it was understood, part by part, how many of the version's files each index covers, and
what it proved or why it was not used. An index answers for every version whose files it knows, older and newer ones:
"recorded" means that it has seen exactly this version, so that the table's log need not be read to plan. A part that
no index can read (a function it does not know, say) keeps every file; it is applied when rows are read.""",
    (
        "metaindex explain lake/flights \"dep_delay > 60 AND upper(dest) = 'SEA'\"",
        'metaindex explain lake/flights "dep_delay > 60" --version 3',
    ),
    _arguments,
    _run,
)
