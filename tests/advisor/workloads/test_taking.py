"""Conditions, statements and files become templates; what cannot be read is told, and the rest goes on."""

import bz2
import gzip
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
import metaindex.advisor.workloads.gathering as gathering_module
from metaindex.advisor.workloads.gathering import MOST_REASONS, Gathering
from metaindex.advisor.workloads.taking import from_query_log
from metaindex.advisor.workloads.template import reads_of, shape_of_text, shown_predicate
from metaindex.advisor.workloads.text_files import MOST_CHARACTERS, statements
from metaindex.core import ExpressionError
from metaindex.expressions import StatementReads


def told(workload: mi.Workload) -> list[tuple[int, str]]:
    return [
        (template.seen, " ; ".join(shown_predicate(t.predicate) for t in template.tables))
        for template in workload.templates
    ]


def test_queries_that_differ_in_literals_are_one_template() -> None:
    found = mi.workload(
        ["a = 1", "a = 2", mi.col("a") == 3, "b IN (1, 2)", "b IN (4, 5, 6)", "a = 'x' AND b = 2", "b = 3 AND a = 'y'"]
    )
    assert told(found) == [(3, "a = 1"), (2, "b IN (1, 2)"), (2, "a = 'x' AND b = 2")]
    examples = [shown_predicate(example.tables[0].predicate) for example in found.templates[0].examples]
    assert examples == ["a = 1", "a = 2", "a = 3"]
    assert found.seen == 7
    assert found.problems == ()


def test_other_tables_columns_and_keys_are_other_templates() -> None:
    texts = ["SELECT x FROM t", "SELECT y FROM t", "SELECT x FROM u"]
    texts += [f"{texts[0]} {more}" for more in ("GROUP BY x", "ORDER BY x", "LIMIT 1")]
    assert len(mi.workload(texts)) == len(texts)
    assert len(mi.workload(["SELECT a, b, c FROM t GROUP BY 1", "SELECT a, b, c FROM t GROUP BY 2"])) == 2


def test_what_cannot_be_read_is_told_and_the_rest_goes_on() -> None:
    found = mi.workload(
        [
            "a = 1",
            "a = ",
            "SELECT FROM",
            "DROP TABLE t",
            "DROP TABLE u",
            "SELECT " + "(" * 3000,
            "x" * (MOST_CHARACTERS + 1),
        ]
    )
    assert told(found) == [(1, "a = 1")]
    assert sum(problem.seen for problem in found.problems) == 6
    assert max(problem.seen for problem in found.problems) == 2  # DROP, twice
    assert all(len(str(problem)) < 600 for problem in found.problems)
    assert "not read" in str(found)
    assert len(found._repr_html_()) < 100_000


@pytest.mark.parametrize("before", [0, 1, 3, 20])
def test_a_text_that_cannot_be_read_is_told_alone(before: int) -> None:
    """As the cut line of a log, which is like whole ones but for its end."""
    whole = [f"SELECT a FROM t WHERE b = 'n{number}'" for number in range(40)]
    found = mi.workload([*whole[:before], "SELECT a FROM t WHERE b = 'n", *whole[before:]])
    assert [template.seen for template in found.templates] == [40]
    assert [problem.seen for problem in found.problems] == [1]
    found = mi.workload([*whole[:3], "SELECT a FROM t WHERE b = X'no'", *whole[3:]])
    assert [template.seen for template in found.templates] == [40]


def test_a_literal_that_cannot_be_read_spoils_no_other_of_its_shape() -> None:
    whole = [f"SELECT a FROM t WHERE b = X'{number:02d}'" for number in range(30)]
    found = mi.workload(["SELECT a FROM t WHERE b = X'no'", *whole])
    assert [template.seen for template in found.templates] == [30]
    assert [problem.seen for problem in found.problems] == [1]


def test_texts_alike_that_cannot_be_read_are_tried_now_and_then() -> None:
    asked: list[str] = []

    def read(text: str) -> StatementReads:
        asked.append(text)
        if text.startswith("SELECT a FROM t WHERE b = 'wrong"):
            raise ExpressionError("it is wrong")
        return reads_of(text, "UTC")

    gathering = Gathering()
    for number in range(10_000):
        gathering.text(f"SELECT a FROM t WHERE b = 'wrong{number}'", read)
    assert len(asked) < 40
    for number in range(10_000):
        gathering.text(f"SELECT a FROM t WHERE b = 'right{number}'", read)
    (template,), (problem,) = gathering.workload().templates, gathering.workload().problems
    assert template.seen + problem.seen == 20_000
    assert len(asked) < 100  # those that are drawn, too
    assert template.seen > 1_000


def test_texts_behind_the_last_template_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def read(text: str) -> StatementReads:
        asked.append(text)
        return reads_of(text, "UTC")

    monkeypatch.setattr(gathering_module, "MOST_TEMPLATES", 3)
    gathering = Gathering()
    for number in range(3):
        gathering.text(f"SELECT a FROM t{number}", read)
    for number in range(1_000):
        gathering.text(f"SELECT a FROM t WHERE b = {number}", read)
    found = gathering.workload()
    assert (len(asked), len(found), [problem.seen for problem in found.problems]) == (4, 3, [1_000])


def test_reasons_are_bounded() -> None:
    found = mi.workload([f"{'x ' * number}= 1" for number in range(2, 3 * MOST_REASONS)])
    assert len(found.problems) <= MOST_REASONS + 1
    assert sum(problem.seen for problem in found.problems) == 3 * MOST_REASONS - 2


@pytest.mark.parametrize("wrong", [None, 3, object(), [None], [b"a = 1"]])
def test_what_is_no_query_is_refused(wrong: object) -> None:
    with pytest.raises(mi.ArgumentError):
        mi.workload(wrong)


def test_a_workload_may_be_made_of_others() -> None:
    first = mi.workload(["a = 1", "b = "])
    both = mi.workload([first, "a = 2", first])
    assert told(both) == [(3, "a = 1")]
    assert [problem.seen for problem in both.problems] == [2]
    assert mi.workload([both]) == both
    assert mi.workload([]) == mi.Workload()


def test_files_of_statements(tmp_path: Path) -> None:
    text = "-- first; nothing\nSELECT * FROM t WHERE a = ';';\n\nSELECT *\nFROM t WHERE a = 'x';;\n"
    (tmp_path / "q.sql").write_text(text)
    (tmp_path / "q.sql.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "q.sql.bz2").write_bytes(bz2.compress(text.encode()))
    with pa.output_stream(str(tmp_path / "q.sql.zst"), compression="zstd") as packed:
        packed.write(text.encode())
    (tmp_path / "q.log").write_text("SELECT * FROM t WHERE a = 'y'\n\na = 3\nSELECT * FROM t WHERE a = 'z';\n")
    expected = mi.workload("SELECT * FROM t WHERE a = ';'; SELECT * FROM t WHERE a = 'x'")
    assert told(expected) == [(2, "a = ';'")]
    for name in ("q.sql", "q.sql.gz", "q.sql.bz2", "q.sql.zst"):
        assert told(mi.workload(tmp_path / name)) == told(mi.workload(str(tmp_path / name))) == told(expected)
    assert told(mi.workload(tmp_path / "q.log")) == [(2, "a = 'y'"), (1, "a = 3")]
    with pytest.raises(mi.ObjectNotFoundError):
        mi.workload("missing.sql")
    (tmp_path / "cut.sql.gz").write_bytes(gzip.compress(text.encode() * 1000)[:-30])
    with pytest.raises(mi.StorageError):
        mi.workload(tmp_path / "cut.sql.gz")


@pytest.mark.slow
def test_a_long_file_is_not_held(tmp_path: Path) -> None:
    with (tmp_path / "q.sql").open("w") as file:
        for number in range(20_000):
            file.write(f"SELECT a FROM t WHERE id = {number} AND name = '{'n' * 400}{number}';\n")
        file.write(f"SELECT '{'x' * 3 * MOST_CHARACTERS}';\nSELECT a FROM t")
    mi.workload("SELECT a FROM t WHERE id = 1")
    tracemalloc.start()
    found = mi.workload(tmp_path / "q.sql")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [template.seen for template in found.templates] == [20_000, 1]
    assert [problem.seen for problem in found.problems] == [1]
    assert most < 8_000_000 < (tmp_path / "q.sql").stat().st_size


def test_rows_of_a_query_log() -> None:
    rows = pa.table(
        {
            "table": ["lake/t", "lake/t", "lake/u", "lake/t"],
            "predicate": ["`a` = 1", "`a` = 2", None, "nonsense ("],
            "columns": [["a", "b"], ["b", "a"], [], None],
            "group_keys": [["b"], ["b"], None, None],
            "limit": pa.array([10, 20, None, None], pa.int64()),
            "milliseconds": [1500.0, 500.0, None, None],
        }
    )
    found = from_query_log(rows)
    assert told(found) == [(2, "a = 1"), (1, "TRUE")]
    first, (read,) = found.templates[0], found.templates[0].tables
    assert (first.seconds, first.limit, read.group_keys, read.table) == (2.0, 10, ("b",), "lake/t")
    assert [problem.seen for problem in found.problems] == [1]
    with pytest.raises(mi.ArgumentError):
        from_query_log(pa.table({"a": [1]}))


LITERALS = st.one_of(
    st.integers(0, 10**9).map(str),
    st.text(st.characters(exclude_characters="'\\%_", exclude_categories=["Cs", "Cc"]), max_size=5).map(
        lambda text: f"'{text}'"
    ),
)


@given(st.lists(st.tuples(LITERALS, LITERALS), min_size=1, max_size=8))
def test_any_literals_are_one_template(pairs: list[tuple[str, str]]) -> None:
    texts = [f"SELECT a, b FROM t WHERE a = {one} AND b > {other}" for one, other in pairs]
    assert len({shape_of_text(text) for text in texts}) == 1
    found = mi.workload(texts)
    assert [template.seen for template in found.templates] == [len(texts)]
    assert sum(found.templates[0].counts) == len(texts)
    assert len(found.templates[0].examples) == len(found.templates[0].counts)


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_text_is_a_template_or_told(texts: list[str]) -> None:
    found = mi.workload(["a = 1", *(f" {text}" for text in texts)])
    asked = sum(1 for text in texts for _ in statements([text]))
    assert found.seen + sum(problem.seen for problem in found.problems) == asked + 1


@pytest.mark.slow
def test_importing_loads_no_parser() -> None:
    names = "{'sqlglot', 'pyspark', 'duckdb'}"
    code = f"import sys, metaindex as mi; mi.workload, mi.Workload; print({names} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


class DataFrame:
    """As Spark Connect's: without a plan on this side."""


DataFrame.__module__ = "pyspark.sql.connect.dataframe"


def test_frames_of_spark_connect_are_refused() -> None:
    with pytest.raises(mi.UnsupportedFeatureError, match="Spark Connect"):
        mi.workload([DataFrame()])
