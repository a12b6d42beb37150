"""`metaindex sql "CREATE INDEX ..."`: statements about indexes, without Spark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from metaindex.cli.output import Output
from metaindex.core import ArgumentError, StatementError, first_line
from metaindex.statements import FORMS

from .arguments import BUILDER, DONE, FAILED, OPENING, WRONG, Command, many, pair, word
from .defaults import for_table, names
from .opening import open_from, start_spark
from .output import Progress

if TYPE_CHECKING:
    from metaindex.table import Table


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.statements import FileTables, parsed, pointed, run, split

    def opened(path: str, format_: str | None, options: Mapping[str, object]) -> Table:
        how = for_table(args, path)
        how.option = [*how.option, *((key, str(value)) for key, value in options.items())]
        how.format = format_ or how.format
        return open_from(how, lambda: start_spark(out))

    code = DONE
    answers = []
    with Progress() as progress:
        named = {**{name: name for name in names()}, **dict(args.tables)}
        tables = FileTables(
            opened,
            named,
            args.builder,
            progress,
            catalog=args.catalog is not None,
            own=True,
            naming="--table NAME=PATH",
        )
        try:
            statements = [parsed(statement) for text in _texts(args) for statement in split(text)]
            if not statements:
                raise ArgumentError(
                    "sql runs statements; none is given; write one, such as \"SHOW INDEXES ON 'lake/flights'\", or name"
                    " a file of them: -f FILE"
                )
            for statement in statements:
                answer = run(statement, tables)
                code = max(code, WRONG if answer.wrong else FAILED if answer.unproven else DONE)
                answers.append(answer.to_json())
                for part in answer.shown if not out.json else ():
                    out.write(str(part))
        except StatementError as error:
            if error.text.strip() and not out.json:
                out.say(pointed(error))
            raise
    out.data(answers[0] if len(answers) == 1 else answers)
    return code


def _texts(args: argparse.Namespace) -> Iterator[str]:
    from metaindex.advisor import opened

    if "-" in args.statements:
        raise ArgumentError("statements of stdin are a file's; '-' stands as a statement; say -f -")
    yield from args.statements
    for file in args.file:
        if file == "-":
            yield sys.stdin.read()
            continue
        try:
            with opened(Path(file)) as statements:
                yield statements.read().decode()
        except (OSError, UnicodeDecodeError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
            raise ArgumentError(
                f"statements are read from a file of UTF-8; {file!r} cannot be read: {said}; name another"
            ) from error


_FORMS = "\n".join(fill(form.text, 118, initial_indent="  ", subsequent_indent="      ") for form in FORMS.values())
COMMAND = Command(
    "sql",
    "statements about indexes: CREATE INDEX, SHOW INDEXES, EXPLAIN INDEXES ...",
    f"""Runs statements about indexes, as Spark's SQL takes them after metaindex.enable(spark), without Spark:

{_FORMS}

A table is a path between quotes ('lake/flights'), a format and a path (csv.`lake/x` WITH (header = true)), or a name
that --table says, or that has a section [tables.NAME] in the file of options. All statements are read before the first
is run; the first that fails is the last one.""",
    (
        "metaindex sql \"CREATE INDEX find ON 'lake/flights' USING values (tailnum)\"",
        'metaindex sql "SHOW INDEXES ON delta.\\`lake/flights\\`"',
        "metaindex sql \"EXPLAIN INDEXES SELECT * FROM 'lake/flights' WHERE tailnum = 'N14228'\"",
        "metaindex sql --table flights=lake/flights -f indexes.sql --builder local",
    ),
    (
        word("STATEMENT", "a statement, or several with semicolons between them", "statements", nargs="*"),
        many("--file -f", "FILE", "statements of a file; -: of stdin"),
        many(
            "--table",
            "NAME=PATH",
            "a name that a table has in the statements, as db.flights=lake/flights",
            dest="tables",
            type=pair,
        ),
        OPENING,
        BUILDER,
    ),
    _run,
)
