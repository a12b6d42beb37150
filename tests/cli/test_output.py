"""Tables, JSON values and progress."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.cli.json_value import json_value
from metaindex.cli.output import Column, one_line, plain_table
from metaindex.cli.progress import Progress

CELLS = st.text(max_size=30)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_a_row_is_a_line_and_nothing_is_cut_off(rows: list[tuple[str, str]]) -> None:
    lines = plain_table([Column("name"), Column("size", right=True)], rows).split("\n")
    assert len(lines) == 2 + len(rows)
    for line, row in zip(lines[2:], rows, strict=True):
        assert all(one_line(cell).rstrip() in line for cell in row)


@given(CELLS)
def test_one_line_leaves_nothing_that_steers_a_terminal(text: str) -> None:
    assert one_line(text).isprintable()


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.binary()
        | st.datetimes()
        | st.decimals(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
)
def test_every_value_becomes_json(value: object) -> None:
    json.loads(json.dumps(json_value(value), allow_nan=False))


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
