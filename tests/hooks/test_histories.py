"""Random histories of a table with hooks on, in the background, and the operator's verbs in between: every query at every version equals a full read, and the index is found right."""

from __future__ import annotations

import os
import tempfile

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex import hooks
from tests.figures import count

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "append",
                "append",
                "append",
                "delete",
                "overwrite",
                "restore",
                "compact",
                "optimize",
                "clean",
                "full",
                "flush",
            ]
        ),
        st.integers(0, 9),
    ),
    min_size=4,
    max_size=14,
)


def rows(number: int) -> pa.Table:
    ids = pa.array(range(number * 10, number * 10 + 10), pa.int64())
    return pa.table({"id": ids, "v": pa.array([None if i % 3 == 0 else float(i % 7) for i in range(10)])})


def _step(table: mi.Table, path: str, what: str, number: int) -> None:
    delta = deltalake.DeltaTable(path)
    match what:
        case "append":
            hooks.deltalake.write_deltalake(path, rows(number), mode="append")
        case "overwrite":
            hooks.deltalake.write_deltalake(path, rows(number), mode="overwrite")
        case "delete":
            with hooks.commits(delta):
                delta.delete(f"id >= {number * 10} AND id < {number * 10 + 4}")
        case "restore" if delta.version():
            with hooks.commits(delta):
                delta.restore(number % delta.version())
        case "compact":
            with hooks.commits(delta):
                delta.optimize.compact()
        case "optimize":
            table.optimize_index("stats", "full")
        case "clean":
            table.clean_index("stats")
        case "full":
            table.refresh_index("stats", "full", builder="local")
        case "flush":
            assert hooks.flush(60)


@pytest.mark.slow
@settings(max_examples=400 if os.environ.get("METAINDEX_SOAK") else 5)
@given(STEPS)
def test_hooks_keep_an_index_right_through_any_history(steps: list[tuple[str, int]]) -> None:
    count("histories")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/lake"
        deltalake.write_deltalake(path, rows(0))
        table = mi.open_table(path)
        table.create_index("stats", mi.ColumnStats(), builder="local")
        failed = hooks.counts().failed
        try:
            for what, number in steps:
                count("steps")
                try:
                    _step(table, path, what, number)
                except mi.ConcurrentWriteError:
                    continue  # the hook was first: an ordinary answer
            hooks.after_commit(path)
        finally:
            assert hooks.flush(60)
        assert hooks.counts().failed == failed, hooks.counts().last_error
        assert table.indexes()[0].fresh
        table = mi.open_table(path)
        for version in range(deltalake.DeltaTable(path).version() + 1):
            count("versions")
            everything = deltalake.DeltaTable(path, version=version).to_pyarrow_table()
            for low in (0, 13, 44, 90):
                expected = everything.filter((pc.field("id") >= low) & (pc.field("id") < low + 9) & (pc.field("v") > 1))
                count("queries compared")
                found = table.scan(f"id >= {low} AND id < {low + 9} AND v > 1", version=version).to_arrow()
                assert found.select(["id", "v"]).sort_by("id").to_pylist() == expected.sort_by("id").to_pylist()
        verified = table.verify_index("stats", files=None, versions="all")
        assert verified.sound, str(verified)
