"""Hooks, watch and verify on an object store, as a user has them there."""

from __future__ import annotations

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.ops import Watcher, hooks

from .server import S3Server

pytestmark = pytest.mark.slow


def test_commits_on_a_store_are_followed_and_the_index_is_found_right(s3: S3Server, bucket: str) -> None:
    path = f"s3://{bucket}/lake"
    rows = pa.table({"id": [1, 2, 3]})
    hooks.deltalake.write_deltalake(path, rows)
    table = mi.open_table(path)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    before = hooks.counts().failed
    for _ in range(3):
        hooks.deltalake.write_deltalake(path, rows, mode="append")
    assert hooks.flush(60)
    assert table.indexes()[0].fresh
    hooks.deltalake.write_deltalake(path, rows, mode="append", hook="synchronous")
    (info,) = table.indexes()
    assert (info.fresh, info.newest_version, info.new_files) == (True, "4", 0)
    assert info.stored_bytes is not None
    assert info.stored_bytes > info.size_bytes
    assert hooks.counts().failed == before
    assert Watcher([mi.open_table(path)]).once()
    assert table.history("stats").lag.versions >= 2
    found = table.verify_index("stats", files=None, versions="all", predicates=["id > 3"])
    assert found.sound, str(found)
    assert found.statistics == 5


def test_a_table_that_is_not_there_is_counted(s3: S3Server, bucket: str) -> None:
    before = hooks.counts().failed
    assert hooks.after_commit(f"s3://{bucket}/nothing", mode="synchronous") == []
    assert hooks.counts().failed == before + 1
