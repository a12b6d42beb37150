"""`metaindex indexes TABLE [NAME]`: the indexes of a table, or all about one."""

from __future__ import annotations

import argparse
import datetime as dt
from typing import TYPE_CHECKING

from . import arguments
from .arguments import DONE, near
from .command import Command
from .opening import open_from
from .output import Column, Output

if TYPE_CHECKING:
    from metaindex.info import IndexInfo


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="all about this one index: its columns and versions too"
    )
    parser.add_argument("--all", action="store_true", help="also those that were vacuumed or never came to be")


def _run(args: argparse.Namespace, out: Output) -> int:
    table = open_from(args)
    found = table.indexes(all=args.all)
    if args.name is not None:
        _one(_named(found, args.name), out)
        return DONE
    out.data([info.to_json() for info in found])
    if not found:
        out.write(f"{table.path} ({table.format}) has no index; build one: metaindex create {table.path} NAME")
        return DONE
    out.table(
        [
            Column("index"),
            Column("state"),
            Column("fresh"),
            Column("kinds"),
            Column("columns", right=True),
            Column("files", right=True),
            Column("versions", right=True),
            Column("size", right=True),
            Column("changed"),
            *([Column("problem")] if any(info.problem for info in found) else []),
        ],
        [_row(info, any(i.problem for i in found)) for info in found],
    )
    return DONE


def _row(info: IndexInfo, with_problem: bool) -> list[str]:
    from metaindex.pruning.result import human_bytes

    cells = [
        info.name,
        _state(info),
        _fresh(info),
        ", ".join(info.kinds) or "-",
        f"{len(info.columns):,}",
        f"{info.files:,}",
        f"{len(info.versions):,}",
        human_bytes(info.size_bytes),
        _time(info.changed_ms),
    ]
    return [*cells, info.problem] if with_problem else cells


def _one(info: IndexInfo, out: Output) -> None:
    from metaindex.pruning.result import human_bytes

    out.data(info.to_json())
    facts = {
        "index": info.name,
        "state": _state(info),
        "fresh": _fresh(info),
        "kinds": ", ".join(info.kinds) or "-",
        "files": f"{info.files:,}"
        + (f", {info.uncovered_files:,} of them uncovered and always read" if info.uncovered_files else ""),
        "size": f"{human_bytes(info.size_bytes)} in {info.runs:,} runs",
        "changed": f"{_time(info.changed_ms)} (log entry {info.entry})",
        "location": info.location,
        "under way": "; ".join(info.under_way),
        "suspected": "; ".join(info.suspected) + (" seems dead: metaindex cancel ends it" if info.suspected else ""),
        "problem": info.problem,
        "columns": ", ".join(info.columns),
        "versions": ", ".join(info.versions),
    }
    for name, value in facts.items():
        if value:
            out.write(f"{name:<10}{value}")


def _named(found: list[IndexInfo], name: str) -> IndexInfo:
    from metaindex.errors import IndexNotFoundError

    for info in found:
        if info.name == name:
            return info
    there = [info.name for info in found]
    raise IndexNotFoundError(
        f"an index is named as it was created; there is no {name!r}; "
        + (near(name, there) or f"there are: {', '.join(there) or 'none'}")
    )


def _state(info: IndexInfo) -> str:
    return info.state + (", its writer seems dead" if info.suspected else "") + ("" if info.enabled else ", disabled")


def _fresh(info: IndexInfo) -> str:
    return {True: "yes", False: "no", None: "-"}[info.fresh]


def _time(ms: int) -> str:
    if not ms:
        return "-"
    return dt.datetime.fromtimestamp(ms / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


COMMAND = Command(
    "indexes",
    "list the indexes of a table",
    """Lists the indexes of a table. "fresh: no" means that the table changed since: queries use the index still and read
in full what it does not know, until `refresh`. With NAME it tells all about one, its versions (time travel) too.""",
    ("metaindex indexes lake/flights", "metaindex indexes lake/flights stats", "metaindex indexes lake/flights --json"),
    _arguments,
    _run,
)
