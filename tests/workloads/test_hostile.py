"""Texts of anybody's: each is read, or refused by name, and none holds a process for long: a test that hangs fails
(`tests/hanging.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

import metaindex as mi
from metaindex.workloads.shape import shape_of_text

MANY = 300_000
TEXTS = {
    "comments in front": "/* c */\n" * 60 + "SELECT * FROM t WHERE a = 1",
    "many comments, and no statement": "/**/" * MANY + "x",
    "comments that nothing ends": "SELECT 1 " + "/* " * MANY,
    "lines of comments": "-- c\n" * (MANY // 2) + "x",
    "a text that nothing ends": "a = '" + "\\'" * MANY,
    "a text that a backslash ends": "a = '" + "\\'" * MANY + "\\",
    "the same in double quotes": 'a = "' + '\\"' * MANY,
    "a name that nothing ends": "`a" * (MANY + 1),
    "a list that nothing ends": "a IN (1" + ", 1" * (MANY // 10),
    "parentheses": "SELECT * FROM t WHERE " + "(" * MANY,
    "signs": "SELECT * FROM t WHERE a = " + "- " * (MANY // 10) + "1",
    "many tables": "SELECT * FROM t0 " + " ".join(f"JOIN t{i} ON t{i}.a = t{i - 1}.a" for i in range(1, 3_000)),
    "many names of many tables": f"SELECT {', '.join(f'a{i}' for i in range(5_000))} FROM "
    + ", ".join(f"t{i}" for i in range(1, 190)),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_it_is_read_or_refused_by_name(text: str) -> None:
    found = mi.workload(text)
    assert found.seen + sum(problem.seen for problem in found.problems) == 1
    shape_of_text(text)


def test_comments_in_front_of_a_statement_are_none_of_it() -> None:
    (template,) = mi.workload(TEXTS["comments in front"]).templates
    assert [read.table for read in template.tables] == ["t"]


def test_a_query_of_very_many_tables_is_told() -> None:
    (problem,) = mi.workload(TEXTS["many tables"]).problems
    assert "200 tables at most in one FROM; one has 3,000" in problem.reason


def test_a_folder_is_no_file_of_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition's folder has the name of a condition."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "month=2").mkdir()
    assert mi.workload("month=2").seen == 1
    (tmp_path / "queries").write_text("month = 2\nmonth = 3\n")
    assert mi.workload("queries").seen == 2
