"""Every operator with every type, form of literal and ESCAPE, as the rule sends it from Spark's optimized plan: read
with Spark's meaning, and with the rule as without."""

import datetime as dt
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
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
    "t": (pa.timestamp("us", "UTC"), [dt.datetime(2024, 2, 29, hour, tzinfo=dt.UTC) for hour in (0, 1)]),
    "n": (pa.timestamp("us"), [dt.datetime(2024, 2, 29, hour) for hour in (0, 1)]),
    "y": (pa.bool_(), [True, False]),
}
SCHEMA = pa.schema({"id": pa.int64()} | {name: type_ for name, (type_, _) in _VALUES.items()})
_POOLS = {name: [*values, None] for name, (_, values) in _VALUES.items()}
ROWS: list[dict[str, Any]] = [
    {"id": at} | {name: pool[at % len(pool)] for name, pool in _POOLS.items()} for at in range(len(_TEXTS) + 1)
]
_SPARK = ("short", "integer", "long", "float", "double", "decimal(9,2)", "string", "binary", "date", "timestamp")
_COLUMNS = {
    name: {
        "class": _CATALYST + "AttributeReference",
        "num-children": 0,
        "name": name,
        "dataType": type_,
        "metadata": {},
    }
    for name, type_ in zip(_VALUES, (*_SPARK, "timestamp_ntz", "boolean"), strict=True)
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
    "t": (["timestamp'2024-02-29 01:00:00'", "'2024-02-29 00:00:00'", "date'2024-02-29'"], "timestamp'2025-01-01'"),
    "n": (["timestamp_ntz'2024-02-29 01:00:00'", "'2024-02-29'", "date'2024-02-29'"], "timestamp_ntz'2025-01-01'"),
    "y": (["true", "'false'", "false"], "true"),
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
    for condition in _OF_TEXTS:
        yield condition
        yield f"NOT ({condition})"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\")


PARTS = 5
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
    assert understood > 300


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
@pytest.mark.uncompiled
def test_a_condition_keeps_its_rows_with_the_rule(spark: SparkSession, lake: Path, part: int) -> None:
    mi.open_table(str(lake)).create_index(
        "all", mi.ColumnStats(), mi.Values("i", "s", "d"), mi.Bloom("l", "b", "t"), builder="local"
    )
    some = CONDITIONS[part::PARTS]
    found: list[dict[int, list[int]]] = []
    with SparkDriver(spark).setting(_IN_SET, "2"):
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
