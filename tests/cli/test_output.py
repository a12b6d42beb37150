"""What commands write, JSON and progress."""

import contextlib
import io
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex import cli, core
from metaindex.cli.output import Output, Progress, json_text
from metaindex.core import Column

STEERS = "\x1b]0;title\x07\x1b[31mRED\x9b31m\u202ebidi\u2066"


@given(st.text(), st.text())
def test_nothing_that_a_command_writes_steers_a_terminal(title: str, text: str) -> None:
    for one in (title + STEERS, text + STEERS):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            told = Output()
            told.write(one)
            told.say(one)
            told.table([Column(one), Column("size", right=True)], [(one, one)])
            Output(json=True).data({one: [one]})
            with Progress(quiet_seconds=0) as progress:
                progress(one, 1, 2)
        assert all(c.isprintable() or c == "\n" for c in out.getvalue() + err.getvalue())


@given(st.recursive(st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_json_says_the_same_whatever_is_escaped(value: object) -> None:
    assert json.loads(json_text(value)) == value
    assert json_text(value).isprintable()


def test_commands_write_by_one_gate() -> None:
    """A write of its own, in another file, would be a way around it."""
    paths = [*Path(cli.__file__).parent.glob("*.py"), *Path(core.__file__).parent.glob("*.py")]
    assert len(paths) > 30
    for path in paths:
        if path.name not in ("output.py", "shown.py", "texts.py", "diagnosis.py"):
            assert not re.search(r"\bprint\(|std(out|err)\.write|print_exception", path.read_text()), path.name


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        for done in range(1000):
            progress("files", done, 1000)
    assert capsys.readouterr() == ("", "")


def test_long_work_says_so_on_stderr_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(quiet_seconds=0) as progress:
        for done in range(1000):
            progress("files", done, 1000)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["metaindex: files: 0 of 1,000, 0 s"]


def test_work_without_steps_says_that_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(quiet_seconds=0.01) as progress, progress.during("looking"):
        until = time.monotonic() + 10
        while not (said := capsys.readouterr().err):
            assert time.monotonic() < until
            time.sleep(0.01)
    assert said == "metaindex: looking, 0 s\n"
    with Progress() as progress, progress.during("quick"):
        pass
    assert capsys.readouterr().err == ""
