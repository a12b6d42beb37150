"""The commands about this machine: doctor, completion, demo."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator

from metaindex.cli.output import Output

from .arguments import DONE, FAILED, TABLE_IF_ANY, Command, flag, option, word
from .opening import open_from, write_parts
from .output import busy

SHELLS = ("bash", "zsh", "fish", "tcsh")


def _doctor(args: argparse.Namespace, out: Output) -> int:
    from .diagnosis import Health, look, table_of

    with busy("looking"):
        symptoms = look(open_from(args) if args.table else None, write=not args.no_write)
    out.data([{"about": s.about, "state": str(s.health), "fact": s.fact, "cure": s.cure} for s in symptoms])
    write_parts([table_of(symptoms)] if not out.json else (), out)
    wrong = [symptom for symptom in symptoms if symptom.health is Health.WRONG]
    for symptom in wrong:
        out.say(f"metaindex: {symptom.about}: {symptom.fact}; {symptom.cure}")
    return FAILED if wrong else DONE


DOCTOR = Command(
    "doctor",
    "what is wrong with packages and settings here, and with this table's place?",
    """Looks at what no error says: versions of the installed packages, variables that nobody reads, and whether Spark's
defaults switch metaindex on. With TABLE: can its indexes be written, does put-if-absent have one winner there, and do
the clocks agree? (How indexes are, metaindex indexes tells.)

"lacking" is what cannot be used, and not everybody needs; "wrong" is what will fail: the exit code is 1 then. Nothing
is changed. With TABLE an empty object is put in the folder of its indexes and removed (not with --no-write).""",
    ("metaindex doctor", "metaindex doctor lake/flights", "metaindex doctor s3://bucket/events --no-write --json"),
    (TABLE_IF_ANY, flag("--no-write", "write nothing: not even to see whether one can")),
    _doctor,
)


def _completion(args: argparse.Namespace, out: Output) -> int:
    script = completion_script(args.whole, args.shell)
    out.data({"shell": args.shell, "script": script})
    out.write(script)
    return DONE


COMPLETION = Command(
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
    (word("SHELL", "bash, zsh, fish or tcsh", choices=SHELLS),),
    _completion,
)


def _demo(args: argparse.Namespace, out: Output) -> int:
    from .flights import run_demo

    return DONE if run_demo(args.folder, args.keep, out, master=args.master, quick=args.quick) else FAILED


DEMO = Command(
    "demo",
    "see it at work on 336,776 real flights, in all four formats",
    """Writes a year of flights from New York as a Parquet, a CSV, a Delta and an Iceberg table through Spark, builds an
index on each, asks questions with and without it, commits another day, refreshes, asks again, then asks the old
version. Every answer is compared with a full read and with Spark's own. Exit code 0 only if all of them were equal.""",
    (
        "metaindex demo",
        "metaindex demo --folder flights-lake     and try the other commands on flights-lake/parquet/flights",
        "metaindex demo --quick                   a log in JSON: less than a minute, no Java, no extra",
    ),
    (
        option("--folder", "FOLDER", "write the tables here and keep them; the folder must be new or empty"),
        option(
            "--master",
            "URL",
            "Spark's master, for example spark://host:7077; FOLDER then lies where all its workers see it (default:"
            " Spark in this process)",
        ),
        flag("--keep", "keep the temporary folder"),
        flag("--quick", "a log of requests in JSON alone, without Spark: less than a minute"),
    ),
    _demo,
)


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

        raise MissingDependencyError.lacking("completion", "shtab") from error
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
    for name in action.option_strings:
        begin += f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
    if action.nargs != 0:
        begin += " -r -F" if action.metavar in places and not values else f" -x{values}"
    text = argparse.HelpFormatter(parser.prog)._expand_help(action) if action.help else ""
    yield f"{begin} -d {_quoted(' '.join(text.split()))}"


def _quoted(text: str) -> str:
    """Quote a text for fish: between single quotes only the backslash and the quote are special."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
