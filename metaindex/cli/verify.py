"""`metaindex verify TABLE NAME`: prove an index right, or say what is wrong."""

from __future__ import annotations

import argparse

from metaindex.core import Output, one_line
from metaindex.statements import in_options

from . import arguments
from .arguments import DONE, FAILED
from .command import Command
from .opening import open_from
from .progress import Progress

WRONG = 3


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)
    sample(parser)
    parser.add_argument(
        "--all-versions",
        action="store_true",
        help="compare every recorded version with the table's own files; default: the last three",
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="PREDICATE",
        help="read the files that the index proves out for this predicate: no row of them may match; can be repeated",
    )


def sample(parser: argparse.ArgumentParser) -> None:
    """Add --files: how many data files are compared."""
    parser.add_argument(
        "--files",
        type=_files,
        default=20,
        metavar="N",
        help=(
            "read so many data files whole and compare what the index says of them, spread over the table; default: 20;"
            " all: every one; 0: none"
        ),
    )


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.table import handle_of, what_helps

    table = open_from(args)
    with Progress() as progress:
        verification = table.verify_index(
            args.name,
            files=args.files,
            versions="all" if args.all_versions else "newest",
            predicates=args.where,
            progress=progress,
        )
    unread = next(iter(verification.unread_why), None)
    helps = "" if unread is None else what_helps(handle_of(table), args.name, unread)
    out.data({**verification.to_json(), "commands": [helps] if helps else []})
    for line in str(verification).splitlines():
        out.write(one_line(in_options(line)))
    if helps:
        out.write(f"  what helps: {one_line(helps)}")
    if verification.findings:
        out.say("metaindex: queries read more where the index cannot be read; metaindex repair rebuilds what is wrong")
        return WRONG
    if verification.unproven:
        out.say("metaindex: whether the index is right is not known: no data file could be read to compare it with")
        return FAILED
    return DONE


def _files(text: str) -> int | None:
    return None if text == "all" else arguments.at_least_zero(text)


COMMAND = Command(
    "verify",
    "prove an index right, or say precisely what is wrong with it",
    """Reads an index back and compares: the entries of its log, every value of its runs (digests, page checksums, and
whether what follows from one part stands in the other), its recorded versions against the table's own lists of files,
and what it says of a sample of data files against every row in them. Changes nothing; what is found is one line each:

  log         an entry of the index's log cannot be read
  version     a recorded version names other files, or other deletes, than the table
  run         a part of a run is missing, damaged, or does not fit the others
  statistics  bounds or counts that are not true of a data file's rows
  keys        values that an inverted index, a value list or a bloom filter names of a data file, and that are not those
              of its rows
  dropped     with --where: a file that was proved out holds a row that matches

exit code 3: something is wrong (besides those below); 1, too: none of the data files that were to be compared could be
read. Where some could, the index is right as far as these show, which is said.""",
    (
        "metaindex verify lake/flights stats",
        "metaindex verify lake/flights stats --files all --all-versions      reads the whole table",
        (
            "metaindex verify lake/flights stats --where \"dest = 'ABQ'\"          reads the files that this predicate"
            " does not need"
        ),
    ),
    _arguments,
    _run,
)
