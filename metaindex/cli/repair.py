"""`metaindex repair TABLE NAME`: rebuild what is wrong with an index."""

from __future__ import annotations

import argparse

from metaindex.core import Output

from . import arguments
from .command import Command
from .opening import open_to_build
from .outcomes import report
from .progress import Progress
from .verify import sample


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)
    sample(parser)
    arguments.builder(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    table, builder = open_to_build(args, out)
    with Progress() as progress:
        outcome = table.repair_index(args.name, files=args.files, builder=builder, progress=progress)  # type: ignore[arg-type]
    return report(outcome, out)


COMMAND = Command(
    "repair",
    "rebuild what verify finds wrong with an index",
    """Verifies an index and rebuilds what is wrong with it, no more: the data files of damaged or missing runs are
read again, what is right stays. The table is not touched, and queries go on meanwhile. An index with nothing wrong is
left as it is. Where even the newest log entry is damaged, the index goes on from the newest one that can be read.""",
    (
        "metaindex repair lake/flights stats",
        "metaindex repair lake/flights stats --files all       compares every data file before",
    ),
    _arguments,
    _run,
)
