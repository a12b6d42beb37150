"""EXPLAIN INDEXES, EXPLAIN WHATIF and RECOMMEND INDEXES without Spark: queries, and what is none."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.statements.grammar.parsing import parsed
from tests.index.contract.verbs_lake import FORMATS
from tests.statements.execution.stated import filled, named, told
from tests.tables import settle, settled


@pytest.mark.parametrize("format_", [format_ for format_ in FORMATS if format_ != "csv"])  # a query says no options
@pytest.mark.slow
def test_a_query_is_explained_weighed_and_advised(format_: str, tmp_path: Path) -> None:
    lake = filled(tmp_path, format_)
    table = named(lake)
    query = "SELECT n FROM t WHERE user = 'user-41'"
    tables = {"t": lake.place()}
    told(f"CREATE INDEX find ON {table} (user)")
    (row,) = told(f"EXPLAIN INDEXES {query}", tables=tables)
    assert (row["index"], row["used"], row["files"], row["total_files"]) == ("find", True, 1, 3)
    assert "find: dropped 2 files" in told(f"EXPLAIN INDEXES FORMATTED {query}", tables=tables)[0]["plan"]
    weighed = told(f"EXPLAIN WHATIF {query} WITH INDEX USING bloom (n), INDEX ON t USING values (n)", tables=tables)
    assert [row["candidate"] for row in weighed] == ["as it is", "bloom_filters(n)", "values(n)"]
    assert told(f"EXPLAIN WHATIF {query}", tables=tables)
    log = tmp_path / "log.sql"
    log.write_text("SELECT * FROM t WHERE n = 43;")
    advised = told(
        "RECOMMEND INDEXES ON t FROM log OPTIONS (copies = false, budget = '1MB')", tables={**tables, "log": log}
    )
    assert advised
    for row in advised:
        assert row["recommended"] or row["reason"]
        if row["recommended"]:
            assert [kind.title for kind in parsed(row["statement"]).kinds] == [row["kinds"]]
            assert re.fullmatch(r"[\d.]+ [KM]?B \(\d+%\)", row["leaves_out"]), row
            assert re.fullmatch(r"[\d.]+ [KM]?B", row["size"]), row
            for what in ("leaves_out_bytes", "share", "helps_queries", "index_bytes"):
                assert row[f"{what}_low"] <= row[what] <= row[f"{what}_high"]
    answer = mi.recommend(log, tables=tables, budget_bytes=1e6, copies=False)
    assert len(answer.indexes) == sum(row["recommended"] for row in advised)
    for row, index in zip(advised, answer.indexes, strict=False):  # of Delta none: its log answers
        assert (row["share_low"], row["share_high"]) == (index.saved.low, index.saved.high)
        assert (row["index_bytes_low"], row["index_bytes_high"]) == (index.size_bytes.low, index.size_bytes.high)
    assert answer.indexes or format_ in ("delta", "iceberg")


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("DELETE FROM t WHERE n = 1", "this one does not: 'DELETE FROM t WHERE n = 1'"),
        ("UPDATE t SET n = 1 WHERE n = 2", "this one does not: 'UPDATE"),
        ("INSERT INTO u SELECT * FROM t", "this one does not: 'INSERT"),
        ("MERGE INTO t USING u ON t.n = u.n WHEN MATCHED THEN DELETE", "this one does not: 'MERGE"),
        ("CREATE TABLE u AS SELECT * FROM t", "this one does not: 'CREATE"),
        ("n = 1", "this one does not: 'n = 1'"),
        ("/* a */ WITH x(n) AS (SELECT 1), y AS (SELECT (2)) DELETE FROM t", "this one has DELETE"),
        ("WITH x AS (SELECT 1) INSERT INTO u SELECT * FROM t", "this one has INSERT"),
        ("FROM t INSERT INTO u SELECT *", "this one has INSERT"),
    ],
)
def test_what_is_no_query_is_not_answered(tmp_path: Path, query: str, fact: str) -> None:
    """Spark's session refuses it in the same words."""
    lake = filled(tmp_path, "delta")
    for statement in (f"EXPLAIN INDEXES {query}", f"EXPLAIN WHATIF {query} WITH INDEX ON t USING bloom (n)"):
        with pytest.raises(mi.ArgumentError, match=re.escape(fact)):
            mi.sql(statement, tables={"t": lake.place(), "u": lake.place()})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT user AS delete FROM t WHERE n = 1",
        "-- DELETE\n(SELECT user FROM t WHERE (n = 1) AND (n < 3))",
        "WITH x(m) AS (SELECT n FROM t), y AS (SELECT 1) SELECT m FROM x WHERE (m = 1)",
    ],
)
def test_a_query_may_name_what_changes_a_table(tmp_path: Path, query: str) -> None:
    assert told(f"EXPLAIN INDEXES {query}", tables={"t": filled(tmp_path, "delta").place()})


def test_what_is_recommended_is_said_as_statements_that_can_be_pasted(tmp_path: Path) -> None:
    place = settled(tmp_path / "texts", {f"{number}.csv": f"{number};n21\n" * 40 for number in range(12)})
    (tmp_path / "log.sql").write_text("SELECT * FROM texts WHERE a = 4")
    given = "header = false, delimiter = ';', schema = 'a INT, b STRING', nullValue = 'n21'"
    answer = mi.sql(
        f"RECOMMEND INDEXES ON csv.`{place}` WITH ({given}) FROM log", tables={"log": f"{tmp_path}/log.sql"}
    )
    shown = [str(part) for part in answer.shown]
    lines = shown[shown.index("to create them:") + 1 :]
    statements = [row["statement"] for row in answer.to_json() if row["recommended"]]
    assert lines == [f"  {statement};" for statement in statements] != []
    assert not any("mi." in line or "--create" in line for line in shown)
    for line in lines:
        mi.sql(line.strip().rstrip(";"))
    (row, *_) = told(f"SHOW INDEXES ON csv.`{place}` WITH ({given})")
    assert (row["fresh"], row["note"] and "built" in row["note"]) == (True, None)
    query = f"SELECT * FROM csv.`{place}` WITH ({given}) WHERE a = 4"
    assert any(row["used"] for row in told(f"EXPLAIN INDEXES {query}"))


@pytest.mark.slow
def test_a_path_between_quotes_is_a_path_in_queries_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever dots it has, and whatever stands beside it: `json.lines` is a table of a format without quotes."""
    monkeypatch.chdir(tmp_path)
    for name, count in (("json.lines", 1), ("lines", 2), ("t.v1", 3), ("par quet.v1 ü", 4), ("json.d/x", 5)):
        for number in range(count):
            settled(tmp_path / name, {f"{number}.parquet": pa.table({"id": [number]})})
        told(f"CREATE INDEX i ON '{name}'")
        (row,) = told(f"EXPLAIN INDEXES SELECT * FROM '{name}' WHERE id = 0")
        assert (Path(str(row["scan"])).name, row["total_files"]) == (Path(name).name, count), row
        (row,) = told(f"EXPLAIN INDEXES WITH q AS (SELECT * FROM '{name}') SELECT * FROM q WHERE id = 0")
        assert row["total_files"] == count
        (row,) = told(f"EXPLAIN INDEXES SELECT * FROM './{name}' WHERE id = 0")
        assert row["total_files"] == count


@pytest.mark.slow
def test_a_query_says_how_its_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As SHOW INDEXES and DESCRIBE INDEX say that an index is used, and as Spark reads it."""
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        settled(tmp_path / "c", {f"{number}.csv": f"{number},x\n{number + 10},y\n"})
    settle(tmp_path / "c")
    told("CREATE INDEX i ON 'c' WITH (header = false)")
    for name in ("'c' WITH (header = false)", "csv.`c` WITH ('header' = 'false')", "csv.c with(header=false)"):
        for query in (
            f"SELECT * FROM {name} WHERE _c0 = 1",
            f"WITH q AS (SELECT * FROM {name}) SELECT * FROM q WHERE _c0 = 1",
            f"SELECT a.* FROM {name} a JOIN {name} b ON a._c0 = b._c0 WHERE a._c0 = 1 AND b._c0 = 1",
        ):
            rows_ = told(f"EXPLAIN INDEXES {query}")
            assert {(row["files"], row["total_files"], row["index"]) for row in rows_} == {(2, 3, "i")}, (query, rows_)
        told_rows = told(f"EXPLAIN WHATIF SELECT * FROM {name} WHERE _c0 = 1 WITH INDEX USING values (_c0)")
        assert [row["candidate"] for row in told_rows] == ["as it is", "values(_c0)"]
    for query, said in (
        ("SELECT * FROM 'c' WITH (header = false) a JOIN 'c' b ON a._c0 = b._c0", "several options"),
        ("SELECT * FROM 'c' WITH (header = )", "expected a value"),
        ("SELECT * FROM 'c' WITH (header = false, header = true)", "given twice"),
        ("SELECT * FROM 'c' WITH (headr = false)", "headr"),
    ):
        with pytest.raises(mi.MetaIndexError, match=said):
            told(f"EXPLAIN INDEXES {query}")
