"""IS NULL of a struct: its fields' counts prove that no row has it, and nothing else."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions import ArrowStatistics, ColumnBounds, ColumnRef, IsNull, Opaque, bind, may_match
from metaindex.expressions.engines.sql import parse
from metaindex.expressions.skipping import must_match
from tests.evaluate import matches

ROW = st.none() | st.fixed_dictionaries(
    {"x": st.none() | st.integers(0, 3), "t": st.none() | st.just({"z": None}) | st.just({"z": "a"})}
)
SCHEMA = pa.schema({"s": pa.struct({"x": pa.int32(), "t": pa.struct({"z": pa.string()}), "l": pa.list_(pa.int32())})})
X, Z = ColumnRef(("s", "x")), ColumnRef(("s", "t", "z"))
ASKED = {
    "s IS NULL": lambda row: row is None,
    "s IS NOT NULL": lambda row: row is not None,
    "NOT (s IS NULL)": lambda row: row is not None,
    "s.t IS NULL": lambda row: row is None or row["t"] is None,
    "s.t IS NOT NULL": lambda row: row is not None and row["t"] is not None,
    "s IS NULL OR s.x = 1": lambda row: row is None or row["x"] == 1,
}


def _value(row: Any, *path: str) -> Any:
    for part in path:
        row = None if row is None else row[part]
    return row


def _bounds(files: list[list[Any]], t: pa.DataType, *path: str) -> ColumnBounds:
    nulls = [sum(_value(row, *path) is None for row in rows) for rows in files]
    return ColumnBounds(t, None, None, pa.array(nulls, pa.int64()), None, pa.array(list(map(len, files)), pa.int64()))


@given(st.lists(st.lists(ROW, max_size=4), min_size=1, max_size=4), st.sampled_from(list(ASKED)), st.booleans())
def test_no_struct_is_lost_and_none_is_certain_that_is_not(files: list[list[Any]], text: str, known: bool) -> None:
    said = {X: _bounds(files, pa.int32(), "x")} | ({Z: _bounds(files, pa.string(), "t", "z")} if known else {})
    p = bind(parse(text, schema=SCHEMA), SCHEMA)
    statistics = ArrowStatistics(len(files), said)
    for rows, kept, certain in zip(files, may_match(p, statistics), must_match(p, statistics), strict=True):
        answers = [ASKED[text](row) for row in rows]
        assert kept or not any(answers)
        assert not certain or all(answers)


def test_a_field_that_is_never_null_proves_the_struct() -> None:
    statistics = ArrowStatistics(2, {X: _bounds([[{"x": 1}, {"x": 2}], [{"x": None}]], pa.int32(), "x")})
    p = bind(parse("s IS NULL"), SCHEMA)
    assert may_match(p, statistics).tolist() == [False, True]
    assert must_match(bind(parse("s IS NOT NULL"), SCHEMA), statistics).tolist() == [True, False]
    assert bind(p, SCHEMA) == p


def test_lists_and_structs_without_statistics_are_what_they_are() -> None:
    nested = {"l": pa.list_(pa.int32()), "m": pa.map_(pa.string(), pa.int32())}
    schema = pa.schema({**nested, "e": pa.struct([]), "s": pa.struct(nested)})
    for name in ("l", "m", "s", "s.l", "S.M"):
        p = bind(parse(f"{name} IS NULL"), schema)
        assert isinstance(p, IsNull)
        assert bind(p, schema) == p
    for name in ("e", "l.element", "s.m.key"):  # what has no fields stands for a type that is not known
        assert isinstance(bind(parse(f"{name} IS NULL"), schema), Opaque)


@given(
    st.recursive(
        st.sampled_from([*ASKED, "s.l IS NULL", "s.x > 1"]),
        lambda inner: st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "OR", "AND NOT"]), inner),
        max_leaves=6,
    )
)
def test_binding_what_is_bound_changes_nothing(text: str) -> None:
    p = bind(parse(text, schema=SCHEMA), SCHEMA)
    assert bind(p, SCHEMA) == p


@given(st.sampled_from(list(ASKED)), ROW)
def test_a_row_is_answered(text: str, row: Any) -> None:
    held = row if row is None else {**row, "l": None}
    assert (matches(bind(parse(text, schema=SCHEMA), SCHEMA), {"s": held}) is True) == ASKED[text](row)


ROWS = [
    [{"x": 1, "y": None}, {"x": 2, "y": None}],  # x is always there
    [{"x": None, "y": "a"}, {"x": None, "y": None}],  # no field proves it
    [{"x": 1, "y": "a"}, None],
    [None, None],
]


def _written(path: Path, table_format: str) -> Path:
    schema = pa.schema({"s": pa.struct({"x": pa.int32(), "y": pa.string()}), "k": pa.int64()})
    path.mkdir()
    for n, rows in enumerate(ROWS):
        table = pa.table({"s": rows, "k": [n] * len(rows)}, schema=schema)
        if table_format == "delta":
            write_deltalake(path, table, mode="append")
        else:
            pq.write_table(table, path / f"{n}.parquet")
            os.utime(path / f"{n}.parquet", (1, 1))
    return path


@pytest.mark.parametrize("table_format", ["delta", "parquet"])
def test_files_without_a_null_struct_are_not_read(tmp_path: Path, table_format: str) -> None:
    table = mi.open_table(_written(tmp_path / "t", table_format), config=mi.Config(settle_seconds=0))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    found = table.prune("s IS NULL")
    assert len(found.files) == 3
    assert len(table.prune("s IS NULL AND k < 2").files) == 1
    assert len(table.prune("s IS NOT NULL").files) == 4
    assert len(table.prune("s IS NOT NULL").certain) == 1
