"""The script that completes, asked by a real shell."""

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from metaindex.cli.arguments import all_of
from metaindex.cli.machine import SHELLS
from metaindex.cli.main import COMMANDS
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture


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
