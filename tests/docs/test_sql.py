"""The statements of docs/sql/duckdb.sql, run as a user would paste them: what they keep is what the files' own values
say."""

import math
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

import metaindex as mi
from tests.index.kinds.bloom import filters
from tests.tables import settle

SQL = (Path(__file__).parents[2] / "docs" / "sql" / "duckdb.sql").read_text()
SCHEMA = pa.schema([("i", pa.int64()), ("f", pa.float64()), ("s", pa.string()), ("p", pa.string())])
NAN = math.nan
FILES: list[dict[str, list[Any]]] = [
    {"i": [1, 2, 40], "f": [1.0, 2.5, 3.0], "s": ["a", "ab", None], "p": ["x"] * 3},
    {"i": [7, None, 9], "f": [NAN, 1.0, None], "s": ["é", "zz", "zzz"], "p": ["x"] * 3},
    {"i": [-5, -5, -5], "f": [NAN, NAN, NAN], "s": [None, None, None], "p": ["y"] * 3},
    {"i": [None, None], "f": [None, None], "s": ["m", "m"], "p": ["y"] * 2},
    {"i": [2**63 - 1, -(2**63)], "f": [-math.inf, math.inf], "s": ["", "b" * 300], "p": ["z"] * 2},
    {"i": [3, 4], "f": [0.5, NAN], "s": ["ab", "q"], "p": ["x"] * 2},
]
"""The last one is in no run; the index is refreshed after the third."""
KINDS = (
    mi.ColumnStats(),
    mi.Values("i", "s"),
    mi.Values("i", "s", by="value"),
    mi.ValueList("i", limit=2),
    mi.Bloom("i", "s", fpp=1e-5),
)


@dataclass
class Pasted:
    """A connection in which the file was run, and what lies in each live file."""

    connection: duckdb.DuckDBPyConnection
    values: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    unknown: str = ""

    def kept(self, proof: str) -> set[str]:
        found = self.connection.execute(f"SELECT path FROM live EXCEPT SELECT path FROM {proof}").fetchall()
        return {path for (path,) in found}

    def expected(self, column: str, may: Any) -> set[str]:
        return {p for p, held in self.values.items() if p == self.unknown or may(held[column])}


@pytest.fixture(scope="module", params=["delta", "parquet"])
def pasted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pasted:
    root = str(tmp_path_factory.mktemp("sql") / "lake")
    order: list[str] = []
    for number, rows in enumerate(FILES):
        table = pa.table(rows, schema=SCHEMA)
        if request.param == "delta":
            deltalake.write_deltalake(root, table, mode="append", partition_by=["p"])
        else:
            path = Path(root, f"p={rows['p'][0]}", f"{number}.parquet")
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table.drop_columns("p"), path)
            settle(Path(root))
        order += [path for path, *_ in live(root, request.param) if path not in order]
        if number == 2:
            mi.open_table(root).create_index("find", *KINDS, builder="local")
        elif number == 4:
            mi.open_table(root).refresh_index("find", builder="local")
    connection = duckdb.connect()
    connection.execute("SET VARIABLE index = ?", [mi.open_table(root).indexes()[0].location])
    connection.execute("SET VARIABLE table_uuid = ?", [own_id(root)])
    connection.execute("CREATE TEMP TABLE live (path VARCHAR, size_bytes BIGINT, modified_ms BIGINT, etag VARCHAR)")
    connection.executemany("INSERT INTO live VALUES (?, ?, ?, ?)", live(root, request.param))
    connection.execute(SQL)
    return Pasted(connection, dict(zip(order, FILES, strict=True)), order[-1])


def live(root: str, table_format: str) -> list[tuple[str, int, int, str | None]]:
    """Path, size and time of the live files, by other means than ours."""
    if table_format == "delta":
        actions = pa.table(deltalake.DeltaTable(root).get_add_actions(flatten=True)).to_pylist()
        return [(one["path"], one["size_bytes"], one["modification_time"], None) for one in actions]
    files = sorted(Path(root).rglob("*.parquet"))
    found = [(str(p.relative_to(root)), os.stat(p)) for p in files]
    return [(p, s.st_size, s.st_mtime_ns // 10**6, f"{s.st_ino}-{s.st_ctime_ns}") for p, s in found]


def own_id(root: str) -> str:
    return str(deltalake.DeltaTable(root).metadata().id) if Path(root, "_delta_log").exists() else ""


def numbers(values: list[Any]) -> list[Any]:
    return [v for v in values if v is not None and v == v]


def between(low: Any, high: Any) -> Any:
    def may(values: list[Any]) -> bool:
        known = numbers(values)
        nan = len(known) < len([v for v in values if v is not None])
        inside = bool(known) and (low is None or max(known) >= low) and (high is None or min(known) <= high)
        return inside or (nan and high is None)

    return may


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"encode('{value}')"
    return f"'{value}'::DOUBLE" if isinstance(value, float) else str(value)


RANGES: dict[str, list[Any]] = {
    "i": [-(2**63), -5, 8, 41],
    "f": [-math.inf, 0.0, 2.5, math.inf],
    "s": ["", "ac", "zzz", "é"],
    "p": ["x", "xx", "z"],
}
TYPES = {"i": ("int", "int64"), "f": ("double", "double"), "s": ("bytes", "string"), "p": ("bytes", "string")}


@pytest.mark.parametrize("column", RANGES)
def test_ranges_keep_the_files_whose_bounds_touch_them(pasted: Pasted, column: str) -> None:
    domain, type_ = TYPES[column]
    asked = 0
    for low in (None, *RANGES[column]):
        for high in (None, *RANGES[column]):
            call = f"no_{domain}_between('{column}', '{type_}', {literal(low)}, {literal(high)})"
            wide = between(*(one.encode() if isinstance(one, str) else one for one in (low, high)))
            expected = pasted.expected(
                column, lambda held, wide=wide: wide([v.encode() if isinstance(v, str) else v for v in held])
            )
            long = {p for p, held in pasted.values.items() if column == "s" and "b" * 300 in held["s"]}
            assert expected <= pasted.kept(call) <= expected | long, call
            asked += 1
    assert asked == (len(RANGES[column]) + 1) ** 2


def test_counts_decide_of_null_and_nan(pasted: Pasted) -> None:
    for column, (_, type_) in TYPES.items():
        assert pasted.kept(f"no_null('{column}', '{type_}')") == pasted.expected(column, lambda held: None in held)
        assert pasted.kept(f"no_value('{column}', '{type_}')") == pasted.expected(
            column, lambda held: any(v is not None for v in held)
        )
    assert pasted.kept("no_nan('f', 'double')") == pasted.expected("f", lambda held: any(v != v for v in held))
    others = pasted.expected("i", lambda held: any(v not in (None, -5) for v in held))
    assert pasted.kept("no_other_int('i', 'int64', -5)") == others


def test_statistics_of_another_type_prove_nothing(pasted: Pasted) -> None:
    assert pasted.kept("no_int_between('i', 'double', 100, 200)") == set(pasted.values)
    assert pasted.kept("no_int_between('nobody', 'int64', 100, 200)") == set(pasted.values)


@pytest.mark.parametrize("value", [-5, 0, 2, 3, 9, 40, 2**63 - 1, -(2**63)])
def test_an_integer_is_looked_up_by_hash_and_by_value(pasted: Pasted, value: int) -> None:
    hashed = xxhash.xxh64_intdigest(struct.pack("<q", value))
    holds = pasted.expected("i", lambda held: value in held)
    assert pasted.kept(f"no_hash('i', 'int64', {hashed}::UBIGINT)") == holds
    assert pasted.kept(f"no_int_key('value_keys', 'i', 'int64', {value}, {value})") == holds
    listed = pasted.kept(f"no_int_key('value_lists', 'i', 'int64', {value}, {value})")
    assert listed == holds | pasted.expected("i", lambda held: len(set(numbers(held))) > 2)


@pytest.mark.parametrize("value", ["", "a", "ab", "zz", "é", "e", "b" * 300])
def test_a_text_is_looked_up_by_hash_and_by_value(pasted: Pasted, value: str) -> None:
    hashed = xxhash.xxh64_intdigest(value.encode())
    holds = pasted.expected("s", lambda held: value in held)
    assert pasted.kept(f"no_hash('s', 'string', {hashed}::UBIGINT)") == holds
    kept = pasted.kept(f"no_bytes_key('value_keys', 's', 'string', encode('{value}'))")
    assert kept == (holds if len(value) <= 255 else set(pasted.values))
    assert pasted.kept(f"no_bytes_key('value_lists', 's', 'string', encode('{value}'))") == set(pasted.values)


@pytest.mark.parametrize("value", [-5, 0, 2, 3, 9, 40, 2**63 - 1, -(2**63), "", "a", "ab", "é", "b" * 300, "nobody"])
def test_a_value_is_looked_up_by_bloom_filter(pasted: Pasted, value: Any) -> None:
    column, type_ = ("s", "string") if isinstance(value, str) else ("i", "int64")
    hashed = xxhash.xxh64_intdigest(value.encode() if isinstance(value, str) else struct.pack("<q", value))
    kept = pasted.kept(f"no_bloom('{column}', '{type_}', {hashed}::UBIGINT)")
    assert kept == pasted.expected(column, lambda held: value in held)


@pytest.mark.parametrize("files", [1, 255, 261, pytest.param(17_000, marks=pytest.mark.slow)])
@pytest.mark.exhaustive(but="261")
def test_filters_of_many_files_are_read_alike(tmp_path: Path, files: int) -> None:
    """One class and another of most of the files; of 256 and more a vector begins at a byte, of 16,384 and more it has
    a check of its own."""
    values = {n: pa.array(range(n * 3, n * 3 + (400 if n % 50 == 7 else 2)), pa.int64()) for n in range(files)}
    run = filters.write(tmp_path, values)
    connection = duckdb.connect()
    rows = f"read_parquet('{tmp_path}/bloom_filters/*/*.mix', hive_partitioning = true)"
    connection.execute(f"CREATE TEMP MACRO of_folder(folder, none) AS TABLE FROM {rows}")
    begin, end = SQL.index("CREATE OR REPLACE TEMP MACRO _filtered"), SQL.index("-- `hash`: as for no_hash")
    connection.execute(SQL[begin:end])
    some = (0, 4, 25, 3 * files - 2, 10**9) if files < 16_384 else (25, 3 * files - 2)
    for value in some:
        (hashed,) = filters.hashes_of(pa.array([value], pa.int64())).tolist()
        found = connection.execute(f"SELECT ordinal FROM _filtered({hashed}::UBIGINT) WHERE run = '{run.run.run}'")
        assert sorted(n for (n,) in found.fetchall()) == filters.holding(run, np.array([hashed], np.uint64)), value


def test_an_index_that_may_not_be_used_proves_nothing(pasted: Pasted, tmp_path: Path) -> None:
    root = str(tmp_path / "lake")
    deltalake.write_deltalake(root, pa.table({"i": [1]}))
    table = mi.open_table(root)
    table.create_index("find", mi.ColumnStats(), builder="local")
    table.disable_index("find")
    connection = duckdb.connect()
    connection.execute("SET VARIABLE index = ?", [table.indexes()[0].location])
    connection.execute("SET VARIABLE table_uuid = ?", [own_id(root)])
    connection.execute("CREATE TEMP TABLE live (path VARCHAR, size_bytes BIGINT, modified_ms BIGINT, etag VARCHAR)")
    connection.executemany("INSERT INTO live VALUES (?, ?, ?, ?)", live(root, "delta"))
    connection.execute(SQL)
    asked = "SELECT path FROM live EXCEPT SELECT path FROM no_int_between('i', 'int64', 5, 6)"
    assert len(connection.execute(asked).fetchall()) == 1
    table.enable_index("find")
    connection.execute(SQL)
    assert not connection.execute(asked).fetchall()
