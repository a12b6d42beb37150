"""Hooks keep the tables that they opened: whatever becomes of a table, the next commit finds it as it is."""

import shutil
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.ops import hooks
from metaindex.ops.hooks import keep as handles
from tests.tables import settled


def rows(first: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + 5), pa.int64())})


def write(path: Path, first: int, mode: str = "append") -> None:
    hooks.deltalake.write_deltalake(str(path), rows(first), mode=mode, hook="synchronous")


def indexed(path: Path, commits: int = 1) -> None:
    for number in range(commits):
        deltalake.write_deltalake(str(path), rows(number * 1000), mode="append")
    mi.open_table(str(path)).create_index("stats", mi.ColumnStats(), builder="local")


def check(path: Path) -> None:
    table = mi.open_table(str(path))
    assert table.indexes()[0].fresh
    assert table.verify_index("stats", files=None).sound


@pytest.mark.slow
def test_a_table_that_was_dropped_and_made_again(tmp_path: Path) -> None:
    path = tmp_path / "lake"
    for commits in (1, 3, 2):
        shutil.rmtree(path, ignore_errors=True)
        indexed(path, commits)
        for number in range(3):
            write(path, 100 + number)
        check(path)


def test_an_index_that_was_removed_and_made_again(tmp_path: Path) -> None:
    path = tmp_path / "lake"
    indexed(path)
    write(path, 100)
    for number in range(2):  # its log has the same numbers again
        shutil.rmtree(path / "_metaindex")
        mi.open_table(str(path)).create_index("stats", mi.ColumnStats("id"), builder="local")
        write(path, 200 + number)
        check(path)


def test_a_folder_that_became_a_table_of_another_format(tmp_path: Path) -> None:
    path = tmp_path / "lake"
    indexed(path)
    write(path, 100)
    shutil.rmtree(path)
    settled(path, {"a.parquet": rows(0)})
    mi.open_table(str(path)).create_index("stats", mi.ColumnStats(), builder="local")
    settled(path, {"b.parquet": rows(10)})
    (kept,) = hooks.after_commit(str(path), mode="synchronous")
    assert (kept.changed, kept.error) == (True, "")
    check(path)
    shutil.rmtree(path)
    indexed(path)
    write(path, 100)
    check(path)


def test_few_tables_are_kept_and_none_for_ever(tmp_path: Path) -> None:
    handles._kept.drop(lambda _: True)
    for number in range(handles.TABLES + 2):
        path = tmp_path / f"lake-{number}"
        deltalake.write_deltalake(str(path), rows(0))
        for _ in range(2):
            hooks.after_commit(str(path), mode="synchronous")
    assert len(handles._kept) == handles.TABLES
    for _ in range(handles.USES - 2):
        hooks.after_commit(str(path), mode="synchronous")
    assert len(handles._kept) == handles.TABLES - 1
