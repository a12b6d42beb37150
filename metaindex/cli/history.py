"""`metaindex history TABLE NAME`: what happened to an index, and how far behind its table it was."""

from __future__ import annotations

import argparse
import datetime as dt

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .output import Column, Output
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
        found = open_from(args).history(args.name, last=args.last or None)
    out.data(found.to_json())
    if out.json:
        return DONE
    out.table(
        [
            Column("entry", right=True),
            Column("when"),
            Column("what"),
            Column("took", right=True),
            Column("behind", right=True),
            Column("who"),
            Column("changes"),
        ],
        [
            [
                f"{one.entry}",
                dt.datetime.fromtimestamp(one.at_ms / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S") if one.at_ms else "-",
                one.verb,
                duration(one.duration_ms),
                duration(one.lag_ms),
                one.who or "-",
                one.changes or "-",
            ]
            for one in found.entries
        ],
    )
    if found.earlier:
        out.write(f"{found.earlier:,} earlier entries; --last 0 shows all")
    lag = found.lag
    if lag.versions:
        out.write(
            f"lag from the table's commit to the index standing at it: median {duration(lag.median_ms)}, p99 {duration(lag.p99_ms)}, "
            f"longest {duration(lag.longest_ms)}, over {lag.versions:,} recorded version{'' if lag.versions == 1 else 's'}"
        )
    return DONE


def duration(ms: int | None) -> str:
    """A time that a person can read."""
    if ms is None:
        return "-"
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms / 1000
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} days"


COMMAND = Command(
    "history",
    "what happened to an index, by whom, how long it took, how far behind it was",
    """Lists the entries of an index's log, oldest first, times in UTC. An operation that takes time has two: its begin and its
end ("commit", "abandon" where it failed, "cancel"). "took" is from begin to end; "behind" (lag) is from the table's
commit to the index standing at that version, for versions that a refresh recorded. Commits between two refreshes are
not counted: the later refresh served them all. `clean` removes old entries.""",
    (
        "metaindex history lake/flights stats",
        "metaindex history lake/flights stats --last 5",
        "metaindex history lake/flights stats --last 0 --json | jq .lag",
    ),
    _arguments,
    _run,
)
