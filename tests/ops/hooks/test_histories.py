"""Random histories of a table with hooks on, in the background, and the operator's verbs in between: every query at
every version equals a full read, and the index is found right."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from random import Random
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.ops import hooks
from tests.answers import one_answer
from tests.figures import count
from tests.histories.delta import DeltaLakeHistory
from tests.histories.driver import RANDOM, Index, run
from tests.histories.iceberg import IcebergHistory

SOAK = bool(os.environ.get("METAINDEX_SOAK"))
PARTS, HISTORIES = (5, 20) if SOAK else (1, 4)


def rows(first: int, count: int = 10) -> pa.Table:
    ids = pa.array(range(first, first + 10), pa.int64())
    return pa.table({"id": ids, "v": pa.array([None if i % 3 == 0 else float(i % 7) for i in range(10)])})


class HookedDelta(DeltaLakeHistory):
    """Whose commits are told of."""

    verbs = "append append append delete overwrite restore compact"
    rows = staticmethod(rows)

    def write(self, table: pa.Table, mode: str) -> None:
        hooks.deltalake.write_deltalake(self.path, table, mode=mode)

    def committing(self, table: deltalake.DeltaTable) -> AbstractContextManager[object]:
        return hooks.commits(table)

    def versions(self) -> Iterator[tuple[str, pa.Table]]:
        """All, and all of their rows."""
        for version in range(self.table.version() + 1):
            yield str(version), deltalake.DeltaTable(self.path, version=version).to_pyarrow_table()


class HookedIceberg(IcebergHistory):
    """Whose commits are told of."""

    verbs = "append append append delete overwrite roll_back compact"

    def __init__(self, folder: str, random: Random) -> None:
        super().__init__(folder, random, rows(0).schema)
        self.table.append(self.rows())

    def rows(self) -> pa.Table:
        return rows(self.number * 10)

    def condition(self) -> str:
        first = self.random.randrange(self.number + 1) * 10
        return f"id >= {first} AND id < {first + 4}"

    def open(self) -> mi.Table:
        return mi.open_table("db.lake", catalog=self.catalog)

    def committing(self) -> AbstractContextManager[object]:
        return hooks.commits(self.table)

    def append(self, **how: Any) -> None:
        self.number += 1
        hooks.pyiceberg.append(self.table, self.rows(), **how)

    def overwrite(self) -> None:
        self.number += 1
        hooks.pyiceberg.overwrite(self.table, self.rows())

    def delete(self) -> None:
        hooks.pyiceberg.delete(self.table, self.condition())

    def compact(self) -> None:
        with hooks.pyiceberg.transaction(self.table) as transaction:
            transaction.overwrite(self.table.scan().to_arrow())

    def happen(self, verb: str) -> None:
        super().happen(verb)
        self.table.refresh()

    def versions(self) -> Iterator[tuple[str, pa.Table]]:
        for snapshot in self.snapshots():
            yield str(snapshot), self.table.scan(snapshot_id=snapshot).to_arrow()


class Operated(Index):
    verbs = "optimize clean full flush"
    refused = (mi.ConcurrentWriteError,)  # the hook was first: an ordinary answer

    def flush(self) -> None:
        assert hooks.flush(60)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Delete operation did not match any records:UserWarning")  # of pyiceberg
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("hooked", [HookedDelta, HookedIceberg])
@settings(max_examples=HISTORIES)
@given(steps=st.integers(4, 14), random=RANDOM)
def test_hooks_keep_an_index_right_through_any_history(
    hooked: type[HookedDelta | HookedIceberg], part: int, steps: int, random: Random
) -> None:
    count("histories")
    with tempfile.TemporaryDirectory() as folder:
        history = hooked(folder, random)
        failed = hooks.counts().failed
        try:
            index = Operated(history, history.open, mi.ColumnStats())
            run(steps, history, index, oracles=[lambda: check(history, failed)])
            count("commits and verbs", steps)
        finally:
            assert hooks.flush(60)
            if isinstance(history, HookedIceberg):
                history.catalog.close()


def check(history: HookedDelta | HookedIceberg, failed: int) -> None:
    hooks.after_commit(history.open())
    assert hooks.flush(60)
    assert hooks.counts().failed == failed, hooks.counts().last_error
    table = history.open()
    assert table.indexes()[0].fresh
    for version, everything in history.versions():
        count("versions")
        for low in (0, 13, 44, 90):
            count("queries compared")
            expected = everything.filter((pc.field("id") >= low) & (pc.field("id") < low + 9) & (pc.field("v") > 1))
            found = one_answer(table, f"id >= {low} AND id < {low + 9} AND v > 1", version)
            assert found.select(["id", "v"]).sort_by("id").to_pylist() == expected.sort_by("id").to_pylist()
    verified = table.verify_index("kept", files=None, versions="all")
    assert verified.sound, str(verified)
