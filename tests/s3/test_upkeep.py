"""On a real S3 server: hooks and watchers, what a killed put leaves, optimize, clean and erase, and the query log."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex import ColumnStats
from metaindex.index.actions.removal import on_storage
from metaindex.ops import Watcher, hooks
from metaindex.storage import SupportsVersions, storage_for

from .server import S3Server
from .test_tables import MAKERS, ids, rows

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


_PUT = """
import json, sys
from metaindex.storage.opening import storage_for
storage, _ = storage_for(sys.argv[1], json.loads(sys.argv[2]))
data = b"SECRETVALUE" * (4 << 20)
print("putting", flush=True)
storage.put("column_stats/run=r0/part-00000.mix", data)
"""


@pytest.mark.parametrize("wait", [0.05, 0.15, 0.3])
def test_a_writer_killed_in_a_put_leaves_nothing_on_the_store(s3: S3Server, bucket: str, wait: float) -> None:
    before = _large(s3)
    process = subprocess.Popen(
        [sys.executable, "-c", _PUT, f"s3://{bucket}/t/_metaindex/ix", json.dumps(s3.options)], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    time.sleep(wait)  # where in the put it dies is the matter of the test
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 20
    while (left := {p for p in _large(s3) - before if "column_stats" not in p}) and time.monotonic() < deadline:
        time.sleep(0.2)  # the server hears of the end of the connection
    assert not left


def _large(s3: S3Server) -> set[str]:
    return {str(p.relative_to(s3.root)) for p in s3.root.rglob("*") if p.is_file() and p.stat().st_size > 1 << 20}


def test_a_bucket_without_versions_says_so(s3: S3Server, bucket: str) -> None:
    storage, _ = storage_for(f"s3://{bucket}/t", s3.options)
    storage.put("a", b"x")
    assert isinstance(storage, SupportsVersions)
    assert not storage.keeps_versions("a")


def test_runs_are_merged_and_what_is_out_of_use_is_removed(s3: S3Server, bucket: str, tmp_path: Path) -> None:
    lake = next(MAKERS["delta"](s3, bucket, tmp_path))
    lake.append(rows(0))
    lake.open().create_index("main", ColumnStats(), builder="local")
    for first in (10, 20):
        lake.append(rows(first))
        lake.open().refresh_index("main", builder="local")
    storage = storage_for(f"{lake.path}/_metaindex/main")[0]
    versions = lake.open().indexes()[0].versions

    assert "3 runs merged into 1" in str(lake.open().optimize_index("main", mode="full"))
    held = set(on_storage(storage).runs)
    assert len(held) == 4
    lake.open().clean_index("main")
    assert set(on_storage(storage).runs) == held
    lake.open().erase_index("main")

    assert len(on_storage(storage).runs) == 1
    assert [len(lake.open().prune("id = 15", version=v).files) for v in versions] == [0, 1, 1]
    assert ids(lake.open(), "id >= 5") == list(range(5, 30))
    assert lake.open().indexes()[0].fresh


@pytest.mark.parametrize("made", ["parquet", "delta"])
def test_queries_are_noted_merged_and_bounded(made: str, s3: S3Server, bucket: str, tmp_path: Path) -> None:
    lake = next(MAKERS[made](s3, bucket, tmp_path))
    lake.append(rows(0))
    lake.append(rows(100))
    lake.open().create_index("main", mi.ColumnStats(), builder="local")
    before = [info.path for info in storage_for(f"s3://{bucket}")[0].list("")]
    table = lake.open(mi.Config(builder="local", query_log=mi.QueryLog(literals="left out")))
    for number in range(3):
        table.prune(f"id = {number}")
        assert table.query_log().num_rows == number + 1
    log = table.query_log()
    assert log.column("files_left_out").to_pylist() == [1, 1, 1]
    assert set(log.column("predicate").to_pylist()) == {"(`id` = '?1')"}
    new = {info.path for info in storage_for(f"s3://{bucket}")[0].list("")} - set(before)
    assert len(new) == 3
    assert all("/_metaindex/" in path and "/_queries/" in path for path in new)
    assert table.clean_query_log().merged == 3
    assert table.query_log().equals(log)
    assert lake.open().verify_index("main").sound
    bare = table.reopened(mi.Config(builder="local", query_log=mi.QueryLog(keep_days=0)))
    assert bare.clean_query_log().removed == 1
    assert [info.path for info in storage_for(f"s3://{bucket}")[0].list("")] == before
