"""What Spark said is kept as text, found again, asked again, and belongs to a test."""

import re
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.facts import FOLDER, Facts, read

ROOT = Path(__file__).parents[2]
KEPT = sorted(path for path in (ROOT / "tests").rglob(f"{FOLDER}/*.txt"))
SESSION = cast("SparkSession", object())
"""Is handed on to whoever asks, and no more."""
LINES = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("METAINDEX_GOLDEN", raising=False)
    (tmp_path / "tests").mkdir()
    return tmp_path


def facts(folder: Path, spark: SparkSession | None = None) -> Facts:
    return Facts("tests/test_some.py::test_it", folder, spark)


def written(folder: Path, answers: dict[str, list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAINDEX_GOLDEN", "1")
        for question, answer in answers.items():
            facts(folder, SESSION).said(question, lambda _, answer=answer: answer)


def test_what_was_said_is_kept_beside_the_test(folder: Path) -> None:
    written(folder, {"1.5": ["double", "'1.5'"], "1": ["int", ""]})
    kept = folder / "tests" / "facts" / "it.txt"
    assert kept.read_text() == (
        "# What Spark says, asked by tests/test_some.py::test_it. Written anew by:\n"
        "# METAINDEX_GOLDEN=1 .venv/bin/python -m pytest tests/test_some.py -k 'test_it and asked'\n"
        "\n1.5\n  double\n  '1.5'\n\n1\n  int\n  \n"
    )
    assert facts(folder).said("1.5", lambda _: pytest.fail("Spark was asked")) == ["double", "'1.5'"]


@given(answers=st.dictionaries(LINES.map("q {}".format), st.lists(LINES, max_size=4), min_size=1, max_size=4))
def test_whatever_was_said_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, answers: dict[str, list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("facts")
    (folder / "tests").mkdir()
    written(folder, answers)
    assert read(facts(folder).kept) == answers


def test_no_answer_says_how_to_ask(folder: Path) -> None:
    with pytest.raises(
        AssertionError, match=r"no answer to '1'.* METAINDEX_GOLDEN=1 .*test_some\.py -k 'test_it and asked'"
    ):
        facts(folder).said("1", lambda _: ["int"])
    written(folder, {"2": ["int"]})
    with pytest.raises(AssertionError, match="no answer to '1'"):
        facts(folder).said("1", lambda _: ["int"])


def test_another_answer_than_the_kept_one_is_told(folder: Path) -> None:
    written(folder, {"1": ["int"]})
    assert facts(folder, SESSION).said("1", lambda _: ["int"]) == ["int"]
    with pytest.raises(AssertionError, match="says otherwise"):
        facts(folder, SESSION).said("1", lambda _: ["bigint"])


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_every_kept_answer_is_that_of_a_test(kept: Path) -> None:
    said = re.match(r"# What Spark says, asked by (\S+)::(\w+)\. ", kept.read_text())
    test = ROOT / said[1]
    assert test.parent == kept.parent.parent
    assert kept.stem == said[2].removeprefix("test_")
    assert re.search(rf"^def {said[2]}\([^)]*facts: Facts", test.read_text(), re.MULTILINE)
    assert read(kept)
