"""Tables, scans and answers go to other processes: Dask, Ray and pools pickle what they are given."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import Catalog, load_catalog

import metaindex as mi
from metaindex.advisor import Recommendation
from metaindex.formats import Diff
from metaindex.query import Scan
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


def indexed(table: mi.Table) -> mi.Table:
    table.create_index("k", mi.ColumnStats(), mi.Values("b"), builder="local")
    return table


@pytest.fixture(params=TABLES, ids=lambda make: make.__name__, scope="module")
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    """For tests that leave it and its index as they are."""
    return indexed(request.param(tmp_path_factory.mktemp("lake") / "lake"))


@pytest.fixture(params=TABLES, ids=lambda make: make.__name__)
def own(request: pytest.FixtureRequest, tmp_path: Path) -> mi.Table:
    return indexed(request.param(tmp_path / "lake"))


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


KEYS = pa.table({"b": [3, 5], "a": [3, 5]})

ANSWERS: dict[str, Callable[[mi.Table], object]] = {
    **dict(SCANS),
    "keys": lambda table: table.scan(keys=KEYS, on=["b", "a"]),
    "prune": lambda table: table.prune(QUERY),
    "prune by keys": lambda table: table.prune(keys=KEYS, on=["b", "a"]),
    "explain": lambda table: table.explain(QUERY),
    "snapshot": lambda table: table.snapshot(),
    "versions": lambda table: table.versions(),
    "diff": lambda table: table.diff(table.versions()[0].id),
    "indexes": lambda table: table.indexes(),
    "history": lambda table: table.history("k"),
    "verify": lambda table: table.verify_index("k"),
    "refresh": lambda table: table.refresh_index("k", builder="local"),
    "clean": lambda table: table.clean_index("k"),
    "locate": lambda table: table.locate(QUERY, exact=True),
    "search": lambda table: table.search("3"),
    "touched": lambda table: table.touched(KEYS, on=["b", "a"]),
    "aggregate": lambda table: table.aggregate(where=QUERY, count=True),
    "clustering": lambda table: table.clustering("b"),
    "what_if": lambda table: table.what_if([QUERY], mi.Bloom("b")),
    "recommend": lambda table: table.recommend(QUERY),
    "savings": lambda table: table.savings(),
    "config": lambda table: table.config,
}
"""What users get and send."""


@pytest.mark.parametrize("what", ANSWERS)
def test_what_was_sent_equals_what_stayed(table: mi.Table, what: str) -> None:
    answer = ANSWERS[what](table)
    for there in (sent(answer), copy.deepcopy(answer), sent(sent(answer))):
        assert there == answer


def test_scans_are_equal_that_ask_for_the_same_rows_of_the_same_files(table: mi.Table) -> None:
    scans = [
        *(ask(table) for _, ask in SCANS if _ != "expression"),
        table.scan(QUERY, columns=["a", "b"]),
        table.scan(QUERY, limit=3),
        table.scan(QUERY, order_by=[("a", "asc")], limit=3),
        table.scan("b = 4 AND a < 40"),
        table.scan(keys=KEYS, on=["b", "a"]),
        table.scan(keys=KEYS.slice(0, 1), on=["b", "a"]),
        table.scan(keys=KEYS, on=["b"]),
    ]
    for at, scan in enumerate(scans):
        assert [other == scan for other in scans] == [place == at for place in range(len(scans))]
    for _, ask in SCANS:
        assert ask(table) == ask(table)
    with pytest.raises(TypeError, match="unhashable"):
        hash(scans[0])


def test_answers_of_other_questions_or_files_are_not_equal(table: mi.Table) -> None:
    result = table.prune(QUERY)
    assert sent(table.prune("b = 4 AND a < 40")) != result
    assert sent(result.reading(np.ones(result.dropped_files, np.bool_))) != result
    snapshot = table.snapshot()
    assert replace(snapshot, files=snapshot.files.filter(pa.array([True] + [False] * 4))) != snapshot


def test_what_was_sent_of_a_diff_reads_which_positions_changed(tmp_path: Path) -> None:
    table = delta(tmp_path / "lake")
    write_deltalake(tmp_path / "lake", pa.table({"a": [99], "b": [99]}), mode="append")
    diff = table.diff(0)
    there = sent(diff)
    assert isinstance(there, Diff)
    assert there.appended.paths == diff.appended.paths
    assert there.positions is not None


def test_a_table_is_a_handle_and_equals_itself_alone(table: mi.Table) -> None:
    """It is one thread's, as a connection is: who keeps one each must not find another's in its place."""
    assert table == table
    assert table != table.reopened()
    assert table != sent(table)
    assert len({table, table.reopened()}) == 2


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


def test_indexes_that_are_damaged_meanwhile_lose_no_row(own: mi.Table) -> None:
    """The kept files are known; where they are read by what an index recorded, the table answers in its place."""
    expected = rows(own.scan(QUERY))
    data = pickle.dumps(own.scan(QUERY))
    own.drop_index("k")
    own.vacuum_index("k")
    assert rows(pickle.loads(data)) == expected


def test_what_was_opened_for_one_thread_is_each_others_own(own: mi.Table) -> None:
    there = sent(own)
    assert isinstance(there, mi.Table)
    assert (there.path, there.format, there.config) == (own.path, own.format, own.config)
    assert [index.name for index in there.indexes()] == ["k"]
    assert of_table(there) == of_table(own)
    there.create_index("more", mi.ValueList("b"), builder="local")
    assert [index.name for index in own.indexes()] == ["k", "more"]


@pytest.mark.slow
def test_processes_that_are_spawned_read_tables_and_scans(tmp_path: Path) -> None:
    tables = [make(tmp_path / make.__name__) for make in TABLES]
    scans = [table.scan(QUERY) for table in tables]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        asked, read = list(pool.map(of_table, tables)), list(pool.map(rows, scans))
    assert asked == [of_table(table) for table in tables] == read
