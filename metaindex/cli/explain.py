"""`metaindex explain TABLE PREDICATE`: how a query would be planned."""

from __future__ import annotations

import argparse

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .output import Output


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.predicate(parser)
    arguments.version(parser)
    arguments.only_indexes(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.explain import describe, explain_result

    result = open_from(args).prune(args.predicate, args.version, args.timestamp, indexes=args.index)
    out.data({"predicate": describe(result.predicate), **result.to_json()})
    out.write("" if out.json else explain_result(result))
    return DONE


COMMAND = Command(
    "explain",
    "how would a query be planned, and why?",
    """Shows the predicate as it was understood, part by part, and what each index proved or why it was not used.
A part that no index can read (a function it does not know, say) keeps every file; it is applied when rows are read.""",
    (
        "metaindex explain lake/flights \"dep_delay > 60 AND upper(dest) = 'SEA'\"",
        'metaindex explain lake/flights "dep_delay > 60" --version 3',
    ),
    _arguments,
    _run,
)
