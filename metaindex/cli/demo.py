"""`metaindex demo`: the main job on 336,776 real flights."""

from __future__ import annotations

import argparse

from metaindex.core import Output

from .arguments import DONE, FAILED
from .command import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", metavar="FOLDER", help="write the tables here and keep them; the folder must be new or empty"
    )
    parser.add_argument(
        "--master",
        metavar="URL",
        help=(
            "Spark's master, for example spark://host:7077; FOLDER then lies where all its workers see it (default:"
            " Spark in this process)"
        ),
    )
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.cli.flights import run_demo

    return DONE if run_demo(args.folder, args.keep, out, master=args.master) else FAILED


COMMAND = Command(
    "demo",
    "see it at work on 336,776 real flights, in all four formats",
    """Writes a year of flights from New York as a Parquet, a CSV, a Delta and an Iceberg table through Spark, builds an
index on each, asks questions with and without it, commits another day, refreshes, asks again, then asks the old
version. Every answer is compared with a full read and with Spark's own. Exit code 0 only if all of them were equal.""",
    (
        "metaindex demo",
        "metaindex demo --folder flights-lake     and try the other commands on flights-lake/parquet/flights",
    ),
    _arguments,
    _run,
)
