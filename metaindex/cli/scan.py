"""`metaindex scan TABLE [PREDICATE]`: the rows that match, read from the kept files only."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import Column, Output, cell, counted, json_value, rows_of

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .progress import Progress
from .saving import check_target, save

if TYPE_CHECKING:
    from metaindex.query import Scan

_SHOWN = 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "predicate", metavar="PREDICATE", nargs="?", help="a SQL condition as behind WHERE; none: every row"
    )
    parser.add_argument("--columns", type=arguments.names, metavar="A,B", help="only these columns; default: all")
    parser.add_argument(
        "--limit",
        type=_limit,
        metavar="N|all",
        help=f"stop after N rows, from 1 on; all: every row; default: {_SHOWN}, and all with --output or --count",
    )
    parser.add_argument("--count", action="store_true", help="only count the rows")
    parser.add_argument("--output", metavar="FILE", help="write the rows to FILE: .parquet, .csv or .jsonl")
    parser.add_argument("--overwrite", action="store_true", help="--output may replace a file")
    arguments.version(parser)
    arguments.only_indexes(parser)
    arguments.query_log(parser)


def _limit(text: str) -> int:
    """Parse a limit, or "all", which is 0 internally; 0 itself is refused, as in SQL it means no row."""
    if text.lower() == "all":
        return 0
    try:
        return arguments.at_least_one(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"a limit is a number of rows from 1 on, or all; got {text!r}; leave it out for {_SHOWN} rows, say all for"
            " every row, or --count for how many there are"
        ) from None


def _run(args: argparse.Namespace, out: Output) -> int:
    table = open_from(args)
    if args.output is not None:
        check_target(args.output, table.path, args.overwrite)
    limit = args.limit if args.limit is not None else (0 if args.output or args.count else _SHOWN)
    asked = (args.predicate, args.columns, args.version, args.timestamp)
    scan = table.scan(*asked, limit=limit or None, indexes=args.index)
    with Progress() as progress:
        batches = _watched(scan, progress)
        if args.count:
            count = sum(batch.num_rows for batch in batches)
            out.data({"rows": count, **_files(scan)})
            out.write(f"{count}")
        elif args.output is not None:
            count = save(args.output, scan.schema, batches)
            out.data({"rows": count, "output": args.output, **_files(scan)})
            out.write(f"{counted(count, 'row')} written to {args.output}")
        else:
            rows = pa.Table.from_batches(batches, schema=scan.schema)
            _show(rows, scan, limit, out)
    return DONE


def _watched(scan: Scan, progress: Progress) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in scan.to_batches():
        rows += batch.num_rows
        progress("rows read", rows, rows)
        yield batch


def _show(table: pa.Table, scan: Scan, limit: int, out: Output) -> None:
    rows = rows_of(table) if table.num_columns else []
    out.data(
        {
            "columns": table.column_names,
            "rows": [{k: json_value(v) for k, v in row.items()} for row in rows],
            **_files(scan),
        }
    )
    if out.json:
        return
    right = [pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) for t in table.schema.types]
    out.table(
        [Column(name, right=r) for name, r in zip(table.column_names, right, strict=True)],
        [[cell(row[name]) for name in table.column_names] for row in rows],
    )
    files = _files(scan)
    more = (
        f"{counted(table.num_rows, 'row')}, there may be more (--limit)"
        if limit and table.num_rows == limit
        else counted(table.num_rows, "row")
    )
    out.say(f"{more}; {files['kept_files']:,} of {files['total_files']:,} files may hold such rows")


def _files(scan: Scan) -> dict[str, int]:
    total = len(scan.snapshot.files) if scan.result is None else scan.result.total_files
    return {"kept_files": len(scan.file_rows), "total_files": total}


COMMAND = Command(
    "scan",
    "read the rows that match, from the kept files only",
    """Reads the rows that match a predicate: the indexes say which files can hold any, only those are read, rows
deleted in the table are left out, and the predicate is applied again. The answer is the one that a full read gives.""",
    (
        'metaindex scan lake/flights "dep_delay > 1000"',
        'metaindex scan lake/flights "dep_delay > 1000" --columns tailnum,dep_delay --limit 5',
        "metaindex scan lake/flights \"dest = 'ABQ'\" --output abq.parquet",
        "metaindex scan lake/flights \"date(time_hour) = '2013-03-01' AND lower(dest) = 'abq'\"",
        'metaindex scan lake/flights "dep_delay > 1000" --version 3 --count',
    ),
    _arguments,
    _run,
)
