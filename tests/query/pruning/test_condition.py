"""One way for the conditions of all engines: whoever takes one, it means the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.expressions import EqualTo

import metaindex as mi
from tests.tables import settled

DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")
SECOND: dict[str, Any] = {
    "col": mi.col("day") == DAYS[1],
    "text": f"day = '{DAYS[1]}'",
    "pyarrow": pc.field("day") == DAYS[1],
    "polars": pl.col("day") == DAYS[1],
    "duckdb": duckdb.ColumnExpression("day") == duckdb.ConstantExpression(DAYS[1]),
    "pyiceberg": EqualTo("day", DAYS[1]),
}


def lake(tmp_path: Path) -> mi.Table:
    """A file a day; an index knows the first."""
    put(tmp_path, 0)
    schema = pa.schema({"id": pa.int64(), "day": pa.string()})
    table = mi.open_table(str(tmp_path / "lake"), schema=schema, config=mi.Config(builder="local"))
    table.create_index("stats", mi.ColumnStats("id"))
    put(tmp_path, 1)
    put(tmp_path, 2)
    return table


def put(tmp_path: Path, number: int) -> None:
    settled(tmp_path / "lake", {f"day={DAYS[number]}/f.parquet": pa.table({"id": [number]})})


def refreshed(table: mi.Table, condition: object) -> int:
    """How many files the index knows then and did not before."""
    runs = table.refresh_index("stats", where=condition).entry.content.runs
    return sum(run.files for run in runs) - 1


TAKERS: dict[str, Callable[[mi.Table, object], int]] = {
    "prune": lambda table, condition: table.prune(condition).kept_files,
    "scan": lambda table, condition: table.scan(condition).to_arrow().num_rows,
    "explain": lambda table, condition: table.explain(condition).result.kept_files,
    "refresh": refreshed,
}


@pytest.mark.parametrize("engine", SECOND)
def test_whoever_takes_a_condition_understands_the_same(tmp_path: Path, engine: str) -> None:
    table = lake(tmp_path)
    assert [take(table, SECOND[engine]) for take in TAKERS.values()] == [1, 1, 1, 1]


UNKNOWN: dict[str, Any] = {
    "text": "reverse(day) = 'x'",
    "pyarrow": pc.utf8_reverse(pc.field("day")) == "x",
    "polars": pl.col("day").str.reverse() == "x",
    "duckdb": duckdb.FunctionExpression("reverse", duckdb.ColumnExpression("day")) == duckdb.ConstantExpression("x"),
}


@pytest.mark.parametrize("engine", UNKNOWN)
def test_what_is_not_understood_keeps_every_file(tmp_path: Path, engine: str) -> None:
    table = lake(tmp_path)
    assert TAKERS["prune"](table, UNKNOWN[engine]) == TAKERS["explain"](table, UNKNOWN[engine]) == len(DAYS)
    with pytest.raises(mi.ScanError):
        TAKERS["scan"](table, UNKNOWN[engine])


@pytest.mark.parametrize("nothing", [5, b"day = 1", object()])
def test_what_is_no_condition_is_refused_by_all(tmp_path: Path, nothing: object) -> None:
    table = lake(tmp_path)
    for take in TAKERS.values():
        with pytest.raises(mi.ExpressionError, match="a condition is SQL text"):
            take(table, nothing)
