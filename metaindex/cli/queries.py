"""The commands that ask a table: prune, scan, count, locate, search, explain, diff, clustering."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metaindex.cli.output import Output
from metaindex.core import Column, counted

from . import arguments
from .arguments import ANY_PREDICATE, AT, DONE, EXACT, PREDICATE, QUERY_LOG, TABLE, Command, asked_at, flag, option
from .opening import answers, open_from
from .output import Progress, busy

if TYPE_CHECKING:
    import pyarrow as pa

    from metaindex.formats import FileTable
    from metaindex.query import Scan

_SHOWN = 20


# -- prune -------------------------------------------------------------------------------------------------------------


def _prune(args: argparse.Namespace, out: Output) -> int:
    from metaindex.core import human_bytes

    result = open_from(args).prune(args.predicate, **asked_at(args))
    if args.paths and not out.json:
        if paths := result.paths:
            out.exact(paths)
        return DONE
    out.data(result.to_json())
    if out.json:
        return DONE
    if result.kept_files == result.total_files:
        out.write(f"{result}\nevery file is kept")
        return DONE
    out.write(str(result) + "\n")
    kept = result.files.table.slice(0, _SHOWN)
    rows = kept.select(["path", "size_bytes", "partition", "record_count"]).to_pylist()
    told = kept.column("record_count").null_count < len(rows)  # by the table's log; no file is opened for it
    cells = [
        [row["path"], human_bytes(row["size_bytes"]), row["partition"], "-" if count is None else f"{count:,}"]
        for row in rows
        for count in [row["record_count"]]
    ]
    titles = Column.named("kept file", "size>", "partition", *(["rows>"] if told else []))
    out.table(titles, [row[: len(titles)] for row in cells])
    if result.kept_files > _SHOWN:
        out.write(f"... and {result.kept_files - _SHOWN:,} more; --paths lists all")
    return DONE


PRUNE = Command(
    "prune",
    "which files can hold rows that match a predicate?",
    """Says which files of a table must be read for a predicate. A file is dropped only where an index (or the table's
own log) proves that no row in it can match; what is not proved is kept. No data file is read.""",
    (
        'metaindex prune lake/flights "dep_delay > 1000"',
        "metaindex prune lake/flights \"tailnum = 'N14228' AND month = 1\" --paths | xargs -d '\\n' ls -l",
        'metaindex prune lake/flights "dep_delay > 1000" --version 3',
        "metaindex prune lake/flights \"origin IN ('JFK', 'LGA')\" --timestamp 2026-01-31T12:00:00 --json",
        'metaindex prune lake/flights "dep_delay > 1000" --no-indexes     what the table alone can prove',
    ),
    (TABLE, PREDICATE, flag("--paths", "write only the paths of the kept files, one a line"), AT, QUERY_LOG),
    _prune,
)


# -- scan --------------------------------------------------------------------------------------------------------------


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


def _scan(args: argparse.Namespace, out: Output) -> int:
    from .saving import check_target, save

    table = open_from(args)
    if args.output is not None:
        check_target(args.output, table.path, args.overwrite)
    limit = args.limit if args.limit is not None else (0 if args.output or args.count else _SHOWN)
    scan = table.scan(args.predicate, args.columns, limit=limit or None, **asked_at(args))
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
            _write_rows(batches, scan, limit, out)
    return DONE


def _watched(scan: Scan, progress: Progress) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in scan.to_batches():
        rows += batch.num_rows
        progress("rows read", rows, rows)
        yield batch


def _write_rows(batches: Iterator[pa.RecordBatch], scan: Scan, limit: int, out: Output) -> None:
    import pyarrow as pa

    from metaindex.core import ArrowRows

    table, files = pa.Table.from_batches(batches, schema=scan.schema), _files(scan)
    rows, names = ArrowRows(table), table.column_names
    out.data({"columns": names, "rows": rows.plain() if names else [], **files})
    if out.json:
        return
    right = [pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) for t in table.schema.types]
    out.table(
        [Column(name, right=r) for name, r in zip(names, right, strict=True)],
        rows.cells(),
    )
    more = ", there may be more (--limit)" if limit and table.num_rows == limit else ""
    kept = f"{files['kept_files']:,} of {files['total_files']:,} files may hold such rows"
    out.say(f"{counted(table.num_rows, 'row')}{more}; {kept}")


def _files(scan: Scan) -> dict[str, int]:
    total = len(scan.snapshot.files) if scan.result is None else scan.result.total_files
    return {"kept_files": len(scan.file_rows), "total_files": total}


SCAN = Command(
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
    (
        TABLE,
        ANY_PREDICATE,
        option("--columns", "A,B", "only these columns; default: all", type=arguments.names),
        option(
            "--limit",
            "N|all",
            f"stop after N rows, from 1 on; all: every row; default: {_SHOWN}, and all with --output or --count",
            type=_limit,
        ),
        flag("--count", "only count the rows"),
        option("--output", "FILE", "write the rows to FILE: .parquet, .csv or .jsonl"),
        flag("--overwrite", "--output may replace a file"),
        AT,
        QUERY_LOG,
    ),
    _scan,
)


# -- count, locate, search, explain ------------------------------------------------------------------------------------

_AGGREGATES = {
    "--min": "the least value of",
    "--max": "the greatest value of",
    "--sum": "the sum of",
    "--count-distinct": "how many different values have",
    "--approx-distinct": "about how many different values have",
}


def _count(args: argparse.Namespace, out: Output) -> int:
    with busy("counting"):
        found = open_from(args).aggregate(
            count=True,
            min=args.min,
            max=args.max,
            sum=args.sum,
            count_distinct=args.count_distinct,
            approx_distinct=args.approx_distinct,
            where=args.predicate,
            group_by=args.by,
            **asked_at(args),
        )
    out.data(found.to_json())
    if out.json:
        return DONE
    answer = found.answer
    if found.table.num_columns == 1:
        out.write(str(found.table.column(0)[0].as_py()))
    elif answer.table is not None:
        out.table(answer.table.columns, answer.table.rows)
    for sentence in (*answer.left_out, *answer.sentences):
        out.say(sentence)
    return DONE


def _ofcolumns(name: str, text: str) -> arguments.Part:
    return option(name, "A,B", text, type=arguments.names, default=())


COUNT = Command(
    "count",
    "how many rows match, with few files opened",
    """Counts the rows that match a predicate. Files of which every row matches are answered from metadata, without
being opened; only those at the border are read, and those with deletes where nothing says how many. With --min and
--max also the least and greatest value of columns, with --sum their sum (which reads them, unless an index has --sums
of them), with --count-distinct how many different values they have (likewise, unless an index has --value-list of
them), with --approx-distinct about how many (by --sketches), with --by for each value of columns. But for
--approx-distinct the answer is the one that a full read gives.""",
    (
        'metaindex count lake/flights "dep_delay > 1000"',
        "metaindex count lake/flights --by origin --max time_hour",
        'metaindex count lake/flights "month = 3" --version 3 --json',
    ),
    (
        TABLE,
        ANY_PREDICATE,
        *(_ofcolumns(name, f"{what} these columns, too") for name, what in _AGGREGATES.items()),
        _ofcolumns("--by", "for each value of these columns"),
        AT,
        QUERY_LOG,
    ),
    _count,
)


LOCATE = Command(
    "locate",
    "which files, row groups and rows hold a value?",
    """Lists the live data files, and in Parquet their row groups, in which rows that match a predicate may be: "where
is the data of user 42?". The indexes, the table's log and the footers of the kept files leave candidates; with
--exact those are read, and the rows that are not deleted counted. With --all-versions every version that the table
still keeps is asked: a value that was deleted lives on in files of old versions until the table's own clean-up
removes them.""",
    (
        'metaindex locate lake/events "user_id = 42"',
        'metaindex locate lake/events "user_id = 42" --exact',
        'metaindex locate lake/events "user_id = 42" --all-versions --exact --json',
        "metaindex locate lake/flights \"tailnum = 'N14228' AND month = 1\" --version 3",
    ),
    (
        TABLE,
        PREDICATE,
        EXACT,
        flag("--all-versions", "at every version of the table that can still be read, and not only at one"),
        AT,
    ),
    answers(
        "looking",
        lambda table, args: table.locate(
            args.predicate, all_versions=args.all_versions, exact=args.exact, **asked_at(args)
        ),
    ),
)


SEARCH = Command(
    "search",
    "in which indexed columns does a value stand?",
    """Asks every column that an index keys (--values, --bloom, --value-list of create) for one value at once, and
lists the columns, files and row groups that hold it, or may hold it; --exact reads those and counts the live rows.
The text is read as each column's type reads it: 42 is a number where the column has numbers. Columns of whose type it
is no value cannot hold it and are not asked.""",
    (
        "metaindex search lake/events 42",
        "metaindex search lake/flights N14228 --exact",
        "metaindex search lake/events someone@example.org --version 12 --json",
    ),
    (TABLE, arguments.word("TEXT", "the whole value, as one would write it: 42, N14228, 2026-01-31"), EXACT, AT),
    answers("searching", lambda table, args: table.search(args.text, exact=args.exact, **asked_at(args))),
)


EXPLAIN = Command(
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
    (TABLE, PREDICATE, AT),
    answers("planning", lambda table, args: table.explain(args.predicate, **asked_at(args))),
)


# -- diff --------------------------------------------------------------------------------------------------------------


def _diff(args: argparse.Namespace, out: Output) -> int:
    from metaindex.core import human_bytes

    table = open_from(args)
    with busy("reading the table's log"):
        diff = table.diff(args.since, args.until, base_timestamp=args.since_time, target_timestamp=args.until_time)
    kinds = {"appended": diff.appended, "deleted": diff.deleted, "deletes changed": diff.deletes_changed}
    out.data(
        {
            "table": table.path,
            "base": diff.base.id,
            "target": diff.target.id,
            "schema_changed": diff.schema_changed,
            "source": diff.source,
            **{name.replace(" ", "_"): _changed(files) for name, files in kinds.items()},
        }
    )
    if out.json:
        return DONE
    schema = ", the schema changed" if diff.schema_changed else ""
    out.write(f"{table.path} ({table.format}) from version {diff.base} to {diff.target}{schema}")
    for name, files in kinds.items():
        out.write(f"{name}: {counted(len(files), 'file')}, {human_bytes(files.size_bytes)}")
    rows: Sequence[Sequence[str]] = [
        [name, str(row["path"]), human_bytes(int(str(row["size_bytes"]))), str(row["partition"])]
        for name, files in kinds.items()
        for row in _changed(files, _SHOWN)
    ]
    if rows:
        out.write()
        out.table(Column.named("what", "file", "size>", "partition"), rows)
    if hidden := sum(map(len, kinds.values())) - len(rows):
        out.write(f"... and {hidden:,} more; --json lists all")
    return DONE


def _changed(files: FileTable, most: int | None = None) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = files.table.select(["path", "size_bytes", "partition"]).slice(0, most).to_pylist()
    return rows


DIFF = Command(
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
    (
        TABLE,
        arguments.group(
            "from which version (--since or --since-time), to which (default: now)",
            arguments.one_of(
                option("--since", "V", "a version, as in --version of other commands"),
                option("--since-time", "T", "the version that was current then: ISO 8601, UTC where it names no zone"),
                required=True,
            ),
            arguments.one_of(
                option("--until", "V", "a version; one older than --since is no error"),
                option("--until-time", "T", "the version that was current then"),
            ),
        ),
    ),
    _diff,
)
