"""Texts of anybody's: each is read, or refused by name, and none holds a process for long: a test that hangs fails
(`tests/hanging.py`)."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.advisor.workloads.template import shape_of_text
from metaindex.expressions import Comparison, Opaque, Predicate, statement_reads, to_predicate
from tests.examples import few

MANY = few(30_000, 300_000)
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
    "many names of many tables": f"SELECT {', '.join(f'a{i}' for i in range(MANY // 60))} FROM "
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


LONG: dict[str, Callable[[int], str]] = {
    "a sum": lambda n: "a = " + "+".join(["1"] * n),
    "a product": lambda n: "a = " + "*".join(["1"] * n),
    "texts side by side": lambda n: "s = " + "||".join(["'a'"] * n),
    "bits": lambda n: "a = " + "|".join(["1"] * n),
    "days later": lambda n: "d = DATE '2020-01-01'" + " + INTERVAL 1 DAY" * n,
    "sums of sums": lambda n: "a = " + "+".join(["(1+2)"] * n),
    "a sum of columns": lambda n: "a = " + "+".join(["b"] * n),
    "a column and a sum": lambda n: "a = b+" + "+".join(["1"] * n),
    "products of columns": lambda n: "a = " + "+".join(["1*b"] * n),
    "comparisons of comparisons": lambda n: "=".join(["a"] * n),
    "both ends": lambda n: f"a BETWEEN {'+'.join(['1'] * n)} AND {'+'.join(['2'] * n)}",
    "a list of sums": lambda n: f"a IN ({', '.join(['1+1'] * n)})",
    "a choice": lambda n: f"CASE {' '.join(f'WHEN a = {i} THEN {i}' for i in range(n))} END = 3",
    "constant conditions": lambda n: f"a = 1 AND ({' AND '.join(['1 = 1'] * n)})",
    "all of sums": lambda n: " AND ".join(f"a = b + {i}" for i in range(n)),
    "questions of questions": lambda n: "a" + " IS NULL" * n,
    "casts of casts": lambda n: "a = 1" + "::int" * n,
}


@pytest.mark.exhaustive(but="statement-a sum")
@pytest.mark.slow
@pytest.mark.parametrize("said", LONG.values(), ids=LONG)
@pytest.mark.parametrize("read", [statement_reads, to_predicate], ids=["statement", "condition"])
def test_twice_as_long_takes_no_more_than_some_twice_the_time(
    said: Callable[[int], str], read: Callable[[str], object]
) -> None:
    start = "SELECT * FROM t WHERE " if read is statement_reads else ""

    def taken(terms: int) -> float:
        text = start + said(terms)
        took = []
        for _ in range(2):
            before = time.process_time()
            with contextlib.suppress(mi.MetaIndexError):
                read(text)
            took.append(time.process_time() - before)
        return min(took)

    taken(50)
    assert taken(1_600) < 32 * max(taken(200), 0.002)  # eight times as long: the square would be 64


def test_arithmetic_of_literals_is_worked_out_but_for_what_is_too_long() -> None:
    def predicate(condition: str) -> Predicate:
        return statement_reads(f"SELECT * FROM t WHERE {condition}").tables[0].predicate

    assert predicate(f"a = {'+'.join(['1'] * 100)}") == predicate("a = 100")
    assert predicate(f"a IN ({', '.join(f'{i} + 1' for i in range(500))}) AND b = 1 + 1") == predicate(
        f"a IN ({', '.join(f'{i + 1}' for i in range(500))}) AND b = 2"
    )
    assert isinstance(predicate(f"a = {'+'.join(['1'] * 1_000)}"), Opaque)


def test_a_question_of_very_many_questions_is_opaque() -> None:
    schema = pa.schema([("a", pa.int64())])
    assert to_predicate("a IS NULL" + " IS NULL" * 19, schema) == to_predicate("a IS NULL IS NULL", schema)
    assert isinstance(to_predicate("a IS NULL" + " IS NULL" * 50, schema), Opaque)


@pytest.mark.slow
def test_a_condition_that_ends_the_stack_while_it_is_written_is_opaque() -> None:
    assert isinstance(to_predicate(LONG["casts of casts"](3_000)), Opaque)


@pytest.mark.parametrize("kind", [f"DECIMAL({'9' * 5_000}, 0)", "DECIMAL(38, 99999999)", f"VARCHAR({'9' * 5_000})"])
@pytest.mark.parametrize("condition", ["a = CAST('1' AS {})", "CAST(a AS {}) = 1"])
def test_a_type_of_a_size_that_none_has_is_not_understood(kind: str, condition: str) -> None:
    schema = pa.schema([("a", pa.decimal128(10, 0))])
    assert isinstance(to_predicate(condition.format(kind), schema), Opaque | Comparison)


@pytest.mark.slow
def test_a_query_of_very_many_queries_is_told() -> None:
    (problem,) = mi.workload("SELECT * FROM t WHERE " + " AND ".join(["a IN (SELECT b FROM u)"] * 2_001)).problems
    assert "2,000 at most; one is of 2,002" in problem.reason


@pytest.mark.slow
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
