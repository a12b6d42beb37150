"""What DuckDB says matches is never in a file that the walk drops, and what the walk calls certain DuckDB finds
whole."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.expressions import ArrowStatistics, ColumnRef, Predicate, may_match
from metaindex.expressions.engines.sql_text import to_sql
from metaindex.expressions.skipping import must_match
from tests.duck import connected
from tests.expressions.engines.tables import arrow_schema, bound, expected, table_of
from tests.strategies import Files, files, predicates

TYPES = [
    pa.bool_(),
    pa.int8(),
    pa.int64(),
    pa.uint64(),
    pa.float64(),
    pa.decimal128(9, 2),
    pa.decimal128(30, 5),
    pa.date32(),
    pa.timestamp("us"),
    pa.string(),
]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Files, Predicate]:
    drawn = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
    schema = {ColumnRef((f"c{i}",)): t for i, t in enumerate(drawn)}
    return draw(files(schema)), bound(draw(predicates(schema)), arrow_schema(schema))


@settings(max_examples=settings.default.max_examples * 60 // 100)
@given(cases())
def test_duckdb_finds_nothing_in_dropped_files(case: tuple[Files, Predicate]) -> None:
    lake, p = case
    schema = arrow_schema(lake.schema)
    statistics = ArrowStatistics(len(lake.rows), lake.bounds)
    kept, certain = may_match(p, statistics), must_match(p, statistics)
    files_of, held = [i for i, rows in enumerate(lake.rows) for _ in rows], [row for rows in lake.rows for row in rows]
    numbered = table_of(held, schema).append_column("row", pa.array(range(len(held)), pa.int64()))
    relation = connected().from_arrow(numbered).filter(to_sql(p, "duckdb", schema)).project("row")
    matching = {row for (row,) in relation.fetchall()}
    assert all(kept[files_of[row]] for row in matching)
    assert all(n in matching for n, i in enumerate(files_of) if certain[i])
    assert matching == set(expected(p, held))
