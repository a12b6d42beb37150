"""Facts of Spark: how it parses, casts, compares, lists. Spark was asked once, and what it said is kept in a text
beside the test (`facts/<test>.txt`). A test that takes the fixture `facts` is there twice:

    test[kept]    holds what is ours against the kept answers, without Spark: in every run
    test[asked]   asks Spark again, which must say what is kept: in `make test-all`

    def test_types_are_those_of_spark(facts: Facts, tmp_path: Path) -> None:
        (theirs,) = facts.said("1.50", lambda spark: [spark.read.csv(...).schema.simpleString()])
        assert ours == theirs

`METAINDEX_GOLDEN=1 .venv/bin/python -m pytest FILE -k "TEST and asked"` writes the answers anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "facts"
_HEAD = (
    "# What Spark says, asked by {test}. Written anew by:\n# METAINDEX_GOLDEN=1 .venv/bin/python -m pytest {file} -k"
    " '{name} and asked'\n"
)


class Facts:
    """The answers kept for the test of this name in this file. `spark`: Spark is asked too."""

    def __init__(self, test: str, root: Path, spark: SparkSession | None = None) -> None:
        self._test, self._spark = test, spark
        self._file, _, self._name = test.partition("::")
        self.kept = (root / self._file).parent / FOLDER / f"{self._name.removeprefix('test_')}.txt"

    def said(self, question: str, ask: Callable[[SparkSession], Iterable[str]]) -> list[str]:
        """Spark's answer, in lines. The question is one line, of its own in this test."""
        if self._spark is None:
            answers = read(self.kept) if self.kept.exists() else {}
            assert question in answers, f"no answer to {question!r} is kept in {self.kept}; ask Spark: {self._command}"
            return answers[question]
        answer = list(ask(self._spark))
        if os.environ.get("METAINDEX_GOLDEN"):
            self._keep(question, answer)
        kept = read(self.kept).get(question)
        assert answer == kept, f"Spark says otherwise than {self.kept}; look why, then: {self._command}"
        return answer

    @property
    def _command(self) -> str:
        return _HEAD.format(test=self._test, file=self._file, name=self._name).splitlines()[1].removeprefix("# ")

    def _keep(self, question: str, answer: list[str]) -> None:
        assert not any("\n" in line for line in (question, *answer)), "a line each"
        assert not question.startswith(("#", "  ")), question
        answers = (read(self.kept) if self.kept.exists() else {}) | {question: answer}
        self.kept.parent.mkdir(exist_ok=True)
        said = (f"\n{asked}\n" + "".join(f"  {line}\n" for line in lines) for asked, lines in answers.items())
        self.kept.write_text(_HEAD.format(test=self._test, file=self._file, name=self._name) + "".join(said))


def read(kept: Path) -> dict[str, list[str]]:
    """By question."""
    return dict(_answers(kept.read_bytes().decode().split("\n")))


def _answers(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    answer: list[str] = []
    for line in lines:
        if line.startswith("  "):
            answer.append(line[2:])
        elif line and not line.startswith("#"):
            answer = []
            yield line, answer
