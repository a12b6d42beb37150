"""Random histories of a table with hooks on, in the background, and the operator's verbs in between: every query at
every version equals a full read, and the index is found right."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.ops import hooks
from tests.figures import count

WRITES = ("append", "append", "append", "delete", "overwrite", "restore", "compact")
VERBS = ("optimize", "clean", "full", "flush")
STEPS = st.lists(st.tuples(st.sampled_from([*WRITES, *VERBS]), st.integers(0, 9)), min_size=4, max_size=14)
SOAK = bool(os.environ.get("METAINDEX_SOAK"))
PARTS, HISTORIES = (5, 20) if SOAK else (1, 4)


def rows(number: int) -> pa.Table:
    ids = pa.array(range(number * 10, number * 10 + 10), pa.int64())
    return pa.table({"id": ids, "v": pa.array([None if i % 3 == 0 else float(i % 7) for i in range(10)])})


class Written(Protocol):
    """A table with a writer whose commits are told of."""

    def open(self) -> mi.Table: ...
    def write(self, what: str, number: int) -> None: ...
    def versions(self) -> Iterator[tuple[str, pa.Table]]: ...  # all, and all of their rows


class WrittenDelta:
    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/lake"
        deltalake.write_deltalake(self._path, rows(0))

    def open(self) -> mi.Table:
        return mi.open_table(self._path)

    def write(self, what: str, number: int) -> None:
        delta = deltalake.DeltaTable(self._path)
        match what:
            case "append" | "overwrite":
                hooks.deltalake.write_deltalake(self._path, rows(number), mode=what)
            case "delete":
                with hooks.commits(delta):
                    delta.delete(f"id >= {number * 10} AND id < {number * 10 + 4}")
            case "restore" if delta.version():
                with hooks.commits(delta):
                    delta.restore(number % delta.version())
            case "compact":
                with hooks.commits(delta):
                    delta.optimize.compact()

    def versions(self) -> Iterator[tuple[str, pa.Table]]:
        for version in range(deltalake.DeltaTable(self._path).version() + 1):
            yield str(version), deltalake.DeltaTable(self._path, version=version).to_pyarrow_table()


class WrittenIceberg:
    def __init__(self, folder: str) -> None:
        from pyiceberg.catalog.sql import SqlCatalog

        self.catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/warehouse")
        self.catalog.create_namespace("db")
        self._table: Any = self.catalog.create_table("db.lake", rows(0).schema)
        self._table.append(rows(0))

    def open(self) -> mi.Table:
        return mi.open_table("db.lake", catalog=self.catalog)

    def write(self, what: str, number: int) -> None:
        table = self._table
        match what:
            case "append":
                hooks.pyiceberg.append(table, rows(number))
            case "overwrite":
                hooks.pyiceberg.overwrite(table, rows(number))
            case "delete":
                hooks.pyiceberg.delete(table, f"id >= {number * 10} AND id < {number * 10 + 4}")
            case "restore":
                past = [entry.snapshot_id for entry in table.history()]
                with hooks.commits(table):
                    table.manage_snapshots().set_current_snapshot(past[number % len(past)]).commit()
            case "compact":  # all rows in one new file
                with hooks.pyiceberg.transaction(table) as transaction:
                    transaction.overwrite(table.scan().to_arrow())
        table.refresh()

    def versions(self) -> Iterator[tuple[str, pa.Table]]:
        for snapshot in self._table.snapshots():
            yield str(snapshot.snapshot_id), self._table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()


@contextmanager
def written(name: str) -> Iterator[Written]:
    with tempfile.TemporaryDirectory() as folder:
        if name == "delta":
            yield WrittenDelta(folder)
            return
        table = WrittenIceberg(folder)
        try:
            yield table
        finally:
            hooks.flush(60)
            table.catalog.close()


def _step(table: mi.Table, written: Written, what: str, number: int) -> None:
    match what:
        case "optimize":
            table.optimize_index("stats", "full")
        case "clean":
            table.clean_index("stats")
        case "full":
            table.refresh_index("stats", "full", builder="local")
        case "flush":
            assert hooks.flush(60)
        case _:
            written.write(what, number)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Delete operation did not match any records:UserWarning")  # of pyiceberg
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", ["delta", "iceberg"])
@settings(max_examples=HISTORIES)
@given(steps=STEPS)
def test_hooks_keep_an_index_right_through_any_history(name: str, part: int, steps: list[tuple[str, int]]) -> None:
    count("histories")
    with written(name) as lake:
        table = lake.open()
        table.create_index("stats", mi.ColumnStats(), builder="local")
        failed = hooks.counts().failed
        try:
            for what, number in steps:
                count("commits" if what in WRITES else "verbs")
                try:
                    _step(table, lake, what, number)
                except mi.ConcurrentWriteError:
                    continue  # the hook was first: an ordinary answer
            hooks.after_commit(lake.open())
        finally:
            assert hooks.flush(60)
        assert hooks.counts().failed == failed, hooks.counts().last_error
        table = lake.open()
        assert table.indexes()[0].fresh
        for version, everything in lake.versions():
            count("versions")
            for low in (0, 13, 44, 90):
                count("queries compared")
                expected = everything.filter((pc.field("id") >= low) & (pc.field("id") < low + 9) & (pc.field("v") > 1))
                found = table.scan(f"id >= {low} AND id < {low + 9} AND v > 1", version=version).to_arrow()
                assert found.select(["id", "v"]).sort_by("id").to_pylist() == expected.sort_by("id").to_pylist()
        verified = table.verify_index("stats", files=None, versions="all")
        assert verified.sound, str(verified)
