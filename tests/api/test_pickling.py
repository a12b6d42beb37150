"""Tables, scans and answers go to other processes: Dask, Ray and pools pickle what they are given."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import Catalog, load_catalog

import metaindex as mi
from metaindex.readers.scan import Scan
from metaindex.selection.answer import Recommendation
from tests.tables import settle

QUERY = "b = 3 AND a < 40"


def chunks() -> Iterator[pa.Table]:
    for number in range(5):
        yield pa.table({"a": range(number * 10, number * 10 + 10), "b": [(number + i) % 7 for i in range(10)]})


def parquet(root: Path) -> mi.Table:
    root.mkdir()
    for number, chunk in enumerate(chunks()):
        pq.write_table(chunk, root / f"{number}.parquet", row_group_size=3)
    settle(root)
    return mi.open_table(root)


def csv(root: Path) -> mi.Table:
    root.mkdir()
    for number, chunk in enumerate(chunks()):
        pyarrow.csv.write_csv(chunk, root / f"{number}.csv", pyarrow.csv.WriteOptions(delimiter=";"))
    settle(root)
    return mi.open_table(root, format="csv", sep=";", schema="a BIGINT, b BIGINT")


def delta(root: Path) -> mi.Table:
    for chunk in chunks():
        write_deltalake(root, chunk, mode="append")
    DeltaTable(root).delete("a = 10")
    return mi.open_table(root)


def catalog_of(root: Path) -> Catalog:
    root.mkdir(exist_ok=True)
    return load_catalog("lake", type="sql", uri=f"sqlite:///{root}/catalog.db", warehouse=str(root / "tables"))


def iceberg(root: Path) -> mi.Table:
    catalog = catalog_of(root)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", next(chunks()).schema)
    for chunk in chunks():
        table.append(chunk)
    table.delete("a = 10")
    return mi.open_table("n.t", catalog=catalog)


TABLES = [parquet, csv, delta, iceberg]


@pytest.fixture(params=TABLES, ids=lambda make: make.__name__)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> mi.Table:
    made: mi.Table = request.param(tmp_path / "lake")
    made.create_index("k", mi.ColumnStats(), mi.Values("b"), builder="local")
    return made


def sent(value: object) -> object:
    return pickle.loads(pickle.dumps(value))  # our own


def rows(scan: Scan) -> list[dict[str, object]]:
    return scan.to_arrow().sort_by([("a", "ascending"), ("b", "ascending")]).to_pylist()


def of_table(table: mi.Table) -> list[dict[str, object]]:
    return rows(table.scan(QUERY))


SCANS: list[tuple[str, Callable[[mi.Table], Scan]]] = [
    ("whole", lambda table: table.scan()),
    ("condition", lambda table: table.scan(QUERY, columns=["b", "a"])),
    ("version", lambda table: table.scan(QUERY, version=table.versions()[-1])),
    ("expression", lambda table: table.scan((mi.col("b") == 3) & (mi.col("a") < 40))),
    ("any", lambda table: table.scan(QUERY, limit=2)),
    ("first", lambda table: table.scan(QUERY, order_by=[("a", "desc")], limit=3)),
]


@pytest.mark.parametrize(("name", "ask"), SCANS, ids=[name for name, _ in SCANS])
def test_a_scan_that_was_sent_gives_the_same_rows(table: mi.Table, name: str, ask: Callable[[mi.Table], Scan]) -> None:
    scan = ask(table)
    there = sent(scan)
    assert isinstance(there, Scan)
    assert list(there.file_rows) == list(scan.file_rows)
    assert there.schema == scan.schema
    assert rows(there) == rows(scan)
    assert rows(copy.deepcopy(scan)) == rows(scan)
    if scan.first is None:
        assert rows(there.whole()) == rows(scan)


def test_an_answer_that_was_sent_says_the_same(table: mi.Table) -> None:
    result = table.prune(QUERY)
    there = sent(result)
    assert isinstance(there, mi.PruneResult)
    assert there.paths == result.paths
    assert there.kept_files < there.total_files
    assert there.dropped.paths == result.dropped.paths
    assert there.certain.paths == result.certain.paths
    assert there.leaves == result.leaves
    assert str(there) == str(result)
    assert there.row_groups(result.files.paths[0].as_py(), 4) == [0, 1, 2, 3]  # nothing is known of them there


def test_a_recommendation_that_was_sent_creates_what_it_names(tmp_path: Path) -> None:
    for file in range(8):
        text = [f"{(row * 7919 + file) % 16_000:040}" for row in range(2_000)]
        pq.write_table(pa.table({"s": text}), tmp_path / f"{file}.parquet")
    settle(tmp_path)
    table = mi.open_table(str(tmp_path))
    told = table.recommend(f"s = '{7919 * 3:040}'")
    there = sent(told)
    assert isinstance(there, Recommendation)
    assert str(there) == str(told)
    assert told.indexes
    there.create(builder="local")
    assert {index.name for index in table.indexes()} == {index.name for index in told.indexes}


def test_indexes_that_are_damaged_meanwhile_lose_no_row(table: mi.Table) -> None:
    """The kept files are known; where they are read by what an index recorded, the table answers in its place."""
    scan = table.scan(QUERY)
    expected = rows(scan)
    data = pickle.dumps(table.scan(QUERY))
    table.delete_index("k")
    table.vacuum_index("k")
    there = pickle.loads(data)
    assert rows(there) == expected


def test_what_was_opened_for_one_thread_is_each_others_own(table: mi.Table) -> None:
    there = sent(table)
    assert isinstance(there, mi.Table)
    assert (there.path, there.format, there.config) == (table.path, table.format, table.config)
    assert [index.name for index in there.indexes()] == ["k"]
    assert of_table(there) == of_table(table)
    there.create_index("more", mi.ValueList("b"), builder="local")
    assert [index.name for index in table.indexes()] == ["k", "more"]


@pytest.mark.slow
def test_processes_that_are_spawned_read_tables_and_scans(tmp_path: Path) -> None:
    tables = [make(tmp_path / make.__name__) for make in TABLES]
    scans = [table.scan(QUERY) for table in tables]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        asked, read = list(pool.map(of_table, tables)), list(pool.map(rows, scans))
    assert asked == [of_table(table) for table in tables] == read
