"""Scripts by which shells complete commands, options and paths."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator

_PLACES = frozenset({"TABLE", "ROOT", "FILE", "FOLDER", "PLACE"})


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Written from the parser that reads the command line, for fish by us and else by shtab: what it offers is what
    there is."""
    if shell == "fish":
        return fish_script(parser, _PLACES)
    try:
        import shtab
    except ImportError as error:
        from metaindex.core import MissingDependencyError

        raise MissingDependencyError(
            "completion is written by shtab; it is not installed; install metaindex with the extra:"
            " metaindex[completion]"
        ) from error
    for action in _actions(parser):
        if action.metavar in _PLACES and action.choices is None:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # of shtab alone
    return str(shtab.complete(parser, shell=shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the actions of all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
        else:
            yield action


_FUNCTIONS = """\
function __metaindex_in --description 'is this the command?'
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = "$argv[1]"
end

function __metaindex_bare --description 'is there no command yet?'
    test (count (commandline -opc)) -eq 1
end
"""
"""A word of a command's name may stand among its arguments, too: the command is the first word. `-opc` is what is typed
before the cursor, in words, in every fish since 2."""


def fish_script(parser: argparse.ArgumentParser, places: Collection[str]) -> str:
    """Return fish completions drawn from the command line's parser. `places`: metavars of arguments that are paths."""
    lines = [
        "# fish completion of metaindex; written by: metaindex completion fish",
        "",
        _FUNCTIONS,
        "complete -c metaindex -e",
        "complete -c metaindex -f",
    ]
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            lines += _option(parser, action, "__metaindex_bare", places)
            continue
        said = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, below in action.choices.items():
            lines.append(f"complete -c metaindex -n __metaindex_bare -a {_quoted(name)} -d {_quoted(said[name])}")
            for of_command in below._actions:
                lines += _option(below, of_command, f"__metaindex_in {name}", places)
    return "\n".join(lines)


def _option(
    parser: argparse.ArgumentParser, action: argparse.Action, when: str, places: Collection[str]
) -> Iterator[str]:
    """An option, or a word that has a place of its own."""
    if action.help == argparse.SUPPRESS:
        return
    begin = f"complete -c metaindex -n {_quoted(when)}"
    values = ""
    if action.choices is not None:
        values = f" -a {_quoted(' '.join(map(str, action.choices)))}"
    if not action.option_strings:
        if values or action.metavar in places:
            yield begin + (values or " -F")
        return
    for option in action.option_strings:
        begin += f" -l {option[2:]}" if option.startswith("--") else f" -s {option[1:]}"
    if action.nargs != 0:
        begin += " -r -F" if action.metavar in places and not values else f" -x{values}"
    yield f"{begin} -d {_quoted(_explained(parser, action))}"


def _explained(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Its help in one line."""
    return " ".join(argparse.HelpFormatter(parser.prog)._expand_help(action).split()) if action.help else ""


def _quoted(text: str) -> str:
    """Quote a text for fish: between single quotes only the backslash and the quote are special."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
