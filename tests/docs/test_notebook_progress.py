"""A build in a notebook shows its progress after two seconds, in a kernel as people have it; elsewhere nothing does."""

import re
from typing import Any

import nbformat
import pytest

from metaindex.core import watched
from metaindex.core.notebook import in_notebook
from tests.notebooks import run

SETUP = """
import time
from metaindex.core.notebook import watched

@watched
def build(seconds, progress=None, fails=False):
    for step in range(10):
        time.sleep(seconds / 10)
        progress("files <read>", step + 1, 10)
    if fails:
        raise ValueError("no")
    return seconds
"""
CELLS = (
    SETUP,
    "build(3)",
    "build(0.1)",
    "build(2.5, print)",
    "try:\n    build(3, fails=True)\nexcept ValueError:\n    pass",
    "import metaindex as mi, pyarrow as pa, pyarrow.parquet as pq, pathlib\n"
    "pathlib.Path('t').mkdir(); pq.write_table(pa.table({'a': [1]}), 't/f.parquet')\n"
    "mi.open_table('t').create_index('s', mi.ColumnStats())",
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    """What each cell shows."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    run(notebook, tmp_path_factory.mktemp("kernel"))
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.slow
def test_a_long_build_shows_one_bar_and_what_it_took(shown: list[list[Any]]) -> None:
    bar, result = shown[1]
    assert bar.output_type == "display_data"
    assert "<svg" in bar.data["text/html"]
    assert re.search(r"files &lt;read&gt;: 10 of 10, \d+ s", bar.data["text/html"])
    assert re.match(r"files <read>: 10 of 10, \d+ s", bar.data["text/plain"])
    assert result.data["text/plain"] == "3"


@pytest.mark.slow
def test_a_short_one_shows_none(shown: list[list[Any]]) -> None:
    assert [output.output_type for output in shown[2]] == ["execute_result"]
    *_, outcome = shown[5]  # a bar stands before it where the machine took more than two seconds
    assert outcome.output_type == "execute_result"
    assert "create of index" in outcome.data["text/html"]


@pytest.mark.slow
def test_who_gives_a_progress_of_his_own_has_that_alone(shown: list[list[Any]]) -> None:
    assert {output.output_type for output in shown[3]} == {"stream", "execute_result"}
    said = "".join(output.text for output in shown[3] if output.output_type == "stream")
    assert said.splitlines() == [f"files <read> {step} 10" for step in range(1, 11)]


@pytest.mark.slow
def test_one_that_fails_says_that_it_stopped(shown: list[list[Any]]) -> None:
    (bar,) = shown[4]
    assert re.search(r"10 of 10, \d+ s, stopped", bar.data["text/html"])


def test_elsewhere_nothing_is_added() -> None:
    asked = []

    @watched
    def verb(what: str, progress: object = None) -> str:
        asked.append(progress)
        return what

    assert not in_notebook()
    assert verb("x") == "x"
    assert verb.__name__ == "verb"
    assert asked == [None]
