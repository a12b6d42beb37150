"""What a statement reads of each table, and what nobody can tell without the columns of tables."""

import pytest

from benchmarks.tpch.queries import QUERIES
from metaindex.advisor.workloads.template import shown_predicate
from metaindex.core import ExpressionError
from metaindex.expressions import JoinKey, StatementReads, TableRead, statement_reads


def read(text: str) -> dict[str, str]:
    """The predicate of each table that is certain."""
    return {table.table: shown_predicate(table.predicate) for table in statement_reads(text).tables}


def placed(text: str, **columns: str) -> dict[str, str]:
    """The same where the columns of tables are known."""
    reads = statement_reads(text).tables
    return {
        table.table: shown_predicate(table.placed(set(columns.get(table.table, "").split())).predicate)
        for table in reads
    }


def test_a_query_of_one_table() -> None:
    (table,) = statement_reads(
        "SELECT dest, count(*) FROM db.flights f WHERE f.dest IN ('SEA', 'LAX') AND dep_delay > 60 AND upper(x) = 'A' "
        "GROUP BY 1 ORDER BY dest DESC, 2 LIMIT 5"
    ).tables
    assert table.table == "db.flights"
    assert shown_predicate(table.predicate) == "dest IN ('SEA', 'LAX') AND dep_delay > 60 AND UPPER(x) = 'A'"
    assert sorted(table.columns) == ["dep_delay", "dest", "x"]
    assert (table.group_keys, table.order, table.every_column) == (("dest",), ("dest DESC",), False)
    assert statement_reads("SELECT * FROM t LIMIT 5").limit == 5


def test_a_doubled_quote_is_one_as_in_a_condition() -> None:
    assert read("SELECT * FROM t WHERE name = 'O''Brien' AND x = ''") == {"t": "name = 'O\\'Brien' AND x = ''"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM a JOIN b ON a.k = b.k AND b.z > 3 WHERE a.x = 1", {"a": "x = 1", "b": "z > 3"}),
        ("SELECT * FROM a, b WHERE a.k = b.k AND b.z > 3", {"a": "TRUE", "b": "z > 3"}),
        # what is true of rows of NULLs says nothing of the table that they stand for
        (
            "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND b.z > 3 AND a.y = 1 WHERE b.x IS NULL",
            {"a": "TRUE", "b": "z > 3"},
        ),
        ("SELECT * FROM a LEFT JOIN b ON a.k = b.k WHERE b.x = 1 AND a.y = 2", {"a": "y = 2", "b": "x = 1"}),
        ("SELECT * FROM a RIGHT JOIN b ON a.k = b.k AND a.x = 1 AND b.x = 2", {"a": "x = 1", "b": "TRUE"}),
        ("SELECT * FROM a FULL JOIN b ON a.k = b.k AND a.x = 1 WHERE b.y = 2", {"a": "TRUE", "b": "y = 2"}),
        ("SELECT * FROM a LEFT ANTI JOIN b ON a.k = b.k AND b.x = 1 AND a.x = 2", {"a": "TRUE", "b": "x = 1"}),
        ("SELECT * FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.x = 1 AND a.x = 2", {"a": "x = 2", "b": "x = 1"}),
        # of an OR over tables what each part says of one
        (
            "SELECT * FROM a, b WHERE (a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)",
            {"a": "x IN (1, 3)", "b": "y IN (2, 4)"},
        ),
        ("SELECT * FROM a, b WHERE a.x = 1 OR b.y = 2", {"a": "TRUE", "b": "TRUE"}),
        # a query that only filters and renames is asked what the one around it asks of its columns
        ("SELECT * FROM (SELECT * FROM a WHERE x = 1) s WHERE s.y = 2", {"a": "x = 1 AND y = 2"}),
        ("SELECT * FROM (SELECT s.k AS q, upper(z) AS z FROM a) t WHERE t.q.r = 1 AND t.z = 'A'", {"a": "s.k.r = 1"}),
        ("SELECT * FROM (SELECT t.* FROM a t) x WHERE x.y = 2 AND upper(x.z) = 'A'", {"a": "y = 2"}),
        (
            "WITH v AS (SELECT x AS u FROM a), w AS (SELECT u r FROM v WHERE u > 1) "
            "SELECT * FROM w JOIN b ON b.k = w.r WHERE w.r < 5 AND b.z = 3",
            {"a": "x > 1 AND x < 5", "b": "z = 3"},
        ),
        (
            "SELECT * FROM b LEFT JOIN (SELECT * FROM a) t ON b.k = t.k AND t.x = 1 WHERE t.y = 2 AND t.z IS NULL",
            {"a": "y = 2 AND x = 1", "b": "TRUE"},
        ),
        # and no other: whose rows depend on each other, which is read twice, or whose columns have other names
        *(
            (f"WITH v AS ({query}) SELECT * FROM v WHERE x = 1", {"a": "TRUE"})
            for query in (
                "SELECT * FROM a LIMIT 5",
                "SELECT * FROM a TABLESAMPLE (10 ROWS)",
                "SELECT x, count(*) n FROM a GROUP BY x",
                "SELECT *, row_number() OVER (ORDER BY y) n FROM a",
                "SELECT * EXCEPT (z) FROM a",
                "SELECT s.* FROM a",
            )
        ),
        ("WITH v AS (SELECT * FROM a) SELECT * FROM v p, v q WHERE p.x = 1", {"a": "TRUE"}),
        ("WITH v (x) AS (SELECT y FROM a) SELECT * FROM v WHERE x = 1", {"a": "TRUE"}),
        # the name of a WITH is a table's in its own query, and where the WITH does not reach
        ("WITH a AS (SELECT * FROM a WHERE x = 1) SELECT * FROM a", {"a": "x = 1"}),
        ("WITH v AS (WITH a AS (SELECT * FROM c) SELECT * FROM a) SELECT * FROM v, a", {"a": "TRUE", "c": "TRUE"}),
        ("WITH RECURSIVE v AS (SELECT * FROM a UNION ALL SELECT * FROM v) SELECT * FROM v", {"a": "TRUE"}),
        ("WITH v AS (SELECT * FROM db.a) SELECT * FROM db.v JOIN v", {"db.a": "TRUE", "db.v": "TRUE"}),
        ("WITH v AS (SELECT * FROM a WHERE x = 1) INSERT INTO t SELECT * FROM v", {"a": "x = 1"}),
        ("WITH c AS (SELECT * FROM a WHERE x = 1) SELECT * FROM c JOIN b ON c.k = b.k", {"a": "x = 1", "b": "TRUE"}),
        ("SELECT * FROM a WHERE x = 1 UNION ALL SELECT * FROM b WHERE y = 2", {"a": "x = 1", "b": "y = 2"}),
        ("INSERT INTO t SELECT * FROM a WHERE x = 1", {"a": "x = 1"}),
        ("DELETE FROM a WHERE x = 1", {"a": "x = 1"}),
        ("UPDATE a SET y = 2 WHERE x = 1", {"a": "x = 1"}),
        ("SELECT * FROM a WHERE d > DATE '2020-03-01' - INTERVAL 1 DAY", {"a": "d > DATE '2020-02-29'"}),
        ("SELECT * FROM a WHERE x > (SELECT max(y) FROM b WHERE b.z = 1)", {"a": "TRUE", "b": "z = 1"}),
    ],
)
def test_what_is_asked_of_each_table(text: str, expected: dict[str, str]) -> None:
    assert read(text) == expected


def test_names_without_a_table_wait_for_its_columns() -> None:
    text = "SELECT * FROM a, b WHERE k = j AND x = 1 AND y = 2 AND x < y"
    assert read(text) == {"a": "TRUE", "b": "TRUE"}
    assert placed(text, a="k x", b="j y") == {"a": "x = 1", "b": "y = 2"}
    (join,) = statement_reads(text).joins
    assert join.placed({"a": {"k", "x"}, "b": {"j", "y"}}) == JoinKey("a", "k", "b", "j")


def test_a_name_of_a_query_within_may_be_of_the_one_around_it() -> None:
    text = "SELECT x FROM a WHERE EXISTS (SELECT * FROM b WHERE j = k AND y = 2)"
    assert read(text) == {"a": "TRUE", "b": "TRUE"}
    assert placed(text, b="j y") == {"a": "TRUE", "b": "y = 2"}
    within = "SELECT x FROM a WHERE k IN (SELECT j FROM b WHERE b.y = 2)"
    assert [(join.left, join.right) for join in statement_reads(within).joins] == [("k", "j")]


def test_join_keys() -> None:
    text = "SELECT * FROM a JOIN b USING (k) JOIN c ON a.x = c.y AND c.z = c.u"
    assert set(statement_reads(text).joins) == {JoinKey("a", "k", "b", "k"), JoinKey("a", "x", "c", "y")}
    twice = "SELECT * FROM n n1, n n2 WHERE n1.x = n2.y AND n1.a = 1 AND n2.a = 2"
    assert [shown_predicate(table.predicate) for table in statement_reads(twice).tables] == ["a = 1", "a = 2"]
    assert statement_reads(twice).joins == (JoinKey("n", "x", "n", "y"),)


def test_the_tables_of_tpch() -> None:
    tables = {name: sorted(table.table for table in statement_reads(text).tables) for name, text in QUERIES.items()}
    assert tables["Q1"] == ["lineitem"]
    assert tables["Q8"] == [
        "customer", "lineitem", "nation", "nation", "orders", "part", "region", "supplier"
    ]  # fmt: skip
    assert tables["Q21"] == ["lineitem", "lineitem", "lineitem", "nation", "orders", "supplier"]
    assert len(tables) == 22


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT",
        "SELECT 1",
        "DROP TABLE t",
        "SELECT a FROM WHERE",
        "SELECT * FROM t WHERE 'a",
        "SELECT " + "(" * 5000,
    ],
)
def test_what_reads_nothing_says_why(text: str) -> None:
    with pytest.raises(ExpressionError):
        statement_reads(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from t", True),
        (" -- why\n(SELECT 1)", True),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("table = 3", False),
        ("a = 3", False),
        ("show.x > 3 and y = 2", False),
        ("show in (1, 2)", False),
        ("values is null", False),
    ],
)
def test_a_statement_is_no_condition(text: str, expected: bool) -> None:
    assert StatementReads.begins(text) is expected


def test_placing_what_is_placed_changes_nothing() -> None:
    table = TableRead("t", columns=("a",))
    assert table.placed({"b"}) is table
