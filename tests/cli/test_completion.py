"""The script that completes, asked by a real shell."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from metaindex.cli.completion import SHELLS
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


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str, call: Call) -> None:
    told = call("completion", shell, "--json")
    assert told.code == 0
    assert told.json["shell"] == shell
    assert "doctor" in told.json["script"]


def test_a_shell_that_is_not_known(call: Call) -> None:
    assert call("completion", "fish").code == 2
