"""A query log on a real S3 server: written beside the indexes, read, merged and bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

import metaindex as mi
from metaindex.storage import storage_for

from .server import S3Server
from .test_tables import MAKERS, rows

pytestmark = pytest.mark.slow


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
