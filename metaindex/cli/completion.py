"""`metaindex completion SHELL`: a script by which a shell completes commands, options and paths."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from metaindex.views.output import Output

from .arguments import DONE
from .command import Command

SHELLS = ("bash", "zsh", "fish", "tcsh")
_PLACES = frozenset({"TABLE", "ROOT", "FILE", "FOLDER", "PLACE"})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh, fish or tcsh")


def _run(args: argparse.Namespace, out: Output) -> int:
    script = _script(args.whole, args.shell)
    out.data({"shell": args.shell, "script": script})
    out.write(script)
    return DONE


def _script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Written from the parser that reads the command line, for fish by us and else by shtab: what it offers is what
    there is."""
    if shell == "fish":
        from .fish import fish_script

        return fish_script(parser, _PLACES)
    try:
        import shtab
    except ImportError as error:
        from metaindex.expressions.errors import MissingDependencyError

        raise MissingDependencyError(
            "completion is written by shtab; it is not installed; install metaindex with the extra:"
            " metaindex[completion]"
        ) from error
    for action in _actions(parser):
        if action.metavar in _PLACES and action.choices is None:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # of shtab alone
    return str(shtab.complete(parser, shell=shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Of all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
        else:
            yield action


COMMAND = Command(
    "completion",
    "a script by which your shell completes commands, options and paths",
    """Writes a script for bash, zsh, fish or tcsh. Bash reads it from ~/.bashrc by
eval "$(metaindex completion bash)"; zsh takes a file named _metaindex in a folder of $fpath, and fish one named
metaindex.fish in ~/.config/fish/completions.""",
    (
        "metaindex completion bash > ~/.local/share/bash-completion/completions/metaindex",
        "metaindex completion zsh > ~/.zfunc/_metaindex",
        "metaindex completion fish > ~/.config/fish/completions/metaindex.fish",
        'eval "$(metaindex completion bash)"',
    ),
    _arguments,
    _run,
)
