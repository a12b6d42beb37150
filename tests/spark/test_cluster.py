"""A standalone cluster (master, two workers, executors in JVMs of their own) builds and uses indexes; a worker that is lost in mid-build costs time and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from tests.s3.build import missing
from tests.s3.server import running

from .cluster import Cluster, cluster
from .cluster_job import KINDS

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES, ROWS = 12, 20_000


def events(number: int) -> pa.Table:
    """The rows of a file: users of ten files overlap, amounts do not."""
    users = (np.arange(ROWS) + number * ROWS // 10) % 100_000
    return pa.table({"user": [f"user-{user:05}" for user in users.tolist()], "amount": np.arange(ROWS) + number * ROWS})


def write(folder: Path, table_format: str) -> None:
    for number in range(FILES):
        if table_format == "delta":
            deltalake.write_deltalake(str(folder), events(number), mode="append")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(events(number), folder / f"part-{number:05}.parquet", row_group_size=10_000)


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One cluster for all tests here; its workers know the S3 server where there is one."""
    folder = tmp_path_factory.mktemp("cluster")
    with ExitStack() as stack:
        server = stack.enter_context(running(folder)) if missing() is None else None
        environment = server.environment if server is not None else {}
        yield replace(stack.enter_context(cluster(folder, environment=environment)), s3=server)


def start(
    master: str, path: str, table_format: str, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error::UserWarning", "-m", "tests.spark.cluster_job", master, path, table_format],
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(job: subprocess.Popen[str]) -> dict[str, object]:
    out, errors = job.communicate(timeout=300)
    assert job.returncode == 0, errors[-3000:]
    found: dict[str, object] = json.loads(out.splitlines()[-1])
    return found


def same_as_built_here(table: mi.Table) -> None:
    """The index of the cluster answers as one that this process builds."""
    table.create_index("here", *KINDS, builder="local")
    for predicate in (
        "user = 'user-00700'",
        "user = 'nobody'",
        "amount < 50000",
        "user IN ('user-00001', 'user-99999')",
    ):
        here, there = (table.prune(predicate, indexes=[name]) for name in ("here", "find"))
        assert there.files.paths.to_pylist() == here.files.paths.to_pylist()
        assert len(there.files) < FILES
    assert table.verify_index("find", files=4).sound


def test_a_cluster_builds_and_uses_an_index(two_workers: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "events"
    write(folder, "delta")
    found = finished(start(two_workers.master, str(folder), "delta"))
    assert found["master"] == two_workers.master
    assert found["indexed"] == found["plain"]
    plain = found["plain"]
    assert isinstance(plain, dict)
    assert plain["rows"] > 0
    explained = str(found["explained"])
    assert f"of {FILES} files" in explained
    assert "find by user" in explained
    same_as_built_here(mi.open_table(str(folder)))


def test_a_cluster_builds_on_a_store(two_workers: Cluster) -> None:
    """Table and index on S3: tasks read and write through the project's own storage, with what their environment says."""
    server = two_workers.s3
    if server is None:
        pytest.skip(str(missing()))
    write(server.make_bucket("lake") / "events", "parquet")
    finished(start(two_workers.master, "s3://lake/events", "parquet", server.environment))
    same_as_built_here(mi.open_table("s3://lake/events", storage_options=server.options))


def test_a_worker_is_lost_in_mid_build(two_workers: Cluster, tmp_path: Path) -> None:
    """The job goes on with the other one, and the index is whole. The last test here: the worker does not come back."""
    folder = tmp_path / "events"
    write(folder, "parquet")
    job = start(two_workers.master, str(folder), "parquet")
    spills = tmp_path / "_metaindex" / "events" / "find" / "spills"
    until = time.monotonic() + 200
    while not any(spills.rglob("*.*")):  # the first tasks have read a file for its keys, others wait
        assert job.poll() is None, job.communicate()[1][-3000:]
        assert time.monotonic() < until
        time.sleep(0.02)
    two_workers.lose_worker(1)
    found = finished(job)
    assert found["indexed"] == found["plain"]
    same_as_built_here(mi.open_table(str(folder)))
    assert not any(spills.rglob("*.*"))
