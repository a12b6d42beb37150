"""`metaindex doctor [TABLE]`: what is missing or wrong here?"""

from __future__ import annotations

import argparse
from dataclasses import replace

from metaindex.core import Output, one_line
from metaindex.statements import in_options

from . import arguments
from .arguments import DONE, FAILED
from .command import Command
from .opening import open_from
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser, optional=True)
    parser.add_argument("--no-write", action="store_true", help="write nothing: not even to see whether one can")


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.cli.diagnosis import look

    opened = open_from(args) if args.table else None
    with Progress() as progress, progress.during("looking"):
        diagnosis = look(opened, write=not args.no_write)
    symptoms = (replace(symptom, fact=in_options(symptom.fact), cure=in_options(symptom.cure)) for symptom in diagnosis)
    diagnosis = replace(diagnosis, symptoms=tuple(symptoms))
    out.data(diagnosis.to_json())
    table = diagnosis.table()
    out.table(table.columns, table.rows)
    for symptom in diagnosis.wrong:
        out.say(f"metaindex: {one_line(symptom.about)}: {symptom.fact}; {symptom.cure}")
    return FAILED if diagnosis.wrong else DONE


COMMAND = Command(
    "doctor",
    "what is missing or wrong on this machine, and with this table's place?",
    """Looks at Python, the installed packages and their versions, at variables that nobody reads, at Java, jars, Spark
and the Python of its workers, and whether Spark's defaults switch metaindex on. With TABLE: can its indexes be written,
does put-if-absent have one winner there, and do the clocks agree? (How indexes are, metaindex indexes tells.)

"lacking" is what cannot be used, and not everybody needs; "wrong" is what will fail: the exit code is 1 then. Nothing
is changed. With TABLE an empty object is put in the folder of its indexes and removed (not with --no-write).""",
    (
        "metaindex doctor",
        "metaindex doctor lake/flights",
        "metaindex doctor s3://bucket/events --no-write --json",
    ),
    _arguments,
    _run,
)
