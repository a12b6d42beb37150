"""Help teaches; a wrong command line is answered in a line, with the near word and exit code 2."""

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from metaindex.cli.arguments import all_of
from metaindex.cli.machine import SHELLS
from metaindex.cli.main import COMMANDS
from tests.processes import python

from .conftest import Call


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_the_help_of_a_command_has_examples_and_exit_codes(call: Call, name: str) -> None:
    answer = call(name, "--help")
    assert answer.code == 0
    assert "examples:\n  metaindex " + name.split()[0] in answer.out or f"metaindex {name}" in answer.out
    assert "exit codes:" in answer.out
    assert "--json" in answer.out


def test_without_words_the_commands_are_listed(call: Call) -> None:
    answer = call()
    assert answer.code == 0
    assert all(f"    {command.name} " in answer.out for command in COMMANDS)
    assert "~/.config/metaindex/config.toml, or the file that METAINDEX_CONFIG names" in answer.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["prun", "t"], "did you mean 'prune'?"),
        (["refesh"], "did you mean 'refresh'?"),
        (["zzz"], "the commands are create, refresh"),
        (["lake/t", "prune"], "the command comes first: metaindex prune lake/t"),
        (["--debug", "prune", "t", "a = 1"], "--debug stands behind the command: metaindex prune --debug ..."),
        (["prune", "t"], "required: PREDICATE"),
        (["recommend"], "required: TABLE; read metaindex recommend --help"),
        (["prune", "t", "a = 1", "--version", "1", "--timestamp", "2026-01-01"], "not allowed with"),
        (["create", "t", "n", "--option", "header"], "an option is KEY=VALUE; got 'header'"),
        (["scan", "t", "--limit", "-1"], "a limit is a number of rows from 1 on, or all; got '-1'"),
        (["scan", "t", "--limit", "0"], "got '0'; leave it out for 20 rows, say all for every row, or --count"),
        (["scan", "t", "--columns", ","], "columns are names separated by commas"),
        (["serve"], "ROOT|TABLE|CATALOG..., or --before URI; read metaindex serve --help"),
        (["indexes", "t", "--jsn"], "unrecognized arguments: --jsn"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(call: Call, words: list[str], said: str) -> None:
    answer = call(*words)
    assert answer.code == 2
    assert answer.out == ""
    assert said in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("indexes", "{t}", "--format", "parquet", "stats"),
        ("scan", "{t}", "--limit", "1", "id >= 100", "--count"),
        ("scan", "--count", "{t}", "--format", "parquet", "--", "id >= 100"),
        ("watch", "{t}", "--once", "{t}"),
    ],
    ids=" ".join,
)
def test_options_stand_where_a_person_puts_them(call: Call, indexed: Path, words: tuple[str, ...]) -> None:
    options = [word for word in words if word.startswith("--") and word != "--"]
    answer = call(*(word.format(t=indexed) for word in words))
    assert (answer.code, "unrecognized" in answer.err) == (0, False), (options, answer)


def test_the_version_of_the_program_is_told(call: Call) -> None:
    answer = call("--version")
    assert (answer.code, answer.out.split()[0]) == (0, "metaindex")


def test_help_of_a_command_may_be_asked_for_by_help(call: Call) -> None:
    assert call("help", "create").out == call("create", "--help").out
    assert call("help").out == call().out


def test_one_row_is_a_row(call: Call, indexed: Path) -> None:
    assert "1 row, there may be more (--limit)" in call("scan", indexed, "--limit", "1").err


def test_a_report_is_written_to_html(call: Call, indexed: Path, tmp_path: Path) -> None:
    assert call("report", indexed, "--html", tmp_path / "page.html").code == 0
    assert (tmp_path / "page.html").exists()


def test_an_index_that_is_disabled_is_said_to_be(call: Call, indexed: Path) -> None:
    assert "done, ACTIVE, disabled (entry" in call("disable", indexed, "stats").out
    assert "done, ACTIVE (entry" in call("enable", indexed, "stats").out


@pytest.mark.parametrize(
    ("old", "new", "more"), [("advise", "recommend", ("--where", "id = 112")), ("delete", "drop", ("nothing",))]
)
def test_a_command_is_known_by_the_name_that_it_had(
    call: Call, indexed: Path, old: str, new: str, more: tuple[str, ...]
) -> None:
    assert f"\n    {old} " not in call().out
    assert call(new, "--help").out.split()[-40:] == call(old, "--help").out.split()[-40:]
    was, told = call(old, indexed, *more), call(new, indexed, *more)
    assert (was.code, was.err) == (told.code, told.err)
    assert was.out.splitlines()[:3] == told.out.splitlines()[:3]


@pytest.mark.parametrize("words", [["--help"], ["refresh", "--help"], ["recommend", "--help"]], ids=" ".join)
def test_help_waits_for_no_large_package(words: list[str]) -> None:
    """A count of modules, as a time would be of the machine: each that is loaded is waited for."""
    code = f"""
import contextlib, io, sys
from metaindex.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main({words!r}) == 0
print(sum(name.split('.')[0] == 'metaindex' for name in sys.modules), *{{name.split('.')[0] for name in sys.modules}})
"""
    count, *loaded = python("-c", code).split()
    assert int(count) < 70
    assert not {"numpy", "pyarrow", "sqlglot", "rich", "pyspark"} & set(loaded)


# Completion -----------------------------------------------------------------------------------------------------------


def _offered(script: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    text = f"""
source {script}
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
$(complete -p metaindex | sed -n 's/.*-F \\([^ ]*\\).*/\\1/p') metaindex "${{COMP_WORDS[COMP_CWORD]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    ran = subprocess.run(["bash", "-c", text, "-", "metaindex", *words], capture_output=True, text=True, check=True)
    return ran.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_and_values(call: Call, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(call("completion", "bash").out)
    assert set(_offered(tmp_path / "script", "")) >= {command.name for command in COMMANDS}
    assert _offered(tmp_path / "script", "doc") == ["doctor"]
    assert "--index-location" in _offered(tmp_path / "script", "prune", "--index")
    assert set(_offered(tmp_path / "script", "create", "--builder", "")) == {"local", "spark"}


def _offered_by_fish(script: Path, line: str) -> list[str]:
    """What fish offers behind this line; each with its help behind a tab."""
    text = f"source {script}; complete -C $argv[1]"
    ran = subprocess.run(["fish", "--no-config", "-c", text, line], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return [offered.partition("\t")[0] for offered in ran.stdout.splitlines()]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes_commands_options_values_and_paths(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script"
    script.write_text(call("completion", "fish").out)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    assert set(_offered_by_fish(script, "metaindex ")) == {command.name for command in COMMANDS}
    assert _offered_by_fish(script, "metaindex doc") == ["doctor"]
    assert "--index-location" in _offered_by_fish(script, "metaindex prune --index")
    assert set(_offered_by_fish(script, "metaindex create --builder ")) == {"local", "spark"}
    assert set(_offered_by_fish(script, "metaindex completion ")) == set(SHELLS)
    assert "lake/" in _offered_by_fish(script, "metaindex prune la")
    assert "--once" not in _offered_by_fish(script, "metaindex prune watch --on"), "the command is the first word"


def _words(line: str) -> list[str]:
    """A line of fish whose words are plain, or whole between single quotes."""
    found = re.findall(r"(?:[^\s'\\]|'(?:[^'\\]|\\['\\])*')+", line)
    assert " ".join(found) == line, "nothing stands outside of words"
    return [re.sub(r"\\(['\\])", r"\1", word[1:-1]) if word.startswith("'") else word for word in found]


def test_the_script_of_fish_has_every_command_and_option_between_sound_quotes(call: Call) -> None:
    script = call("completion", "fish").out
    lines = [_words(line) for line in script.splitlines() if line.startswith("complete ")]
    assert {line[6] for line in lines if line[4:6] == ["__metaindex_bare", "-a"]} == {c.name for c in COMMANDS}
    for command in COMMANDS:
        parser = argparse.ArgumentParser()
        all_of(*command.parts)(parser)
        wanted = {word[2:] for action in parser._actions for word in action.option_strings if word.startswith("--")}
        of_command = [line for line in lines if line[4:5] == [f"__metaindex_in {command.name}"]]
        assert wanted <= {line[at + 1] for line in of_command for at, word in enumerate(line) if word == "-l"}
    known = {"-c", "-n", "-a", "-d", "-l", "-s", "-x", "-r", "-F", "-f", "-e"}
    for line in lines:
        words = iter(line[1:])
        for word in words:
            assert word in known, line
            if word in {"-c", "-n", "-a", "-d", "-l", "-s"}:
                assert next(words) or word == "-d", line
    assert script.count("function ") == len(re.findall(r"^end$", script, re.MULTILINE))


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str, call: Call) -> None:
    told = call("completion", shell, "--json")
    assert told.code == 0
    assert told.json["shell"] == shell
    assert "doctor" in told.json["script"]


def test_a_shell_that_is_not_known(call: Call) -> None:
    assert call("completion", "elvish").code == 2
