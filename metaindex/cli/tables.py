"""The commands that tell how indexes are: indexes, history, queries, savings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metaindex.cli.output import Output
from metaindex.core import ArgumentError, IndexNotFoundError

from .arguments import DONE, INDEX, SINCE, TABLE, VERSION, Command, at_least_zero, duration, flag, near, option, word
from .opening import answers, open_from, write, write_parts
from .output import busy

if TYPE_CHECKING:
    from metaindex.table import IndexInfo, Table

_ENTRIES = 30


def _indexes(args: argparse.Namespace, out: Output) -> int:
    from metaindex.table import handle_of, hint

    table = open_from(args)
    with busy("comparing the indexes with the table"):
        indexes = table.indexes(all=args.all, version=args.version, timestamp=args.timestamp, staleness=not args.quick)
    if args.name is not None:
        named = _named(indexes, args.name)
        out.data(named.to_json())
        out.write(str(named))
        _tell_suspected(table, [named], out)
        return DONE
    out.data(indexes.to_json())
    if indexes:
        write_parts(indexes.shown, out)
        _tell_suspected(table, indexes, out)
    else:
        cure = hint(args.table) or f"build one: {handle_of(table).command('create', 'NAME')}"
        out.write(f"{table.path} ({table.format}) has no index; {cure}")
    return DONE


def _tell_suspected(table: Table, indexes: Sequence[IndexInfo], out: Output) -> None:
    from metaindex.table import handle_of

    for info in indexes:
        for mark in info.suspected:
            cancel = handle_of(table).command("cancel", info.name)
            out.say(f"metaindex: {info.name}: {mark} seems dead: {cancel} ends it")


def _named(indexes: Sequence[IndexInfo], name: str) -> IndexInfo:
    there = {info.name: info for info in indexes}
    if name not in there:
        cure = near(name, there) or f"there are: {', '.join(there) or 'none'}"
        raise IndexNotFoundError(f"an index is named as it was created; there is no {name!r}; {cure}")
    return there[name]


INDEXES = Command(
    "indexes",
    "list the indexes of a table, and how far each is behind it",
    """Lists the indexes of a table. "fresh: no" means that the table changed since: queries use the index still and
read in full what it does not know (so many files and bytes behind), until `refresh`. With NAME it tells all about
one: its columns, its versions (time travel), what is under way. "size" is what lies on storage; "old" of it are
runs that were merged or replaced, which `clean` removes after its retention. --version asks how the
index stands to an older version of the table.""",
    (
        "metaindex indexes lake/flights",
        "metaindex indexes lake/flights stats",
        "metaindex indexes lake/flights --version 3",
        "metaindex indexes lake/flights --json",
    ),
    (
        TABLE,
        word("NAME", "all about this one index: its columns and versions too", nargs="?"),
        flag("--all", "also those that were vacuumed or never came to be"),
        flag("--quick", "leave out how many files an index is behind, and what it takes on storage"),
        VERSION,
    ),
    _indexes,
)


HISTORY = Command(
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
    (
        TABLE,
        INDEX,
        option(
            "--last",
            "N",
            f"the last N entries; default: {_ENTRIES}; 0: all that the log has",
            type=at_least_zero,
            default=_ENTRIES,
        ),
    ),
    answers("reading the index's log", lambda table, args: table.history(args.name, last=args.last or None)),
)


def _queries(args: argparse.Namespace, out: Output) -> int:
    from metaindex.query import TableQueryLog
    from metaindex.table import handle_of

    if not args.clean and (args.keep is not None or args.keep_bytes is not None):
        raise ArgumentError("--keep and --keep-bytes say what --clean leaves; it is not given; add --clean")
    if args.clean and args.since is not None:
        raise ArgumentError(
            "--since chooses queries to show, and --clean shows none; say --keep TIME, or leave one out"
        )
    table = open_from(args)
    handle = handle_of(table)
    if not args.clean:
        return write(handle.made(TableQueryLog).read(args.since).summary(table.path), out)
    days = None if args.keep is None else args.keep.total_seconds() / 86400
    cleaned = handle.made(TableQueryLog).clean(keep_days=days, keep_bytes=args.keep_bytes)
    out.data(cleaned.to_json())
    out.write("\n".join((str(cleaned), *(f"left as it is: {left}" for left in cleaned.left))))
    return DONE


QUERIES = Command(
    "queries",
    "which queries were noted, how often, and what did they read?",
    """Groups the queries of the table's query log by what they have in common: their condition, values apart. "helped"
counts those of which an index left files out, or was read in the table's place; files and bytes are sums, and
"planning ms" is the mean time that metaindex took to answer.

Queries are noted where that is switched on: Config(query_log=True) in Python, METAINDEX_QUERY_LOG=kept in the
environment, --query-log kept for one command, spark.metaindex.queryLog=kept in a Spark session.""",
    (
        "metaindex queries lake/flights",
        "metaindex queries lake/flights --since 7d --json",
        "metaindex queries lake/flights --clean --keep 30d",
    ),
    (
        TABLE,
        SINCE,
        flag("--clean", "remove what is too old or too much, and merge small files, in its place"),
        option("--keep", "TIME", "with --clean: how old queries may be; default: 90d", type=duration),
        option("--keep-bytes", "N", "with --clean: how large the log may be; default: 67108864", type=at_least_zero),
    ),
    _queries,
)


SAVINGS = Command(
    "savings",
    "what did the indexes leave out of queries, and what do they cost?",
    """Sums up the query log of the table, by index and by day (UTC), beside the bytes that each index takes and those
that refreshes and merges write a day. A query is helped where an index left files out of it, or was read in the table's
place; one that several indexes helped counts for each of them, and once in the sums. Bytes are of whole files, as
planned: an engine may read less of a file.

Queries are noted where that is switched on; metaindex queries --help says how.""",
    ("metaindex savings lake/flights", "metaindex savings lake/flights --since 30d --json"),
    (TABLE, SINCE),
    answers("reading the query log", lambda table, args: table.savings(args.since)),
)
