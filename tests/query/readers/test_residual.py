"""Conditions that the tree cannot say are applied to rows: the same rows as when nothing is left out before, through
every engine that reads rows here; what they raise, and what is refused by name."""

import datetime as dt
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

import metaindex as mi
from metaindex.core import ScanError
from metaindex.expressions.engines.sql_scalars import ScalarReader
from metaindex.expressions.scalars.residual import RowScalars
from metaindex.formats.condition import AtMoment
from tests.duck import connected
from tests.tables import FIVE

_NOW = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
_FILES, _ROWS = 6, 40


def _table(file: int) -> pa.Table:
    def of(n: int) -> dict[str, object]:
        at = _NOW + dt.timedelta(days=40 * (file - 3), hours=7 * n, microseconds=n)
        none = n % 9 == 4
        return {
            "id": file * _ROWS + n,
            "i": None if none else (n * 7 + file * 31) % 100 - 20 + file * 10,
            "l": None if n % 7 == 3 else n - 20,
            "x": float("nan") if n % 11 == 5 else (n - 10) / 4,
            "s": None if none else ("äb", "abc", "Abd", "aß", "b%", "")[(n + file) % 6] + "xyz"[file % 3] * (n % 3),
            "d": None if n % 13 == 5 else at.date(),
            "ts": None if none else at,
            "n": at.replace(tzinfo=None),
            "tags": None if none else [n % 5, file],
        }

    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("i", pa.int32()),
            ("l", pa.int64()),
            ("x", pa.float64()),
            ("s", pa.string()),
            ("d", pa.date32()),
            ("ts", pa.timestamp("us", tz="UTC")),
            ("n", pa.timestamp("us")),
            ("tags", pa.list_(pa.int32())),
        ]
    )
    return pa.Table.from_pylist([of(n) for n in range(_ROWS)], schema)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("residual")
    for file in range(_FILES):
        pq.write_table(_table(file), root / f"{file}.parquet", row_group_size=16)
    table = mi.open_table(str(root))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    table.create_index("texts", mi.ValueList("s"), builder="local")
    return root


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return pa.concat_tables([_table(file) for file in range(_FILES)])


LEAVES = """
i + l > 10
i + 5 >= 30
i - 3 < l
7 < i + 2
i * 2 = l * 3
x / 2 > 1
upper(s) = 'ABC'
lower(s) IN ('abc', 'ABD', NULL)
lower(s) = 'abdabdabd'
upper(s) != 'ABD'
upper(s) LIKE 'AS%'
lower(concat(s, 'x')) = 'abcx'
s LIKE 'a%c'
s LIKE '%b%'
s NOT LIKE 'ab_'
s ILIKE 'AB%'
substr(s, 1, 2) = 'ab'
substr(s, 1, 2) != 'ab'
substr(s, 1, 2) > 'ab'
substr(s, 1, 3) >= 'aß'
left(s, 1) <= 'a'
substr(s, 1, 2) < 'abcd'
substr(s, 1, 2) >= 'abcd'
length(s) > 3
date(ts) = '2024-03-01'
date(ts) != '2024-01-22'
date(ts) > '2024-02-29'
date(ts) IN ('2024-03-02', '2024-01-25')
year(ts) = 2024
year(d) <= 2023
month(ts) = 3
hour(n) BETWEEN 3 AND 9
date_trunc('month', ts) = TIMESTAMP '2024-03-01'
date_trunc('week', n) > '2024-02-26 00:00:01'
trunc(d, 'quarter') >= DATE '2024-01-02'
ts + INTERVAL 1 HOUR > TIMESTAMP '2024-03-01 12:00:00'
ts - INTERVAL 1 DAY <= d
ts > now() - INTERVAL 20 DAYS
d >= current_date() - 30
d BETWEEN date_sub(current_date(), 40) AND current_date()
date_add(d, 7) < '2024-03-01'
d > n
CASE WHEN i > 10 THEN l > 0 WHEN x > 1 THEN NULL ELSE s = 'abc' END
coalesce(i, l) = 3
nullif(i, 10) IS NULL
upper(s) IS NULL
year(ts) IS NULL
tags[1] = 3
array_contains(tags, 2)
(i > 0) = (l > 0)
i <=> l
i IN (l, 3, 17)
i > 30
s = 'abc'
x > 2
ts IS NULL
""".strip().splitlines()


def _conditions() -> st.SearchStrategy[str]:
    leaf = st.sampled_from(LEAVES).map(lambda text: f"({text})")

    def above(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        joined = st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda some: f"({' '.join(some)})")
        return joined | inner.map(lambda text: f"(NOT {text})")

    return st.recursive(leaf, above, max_leaves=5)


def _all_rows(condition: str, rows: pa.Table, zone: str = "UTC", now: dt.datetime = _NOW) -> list[int]:
    """The whole condition as one expression, of every row."""
    node = sqlglot.parse_one(condition, read="spark", into=exp.Condition)
    scalar = ScalarReader(rows.schema, zone, now).read(node)
    (batch,) = rows.combine_chunks().to_batches()
    said = RowScalars().values(scalar, batch, condition)
    return sorted(batch.filter(said).column("id").to_pylist())


@pytest.mark.parametrize(
    "leaf", [pytest.param(leaf, marks=pytest.mark.exhaustive) if at % 3 else leaf for at, leaf in enumerate(LEAVES)]
)
def test_rows_are_those_of_the_whole_condition(lake: Path, rows: pa.Table, leaf: str) -> None:
    table = mi.open_table(str(lake))
    for condition in (leaf, f"NOT ({leaf})"):
        asked = AtMoment(condition, _NOW)
        expected = _all_rows(condition, rows)
        assert sorted(table.scan(asked).to_arrow()["id"].to_pylist()) == expected, condition
        assert table.count(asked) == len(expected)


@pytest.mark.parametrize("settled", ["FALSE", "1 = 2", "((i IS NULL) IS NULL)"])
def test_a_part_beside_one_that_is_settled(lake: Path, rows: pa.Table, settled: str) -> None:
    """Nothing of it is left to be applied, or all."""
    table = mi.open_table(str(lake))
    assert table.scan(f"i % 2 = 0 AND {settled}").to_arrow().num_rows == 0
    assert table.count(f"i % 2 = 0 AND {settled}") == 0
    found = table.scan(f"id >= 0 AND (i % 2 = 0 OR NOT {settled})").to_arrow()
    assert sorted(found["id"].to_pylist()) == sorted(rows["id"].to_pylist())


@pytest.mark.slow
def test_rows_of_joined_conditions(lake: Path, rows: pa.Table) -> None:
    table = mi.open_table(str(lake))

    @given(_conditions())
    def check(condition: str) -> None:
        now = dt.datetime.now(dt.UTC)
        found = table.scan(AtMoment(condition, now), ["id"])
        expected = _all_rows(condition, rows, now=now)
        assert sorted(found.to_arrow()["id"].to_pylist()) == expected
        sure = found.result.certain.paths.to_pylist()
        for file in range(_FILES):
            if f"{file}.parquet" in sure:
                assert set(range(file * _ROWS, (file + 1) * _ROWS)) <= set(expected)

    check()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "+05:30", "America/Sao_Paulo"])
def test_days_of_a_zone(lake: Path, rows: pa.Table, zone: str) -> None:
    table = mi.open_table(str(lake), config=mi.Config(time_zone=zone))
    for condition in ("date(ts) = '2024-03-01'", "hour(ts) = 3", "year(ts) > 2023", "date(ts) != '2024-03-01'"):
        found = table.scan(condition)
        assert sorted(found.to_arrow()["id"].to_pylist()) == _all_rows(condition, rows, zone), condition
    few = table.scan("date(ts) = '2024-03-01'")
    assert len(few.file_rows) == 1


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("date(ts) = '2024-03-01'", 1),
        ("date_trunc('day', ts) = TIMESTAMP '2024-03-01'", 1),
        ("ts BETWEEN TIMESTAMP '2024-03-02' AND TIMESTAMP '2024-03-02' + INTERVAL 8 HOURS", 1),
        ("year(d) = 2024 AND month(d) = 3 AND d > '2024-03-03'", 3),
        ("i + 5 > 1000 AND upper(s) = 'ABC'", 0),
        ("s LIKE 'zz%b'", 0),
        ("lower(s) IN ('zzz', 'yy')", 0),
        ("s ILIKE 'zz%'", 0),
        ("upper(s) = 'QUITE A LONG TEXT'", 0),
    ],
)
def test_what_is_understood_leaves_files_out(lake: Path, condition: str, kept: int) -> None:
    assert len(mi.open_table(str(lake)).scan(condition).file_rows) == kept


def test_each_engine_gives_the_rows(lake: Path, rows: pa.Table) -> None:
    condition = "(upper(s) = 'ABC' OR i + l > 60) AND NOT hour(ts) = 3"
    expected = _all_rows(condition, rows)
    table = mi.open_table(str(lake))
    scan = table.scan(condition, ["id"])
    con = connected()
    given_rows = {
        "arrow": scan.to_arrow()["id"].to_pylist(),
        "pandas": scan.to_pandas()["id"].tolist(),
        "duckdb": [row for (row,) in scan.to_duckdb(con).fetchall()],
        "polars": scan.to_polars().collect()["id"].to_list(),
        "dataset": scan.to_dataset().to_table()["id"].to_pylist(),
    }
    assert {engine: sorted(some) for engine, some in given_rows.items()} == dict.fromkeys(given_rows, expected)
    assert sum(table.locate(condition, exact=True).table["matches"].to_pylist()) == len(expected)
    assert table.aggregate(count=True, max=["id"], where=condition).table.to_pylist() == [
        {"count(*)": len(expected), "max(id)": max(expected)}
    ]
    assert table.scan(condition, limit=2).to_arrow().num_rows == 2
    best = table.scan(condition, order_by=[("id", "desc")], limit=1).to_arrow()["id"].to_pylist()
    assert best == [max(expected)]


def test_the_clock_is_read_once_a_query(lake: Path) -> None:
    table = mi.open_table(str(lake))
    scan = table.scan("ts > now() - INTERVAL 1 HOUR OR now() < now() OR n > localtimestamp()")
    assert scan.predicate_text is None
    assert scan.predicate == scan.result.predicate  # type: ignore[union-attr]
    first, second = (table.prune("ts < now()").predicate for _ in range(2))
    assert first != second  # no answer of before


@pytest.mark.parametrize(
    ("condition", "part"),
    [
        ("i > 3 AND s RLIKE 'a'", "RLIKE"),
        ("levenshtein(s, 'a') < 3", "levenshtein"),
        ("my_function(s) = 1", "my_function"),
        ("x > 1 OR i IN (SELECT 1)", "subquery"),
        ("try_cast(s AS INT) = 1", "try_cast"),
        ("i = l > 3", "without parentheses"),
        ("s > 5 + 1", "string"),
        ("date_format(ts, 'yyyy') = '2024'", "date_format"),
        ("rand() < 0.5", "rand"),
        ("tags[0].x = 1", "element"),
    ],
)
def test_what_has_no_known_meaning_is_refused_by_name(lake: Path, condition: str, part: str) -> None:
    table = mi.open_table(str(lake))
    table.prune(condition)
    with pytest.raises(ScanError, match=part):
        table.scan(condition).to_arrow()


def test_a_row_that_fails_fails_the_query_and_one_ruled_out_does_not(lake: Path, rows: pa.Table) -> None:
    table = mi.open_table(str(lake))
    for failing in ("10 / l > 1", "tags[7] = 1", "i % l = 0", "CAST(l * 1000000000 AS INT) = 1"):
        with pytest.raises(ScanError, match="one of them"):
            table.scan(failing).to_arrow()
    for guarded in ("l != 0 AND 10 / l > 1", "l = 0 OR 10 div l > 1", "size(tags) > 7 AND tags[7] = 1"):
        assert table.count(guarded) == len(_all_rows(f"CASE WHEN {guarded.replace('10 ', '10 ')} THEN TRUE END", rows))


@pytest.mark.parametrize("condition", ["i + 1 > 0", "1 + i > 0", "i * 2 > 0", "i - -1 > 0", "n + 1 > 0", "-m < 0"])
def test_what_overflows_fails_also_where_an_optimizer_could_spare_it(tmp_path: Path, condition: str) -> None:
    """DuckDB's asks `i > -1` in place of the first, which is true of the greatest number; Spark fails."""
    rows = {
        "i": pa.array([2**63 - 1, 5, -5], pa.int64()),
        "n": pa.array([2**31 - 1, 5, -5], pa.int32()),
        "m": pa.array([-(2**63), 5, -5], pa.int64()),
    }
    pq.write_table(pa.table(rows), tmp_path / "0.parquet")
    with pytest.raises(ScanError, match="one of them"):
        mi.open_table(tmp_path).count(condition)


def test_names_and_texts_of_users_are_no_sql(tmp_path: Path) -> None:
    name = "a\"; DROP TABLE x; --`'"
    pq.write_table(pa.table({name: ["it's", "'; DROP TABLE x; --", None], "n": [1, 2, 3]}), tmp_path / "0.parquet")
    table = mi.open_table(str(tmp_path))
    quoted = "`" + name.replace("`", "``") + "`"
    assert table.scan(f"upper({quoted}) = 'IT\\'S'").to_arrow()["n"].to_pylist() == [1]
    assert table.scan(f"upper({quoted}) || '' = '\\'; DROP TABLE X; --'").to_arrow()["n"].to_pylist() == [2]


@pytest.mark.parametrize("form", ["delta", "iceberg", "csv"])
def test_each_format_gives_the_rows(tmp_path: Path, form: str) -> None:
    lake = FIVE[form](tmp_path)
    rows = pa.table({"id": pa.array(range(40), pa.int64()), "name": [f"Name{n % 7}" for n in range(40)]})
    for start in (0, 20):
        lake.append(rows.slice(start, 20))
    table = lake.open()
    condition = "upper(name) LIKE '%E3' AND id % 2 = 0"
    expected = [n for n in range(40) if n % 7 == 3 and n % 2 == 0]
    assert sorted(table.scan(condition).to_arrow()["id"].to_pylist()) == expected
    if form == "iceberg":
        theirs = table.scan(condition).to_pyiceberg()
        assert sorted(theirs.to_arrow()["id"].to_pylist()) == expected
        assert theirs.count() == len(expected)
        assert theirs.select("id").to_arrow().column_names == ["id"]
    elif form == "delta":
        with pytest.raises(ScanError, match="LIKE"):
            table.scan(condition).to_deltalake()


def test_doubles_become_whole_numbers_as_in_java(tmp_path: Path) -> None:
    """What Spark says of each: NaN is 0, and what is beyond a long the outermost one; and of the least number's
    remainder."""
    x = [math.nan, math.inf, -math.inf, 1.5, -1.5, None, 9.3e18, -9.3e18, 9223372036854774784.0]
    table = pa.table({"x": x, "l": [-(2**63)] * len(x), "id": range(len(x))})
    pq.write_table(table, tmp_path / "a.parquet")
    for condition, ids in (
        ("floor(x) = 0", [0]),
        ("floor(x) = 9223372036854775807", [1, 6]),
        ("ceil(x) = -9223372036854775808", [2, 7]),
        ("floor(x) = -2", [4]),
        ("floor(x) = 9223372036854774784", [8]),
        ("l % -1 = 0", list(range(len(x)))),
        ("x % -1 = 0.5", [3]),
        ("x % -1 = -0.5", [4]),
    ):
        assert mi.open_table(tmp_path).scan(condition).to_arrow()["id"].to_pylist() == ids, condition
