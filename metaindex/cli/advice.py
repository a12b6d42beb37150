"""The commands that advise: clustering, whatif, recommend, report."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from metaindex.cli.output import Output
from metaindex.core import ArgumentError
from metaindex.statements import VERBS

from . import arguments as arg
from .defaults import for_table, names
from .opening import open_from, start_spark, write, write_parts
from .output import Progress, busy

if TYPE_CHECKING:
    from metaindex.advisor import Workload
    from metaindex.table import Table


_OF_QUERIES = (".sql", ".log", ".txt")
_BUDGET, _DAYS = arg.value_of("recommend", "budget"), arg.value_of("recommend", "days")


def _clustering(args: argparse.Namespace, out: Output) -> int:
    with busy("measuring"):
        clustering = open_from(args).clustering(*args.column, sample=args.sample, **arg.asked_at(args))
    out.data(clustering.to_json(args.name))
    for part in clustering.described(args.name) if not out.json else ():
        out.write(str(part))
    return arg.DONE


CLUSTERING = arg.Command(
    "clustering",
    "how far do the ranges of the files overlap, and would another layout leave out more?",
    """Measures from minima and maxima that are there (indexes, the table's log, footers of Parquet) how well the files
are laid out by each column, without reading data. Two ranges overlap where they share a value; the depth of a file is
how many files overlap at the worst point of its range. 1 is best: a value is in one file. A depth near the number of
files means that minima and maxima leave out nothing: an index of values, or another layout, does.

"reads" is the share of the files that a query cannot leave out: for one value, and for a range over 1% of the rows.

Advice for the table's owner follows where another layout leaves out 30% more: files read now and then, and the
statement to run (Delta: OPTIMIZE ... ZORDER BY or CLUSTER BY; Iceberg: rewrite_data_files; plain Parquet: a sorted
copy). It is estimated from some files that are read and sorted in memory. Nothing is written.""",
    (
        "metaindex clustering lake/flights",
        "metaindex clustering lake/flights --column tailnum --column time_hour",
        "metaindex clustering lake/flights --sample 0          measures alone: no data is read",
        "metaindex clustering lake/flights --name lake.db.flights --json",
    ),
    (
        arg.TABLE,
        arg.many("--column", "NAME", "only this column, and advice for queries on it; default: all that have an order"),
        arg.SAMPLE,
        arg.option("--name", "NAME", "the table's name in its catalog, for statements of the advice: lake.db.flights"),
        arg.AT,
    ),
    _clustering,
)


def _called(args: argparse.Namespace) -> dict[str, str] | None:
    return dict.fromkeys(args.called, args.table) if args.called else None


def _whatif(args: argparse.Namespace, out: Output) -> int:
    named = arg.kinds_of(args)
    table = open_from(args)
    queries: object = args.where
    if args.queries:
        from metaindex.advisor import workload  # no other command reads one

        with busy("reading the queries"):
            queries = workload([*map(Path, args.queries)], time_zone=table.config.time_zone)
    candidates = [named] if args.together and named else named
    with busy("weighing"):
        answer = table.what_if(queries, *candidates, sample=args.sample, tables=_called(args), **arg.asked_at(args))
    write(answer, out)
    wrong = (args.where and answer.refused) or (named and any(cost.problem for cost in answer.candidates))
    return arg.FAILED if wrong else arg.DONE


WHATIF = arg.Command(
    "whatif",
    VERBS["whatif"].line,
    """Weighs indexes before they are built. Some files of the table are read, the candidates are built over them in a
temporary folder that goes at once, and the conditions are asked by the same walk that queries take. Nothing is written
in or beside the table.

For each condition: files, row groups and bytes that it reads now ("as it is"), and with each candidate. A number alone
is exact; a range in brackets holds the truth with 90%. For each candidate: its size, processor time to build it, and
what a day of the table's own commits adds.

Kinds are named as for `metaindex create`. Where none is named, those that follow from the columns of the conditions are
weighed: statistics of all, values and bloom filters of those that are compared for equality.""",
    (
        "metaindex whatif lake/flights --where \"tailnum = 'N14228'\"",
        "metaindex whatif lake/flights --where \"dest = 'SEA'\" --where 'dep_delay > 1000' --values dest --bloom dest",
        "metaindex whatif lake/flights --where 'dep_delay > 1000' --stats --values tailnum --together",
        "metaindex whatif lake/flights --where 'dep_delay > 1000' --sample 0.05 --json",
        "metaindex whatif lake/flights --queries queries.sql --as db.flights",
    ),
    (
        arg.TABLE,
        arg.one_of(arg.WHERE, arg.QUERIES, required=True),
        arg.AS,
        arg.kind_options,
        arg.flag("--together", "weigh all kinds as one index; without it each kind is a candidate"),
        arg.SAMPLE,
        arg.AT,
    ),
    _whatif,
)


def _recommend(args: argparse.Namespace, out: Output) -> int:
    from metaindex.advisor import recommend, workload

    if args.builder and not args.create:
        raise ArgumentError("--builder is for --create; without it nothing is built; leave it out, or add --create")
    for place in args.more:
        if place.endswith(_OF_QUERIES):
            raise ArgumentError(f"recommend takes tables; {place} is a file of queries; say --queries {quote(place)}")
    asked = [*args.where, *map(Path, args.queries)]
    with busy("reading the queries"):
        queries = workload(asked) if asked else None
    with Progress() as progress, progress.during("weighing indexes"):
        answer = recommend(
            queries,
            *_opened(args, out, queries, _called(args) or {}),
            budget_bytes=args.budget,
            budget_cpu=None if args.budget_cpu is None else args.budget_cpu.total_seconds(),
            days=args.days,
            sample=args.sample,
            copies=not args.no_copies and bool(args.queries or not args.where),
            tables=_called(args),
            progress=progress,
        )
    if not args.create:
        return write(answer, out)
    write_parts(answer.advised if not out.json else (), out)
    with Progress() as progress, progress.during("creating indexes"):
        created = answer.create(args.builder or "default", progress)
    out.data({**answer.to_json(), "created": [index.to_json() for index in created]})
    for index in created:
        out.write(str(index))
    return arg.FAILED if any(index.problem for index in created) else arg.DONE


def _opened(
    args: argparse.Namespace, out: Output, queries: Workload | None, named: Mapping[str, str]
) -> Iterator[Table]:
    """TABLE with its options, and the others with the same."""
    from metaindex.advisor import named_below

    spark = partial(start_spark, out)
    options = dict(args.storage_option)
    as_it_is = args.root or args.catalog or args.format
    for path in [None] if as_it_is else named_below(args.table, queries, named, options):
        yield open_from(args, spark, path)
    for place in args.more:
        if place in names():
            yield open_from(for_table(args, place), spark)
            continue
        for path in named_below(place, queries, named, options):
            yield open_from(args, spark, path)


RECOMMEND = arg.Command(
    "recommend",
    VERBS["recommend"].line,
    """Recommends indexes for a workload: what they leave out, what they cost, and the line that creates each. Nothing
is written without --create.

Candidates follow from the columns by which the queries filter, join, group and sort. They are built over some files of
the table in a temporary folder that goes at once, and asked by the same walk that queries take. Indexes are chosen one
after another, each time the one that skips most bytes of the workload per byte of its size: beside the indexes that
exist and those chosen before, within the budget that all tables share.

"it leaves out" is what the workload would not read any more, each query as often as it is asked; a range in brackets
holds the truth with 90%. Of queries that differ in their literals alone up to 24 are asked, and stand for the others
where there are more. "pays after": so many runs of the workload, or days where its time is known, spare as many bytes
as the build reads and writes. Indexes without which no query would read more are reported, too, and a layout where no
index helps. TABLE may be a folder of tables: those below it that the queries name are looked at.""",
    (
        "metaindex recommend lake/flights --queries log.sql",
        "metaindex recommend lake/flights --queries log.sql --budget 100MB --create",
        "metaindex recommend lake/flights                                        what its own query log noted",
        "metaindex recommend lake --queries monday.sql --queries tuesday.sql --json",
        "metaindex recommend lake/flights lake/planes --where \"tailnum = 'N14228'\"",
    ),
    (
        arg.TABLE,
        arg.word(
            "TABLE",
            "more tables, or folders: of tables below them those that the queries name",
            "more",
            nargs="*",
            default=[],
        ),
        arg.QUERIES,
        arg.WHERE,
        arg.AS,
        arg.group(
            "how much",
            arg.option("--budget", "SIZE", "all indexes together take no more: 100MB, 2GB", type=_BUDGET),
            arg.option("--budget-cpu", "TIME", "of processor time to build them: 90s, 10m, 2h", type=arg.duration),
            arg.option("--days", "DAYS", "the time that the queries are of; a query log knows its own", type=_DAYS),
            arg.SAMPLE,
        ),
        arg.flag(
            "--no-copies",
            "no covering indexes, which Spark alone reads; --where alone recommends none either",
        ),
        arg.flag("--create", "create what is recommended; without it nothing is written"),
        arg.BUILDER,
    ),
    _recommend,
    also=("advise",),
)


def _report(args: argparse.Namespace, out: Output) -> int:
    table = open_from(args)
    with Progress() as progress, progress.during("making the report"):
        done = table.report(
            args.output,
            args.where,
            queries=[*map(Path, args.queries)] or None,
            tables=_called(args),
            since=args.since,
            sample=args.sample,
            overwrite=args.overwrite,
            progress=progress,
            **arg.asked_at(args),
        )
    return write(done, out)


REPORT = arg.Command(
    "report",
    "a page of the table for a browser: files, indexes, layout, savings, advice",
    """Writes one HTML file that loads nothing and runs nothing: the table's files and versions, its indexes (freshness,
size), how the files lie by each column, what the ranges of the files can tell apart, what conditions keep and drop and
by whom, savings by day from the query log, and advice. It reads on a phone, in dark mode, printed, and by a screen
reader. Its size does not grow with the table.

A report at FILE is replaced; another file only with --overwrite. FILE lies outside of the table. Who reads the page
reads minima and maxima of columns, and the conditions that are given.""",
    (
        "metaindex report lake/flights -o report.html",
        "metaindex report lake/flights -o report.html --where \"tailnum = 'N14228'\" --where 'dep_delay > 1000'",
        "metaindex report lake/flights -o report.html --queries queries.sql --as db.flights --since 30d",
    ),
    (
        arg.TABLE,
        arg.option("-o --output --html", "FILE", "the page, such as report.html", required=True),
        arg.flag("--overwrite", "FILE may be another file than a report"),
        arg.WHERE,
        arg.QUERIES,
        arg.AS,
        arg.SINCE,
        arg.SAMPLE,
        arg.AT,
    ),
    _report,
)
