"""Cures in the words of the command line and of statements: the library words them in Python.

What a cure names stands free: a path or a text that holds the same letters (`/data/schema=3`, `'format=csv'`) is left
as it is.

How files are read stands behind a table (``csv.`/data/x` WITH (escape = '"')``), or was said where a session's table or
view was created. Of several such options in one message the first that has a value, else the last, is said with the
table, together with those behind it in one list, so that it can be pasted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from metaindex.core import MetaIndexError, dataclass
from metaindex.expressions import quoted, text_sql, word
from metaindex.formats import ReadOptions
from metaindex.index import Options, Using, Value
from metaindex.statements.grammar.tree import TableName

Cure = tuple[str, str | Callable[[re.Match[str]], str]]
"""A pattern, and what is said in its place."""
ALIKE: Final[tuple[Cure, ...]] = ((r"read with \.to_spark\(spark\)", "read it with Spark"),)
"""Said alike by everybody else."""

_FREE: Final = r"(?<![\w/'\"=.-])"
_VALUE: Final = r"(?:'(?P<text>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<word>True|False)|(?![\w'\"/*]))"


def argument(names: Sequence[str]) -> str:
    """The pattern of an argument, with its value or without one."""
    return rf"{_FREE}(?P<name>{'|'.join(names)})={_VALUE}"


def value_of(match: re.Match[str]) -> str | bool | None:
    """Return the value of such an argument in the message, where Python doubles backslashes; None if it has none."""
    text = match["text"] if match["double"] is None else match["double"]
    if text is not None:
        return text.replace(r"\\", "\\")
    return None if match["word"] is None else match["word"] == "True"


def cured(message: str, cures: Sequence[Cure]) -> str:
    """Return the message with each pattern replaced, in their order."""
    for pattern, cure in cures:
        message = re.sub(pattern, cure, message)
    return message


# -- the command line --------------------------------------------------------------------------------------------------

_CLI_ARGUMENTS: Final = ("format", "catalog", "mode", "builder", "where", "under", "version", "timestamp")
"""Python's arguments that the command line has by the same name."""


def _cli_argument(match: re.Match[str]) -> str:
    said = value_of(match)
    return f"--{match['name']}" + (f" {shlex.quote(str(said))}" if said not in (None, "") else "")


def _reader_option(match: re.Match[str]) -> str:
    said = value_of(match)
    text = "..." if said is None else str(said).lower() if isinstance(said, bool) else said
    return "--option " + shlex.quote(f"{match['name']}={text}")


_CLI_CURES: Final[tuple[Cure, ...]] = (
    (r"Config\(index_location=\.\.\.\)", "--index-location"),
    (r"Config\(confine_to=\(\.\.\.,\)\)", "--confine-to"),
    (r"Config\(query_log=True\) as they are asked", "--query-log kept of prune, scan and count"),
    (r"Config\(query_log=True\)", "--query-log kept"),
    (r"Config\(single_writer=True\)", "--storage-option single_writer=true"),
    (r"QueryLog\(salt=\.\.\.\) or (?=METAINDEX_)", ""),
    (r"Config\(seal_key=\.\.\.\) or (?=METAINDEX_)", ""),
    (r"overwrite=True \(--overwrite\)|--overwrite \(overwrite=True\)", "--overwrite"),
    (r"budget_bytes=, --budget", "--budget"),
    (r"\(delete_index, or drop them later\)", "(metaindex delete TABLE NAME)"),
    (r"or: --create; create\(\) of this answer", "--create does; in Python"),
    (r"to_json\(\) and --json have all", "--json has all"),
    (r"\(retention=0 is none\)", "(--retention 0s is none)"),
    (r"tables= names a table by its path", "--as NAME says what TABLE is called in them"),
    (r"the workload is empty: name queries,", "the workload is empty: name queries (--queries, --where),"),
    (r"did you mean 'storage_options'\?", "did you mean --storage-option?"),
    (r"did you mean 'trust_index'\?", "did you mean --trust-index?"),
    (r"by catalog=\{'uri': \.\.\.\}", "by --catalog-option uri=..."),
    (r"a folder is named; leave catalog= out", "a folder is named; leave --catalog-option out"),
    (r"list them with indexes\(\)", "list them with `metaindex indexes TABLE`"),
    (r"versions\(\) lists them", "`metaindex indexes TABLE NAME` has those of an index"),
    (r"copies=False", "--no-copies"),
    (r"which `unchecked` \(--json\) has", "which --json has"),
    (r"as versions\(\) gives it", "as `metaindex indexes TABLE NAME` gives it"),
    *ALIKE,
    (r"drop (it|this one) and vacuum it", r"delete \1 and vacuum it"),
    (r"mi\.Values\('([^']*)'\)", r"--values \1"),
    (r"mi\.ColumnStats\(\)", "--stats"),
    (argument(_CLI_ARGUMENTS), _cli_argument),
    (rf"(?<!--option ){argument(ReadOptions.NAMES)}", _reader_option),
)


def in_options(message: str) -> str:
    """Return the message with options of the command line for arguments of Python."""
    return cured(message, _CLI_CURES)


# -- statements --------------------------------------------------------------------------------------------------------

_READER: Final = re.compile(argument(ReadOptions.NAMES))
_NAME: Final = re.compile(r"[A-Za-z_]\w*\Z")
NAMING: Final = "tables={'name': 'path'}"
"""How `mi.sql` is told what a name means."""
_CLAUSES: Final = {"version": "VERSION AS OF", "timestamp": "TIMESTAMP AS OF", "where": "WHERE"}
_IN_A_SESSION: Final[tuple[Cure, ...]] = (
    (r"(?<!mi\.)Config\(query_log=True\) as they are asked, in a session of Spark by ", ""),
    (r"(?<!mi\.)\bConfig\((\w+=(?:[^()]|\([^()]*\))*)\)", r"mi.enable(spark, config=mi.Config(\1))"),
)
"""Where who asks has a session: it takes its configuration when metaindex is enabled."""


@dataclass(frozen=True, slots=True)
class StatementWords:
    """The words that a cure takes from a statement: its table, if it has one, and the index that it names.
    `takes_options`: WITH may stand behind the table's name. `in_spark`: it is run by Spark, which reads the table
    anyway. `naming`: how a table is given a name."""

    table: TableName | None = None
    index: str = ""
    takes_options: bool = True
    in_spark: bool = False
    naming: str = NAMING

    @property
    def path(self) -> str:
        """Return the table's path, if the statement has it."""
        if self.table is None:
            return ""
        last = self.table.path or self.table.parts[-1]
        return last if self.table.path or "/" in last else ""


@contextmanager
def in_words(asked: StatementWords) -> Iterator[None]:
    """Errors that are raised meanwhile say their cures in the words of a statement."""
    try:
        yield
    except MetaIndexError as error:
        text = str(error)
        if (said := in_statement(text, asked)) != text:
            error.args = (said, *error.args[1:])
        raise


def in_statement(message: str, asked: StatementWords) -> str:
    """The message, as statements say what it says in arguments of Python."""
    table = "table" if asked.table is None else _table(asked.table)
    index = word(asked.index) if asked.index else "name"

    def formatted(match: re.Match[str]) -> str:
        said = value_of(match)
        place = quoted(asked.path) if asked.path else "`path`"
        return f"{said}.{place}" if said else "the format before the path"

    def moded(match: re.Match[str]) -> str:
        said = value_of(match)
        return str(said).upper() if said else "the mode"

    of_index = f"{index} ON {table if asked.table is None else _table(replace(asked.table, options=()))}"
    cures: tuple[Cure, ...] = (
        *ALIKE,
        (r"drop (?:it|this one) and vacuum it", _plain(f"DROP INDEX {of_index} and VACUUM INDEX {of_index}")),
        (r"(?<=other reader options; )vacuum it", _plain(f"VACUUM INDEX {of_index}")),
        *([("read it with Spark", "leave it so, as Spark reads it")] if asked.in_spark else []),
        (r"with a budget \(budget_bytes=, --budget\)", "with OPTIONS (budget = '100MB')"),
        (r"\(delete_index, or drop them later\)", "(DROP INDEX)"),
        (r"to_json\(\) and --json have all", "the rows have all"),
        (r"restore_index\('[^']*'\)", _plain(f"RESTORE INDEX {of_index}")),
        (r"vacuum_index\('[^']*'\)", _plain(f"VACUUM INDEX {of_index}")),
        (r"tables= names a table by its path", _plain(f"{asked.naming} names a table by its path")),
        (r"which `unchecked` \(--json\) has", "which not_compared has"),
        (r"as versions\(\) gives it", "as DESCRIBE INDEX gives it"),
        (r"versions\(\) lists them", _plain(f"DESCRIBE INDEX {of_index} has those of an index")),
        *_IN_A_SESSION[: len(_IN_A_SESSION) * asked.in_spark],
        (r"list them with indexes\(\)", _plain(f"list them by SHOW INDEXES ON {table}")),
        (r"refresh (?:the index|it) with mode='full'", _plain(f"REFRESH INDEX {index} ON {table} FULL")),
        (r"refresh with mode='full'", _plain(f"REFRESH INDEX {index} ON {table} FULL")),
        (r"mi\.Values\('([^']*)'\)", r"USING values (\1)"),
        (r"mi\.ColumnStats\(\)", "USING column_stats"),
        (argument(("format",)), formatted),
        (argument(("mode",)), moded),
        (argument(("builder", "under", "copies", "days")), _option),
        (argument(tuple(_CLAUSES)), _clause),
    )
    return _with_options(cured(message, cures), asked)


def _plain(text: str) -> str:
    """Escape a text as a template of `re.sub` that stands for itself."""
    return text.replace("\\", r"\\")


def _option(match: re.Match[str]) -> str:
    return f"OPTIONS ({match['name']} = {_value(value_of(match))})"


def _clause(match: re.Match[str]) -> str:
    said = value_of(match)
    clause = _CLAUSES[match["name"]]
    return clause if said is None else f"{clause} {said if clause == 'WHERE' else _value(said)}"


def _with_options(message: str, asked: StatementWords) -> str:
    """Write reader options as statements do: those with nothing but a comma between them together."""
    groups: list[list[re.Match[str]]] = []
    for match in _READER.finditer(message):
        if groups and message[groups[-1][-1].end() : match.start()] == ", ":
            groups[-1].append(match)
        else:
            groups.append([match])
    valued = (at for at, group in enumerate(groups) if any(value_of(match) is not None for match in group))
    named = next(valued, len(groups) - 1)
    pieces, last = [], 0
    for at, group in enumerate(groups):
        said = tuple((match["name"], "..." if (value := value_of(match)) is None else value) for match in group)
        pieces += [message[last : group[0].start()], _reader(said, asked, whole=at == named)]
        last = group[-1].end()
    return "".join([*pieces, message[last:]])


def _reader(said: Options, asked: StatementWords, *, whole: bool) -> str:
    if not asked.takes_options:
        return f"OPTIONS ({_options(said)})" + (" where the table or view is created" if whole else "")
    if asked.table is None or not whole:
        return f"WITH ({_options(said)})"
    names = {name.lower() for name, _ in said}
    others = tuple((key, value) for key, value in asked.table.options if key.lower() not in names)
    return _table(replace(asked.table, options=(*others, *said)))


def _table(table: TableName) -> str:
    name = text_sql(table.path) if table.path else ".".join(map(word, table.parts))
    return f"{name} WITH ({_options(table.options)})" if table.options else name


def _options(options: Options) -> str:
    return ", ".join(f"{key if _NAME.match(key) else text_sql(key)} = {_value(value)}" for key, value in options)


def _value(said: Value | None) -> str:
    return "..." if said is None or said == "..." else Using.value_text(said)
