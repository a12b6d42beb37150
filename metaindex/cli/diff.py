"""`metaindex diff TABLE`: what changed between two versions of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from metaindex.core import Column, Output, counted
from metaindex.query import human_bytes

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .progress import Progress

if TYPE_CHECKING:
    from metaindex.formats import FileTable

_SHOWN = 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    group = parser.add_argument_group("from which version (--since or --since-time), to which (default: now)")
    since = group.add_mutually_exclusive_group(required=True)
    since.add_argument("--since", metavar="V", help="a version, as in --version of other commands")
    since.add_argument(
        "--since-time", metavar="T", help="the version that was current then: ISO 8601, UTC where it names no zone"
    )
    until = group.add_mutually_exclusive_group()
    until.add_argument("--until", metavar="V", help="a version; one older than --since is no error")
    until.add_argument("--until-time", metavar="T", help="the version that was current then")


def _run(args: argparse.Namespace, out: Output) -> int:
    table = open_from(args)
    with Progress() as progress, progress.during("reading the table's log"):
        diff = table.diff(args.since, args.until, base_timestamp=args.since_time, target_timestamp=args.until_time)
    kinds = {"appended": diff.appended, "deleted": diff.deleted, "deletes changed": diff.deletes_changed}
    out.data(
        {
            "table": table.path,
            "base": diff.base.id,
            "target": diff.target.id,
            "schema_changed": diff.schema_changed,
            "source": diff.source,
            **{name.replace(" ", "_"): _rows(files) for name, files in kinds.items()},
        }
    )
    if out.json:
        return DONE
    out.write(
        f"{table.path} ({table.format}) from version {diff.base} to {diff.target}"
        + (", the schema changed" if diff.schema_changed else "")
    )
    for name, files in kinds.items():
        out.write(f"{name}: {counted(len(files), 'file')}, {human_bytes(files.size_bytes)}")
    shown = [(name, row) for name, files in kinds.items() for row in _rows(files, _SHOWN)]
    if shown:
        out.write()
        out.table(
            [Column("what"), Column("file"), Column("size", right=True), Column("partition")],
            [
                [name, str(row["path"]), human_bytes(int(str(row["size_bytes"]))), str(row["partition"])]
                for name, row in shown
            ],
        )
    hidden = sum(len(files) for files in kinds.values()) - len(shown)
    if hidden:
        out.write(f"... and {hidden:,} more; --json lists all")
    return DONE


def _rows(files: FileTable, most: int | None = None) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = files.table.select(["path", "size_bytes", "partition"]).slice(0, most).to_pylist()
    return rows


COMMAND = Command(
    "diff",
    "what changed between two versions of a table",
    """Lists the data files that came, those that left, and those whose deleted rows changed, from one version of a
table to another. The table's log is asked where it serves the range, else the two lists of files are compared. No
index is needed, and no data file is read.""",
    (
        "metaindex diff lake/flights --since 3",
        "metaindex diff lake/flights --since 3 --until 7",
        "metaindex diff lake/flights --since-time 2026-01-31T12:00:00 --json",
    ),
    _arguments,
    _run,
)
