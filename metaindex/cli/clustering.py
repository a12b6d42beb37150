"""`metaindex clustering TABLE`: how are the files laid out, and would another layout leave out more?"""

from __future__ import annotations

import argparse

from metaindex.core import Output

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME",
        help="only this column, and advice for queries on it; can be repeated; default: all that have an order",
    )
    parser.add_argument(
        "--sample",
        type=arguments.share,
        metavar="SHARE",
        help="the files read for the advice may have this share of the table's bytes; 0: nothing is read, no advice. "
        "Default: 0.01, of a table of up to 32 MB all; never more than 64 files",
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="the table's name in its catalog, for the statements of the advice: such as lake.db.flights",
    )
    arguments.version(parser)
    arguments.only_indexes(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    with Progress() as progress, progress.during("measuring"):
        clustering = open_from(args).clustering(
            *args.column, version=args.version, timestamp=args.timestamp, sample=args.sample, indexes=args.index
        )
    out.data(clustering.to_json(args.name))
    for part in clustering.described(args.name) if not out.json else ():
        out.write(str(part))
    return DONE


COMMAND = Command(
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
    _arguments,
    _run,
)
