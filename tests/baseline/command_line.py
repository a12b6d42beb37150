"""Facts of the command line, of statements, settings, environment variables and codes, one a line."""

import argparse
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path

import metaindex
from metaindex.cli import defaults
from metaindex.cli.arguments import EXIT_CODES
from metaindex.cli.diagnosis import Health
from metaindex.cli.main import COMMANDS, _parser
from metaindex.core import StatementError
from metaindex.index import KINDS
from metaindex.index.log.states import Operation, State
from metaindex.spark import Reason, RuleConfig, Unasked
from metaindex.spark.optimizer.settings import KNOBS
from metaindex.statements import ALSO, FORMS, INSTEAD, parsed
from metaindex.table import PLACES

ROOT = Path(metaindex.__file__).parent
TEXTS = Path(__file__).with_name("statements.txt")


def command_lines() -> Iterator[str]:
    """Every command, option, choice and default, and the exit codes."""
    for command in COMMANDS:
        whole = _parser(command.name)
        (group,) = (one for one in whole._actions if isinstance(one, argparse._SubParsersAction))
        name = f"metaindex {command.name}"
        yield name
        for action in group.choices[command.name]._actions:
            said = "/".join(action.option_strings) or str(action.metavar or action.dest)
            if said != "-h/--help":
                yield f"{name} {said}"
                yield from (f"{name} {said}: {fact}" for fact in _facts(action))
    for code in re.findall(r"^ +(\d+) ", EXIT_CODES, re.M):
        yield f"exit code {code}"
    yield "metaindex --version"
    yield from (f"config.toml key {key}" for key in defaults.KEYS)


def _facts(action: argparse.Action) -> Iterator[str]:
    if action.option_strings and action.nargs != 0:
        yield "takes a value"
    if action.required and action.option_strings:
        yield "required"
    if action.nargs not in (0, None):
        yield f"values {action.nargs}"
    if isinstance(action, argparse._AppendAction):
        yield "can be repeated"
    if action.default not in (None, False, argparse.SUPPRESS) and action.default != []:
        yield f"default {action.default!r}"
    for choice in action.choices or ():
        yield f"choice {choice}"


def statement_lines() -> Iterator[str]:
    """The grammar by its clauses, and texts that are understood (`statements.txt`)."""
    for words, form in FORMS.items():
        name = "sql " + " ".join(words)
        yield name
        yield from (f"{name} {clause}" for clause in _clauses(form.text))
        yield from (f"{name} option {option}: {takes}" for option, takes in form.options.items())
    yield from (f"sql {' '.join(other)} is {' '.join(form)}" for other, form in ALSO.items())
    yield from (f"sql {' '.join(other)} names {' '.join(form)}" for other, form in INSTEAD.items())
    for kind in KINDS:
        yield from (f"sql kind {word} is {kind.name}" for word in (*kind.words, kind.name))
        yield from (f"sql kind {kind.name} option {name} = {usual!r}" for name, usual in KINDS.options_of(kind).items())
    for text in TEXTS.read_text().splitlines():
        yield f"sql understood: {text}" if _is_understood(text) else f"sql refused: {text}"


def _is_understood(text: str) -> bool:
    try:
        parsed(text)
    except StatementError:
        return False
    return True


def _clauses(form: str) -> Iterator[str]:
    """The parts in brackets, each with what it holds, outermost only."""
    depth, start = 0, 0
    for at, sign in enumerate(form):
        if sign in "[{":
            start = at if depth == 0 else start
            depth += 1
        elif sign in "]}":
            depth -= 1
            if depth == 0:
                yield form[start : at + 1]


def setting_lines() -> Iterator[str]:
    """Spark's settings, environment variables, extras and entry points."""
    usual = RuleConfig()
    for field in fields(RuleConfig):
        yield f"setting {KNOBS[field.name].conf}"
        yield f"setting {KNOBS[field.name].conf} = {getattr(usual, field.name)!r}"
    yield from (f"setting {name}" for name in PLACES)
    named: set[str] = set()
    for path in ROOT.rglob("*"):
        if path.suffix in (".py", ".java") and path.is_file():
            text = path.read_text()
            named |= {f"environment {name}" for name in re.findall(r"METAINDEX_[A-Z_]*[A-Z]", text)}
            named |= {f"setting {name}" for name in re.findall(r"spark\.metaindex\.[A-Za-z.]*[A-Za-z]", text)}
    yield from named
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    yield from (f"extra {extra}" for extra in project["optional-dependencies"])
    yield from (f"command {script}" for script in project.get("scripts", {}))
    for group, points in project.get("entry-points", {}).items():
        yield from (f"entry point {group} {point}" for point in points)


def code_lines() -> Iterator[str]:
    """Names that are said to programs: why an index is not used, states and verbs of the log, doctor's findings."""
    named: dict[str, type[Enum]] = {"reason": Reason, "reason of a join": Unasked, "health": Health}
    for what, members in named.items():
        yield from (f"{what} {member.name}" for member in members)
    stored: dict[str, type[Enum]] = {"state": State, "operation": Operation}
    for what, members in stored.items():
        yield from (f"{what} {member.name} is stored as {member.value!r}" for member in members)
