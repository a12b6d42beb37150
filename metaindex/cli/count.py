"""`metaindex count TABLE [PREDICATE]`: how many rows match, with few files opened."""

from __future__ import annotations

import argparse

from metaindex.core import Output
from metaindex.statements import in_options

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "predicate", metavar="PREDICATE", nargs="?", help="a SQL condition as behind WHERE; none: every row"
    )
    for name, what in (
        ("min", "the least value of"),
        ("max", "the greatest value of"),
        ("sum", "the sum of"),
        ("count-distinct", "how many different values have"),
        ("approx-distinct", "about how many different values have"),
    ):
        parser.add_argument(
            f"--{name}", type=arguments.names, default=(), metavar="A,B", help=f"{what} these columns, too"
        )
    parser.add_argument("--by", type=arguments.names, default=(), metavar="A,B", help="for each value of these columns")
    arguments.version(parser)
    arguments.only_indexes(parser)
    arguments.query_log(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    with Progress() as progress, progress.during("counting"):
        found = open_from(args).aggregate(
            count=True,
            min=args.min,
            max=args.max,
            sum=args.sum,
            count_distinct=args.count_distinct,
            approx_distinct=args.approx_distinct,
            where=args.predicate,
            group_by=args.by,
            version=args.version,
            timestamp=args.timestamp,
            indexes=args.index,
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
        out.say(in_options(sentence))
    return DONE


COMMAND = Command(
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
    _arguments,
    _run,
)
