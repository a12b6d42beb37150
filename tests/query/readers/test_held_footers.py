"""Footers are held from query to query: whatever happens to a file under its name, its rows are those of its bytes."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import CorruptTableError, ObjectNotFoundError
from metaindex.formats import HeldFooters, Schema
from metaindex.formats.parquet import opened as footer
from metaindex.formats.parquet.opened import FileFooter
from metaindex.storage import LocalStorage
from tests.disks import until_the_clock_ticks
from tests.query.readers.lake import Lake, fields_of
from tests.storage.counting import CountingStorage

SCHEMA = pa.schema({"n": pa.int64(), "s": pa.string()})
HELD = 80_000  # bytes: a few footers of small files
RACY_NS = footer.RACY_NS


def rows(first: int, count: int = 100) -> pa.Table:
    """Tables of as many rows make files of one size."""
    numbers = np.arange(first, first + count)
    return pa.table({"n": numbers, "s": [f"{n:08}" for n in numbers.tolist()]}, schema=SCHEMA)


def write(path: Path, table: pa.Table, groups: int = 4) -> None:
    pq.write_table(table, path, row_group_size=max(1, len(table) // groups), use_dictionary=False, compression="none")


def age(path: Path, seconds: int = 60) -> None:
    """Says that the file was written so long ago; the time of its last change is the system's, and nobody can feign
    it."""
    then = time.time_ns() - seconds * 10**9
    os.utime(path, ns=(then, then))


@pytest.fixture(autouse=True)
def settled() -> Iterator[None]:
    """Files that were just changed are believed at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(footer, "RACY_NS", -(10**12))
        yield


class Held:
    """A Delta table of one file, read again and again with the same footers."""

    def __init__(self, root: Path, table: pa.Table) -> None:
        self.lake = Lake(root, Schema(fields_of(SCHEMA)))
        self.path = root / "f.parquet"
        self.lake.add("f.parquet", table, row_group_size=25, use_dictionary=False, compression="none")
        self.footers = HeldFooters()

    def numbers(self, where: str | None = None) -> list[int]:
        found: list[int] = replace(self.lake.scan(where), footers=self.footers).to_arrow()["n"].to_pylist()
        return found

    @property
    def held(self) -> FileFooter | None:
        return self.footers.find(LocalStorage(str(self.lake.root)).head("f.parquet"))


def test_a_footer_is_read_once(tmp_path: Path) -> None:
    held = Held(tmp_path, rows(0))
    storage = CountingStorage(LocalStorage(str(tmp_path)))
    scan = replace(held.lake.scan("n = 30"), footers=held.footers, storage=storage)
    assert scan.to_arrow()["n"].to_pylist() == [30]
    first, first_bytes = storage.reads, storage.bytes_read
    storage.reset()
    assert scan.to_arrow()["n"].to_pylist() == [30]
    assert (storage.reads, storage.bytes_read) < (first, first_bytes)
    assert held.held is not None


@pytest.mark.parametrize("where", ["in its place", "beside it, and renamed"])
def test_a_file_of_the_same_size_and_an_older_time_is_another(tmp_path: Path, where: str) -> None:
    held = Held(tmp_path, rows(0))
    assert held.numbers("n < 200") == list(range(100))
    size = held.path.stat().st_size
    assert held.held is not None
    until_the_clock_ticks(held.path)
    target = held.path if where == "in its place" else tmp_path / "other"
    write(target, rows(5000))
    age(target, 3600)
    os.replace(target, held.path)
    assert held.path.stat().st_size == size
    assert held.held is None
    assert held.numbers() == list(range(5000, 5100))


def test_bytes_of_the_same_size_written_over_a_file_are_read(tmp_path: Path) -> None:
    """Nothing tells such a file apart but the time of its last change."""
    held = Held(tmp_path, rows(0))
    then = held.path.stat().st_mtime_ns
    assert held.numbers() == list(range(100))
    write(tmp_path / "other", rows(5000))
    data = (tmp_path / "other").read_bytes()
    assert len(data) == held.path.stat().st_size
    until_the_clock_ticks(held.path)
    with held.path.open("r+b") as file:
        file.write(data)
    os.utime(held.path, ns=(then, then))
    assert held.held is None
    assert held.numbers() == list(range(5000, 5100))
    assert held.numbers("n = 5010") == [5010]


@pytest.mark.parametrize(
    ("harm", "error", "says"),
    [
        (Path.unlink, ObjectNotFoundError, r"f\.parquet.*is gone"),
        (lambda path: path.write_bytes(path.read_bytes()[:-10]), CorruptTableError, "whole Parquet file"),
    ],
    ids=["gone", "cut short"],
)
def test_a_file_that_is_gone_or_cut_short_is_said(
    tmp_path: Path, harm: Callable[[Path], object], error: type[Exception], says: str
) -> None:
    held = Held(tmp_path, rows(0))
    held.numbers()
    harm(held.path)
    with pytest.raises(error, match=says):
        held.numbers()


def test_of_a_file_changed_lately_no_footer_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer, "RACY_NS", RACY_NS)
    held = Held(tmp_path, rows(0))
    age(held.path, 3600)  # of its bytes, that is: the change is of now
    assert held.numbers() == list(range(100))
    assert held.held is None


@pytest.mark.slow
def test_readers_beside_a_writer_see_one_file_or_the_other(tmp_path: Path) -> None:
    held = Held(tmp_path, rows(0))
    wanted = [list(range(100)), list(range(7000, 7150))]
    stop = threading.Event()

    def replace_it() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            write(tmp_path / "next", rows(7000, 150) if turn % 2 else rows(0), groups=3 if turn % 2 else 4)
            os.replace(tmp_path / "next", held.path)

    writer = threading.Thread(target=replace_it)
    writer.start()
    try:
        seen = [held.numbers() for _ in range(150)]
    finally:
        stop.set()
        writer.join()
    assert all(one in wanted for one in seen)


@settings(max_examples=settings.default.max_examples * 30 // 100)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["write", "swap", "read", "both"]), st.integers(0, 5)), max_size=12
    )
)
def test_whatever_is_done_to_files_their_rows_are_those_of_now(
    steps: list[tuple[int, str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("t")
    lake = Lake(root, Schema(fields_of(SCHEMA)))
    now = {}
    for number in range(3):
        lake.add(f"{number}.parquet", rows(number * 1000, 12), row_group_size=5)
        now[number] = number * 1000
    footers = HeldFooters(limit_bytes=HELD)

    def check(columns: tuple[str, ...] | None) -> None:
        found = replace(lake.scan("n >= 0"), columns=columns, footers=footers).to_arrow()["n"].to_pylist()
        assert found == [n for number in range(3) for n in range(now[number], now[number] + 12)]

    for number, step, what in steps:
        if step == "write":
            until_the_clock_ticks(root / f"{number}.parquet")
            pq.write_table(rows(what * 1000, 12), root / f"{number}.parquet", row_group_size=what + 1)
            now[number] = what * 1000
        elif step == "swap":
            other = (number + 1) % 3
            until_the_clock_ticks(root / f"{number}.parquet", root / f"{other}.parquet")
            for old, new in ((number, "t"), (other, number), ("t", other)):
                os.replace(root / f"{old}.parquet", root / f"{new}.parquet")
            now[number], now[other] = now[other], now[number]
        else:
            check(("n",) if step == "read" else None)
    check(None)


def test_the_least_recently_used_are_let_go(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    names = "abcdefgh"
    for name in names:
        write(tmp_path / name, rows(0))
    said = pq.read_metadata(tmp_path / "a")
    parsed = FileFooter(said, HeldFooters().shape(said.schema.to_arrow_schema(), 2))
    held = HeldFooters(limit_bytes=parsed.size_bytes * 6)
    seen = {name: storage.head(name) for name in names}
    for name in "abcdef":
        held.keep(seen[name], parsed)
    assert held.find(seen["a"]) is parsed
    held.keep(seen["b"], parsed)
    for name in "gh":
        held.keep(seen[name], parsed)
    assert {name for name in names if held.find(seen[name])} == set("abefgh")
    small = HeldFooters(limit_bytes=parsed.size_bytes * 3)
    small.keep(seen["a"], parsed)
    assert small.find(seen["a"]) is None


def test_pages_that_are_known_count(tmp_path: Path) -> None:
    """Of many files, each asked once, no more is held than may be."""
    lake = Lake(tmp_path, Schema(fields_of(SCHEMA)))
    for at in range(6):
        lake.add(f"{at}.parquet", rows(0, 90_000), use_dictionary=False, max_rows_per_page=300)
    limit = 200_000
    footers = HeldFooters(limit_bytes=limit)
    assert replace(lake.scan("n = 5"), footers=footers).to_arrow().num_rows == 6
    storage = LocalStorage(str(tmp_path))
    held = [found for at in range(6) if (found := footers.find(storage.head(f"{at}.parquet"))) is not None]
    pages = [len(known) for found in held for known in found.pages.of_chunk.values()]
    assert 0 < 120 * sum(pages) <= limit


def test_files_of_other_columns_are_of_another_shape(tmp_path: Path) -> None:
    """What follows from the columns of one file is taken for those that have the same, in the same order, with the same
    ids."""
    lake = Lake(tmp_path, Schema(fields_of(SCHEMA)))
    lake.add("a.parquet", rows(0, 3))
    lake.add("b.parquet", rows(3, 3).select(["s", "n"]))
    lake.add("c.parquet", rows(6, 3).rename_columns(["N", "other"]))
    lake.add("d.parquet", pa.table({"n": pa.array([9, 10, 11], pa.int32()), "x": [1, 2, 3], "s": ["a", "b", "c"]}))
    lake.add("e.parquet", rows(12, 3))
    footers = HeldFooters()
    for _ in range(2):
        found = replace(lake.scan("n >= 0"), footers=footers).to_arrow()
        assert found["n"].to_pylist() == list(range(15))
        assert [s is None for s in found["s"].to_pylist()] == [False] * 6 + [True] * 3 + [False] * 6
    assert len(footers._shapes) == 4


def test_a_handle_reads_what_a_folder_holds_now(tmp_path: Path) -> None:
    root = tmp_path / "t"
    root.mkdir()
    for name in "ab":
        write(root / f"{name}.parquet", rows(ord(name) * 1000))
    table = mi.open_table(str(root), config=mi.Config(settle_seconds=0))
    table.create_index("i", mi.Values("n"), builder="local")

    def numbers(where: str) -> list[int]:
        return sorted(table.scan(where).to_arrow()["n"].to_pylist())

    assert numbers("n IN (97010, 98010, 5010)") == [97010, 98010]
    until_the_clock_ticks(root / "a.parquet")
    write(root / "a.parquet", rows(5000))
    age(root / "a.parquet")
    assert numbers("n IN (97010, 98010, 5010)") == [5010, 98010]
    (root / "b.parquet").unlink()
    assert numbers("n IN (97010, 98010, 5010)") == [5010]
