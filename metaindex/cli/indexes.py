"""`metaindex indexes TABLE [NAME]`: the indexes of a table, or all about one."""

from __future__ import annotations

import argparse
import datetime as dt
from typing import TYPE_CHECKING

from metaindex.pruning.result import human_bytes

from . import arguments
from .arguments import DONE, near
from .command import Command
from .opening import open_from
from .output import Column, Output
from .progress import Progress

if TYPE_CHECKING:
    from metaindex.info import IndexInfo


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="all about this one index: its columns and versions too"
    )
    parser.add_argument("--all", action="store_true", help="also those that were vacuumed or never came to be")
    parser.add_argument(
        "--quick", action="store_true", help="leave out how many files an index is behind, and what it takes on storage"
    )
    arguments.version(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    table = open_from(args)
    with Progress() as progress, progress.during("comparing the indexes with the table"):
        found = table.indexes(all=args.all, version=args.version, timestamp=args.timestamp, staleness=not args.quick)
    if args.name is not None:
        _one(_named(found, args.name), out)
        return DONE
    out.data(found.to_json())
    if not found:
        out.write(f"{table.path} ({table.format}) has no index; build one: metaindex create {table.path} NAME")
        return DONE
    with_problem = any(info.problem for info in found)
    out.table(
        [
            Column("index"),
            Column("state"),
            Column("fresh"),
            Column("kinds"),
            Column("files", right=True),
            Column("versions"),
            Column("runs", right=True),
            Column("size", right=True),
            Column("changed"),
            *([Column("problem")] if with_problem else []),
        ],
        [_row(info, with_problem) for info in found],
    )
    for info in found:
        for mark in info.suspected:
            out.say(f"metaindex: {info.name}: {mark} seems dead: metaindex cancel {table.path} {info.name} ends it")
    return DONE


def _row(info: IndexInfo, with_problem: bool) -> list[str]:
    cells = [
        info.name,
        _state(info),
        _fresh(info) + _behind(info),
        ", ".join(info.kinds) or "-",
        f"{info.files:,}",
        f"{len(info.versions):,}" + (f", newest {_shortened(info.newest_version)}" if info.newest_version else ""),
        f"{info.runs:,}",
        human_bytes(info.size_bytes if info.stored_bytes is None else info.stored_bytes),
        _time(info.changed_ms),
    ]
    return [*cells, info.problem] if with_problem else cells


def _behind(info: IndexInfo) -> str:
    return f" ({_files(info.new_files)}, {human_bytes(info.new_bytes or 0)} behind)" if info.new_files else ""


def _shortened(version: str) -> str:
    """Listings of plain files and Iceberg snapshots have long names; `indexes TABLE NAME` shows them whole."""
    return version if len(version) <= 12 else version[:9] + "..."


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"


def _one(info: IndexInfo, out: Output) -> None:
    out.data(info.to_json())
    facts = {
        "index": info.name,
        "state": _state(info),
        "fresh": _fresh(info),
        "kinds": ", ".join(info.kinds) or "-",
        "files": f"{info.files:,}"
        + (f", {info.uncovered_files:,} of them uncovered and always read" if info.uncovered_files else ""),
        "behind": "" if info.new_files is None else _behind_in_words(info),
        "newest": f"version {info.newest_version}, committed {_time(info.newest_ms or 0)}"
        if info.newest_version
        else "",
        "size": f"{human_bytes(info.size_bytes)} in {info.runs:,} runs"
        + (
            ""
            if info.stored_bytes is None
            else f"; {human_bytes(info.stored_bytes)} on storage with what clean may remove"
        ),
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


def _behind_in_words(info: IndexInfo) -> str:
    new = (
        f"{_files(info.new_files or 0)} of the table, {human_bytes(info.new_bytes or 0)}, not covered and always read"
        if info.new_files
        else "nothing"
    )
    return new + (
        f"; {_files(info.gone_files)}, {human_bytes(info.gone_bytes or 0)}, gone from it" if info.gone_files else ""
    )


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
    "list the indexes of a table, and how far each is behind it",
    """Lists the indexes of a table. "fresh: no" means that the table changed since: queries use the index still and read in
full what it does not know (so many files and bytes behind), until `refresh`. With NAME it tells all about one: its
columns, its versions (time travel), what is under way. "size" is what lies on storage, old runs that `clean` would
remove included. --version asks how the index stands to an older version of the table.""",
    (
        "metaindex indexes lake/flights",
        "metaindex indexes lake/flights stats",
        "metaindex indexes lake/flights --version 3",
        "metaindex indexes lake/flights --json",
    ),
    _arguments,
    _run,
)
