"""Every operator with every type, form of literal and ESCAPE, as the rule sends it from Spark's optimized plan: read
with Spark's meaning, and with the rule as without."""

import datetime as dt
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from metaindex.expressions import And, CatalystNodes, Opaque, bind, to_predicate
from metaindex.spark.optimizer.enabling import surveyor
from tests.evaluate import matches
from tests.facts import Facts

_CATALYST = "org.apache.spark.sql.catalyst.expressions."
_IN_SET = "spark.sql.optimizer.inSetConversionThreshold"
_TEXTS = ["a%", "a%b", "ab", "a_b", "x", "#", "#%", "a#", "a#b", "a\\", "a\\b", "%foo", "é%", "", "A%", '"']
_VALUES: dict[str, tuple[pa.DataType, list[object]]] = {
    "h": (pa.int16(), [5, 7, -300]),
    "i": (pa.int32(), [5, 7, -(2**31)]),
    "l": (pa.int64(), [5, 7, 2**53 + 1]),
    "f": (pa.float32(), [5.0, 0.10000000149011612, math.nan, -0.0]),
    "x": (pa.float64(), [5.0, 0.1, math.nan, -0.0, math.inf]),
    "q": (pa.decimal128(9, 2), [Decimal("5.00"), Decimal("5.01"), Decimal("-7.50")]),
    "s": (pa.string(), list(_TEXTS)),
    "b": (pa.binary(), [b"", b"\x05", b"\xff\x00"]),
    "d": (pa.date32(), [dt.date(2024, 2, 29), dt.date(2024, 3, 1), dt.date(1500, 3, 1)]),
    "t": (
        pa.timestamp("us", "UTC"),  # the last two are one time of day in New York
        [
            dt.datetime(*day, tzinfo=dt.UTC)
            for day in ((2024, 2, 29), (2024, 2, 29, 1), (2024, 11, 3, 5), (2024, 11, 3, 6))
        ],
    ),
    "n": (pa.timestamp("us"), [dt.datetime(2024, 2, 29, hour) for hour in (0, 1)]),
    "y": (pa.bool_(), [True, False]),
    "st": (
        pa.struct({"k": pa.int32(), "w": pa.string()}),
        [{"k": 5, "w": "a%"}, {"k": 7, "w": None}, {"k": None, "w": "a#b"}, {"k": 5, "w": "ab"}],
    ),
    "s.t": (pa.int32(), [7, 5]),
}
SCHEMA = pa.schema({"id": pa.int64()} | {name: type_ for name, (type_, _) in _VALUES.items()})
_POOLS = {name: [*values, None] for name, (_, values) in _VALUES.items()}
ROWS: list[dict[str, Any]] = [
    {"id": at} | {name: pool[at % len(pool)] for name, pool in _POOLS.items()} for at in range(len(_TEXTS) + 1)
]
_SPARK = ("short", "integer", "long", "float", "double", "decimal(9,2)", "string", "binary", "date", "timestamp")
_STRUCT = {
    "type": "struct",
    "fields": [
        {"name": name, "type": type_, "nullable": True, "metadata": {}}
        for name, type_ in (("k", "integer"), ("w", "string"))
    ],
}
_COLUMNS = {
    name: {
        "class": _CATALYST + "AttributeReference",
        "num-children": 0,
        "name": name,
        "dataType": type_,
        "metadata": {},
    }
    for name, type_ in zip(_VALUES, (*_SPARK, "timestamp_ntz", "boolean", _STRUCT, "integer"), strict=True)
}
_LITERALS = {  # some forms of one value, and a greater one
    "h": (["5", "5S", "'5'", "5.0", "5L"], "6"),
    "i": (["5", "5L", "'5'", "5.0BD", "5.5D"], "6"),
    "l": (["5", "'5'", "9007199254740993", "5.5"], "9007199254740994"),
    "f": (["5", "0.1F", "0.1D", "'0.1'", "float('NaN')", "0.0F", "-0.0F"], "7.5F"),
    "x": (["5", "0.1", "0.1D", "0.1F", "double('NaN')", "'Infinity'", "0.0D", "-0.0D"], "7e0"),
    "q": (["5", "5.00", "5.005", "5.01D", "'5.01'", "CAST(5 AS DECIMAL(20, 5))"], "5.1"),
    "s": (["'a%'", "'ab'", "concat('a', '#')"], "'a~'"),
    "b": (["X'05'", "X''", "CAST('\\u0005' AS BINARY)"], "X'FF'"),
    "d": (
        ["date'2024-02-29'", "'2024-03-01'", "timestamp'2024-02-29 01:00:00'", "date'1500-03-01'"],
        "date'2024-12-1'",
    ),
    "t": (
        [
            "timestamp'2024-02-29 01:00:00'",
            "'2024-02-29 00:00:00'",
            "date'2024-02-29'",
            "timestamp'2024-11-03 01:00:00'",
        ],
        "timestamp'2025-01-01'",
    ),
    "n": (["timestamp_ntz'2024-02-29 01:00:00'", "'2024-02-29'", "date'2024-02-29'"], "timestamp_ntz'2025-01-01'"),
    "y": (["true", "CAST('false' AS BOOLEAN)", "false"], "true"),
    "st.k": (["5", "'5'", "5.0BD"], "6L"),
    "`s.t`": (["5", "5S", "5.5D"], "6"),
    "st.w": (["'a%'", "'ab'"], "'a~'"),
}
_OPERATORS = (
    "{c} = {v}",
    "{v} <=> {c}",
    "{v} < {c}",
    "{c} <= {v}",
    "{c} > {v}",
    "{v} <= {c}",
    "{c} IN ({v}, {w})",
    "{c} IN ({v}, {w}, NULL)",
    "{c} BETWEEN {v} AND {w}",
    "{c} > {v} OR {c} IS NULL",
)
_NULLS = ("{c} IS NULL", "{c} <=> NULL", "({c} = {v}) IS NULL", "({c} > {v}) <=> ({c} < {w})")
_ESCAPED = ("a{e}%", "a{e}_b", "a{e}%%", "a{e}_b%", "{e}{e}%", "a{e}{e}", "a%{e}%", "%")
_UNESCAPED = ("a%", "ab", "%b", "%a%", "a%b", "a_b", "", "A%")
_OF_TEXTS = (
    "s ILIKE 'A#%' ESCAPE '#'",
    "s LIKE ANY ('a%', 'x')",
    "s LIKE ALL ('a%', '%b')",
    "s LIKE ALL ('a\\\\%%', '%b')",
    "s RLIKE '^a'",
    "startswith(s, 'a%')",
    "endswith(s, '%')",
    "contains(s, '#')",
    "i LIKE '5%'",
    "d LIKE '2024#-%' ESCAPE '-'",
    "st.w LIKE 'a#%' ESCAPE '#'",
    "st.w LIKE 'a##%' ESCAPE '#'",
    "st.w NOT LIKE 'a\\\\%'",
    "startswith(st.w, 'a%')",
    "s NOT ILIKE 'a\\\\%'",
    "s LIKE ANY ('a#%', NULL)",
    "s NOT LIKE ALL ('a%', NULL)",
    "regexp(s, '^a.b$')",
    "s RLIKE '%$'",
    "startswith(s, NULL)",
    "contains(s, '')",
    "startswith(s, '')",
    "endswith(s, '\\\\')",
    "upper(s) = 'AB'",
    "length(s) = 2",
    "substring(s, 1, 1) = 'a'",
    "s || '%' = 'a%'",
    "trim(s) = 'x'",
    "s = 'ab ' OR s = 'ab'",
    "CAST(b AS STRING) = '\\u0005'",
    "startswith(b, X'05')",
)
_CASTS = (
    "CAST(i AS STRING) = '5'",
    "CAST(i AS BIGINT) = 5",
    "try_cast(l AS INT) = 5",
    "try_cast(l AS INT) IS NULL",
    "try_cast(i AS SMALLINT) IS NULL",
    "try_cast(s AS INT) IS NULL",
    "CAST(i AS DOUBLE) < 5.5D",
    "CAST(i AS FLOAT) = CAST(-2147483647 AS FLOAT)",
    "CAST(l AS DOUBLE) = 9007199254740992D",
    "CAST(l AS FLOAT) >= 9007199254740992F",
    "CAST(x AS FLOAT) = 0.1F",
    "CAST(f AS DOUBLE) = 0.1D",
    "CAST(q AS DECIMAL(12, 4)) = 5.01",
    "CAST(q AS DECIMAL(9, 1)) = 5.0",
    "CAST(q AS DECIMAL(9, 1)) > 5",
    "CAST(q AS INT) = 5",
    "CAST(q AS DOUBLE) = 5.01D",
    "CAST(i AS DECIMAL(12, 2)) = 5.00",
    "try_cast(l AS DECIMAL(5, 2)) IS NULL",
    "CAST(t AS DATE) = date'2024-02-29'",
    "CAST(t AS DATE) > date'2024-02-29'",
    "CAST(d AS TIMESTAMP) = timestamp'2024-02-29 00:00:00'",
    "CAST(d AS TIMESTAMP) < timestamp'2024-02-29 00:00:01'",
    "CAST(d AS TIMESTAMP_NTZ) = timestamp_ntz'2024-02-29'",
    "CAST(n AS DATE) = date'2024-02-29'",
    "CAST(n AS TIMESTAMP) = timestamp'2024-02-29 01:00:00'",
    "CAST(t AS TIMESTAMP_NTZ) = timestamp_ntz'2024-11-03 01:00:00'",
    "CAST(t AS STRING) LIKE '2024-11%'",
    "CAST(d AS STRING) = '2024-02-29'",
    "CAST(y AS INT) = 1",
    "CAST(i AS BOOLEAN)",
    "CAST(y AS STRING) = 'true'",
    "n = t",
    "d = t",
    "i = q",
    "x = f",
)
_ARITHMETIC = (
    "d = date'2024-02-28' + INTERVAL 1 DAY",
    "d >= date'2024-03-31' - INTERVAL 1 MONTH",
    "d < date_add(date'2024-02-28', 2)",
    "date_add(d, 1) = date'2024-03-01'",
    "d + INTERVAL 1 DAY > date'2024-03-01'",
    "d - date'2024-02-29' = INTERVAL 1 DAY",
    "datediff(d, date'2024-02-29') = 1",
    "year(d) = 2024",
    "trunc(d, 'MM') = date'2024-02-01'",
    "t > timestamp'2024-03-01 01:00:00' - INTERVAL 1 DAY",
    "t BETWEEN timestamp'2024-11-03' AND timestamp'2024-11-03' + INTERVAL 1 HOUR",
    "t <= timestamp'2024-11-03 01:00:00'",
    "t = timestamp'2024-11-03 05:00:00Z'",
    "t = timestamp'2024-11-03 01:00:00 America/New_York'",
    "t >= timestamp_seconds(1730610000)",
    "date_trunc('DAY', t) = timestamp'2024-02-29'",
    "hour(t) = 1",
    "n < timestamp_ntz'2024-02-28 23:59:59.999999' + INTERVAL 1 SECOND",
    "n >= make_timestamp_ntz(2024, 2, 29, 1, 0, 0)",
    "i + 1 = 6",
    "i - 5L = 0",
    "-h = -5",
    "h * 2 > 10",
    "i % 2 = 1",
    "abs(h) = 300",
    "l = 9007199254740992 + 1",
    "q = 5.005 + 0.005",
    "q * 2 = 10.02",
    "x = 0.1D + 0.2D - 0.2D",
    "greatest(h, 6S) = 7",
    "round(q, 1) = 5.0",
)
_LOGIC = (
    "y",
    "NOT y",
    "y IS TRUE",
    "y IS NOT TRUE",
    "y IS NOT FALSE",
    "y IS UNKNOWN",
    "y <=> (i = 5)",
    "y = (s LIKE 'a#%' ESCAPE '#')",
    "(s LIKE 'a#%' ESCAPE '#') <=> NULL",
    "(s LIKE 'a%') IS NOT TRUE",
    "(i IN (5, NULL)) IS NULL",
    "(i NOT IN (5, NULL)) IS NULL",
    "NOT (i = 5 AND s LIKE 'a#%' ESCAPE '#')",
    "NOT (i = 5 OR s LIKE 'a#%' ESCAPE '#' OR y)",
    "NOT (i IN (5, 6, 7) AND d > date'2024-02-29')",
    "i = 5 AND NULL",
    "i = 5 OR NULL",
    "NOT (i = 5 AND NULL)",
    "i = NULL",
    "i NOT IN (NULL)",
    "i IN (NULL, NULL, 5, 5)",
    "coalesce(i, 5) = 5",
    "coalesce(s, 'x') LIKE 'x'",
    "nullif(i, 5) IS NULL",
    "nvl(y, true)",
    "if(i = 5, s, 'x') = 'x'",
    "CASE WHEN i = 5 THEN true WHEN i = 7 THEN NULL ELSE false END",
    "CASE i WHEN 5 THEN 'a' ELSE s END = 'a'",
    "isnan(x)",
    "NOT isnan(f)",
    "nanvl(x, 5) = 5",
    "i = st.k",
    "st.k = `s.t`",
    "st IS NULL",
    "st.w IS NULL AND st IS NOT NULL",
    "st <=> NULL",
    "st = named_struct('k', 5, 'w', 'ab')",
    "st IN (named_struct('k', 5, 'w', 'ab'), NULL)",
    "st.k IN (5, NULL) OR `s.t` NOT IN (7, NULL)",
    "(i, s) IN ((5, 'a%'), (7, 'ab'))",
    "(i = 5) != y",
    "array_contains(array(5, 7), i)",
    "array_contains(array(5, NULL), i)",
    "i IN (5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)",
    "NOT (i IN (5, 6, 7, 8, 9, 10, 11, 12, 13, 14, NULL))",
    "x IN (double('NaN'), 5.0D)",
    "x NOT IN (double('NaN'), 5.0D)",
    "q IN (5, 5.010, 5.0000)",
    "d IN (date'2024-02-29', '2024-03-01')",
    "t IN (timestamp'2024-11-03 01:00:00', NULL)",
    "b IN (X'05', X'FF00')",
)


def _conditions() -> Iterator[str]:
    """Each operator on each column, as it is and negated; forms of literals by turns."""
    for at, (column, (forms, greater)) in enumerate(_LITERALS.items()):
        for number, operator in enumerate(_OPERATORS + _NULLS):
            for negated, shape in enumerate(("{}", "NOT ({})")):
                form = forms[(at + number + negated * (len(forms) // 2)) % len(forms)]
                yield shape.format(operator.format(c=column, v=form, w=greater))
    for escape in ("", "#", "a", "%", "_", "\\"):
        clause = f" ESCAPE '{_quoted(escape)}'" if escape else ""
        patterns = [one.replace("a", "b" if escape == "a" else "a") for one in _ESCAPED]
        for pattern in patterns[:2] if escape in ("%", "_") else patterns:
            for word in ("LIKE", "NOT LIKE"):
                yield f"s {word} '{_quoted(pattern.format(e=escape or chr(92)))}'{clause}"
    for pattern in _UNESCAPED:
        yield f"s LIKE '{pattern}'"
        yield f"s NOT LIKE '{pattern}' ESCAPE '/'"
    for condition in _OF_TEXTS + _CASTS + _ARITHMETIC + _LOGIC:
        yield condition
        yield f"NOT ({condition})"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\")


PARTS = 6
OTHERS = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "America/New_York"}
"""Of another session: what a condition means may be something else, and is with the rule as without."""
CONDITIONS = list(dict.fromkeys(_conditions()))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A file a row."""
    for at, row in enumerate(ROWS):
        pq.write_table(pa.Table.from_pylist([row], SCHEMA), tmp_path / f"{at:02}.parquet")
    return tmp_path


def test_a_condition_of_a_plan_is_read_as_spark_means_it(facts: Facts, lake: Path) -> None:
    def ask(spark: SparkSession, condition: str) -> Iterator[str]:
        frame = spark.read.parquet(str(lake)).where(condition).select("id")
        yield " ".join(str(id_) for id_ in sorted(row["id"] for row in frame.collect()))
        for filter_ in _filters(spark, frame):
            yield json.dumps(_short(filter_), separators=(",", ":"))

    understood = 0
    for condition in CONDITIONS:
        passed, *filters = facts.said(condition, lambda spark, asked=condition: _with_sets(spark, ask, asked))
        theirs = {int(id_) for id_ in passed.split()}
        every = [bind(to_predicate(CatalystNodes(_long(json.loads(text)))), SCHEMA) for text in filters]
        told = [p for p in every if not any(isinstance(leaf, Opaque) for leaf in p.leaves())]
        ours = {row["id"] for row in ROWS if matches(And(tuple(told)), row) is True}
        assert ours >= theirs, (condition, every)
        if filters and len(told) == len(every):
            assert ours == theirs, (condition, every)
            understood += 1
    assert understood > 400


def _with_sets(spark: SparkSession, ask: Any, condition: str) -> list[str]:
    with SparkDriver(spark).setting(_IN_SET, "2"):
        return list(ask(spark, condition))


def _filters(spark: SparkSession, frame: DataFrame) -> list[Any]:
    """Those of the only scan, as the rule's Java writes them; none where Spark reads nothing."""
    (told,) = json.loads(str(surveyor(spark).asked(frame._jdf.queryExecution())))
    return [filter_ for scan in told["scans"] for filter_ in scan["filters"]]


def _short(nodes: list[dict[str, Any]]) -> list[Any]:
    """Of each node the class, the number of children and the rest, where there is any; of a column its name. A set of
    bytes has no order of its own."""
    for node in nodes:
        node.get("values", []).sort(key=json.dumps)
    return [
        node["name"]
        if node in _COLUMNS.values()
        else [node.pop("class").removeprefix(_CATALYST), node.pop("num-children"), *([node] if node else [])]
        for node in nodes
    ]


def _long(nodes: list[Any]) -> list[dict[str, Any]]:
    """The nodes as they were sent."""
    return [_COLUMNS[node] if isinstance(node, str) else _node(*node) for node in nodes]


def _node(of: str, children: int, more: Mapping[str, Any] = {}) -> dict[str, Any]:
    return {"class": of if "." in of else _CATALYST + of, "num-children": children, **more}


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("others", [{}, OTHERS], ids=["usual", "other"])
@pytest.mark.uncompiled
def test_a_condition_keeps_its_rows_with_the_rule(
    spark: SparkSession, lake: Path, others: dict[str, str], part: int
) -> None:
    kinds = mi.Values("i", "s", "d", "st.k", "`s.t`"), mi.Bloom("l", "b", "t", "st.w"), mi.ValueList("q", "y", "n")
    mi.open_table(str(lake)).create_index("all", mi.ColumnStats(), *kinds, builder="local")
    some = CONDITIONS[part::PARTS]
    found: list[dict[int, list[int]]] = []
    with ExitStack() as settings:
        for name, value in {_IN_SET: "2", **others}.items():
            settings.enter_context(SparkDriver(spark).setting(name, value))
        spark.read.parquet(str(lake)).createOrReplaceTempView("rows_of_conditions")
        asked = [f"SELECT {n} AS n, id FROM rows_of_conditions WHERE {text}" for n, text in enumerate(some)]
        for enabled in (False, True):
            if enabled:
                rule.enable(spark)
            rows = spark.sql(" UNION ALL ".join(asked)).collect()
            found.append(defaultdict(list))
            for row in sorted(rows):
                found[-1][row["n"]].append(row["id"])
    try:
        off, on = found
        assert [(some[n], off[n], on[n]) for n in range(len(some)) if off[n] != on[n]] == []
        assert rule.counts(spark).failed == 0, rule.counts(spark).last_error
        assert rule.counts(spark).rewritten > len(some) / 3
    finally:
        rule.disable(spark)


@pytest.mark.parametrize("padded", ["true", "false"])
def test_texts_of_a_length_keep_their_rows_with_the_rule(spark: SparkSession, tmp_path: Path, padded: str) -> None:
    """CHAR is filled up with blanks where it is written and read, and literals are; files of others have them bare."""
    of = pa.schema({"id": pa.int64(), "c": pa.string(), "v": pa.string()})
    texts = ["ab", "ab   ", "a%", "a%   ", "", "     ", "abcde", "AB", None]
    for at, text in enumerate(texts):
        pq.write_table(pa.Table.from_pylist([{"id": at, "c": text, "v": text}], of), tmp_path / f"{at}.parquet")
    spark.sql(f"CREATE TABLE of_lengths (id BIGINT, c CHAR(5), v VARCHAR(5)) USING parquet LOCATION '{tmp_path}'")
    kinds = mi.ColumnStats(), mi.Values("c", "v", by="value"), mi.Bloom("c", "v")
    mi.open_table(str(tmp_path)).create_index("all", *kinds, builder="local")
    shapes = ["{c} = 'ab'", "{c} <=> 'ab  '", "{c} <> 'ab'", "{c} IN ('ab', 'a%', NULL)", "{c} NOT IN ('ab', 'abcde')"]
    shapes += ["{c} LIKE 'ab'", "{c} LIKE 'a#%' ESCAPE '#'", "{c} LIKE 'a#%%' ESCAPE '#'", "{c} NOT LIKE 'ab%'"]
    shapes += ["{c} > 'ab'", "{c} <= 'ab'", "{c} BETWEEN 'a' AND 'ab'", "{c} IS NULL", "startswith({c}, 'ab ')"]
    shapes += ["{c} = 'ab        '", "{c} = 'abcdef'", "trim({c}) = 'ab'", "length({c}) = 5", "c = v", "c IN (v, 'AB')"]
    conditions = [shape.format(c=name) for shape in dict.fromkeys(shapes) for name in ("c", "v")]
    asked = [f"SELECT {n} AS n, id FROM of_lengths WHERE {text}" for n, text in enumerate(conditions)]
    with SparkDriver(spark).setting("spark.sql.readSideCharPadding", padded):
        try:
            off = sorted(spark.sql(" UNION ALL ".join(asked)).collect())
            rule.enable(spark)
            on = sorted(spark.sql(" UNION ALL ".join(asked)).collect())
            assert on == off
            assert rule.counts(spark).failed == 0, rule.counts(spark).last_error
            assert rule.counts(spark).rewritten > 0
        finally:
            rule.disable(spark)
            spark.sql("DROP TABLE of_lengths")
