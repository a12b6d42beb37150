"""`metaindex locate TABLE PREDICATE`: which live files, row groups and rows hold it?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .output import Column, Output
from .progress import Progress

if TYPE_CHECKING:
    from metaindex.locate import Located

_SHOWN = 50


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.predicate(parser)
    exact(parser)
    parser.add_argument(
        "--all-versions",
        action="store_true",
        help="at every version of the table that can still be read, and not only at one",
    )
    arguments.version(parser)
    arguments.only_indexes(parser)


def exact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--exact",
        action="store_true",
        help="read the row groups that may hold it, leave out those that do not, and count the live rows",
    )


def _run(args: argparse.Namespace, out: Output) -> int:
    with Progress() as progress, progress.during("looking"):
        found = open_from(args).locate(
            args.predicate,
            args.version,
            args.timestamp,
            all_versions=args.all_versions,
            exact=args.exact,
            indexes=args.index,
        )
    out.data(found.to_json())
    if not out.json:
        _write(found, out)
    return DONE


def _write(found: Located, out: Output) -> None:
    what = "rows that match" if found.exact else "candidates: may hold rows that match (--exact reads them)"
    many = len(found.versions)
    at = f"version {found.versions[0]}" if many == 1 else f"{many:,} versions"
    out.write(f"{len(found.files):,} files at {at}; {what}")
    rows = found.table.slice(0, _SHOWN).to_pylist()
    columns = [Column("file"), *PLACE]
    if many > 1:
        columns.append(Column("versions"))
    if rows:
        out.write()
        out.table(
            columns, [[row["path"], *place(row)] + ([_versions(row["versions"])] if many > 1 else []) for row in rows]
        )
    more(found.table.num_rows, len(rows), out)
    for note in found.notes:
        out.say(note)


PLACE = (Column("row group", right=True), Column("rows", right=True), Column("match", right=True))


def place(row: dict[str, object]) -> list[str]:
    """Cells of a row group: its number, its rows, those that match."""

    def cell(value: object, unknown: str) -> str:
        return f"{value:,}" if isinstance(value, int) else unknown

    return [cell(row["row_group"], "-"), cell(row["row_count"], "?"), cell(row["matches"], "maybe")]


def more(total: int, shown: int, out: Output) -> None:
    if total > shown:
        out.write(f"... and {total - shown:,} more; --json lists all")


def _versions(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]} ({len(names):,})"


COMMAND = Command(
    "locate",
    "which files, row groups and rows hold a value?",
    """Lists the live data files, and in Parquet their row groups, in which rows that match a predicate may be: "where is the
data of user 42?". The indexes, the table's log and the footers of the kept files leave candidates; with --exact those
are read, and the rows that are not deleted counted. With --all-versions every version that the table still keeps is
asked: a value that was deleted lives on in files of old versions until the table's own clean-up removes them.""",
    (
        'metaindex locate lake/events "user_id = 42"',
        'metaindex locate lake/events "user_id = 42" --exact',
        'metaindex locate lake/events "user_id = 42" --all-versions --exact --json',
        "metaindex locate lake/flights \"tailnum = 'N14228' AND month = 1\" --version 3",
    ),
    _arguments,
    _run,
)
