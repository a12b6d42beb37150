"""A query that would read more than its budget is refused before a data file is read, and says what it would read."""

import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.core import Config
from metaindex.query import TooCostlyError
from metaindex.table import handle_of
from tests.tables import FIVE, Lake

FILES, ROWS = 4, 50
ONE_FILE = "id = 77 AND name = 'n77'"
"""Statistics of `id` keep one file for it."""
LOGS = {"_delta_log", "metadata"}
WRITING = (".parquet", ".csv", ".json", ".jsonl")


class Watched:
    """A storage that tells what is read of which file."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.read_files = inner, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def open_input(self, path: str) -> pa.NativeFile:
        self.read_files.append(path)
        return self._inner.open_input(path)

    def read(self, path: str, *span: Any) -> bytes:
        self.read_files.append(path)
        return self._inner.read(path, *span)


@contextmanager
def data_files_read(table: mi.Table) -> Iterator[list[str]]:
    """Of these, as often as they are."""
    handle = handle_of(table)
    watched = Watched(handle.ref.storage)
    handle.ref = replace(handle.ref, storage=watched)
    seen: list[str] = []
    yield seen
    seen += [path for path in watched.read_files if path.endswith(WRITING) and not LOGS & {*path.split("/")}]


@pytest.fixture(params=FIVE, scope="module")
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = FIVE[request.param](tmp_path_factory.mktemp(request.param))
    for number in range(FILES):
        ids = range(number * ROWS, number * ROWS + ROWS)
        lake.append(pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i}" for i in ids]}))
    lake.open().create_index("stats", mi.ColumnStats("id"), mi.Values("name"), builder="local")
    return lake


def within(lake: Lake, budget_bytes: int) -> mi.Table:
    table = lake.open(config=Config(most_read_bytes=budget_bytes))
    table.snapshot()  # what opening reads is not asked here
    return table


ASKED: dict[str, Callable[[mi.Table], object]] = {
    "count": lambda table: table.count(ONE_FILE),
    "aggregate": lambda table: table.aggregate(max=["name"], where=ONE_FILE).table,
    "groups": lambda table: table.aggregate(count=True, group_by=["name"], where=ONE_FILE).table,
    "arrow": lambda table: table.scan(ONE_FILE).to_arrow(),
    "batches": lambda table: pa.Table.from_batches(table.scan(ONE_FILE).to_batches()),
    "pandas": lambda table: table.scan(ONE_FILE).to_pandas().to_dict(),
    "dataset": lambda table: table.scan(ONE_FILE).to_dataset().to_table(),
    "limit": lambda table: table.scan(ONE_FILE, limit=5).to_arrow(),
    "order": lambda table: table.scan(ONE_FILE, order_by=["name"], limit=5).to_arrow(),
    "exact": lambda table: table.locate(ONE_FILE, exact=True).table,
    "search": lambda table: table.search("n77", exact=True).table,
}


def test_a_costly_query_reads_nothing_and_one_within_the_budget_is_answered(lake: Lake) -> None:
    kept = lake.open().prune(ONE_FILE)
    assert kept.kept_files == 1
    for how, ask in ASKED.items():
        table = within(lake, kept.kept_bytes - 1)
        with data_files_read(table) as read, pytest.raises(TooCostlyError, match="allow more with Config") as refused:
            ask(table)
        assert (how, read) == (how, [])
        assert (refused.value.files, refused.value.size_bytes) == (1, kept.kept_bytes)
        assert refused.value.budget_bytes == kept.kept_bytes - 1
        answer = ask(within(lake, 2 * kept.kept_bytes))  # its end may be looked at before it is read
        assert (how, answer) == (how, ask(lake.open()))


def test_ends_of_files_are_counted_where_they_alone_are_read(lake: Lake) -> None:
    kept = lake.open().prune(ONE_FILE)
    for ask in (lambda table: table.locate(ONE_FILE), lambda table: table.search("n77")):
        table = within(lake, kept.kept_bytes - 1)
        with data_files_read(table) as read, pytest.raises(TooCostlyError, match="the ends of 1 file"):
            ask(table)
        assert read == []
        assert ask(within(lake, kept.kept_bytes)).table == ask(lake.open()).table


def test_what_metadata_answers_needs_no_budget(lake: Lake) -> None:
    free = within(lake, 0)
    assert free.aggregate(count=True, min=["id"], max=["id"]).table.to_pylist() == [
        {"count(*)": FILES * ROWS, "min(id)": 0, "max(id)": FILES * ROWS - 1}
    ]
    assert free.count("id < 50") == ROWS
    assert free.prune(ONE_FILE).kept_files == 1
    assert free.count("id = -5") == 0


def test_a_scan_with_a_limit_stops_before_the_file_that_is_too_much(lake: Lake) -> None:
    every = lake.open().prune("id >= 0")
    sizes = every.files.table.column("size_bytes").to_pylist()
    table = within(lake, sum(sizes) - min(sizes))
    assert table.scan(limit=ROWS).to_arrow().num_rows == ROWS
    with pytest.raises(TooCostlyError):
        table.scan(limit=FILES * ROWS).to_arrow()


def test_a_small_file_of_very_many_values_is_read_as_far_as_the_budget_goes(tmp_path: Path) -> None:
    """Ten million rows of few bytes, in one row group whose footer claims that it unpacks to few."""
    rows = 10_000_000
    values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows), pa.int32()), pa.array([7], pa.int64()))
    pq.write_table(pa.table({"a": values.dictionary_decode()}), tmp_path / "a.parquet", row_group_size=rows)
    size = (tmp_path / "a.parquet").stat().st_size
    assert size < 50_000
    table = mi.open_table(tmp_path, config=Config(most_read_bytes=2 * size))
    for ask in (
        lambda: table.count("a + 1 = 8"),
        lambda: table.scan("a < 9 OR a + 1 > 2").to_arrow(),
        table.scan().to_arrow,
    ):
        with pytest.raises(mi.ScanError, match="unpacks at most"):
            ask()
    assert mi.open_table(tmp_path, config=Config(most_read_bytes=rows)).count("a + 1 = 8") == rows


def test_a_log_that_claims_small_files_is_not_believed(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"a": list(range(10_000))}))
    (entry,) = (tmp_path / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in entry.read_text().splitlines()]
    real = next(action["add"]["size"] for action in actions if "add" in action)
    for action in actions:
        if "add" in action:
            action["add"]["size"] = 1
    entry.write_text("\n".join(map(json.dumps, actions)))
    table = mi.open_table(tmp_path, config=Config(most_read_bytes=real - 1))
    with data_files_read(table) as read, pytest.raises(TooCostlyError) as refused:
        table.count("a = 5")
    assert (read, refused.value.size_bytes) == ([], real)


def test_engines_that_read_by_themselves_are_given_no_more_either(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"a": [1, 2]}))
    scan = mi.open_table(tmp_path, config=Config(most_read_bytes=10)).scan()
    with pytest.raises(TooCostlyError):
        scan.to_deltalake()


def test_the_error_goes_to_another_process_whole() -> None:
    error = TooCostlyError(3, 500, 100)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.files, again.size_bytes, again.budget_bytes) == (str(error), 3, 500, 100)
