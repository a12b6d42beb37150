"""pyiceberg and Polars read over the server what they read by themselves, at each version of tables with deletes,
partitions and evolved schemas; and they open the files of the plan alone."""

import datetime as dt
import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import BadRequestError
from pyiceberg.expressions import AlwaysTrue, And, EqualTo, GreaterThan, IsNaN, Not, NotIn, Or, StartsWith
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import bind
from pyiceberg.table import StaticTable

import metaindex as mi
from metaindex.serve import open_server
from tests.formats.iceberg.written import WrittenHistory
from tests.formats.iceberg.written_rows import plain
from tests.serve.lake import JAVA_1_12, PYICEBERG_0_12, planned, served

CONDITIONS = """
    id = 7 | id in (1, 4, 9) | id > 3 and id < 9 | id != 4 | not id in (1, 2) | id is null | id is not null
    id >= 1000 | not (id = 3 or id = 4) | id < 5 or id > 11
    k = 1 | k in (1, -5) | k is null | k != 2 | not k in (1, 2) | k < 2 | k >= -5 and k <= 1
    k = 3000000000 | not (k > 1)
    s = 'a' | s in ('a', 'é😀') | s is null | s is not null | s != 'b' | not s in ('a', 'b') | s like 'é%'
    s not like 'a%' | s > 'a' | s = ''
    f = 1.5 | f = 0.0 | f > 0.0 | f <= 1.5 | f is nan | f is not nan | f is null | f != 0.0 | not (f > 0.0)
    f in (0.0, 1.5) | f not in (0.0, 2.0)
    d = 1.50 | d = -2.25 | d > 0 | d is null | d != 1.50 | d in (1.50, 3.00)
    day = '1969-12-31' | day >= '2020-02-29' | day is null | day != '1969-12-31' | day < '1970-01-01'
    day in ('2020-02-29', '1969-12-31')
    at = '2020-01-01T00:00:00+00:00' | at < '1970-01-01T00:00:00+00:00' | at is null
    at != '2020-01-01T00:00:00+00:00' | st.x = 3 | st.x is null | st.x > 3 | st.y = 'y'
"""
MIXED: list[Any] = [
    AlwaysTrue(),
    Not(GreaterThan("f", 0.0)),
    Or(IsNaN("f"), EqualTo("id", 3)),
    And(StartsWith("s", "a"), NotIn("id", {1, 2, 3})),
    EqualTo("b", b"\x00\xff"),
    EqualTo("fx", b"ab"),
    EqualTo("at", dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
    EqualTo("day", dt.date(2020, 2, 29)),
]


@pytest.fixture(autouse=True)
def _polars_plans_by_pyiceberg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")  # as it does without its plug-in, and warns


class Readable(WrittenHistory):
    """A history without deletes by value, which pyiceberg does not read."""

    verbs = "append append positions vector evolve remove"


SEEDS = [0, 5, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (1, 2, 3, 4, 6, 7))]


def history(root: Path, seed: int) -> WrittenHistory:
    kind = WrittenHistory if seed > 3 else Readable
    made = kind(root / f"h{seed}", 2 + seed % 2, Random(seed)).run(14)
    mi.open_table(str(made.root)).create_index("i", mi.ColumnStats(), mi.Values("id"))
    return made


def conditions(table: Any) -> Iterator[Any]:
    """Those whose columns the table has now."""
    for condition in [*(text.strip() for text in CONDITIONS.replace("\n", "|").split("|") if text.strip()), *MIXED]:
        with suppress(ValueError, TypeError):
            bind(table.schema(), parse(condition) if isinstance(condition, str) else condition, case_sensitive=True)
            yield condition


def rows(scan: Any) -> list[str] | str:
    """What a reader gives, or how it refuses."""
    try:
        return plain(scan.to_arrow().to_pylist())
    except Exception as error:  # noqa: BLE001 - the same of both
        return type(error).__name__


@pytest.mark.parametrize("seed", SEEDS)
def test_pyiceberg_reads_a_history_as_it_does_alone(tmp_path: Path, seed: int) -> None:
    made = history(tmp_path / "lake", seed)
    alone = StaticTable.from_metadata(str(made.root / "metadata/v1.metadata.json"))
    every = list(conditions(alone))
    versions = [snapshot["snapshot-id"] for snapshot in made.table.snapshots][::3]
    asked = [(None, condition) for condition in every]
    asked += [
        (version, condition) for version in versions for condition in (every[0], every[4], every[-1], AlwaysTrue())
    ]
    with open_server(tmp_path / "lake") as server:
        over = load_catalog("served", type="rest", uri=server.uri).load_table(("lake", made.root.name))
        for version, condition in asked:
            how: dict[str, Any] = {"row_filter": condition, "snapshot_id": version}
            there, here = rows(over.scan(**how)), rows(alone.scan(**how))
            if there == here:
                assert isinstance(here, str) or over.scan(**how).count() == len(here), (condition, version)
                continue
            # Alone it looks for deletes by value in files that are not read, too; here they are refused by name.
            assert not isinstance(made, Readable), (condition, version)
            assert there == "BadRequestError" or (here == "ValueError" and _by_model(made, condition, version, there))
    assert len(asked) > 60


def _by_model(history: WrittenHistory, condition: Any, version: int | None, there: list[str] | str) -> bool:
    """Whether rows are those of metaindex's own scan, which reads deletes of every kind."""
    table = mi.open_table(str(history.root))
    scan = (
        table.scan(condition, version=version) if isinstance(condition, str) and "is" not in condition.split() else None
    )
    return isinstance(there, list) and (scan is None or len(scan.to_arrow()) == len(there))


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any, Path]]:
    """Forty files of 25 rows, by region; over the server, alone, and where they are."""
    root = tmp_path_factory.mktemp("numbers")
    catalog = SqlCatalog("alone", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}/lake")
    catalog.create_namespace("n")
    ids = [n * 377 % 1000 for n in range(1000)]
    whole = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "region": pa.array([None if n % 5 == 0 else ("eu", "us", "ap", "af")[n % 4] for n in range(1000)]),
            "x": pa.array([float("nan") if n % 50 == 3 else n / 4 for n in ids]),
            "day": pa.array([dt.date(2026, 1, 1) + dt.timedelta(n % 30) for n in ids]),
            "ts": pa.array([dt.datetime(2026, 1, 1) + dt.timedelta(hours=n) for n in ids], pa.timestamp("us")),
            "name": pa.array([f"user-{n:04d}" for n in ids]),
        }
    )
    table = catalog.create_table("n.numbers", whole.schema, location=f"file://{root}/lake/numbers")
    with table.update_spec() as spec:
        spec.add_identity("region")
    for start in range(0, 1000, 125):
        table.append(whole.slice(start, 125))
    mi.open_table(f"{root}/lake/numbers").create_index("ids", mi.Values("id"))
    with open_server(root / "lake") as server:
        yield load_catalog("served", type="rest", uri=server.uri).load_table(("lake", "numbers")), table, root
    catalog.close()


def test_a_needle_opens_one_file(numbers: tuple[Any, Any, Path], tmp_path: Path) -> None:
    over, alone, root = numbers
    (task,) = over.scan("id = 377").plan_files()
    assert len(list(alone.scan("id = 377").plan_files())) > 10
    kept = Path(task.file.file_path.removeprefix("file://"))
    others = [file for file in (root / "lake/numbers/data").rglob("*.parquet") if file != kept]
    moved = [(file, file.rename(tmp_path / file.name)) for file in others]
    try:
        assert over.scan("id = 377").to_arrow().column("name").to_pylist() == ["user-0377"]
        assert pl.scan_iceberg(over).filter(pl.col("id") == 377).select("name").collect().item() == "user-0377"
    finally:
        for there, here in moved:
            here.rename(there)


POLARS = {
    "eq": pl.col("id") == 77,
    "in": pl.col("id").is_in([1, 500, 999]),
    "range": (pl.col("id") > 100) & (pl.col("id") < 140),
    "or": (pl.col("id") < 3) | (pl.col("region") == "eu"),
    "not": ~(pl.col("region") == "eu"),
    "ne": pl.col("region") != "eu",
    "null": pl.col("region").is_null(),
    "not null": pl.col("region").is_not_null(),
    "missing": pl.col("region").eq_missing(None),
    "float": pl.col("x") > 240.0,
    "nan": pl.col("x").is_nan(),
    "not nan": pl.col("x").is_not_nan(),
    "day": pl.col("day") == dt.date(2026, 1, 7),
    "time": pl.col("ts") >= dt.datetime(2026, 2, 10),
    "starts": pl.col("name").str.starts_with("user-01"),
    "ends": pl.col("name").str.ends_with("1"),
    "year": pl.col("day").dt.month() == 1,
    "arithmetic": pl.col("id") + 1 == 78,
    "nothing": pl.col("id") > 5000,
    "all": pl.lit(value=True),
}


@pytest.mark.parametrize("condition", POLARS)
def test_polars_reads_as_it_does_alone(numbers: tuple[Any, Any, Path], condition: str) -> None:
    over, alone, _ = numbers
    there, here = (pl.scan_iceberg(table).filter(POLARS[condition]).collect().sort("id") for table in (over, alone))
    assert there.equals(here, null_equal=True)
    counted = [
        pl.scan_iceberg(table).filter(POLARS[condition]).select(pl.len()).collect().item() for table in (over, alone)
    ]
    assert counted == [len(here)] * 2
    firsts = pl.scan_iceberg(over).filter(POLARS[condition]).head(3).collect()
    assert len(firsts) == min(3, len(here))


def test_a_write_is_refused_and_leaves_nothing(numbers: tuple[Any, Any, Path]) -> None:
    over, _, root = numbers
    before = sorted((root / "lake").rglob("*"))
    for write in (lambda: over.delete("id = 1"), lambda: over.append(over.scan("id = 1").to_arrow())):
        with pytest.raises(ValueError, match="this-catalog-is-read-only"):
            write()
    assert len(over.scan("id = 1").to_arrow()) == 1
    assert sorted((root / "lake").rglob("*")) == before


def test_statistics_are_sent_to_those_who_read_them(tmp_path: Path) -> None:
    """pyiceberg parses counts and bounds of each file, and lets the bounds go; Java answers MIN and MAX by them."""
    catalog = SqlCatalog("made", uri=f"sqlite:///{tmp_path}/made.db", warehouse=str(tmp_path))
    catalog.create_namespace("n")
    three = pa.table({"id": [1, 2, 3]})
    catalog.create_table("n.t", three.schema, location=str(tmp_path / "lake" / "t")).append(three)
    plans = served(tmp_path / "lake" / "t")
    for client, sent in ((JAVA_1_12, True), (PYICEBERG_0_12, False)):
        files = [task["data-file"] for task in planned(plans, None, client, select=["id"])["tasks"]]
        assert [bool({"value-counts", "lower-bounds"} & set(file)) for file in files] == [sent] * len(files)


def test_an_infinity_that_pyiceberg_sends_as_null_is_refused_by_name(numbers: tuple[Any, Any, Path]) -> None:
    """Which one it was cannot be known; a residual with null would be an error of pyiceberg's, without a cure."""
    for condition in (EqualTo("x", math.inf), Not(GreaterThan("x", -math.inf)), NotIn("x", {1.0, math.inf})):
        with pytest.raises(BadRequestError, match="sends infinities; ask with a finite number"):
            numbers[0].scan(row_filter=condition).to_arrow()
