"""A standalone cluster (master, two workers, executors in JVMs of their own) builds, keeps and uses indexes; a worker
that is lost in mid-build costs time and nothing else."""

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import SparkRelease
from metaindex.index.kinds.pieces import PIECES_MERGED
from metaindex.storage import storage_for
from tests.each_spark import PINNED, lacks
from tests.index.kinds.covering.served import Held, objects
from tests.patience import until
from tests.s3.build import missing
from tests.s3.server import S3Server, running

from .cluster import Cluster, cluster
from .cluster_job import BUCKETS, KINDS
from .driver import DriverProcess, driver

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES, ROWS = 12, 20_000
SOAK = bool(os.environ.get("METAINDEX_SOAK"))
WORKERS = 2
SEEN_AT_LAST = 5


def events(number: int) -> pa.Table:
    """The rows of a file: a fifth of all users, from everywhere among them, so that bounds tell no file from another;
    amounts are the file's own."""
    users = (np.arange(ROWS) * 7 + number * 20_011) % 100_000
    return pa.table({"user": [f"user-{user:05}" for user in users.tolist()], "amount": np.arange(ROWS) + number * ROWS})


def write(where: Path | str, form: str, numbers: range = range(FILES), server: S3Server | None = None) -> None:
    """Appends the files, by a writer of the format; to a store where a server is given."""
    options = server.environment if server is not None else None
    storage, root = storage_for(where, server.options if server is not None else None)
    for number in numbers:
        if form == "delta":
            deltalake.write_deltalake(root, events(number), mode="append", storage_options=options)
        else:
            out = io.BytesIO()
            pq.write_table(events(number), out, row_group_size=10_000)
            storage.put(f"part-{number:05}.parquet", out.getvalue())


@dataclass(frozen=True)
class Site:
    """One cluster and one driver for all tests here, which know the S3 server where there is one."""

    cluster: Cluster
    driver: DriverProcess
    s3: S3Server | None

    def make_whole(self) -> None:
        """Both workers are there, each with an executor."""
        self.cluster.make_whole()
        until(lambda: self.driver.do("executors") == WORKERS)


def no_store() -> str | None:
    """Why this Spark reads no S3 here; None: it does."""
    return missing() if SparkRelease.installed() is PINNED else "jars that read S3 are pinned for one Spark alone"


@pytest.fixture(scope="module")
def one_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("cluster")
    with ExitStack() as stack:
        server = stack.enter_context(running(folder)) if no_store() is None else None
        environment = server.environment if server is not None else {}
        machines = stack.enter_context(cluster(folder, WORKERS, environment))
        process = stack.enter_context(driver(folder, machines.master, s3=server is not None, environment=environment))
        yield Site(machines, process, server)


@pytest.fixture
def site(one_site: Site) -> Site:
    one_site.make_whole()
    return one_site


def same_as_built_here(table: mi.Table) -> None:
    """The index of the cluster answers as one that this process builds."""
    table.create_index("here", *KINDS["find"], builder="local")
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


def rows_held(table: mi.Table, runs: int) -> int:
    """How many rows the covering index of the cluster has: each of each file once, in its bucket, in order; and nothing
    lies beside it."""
    report = table.verify_index("rows", files=None if SOAK else 2)
    assert report.sound, str(report)
    held = Held.of(table, "rows")
    assert len(held.runs) == runs
    table.clean_index("rows", retention=0)
    parts = [part for run in held.runs for part in held.index.reader(run).parts("covering")]
    assert objects(held.index) == {part.path for part in parts}
    return sum(part.rows for part in parts)


def asked(site: Site, path: str, form: str, query: str, says: str = "") -> None:
    """The same rows with the rule and without it; and what the plan says of the index, where it is sure to cost less
    than the table."""
    found = site.driver.do("ask", path, form, "rows", query)
    assert found["indexed"] == found["plain"]
    assert None not in found["plain"].values()
    assert says in found["plan"], found["plan"]


def test_a_cluster_builds_and_uses_an_index(site: Site, tmp_path: Path) -> None:
    folder, form = tmp_path / "events", "parquet" if lacks("delta") else "delta"
    write(folder, form)
    assert site.driver.master == site.cluster.master
    site.driver.do("create", str(folder), "find")
    found = site.driver.do("ask", str(folder), form, "find", "filter")
    assert found["indexed"] == found["plain"]
    assert found["plain"]["rows"] > 0
    assert f"of {FILES} files" in found["explained"]
    assert "find by user" in found["explained"]
    same_as_built_here(mi.open_table(str(folder)))


@pytest.mark.parametrize(
    "form",
    [
        "delta",
        pytest.param("parquet", marks=pytest.mark.skipif(not SOAK, reason="soak")),
    ],
)
def test_a_cluster_keeps_indexes_on_a_store(site: Site, form: str) -> None:
    """Table and indexes on S3: built, used, used beside files that came since, refreshed and merged there, by tasks
    that read and write through the project's own storage."""
    server = site.s3
    if server is None:
        pytest.skip(str(no_store()))
    bucket = server.make_bucket(f"lake-{form}").name
    uri, there = f"s3://{bucket}/events", f"s3a://{bucket}/events"
    write(uri, form, server=server)
    site.driver.do("create", uri, "find")
    same_as_built_here(mi.open_table(uri, storage_options=server.options))

    told = site.driver.do("create", uri, "rows")
    assert any(line.startswith("tasks of the covering index of user: ") for line in told)
    asked(site, there, form, "filter", "rows: covering>")
    asked(site, there, form, "group")
    write(uri, form, range(FILES, FILES + 2), server)
    asked(site, there, form, "filter", "rows: covering, and files that it lacks>")
    asked(site, there, form, "join", "MergeSorted")
    site.driver.do("refresh", uri, "rows")
    asked(site, there, form, "filter", "rows: covering>")
    told = site.driver.do("optimize", uri, "rows")
    assert f"{PIECES_MERGED}: {BUCKETS} of {BUCKETS}" in told
    assert told[-2].startswith("2 runs merged into 1"), "and last, what stays until clean removes it"
    asked(site, there, form, "filter", "rows: covering>")
    asked(site, there, form, "group", "SortAggregate(key=[user")  # small groups, in the order of the index
    assert rows_held(mi.open_table(uri, storage_options=server.options), runs=1) == (FILES + 2) * ROWS


def test_a_worker_is_lost_in_mid_build(site: Site, tmp_path: Path) -> None:
    """The job goes on with the other one, and the index is whole."""
    for number in range(SEEN_AT_LAST):
        folder = tmp_path / f"events{number}"
        write(folder, "parquet")
        spills = tmp_path / "_metaindex" / folder.name / "find" / "spills"
        site.driver.start("create", str(folder), "find")
        if site.driver.sees(lambda: any(spills.rglob("*.*"))):  # noqa: B023 - asked at once
            break  # the first tasks have read a file for its keys, others wait
        site.driver.finish()  # sooner than anybody looked
    else:
        pytest.fail("every build was over before anybody saw what its tasks put away")
    site.cluster.lose_worker(1)
    site.driver.finish()
    found = site.driver.do("ask", str(folder), "parquet", "find", "filter")
    assert found["indexed"] == found["plain"]
    same_as_built_here(mi.open_table(str(folder)))
    if any(spills.rglob("*.*")):  # Python of the lost executor, no child of the worker's group, went on for a moment
        mi.open_table(str(folder)).clean_index("find", retention=0.0)
    assert not any(spills.rglob("*.*"))


def test_a_worker_is_lost_while_rows_are_put_into_buckets_and_merged(site: Site, tmp_path: Path) -> None:
    """What it had read for others is read again, what it had written is not named; the index has every row once."""
    folder = tmp_path / "events"
    write(folder, "parquet")
    parts = tmp_path / "_metaindex" / "events" / "rows" / "covering"
    lose_at_the_first_of(site, parts, "create", str(folder), "rows")
    asked(site, str(folder), "parquet", "filter", "rows: covering>")
    assert rows_held(mi.open_table(str(folder)), runs=1) == FILES * ROWS
    write(folder, "parquet", range(FILES, FILES + 2))
    site.make_whole()
    site.driver.do("refresh", str(folder), "rows")
    lose_at_the_first_of(site, parts, "optimize", str(folder), "rows")
    asked(site, str(folder), "parquet", "filter", "rows: covering>")
    assert rows_held(mi.open_table(str(folder)), runs=1) == (FILES + 2) * ROWS


def lose_at_the_first_of(site: Site, parts: Path, *command: str) -> None:
    """Loses a worker when the first bucket is written, and others are not."""
    before = set(parts.rglob("*.mix"))
    site.driver.start(*command)
    assert site.driver.sees(lambda: len(set(parts.rglob("*.mix")) - before) > 0), site.driver.finish()
    written = set(parts.rglob("*.mix")) - before
    site.cluster.lose_worker(1)
    assert len(written) < BUCKETS
    site.driver.finish()
