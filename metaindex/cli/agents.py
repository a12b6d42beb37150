"""`metaindex mcp ROOT|TABLE...`: tools for agents, on standard input and output."""

from __future__ import annotations

import argparse

from metaindex.cli.output import Output
from metaindex.core import Config

from . import arguments as arg

_BUDGET = "bytes of data files that one call may read: more is refused before any is read; default: 256MB"


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex import __version__
    from metaindex.serve import BUDGET, AgentPlaces, Agents, serve_agents

    config = Config(index_location=args.index_location, namespace=args.namespace)
    places = AgentPlaces.of(args.places, dict(args.storage_option), config)
    serve_agents(Agents(places, BUDGET if args.budget is None else int(args.budget)), __version__)
    return arg.DONE


COMMAND = arg.Command(
    "mcp",
    "tools for agents: which tables, what would a question cost, and its answer",
    """Serves the tables below folders or buckets to an agent by the Model Context Protocol, on standard input and
output: an agent's program starts it, and says nothing but its command line. The tools are tables, schema, prune, count,
aggregate, locate, search and what_if. They are read only, see no table outside of the roots and no file outside of a
table, and follow no links.

A call that would read more than the budget is refused before it opens a data file: the refusal names what it would
read, and indexes that may make it cheap. Answers are cut to a bounded number of rows and characters.""",
    (
        "metaindex mcp lake",
        "metaindex mcp s3://lake/gold --storage-option region=eu-west-1 --budget 1GB",
        "metaindex mcp lake/flights lake/events --budget 64MB",
    ),
    (
        arg.word("ROOT|TABLE", "a folder or URI: a table, or with tables below it", "places", nargs="+"),
        arg.option("--budget", "SIZE", _BUDGET, type=arg.value_of("recommend", "budget")),
        arg.STORAGE,
        arg.LOCATION,
        arg.NAMESPACE,
    ),
    _run,
)
