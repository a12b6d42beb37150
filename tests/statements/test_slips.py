"""What a newcomer mistypes in a statement: the error says what to write."""

from __future__ import annotations

import pytest

from metaindex.errors import StatementError
from metaindex.statements.parsing import parsed


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
    ],
)
def test_a_slip_is_told_with_what_to_write(text: str, cure: str) -> None:
    with pytest.raises(StatementError) as told:
        parsed(text)
    assert cure in str(told.value)


def test_a_query_with_a_table_that_is_called_index_is_one() -> None:
    query = "WITH index AS (SELECT 1 AS id) SELECT * FROM index"
    assert parsed(f"EXPLAIN WHATIF {query}").query == query  # type: ignore[union-attr]
