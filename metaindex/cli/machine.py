"""The commands about this machine: doctor, completion, demo."""

from __future__ import annotations

import argparse

from metaindex.cli.output import Output

from .arguments import DONE, FAILED, TABLE_IF_ANY, Command, flag, option, word
from .opening import open_from, write_parts
from .progress import busy

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
    "what is missing or wrong on this machine, and with this table's place?",
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
    from .completion import completion_script

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

    return DONE if run_demo(args.folder, args.keep, out, master=args.master) else FAILED


DEMO = Command(
    "demo",
    "see it at work on 336,776 real flights, in all four formats",
    """Writes a year of flights from New York as a Parquet, a CSV, a Delta and an Iceberg table through Spark, builds an
index on each, asks questions with and without it, commits another day, refreshes, asks again, then asks the old
version. Every answer is compared with a full read and with Spark's own. Exit code 0 only if all of them were equal.""",
    (
        "metaindex demo",
        "metaindex demo --folder flights-lake     and try the other commands on flights-lake/parquet/flights",
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
    ),
    _demo,
)
