"""What a newcomer mistypes in a statement: the error says what to write."""

import pytest

from metaindex.core import StatementError
from metaindex.statements.grammar.parsing import parsed, slip


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("CREATE INDEX j ON big/pq USING values (id)", "; write the path in quotes: 'big/pq'"),
        ("SHOW INDEXES ON big/pq;", "; write the path in quotes: 'big/pq'"),
        ("SHOW INDEXES ON s3://b/t", "; write the path in quotes: 's3://b/t'"),
        ("SHOW INDEXES ON /data/t", "; write the path in quotes: '/data/t'"),
        ("SHOW INDEXES ON delta./data/t", "; write the path in backticks: `/data/t`"),
        ("SHOW INDEXES ON delta.'/data/a t'", "; write the path in backticks: `/data/a t`"),
        ("SHOW INDEXES ON ./t", "; write the path in quotes: './t'"),
        ("SHOW INDEXES ON parquet.big/pq", "; write the path in backticks: `big/pq`"),
        ("CREATE INDEX a-b ON t", "has '-' in it, as a-...; write it in backticks, or double quotes"),
        ("DROP INDEX 'i' ON t", "there is 'i'; write it without quotes: i; it is written DROP INDEX"),
        ("CREATE INDEX j ON t USING values (id) OPTION (by = value)", "; did you mean OPTIONS?"),
        ("CREATE INDEX j ON t USING values (id) INCLUDES (city)", "; did you mean INCLUDE?"),
        ("REFRESH INDEX i ON t FUL", "; did you mean FULL?"),
        ("CREATE INDEX j ON t USNG values (id)", "; did you mean USING?"),
        ("RECOMMEND INDEXES ON t FROM q.sql", "RECOMMEND INDEXES ON table [, table ...] [FROM 'queries.sql']"),
        ("CLEAN INDEX i ON t RETAIN 3", "CLEAN INDEX [IF EXISTS] name ON table [RETAIN n HOURS]"),
        ("EXPLAIN WHATIF SELECT * FROM t WITH INDEX values (id)", "expected USING, or columns; there is values"),
        (
            "CREATE INDEX j ON csv.`x` OPTIONS (Header = true) USING values (id)",
            "there is no option 'header'; how files are read stands behind the table: WITH (header = ...)",
        ),
        ("OPTIMIZE INDEX i ON t OPTIONS (mode = full)", "there is no option 'mode'; there are builder: local or spark"),
        ("SHOW INDEXES sales", "expected ON; there is sales; write SHOW INDEXES ON sales; it is written SHOW"),
        ("SHOW INDEXES 'a b' VERSION AS OF 3", "; write SHOW INDEXES ON 'a b'; it is written"),
        ("CREATE INDEX fast sales(name)", "there is sales; write CREATE INDEX fast ON sales; it is written"),
        ("RECOMMEND INDEXES sales", "; write RECOMMEND INDEXES ON sales; it is written"),
        ("CREATE INDEX ON sales (name)", "there is ON; its name is missing: CREATE INDEX name ON sales; it is written"),
        ("REFRESH INDEX IF EXISTS ON sales", "its name is missing: REFRESH INDEX IF EXISTS name ON sales; it is"),
        ("DROP INDEX ON", "its name is missing: DROP INDEX name ON table; it is written"),
        ("DELETE INDEX stats ON sales", "DELETE INDEX; it is written DROP INDEX [IF EXISTS] name ON table"),
        ("remove index stats ON sales", "REMOVE INDEX; it is written DROP INDEX [IF EXISTS] name ON table"),
        ("ALTER INDEX x ON t REBUILD", "ALTER INDEX; it is written REFRESH INDEX [IF EXISTS] name ON table"),
    ],
)
def test_a_slip_is_told_with_what_to_write(text: str, cure: str) -> None:
    with pytest.raises(StatementError) as told:
        parsed(text)
    assert cure in str(told.value)


def test_a_query_with_a_table_that_is_called_index_is_one() -> None:
    query = "WITH index AS (SELECT 1 AS id) SELECT * FROM index"
    assert parsed(f"EXPLAIN WHATIF {query}").query == query


def test_an_index_may_be_called_on() -> None:
    assert parsed("CREATE INDEX on ON t") == parsed("CREATE INDEX `on` ON t")


def test_a_forgotten_name_is_told_of_statements_that_others_begin_so_too() -> None:
    """Where nobody else could parse them."""
    assert "its name is missing: REFRESH INDEX name ON sales" in str(slip("REFRESH INDEX ON sales"))
    for text in ("REFRESH INDEX sales", "REFRESH INDEX on ON sales", "OPTIMIZE INDEX", "DESCRIBE INDEX ON"):
        assert slip(text) is None
    assert slip("DROP INDEX ON t") is None
