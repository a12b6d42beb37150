"""Spark's configuration alone switches metaindex on: applications of Python and of the JVM that have no word of it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from packaging.version import Version

import metaindex as mi
from metaindex.spark.extension_jar import write_jar

from .applications import (
    Application,
    application,
    command,
    environment,
    listened_to,
    sidecars,
    wait_until_ended,
)
from .cluster import cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES = 20
JOB = Path(__file__).with_name("extension_job.py")


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jar(tmp_path_factory.mktemp("jar") / "metaindex-spark.jar")


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Parquet files in which bounds tell no file from another."""
    folder = tmp_path_factory.mktemp("lake") / "users"
    folder.mkdir()
    for number in range(FILES):
        names = [f"user-{(row * 7 + number * 2011) % 10_000:05}" for row in range(100)]
        pq.write_table(
            pa.table({"id": range(number * 100, number * 100 + 100), "user": names}), folder / f"{number:03}.parquet"
        )
        os.utime(folder / f"{number:03}.parquet", (1_700_000_000, 1_700_000_000))
    mi.open_table(folder).create_index("find", mi.Values("user"), builder="local")
    return folder


def needle(users: Path) -> str:
    return f"SELECT id, user FROM parquet.`{users}` WHERE user = 'user-00007'"


PRUNED = f"<metaindex find: 1/{FILES} files>"
ROWS = [[1, "user-00007"]]


@pytest.fixture(scope="module")
def job(jar: Path, users: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    folder = tmp_path_factory.mktemp("job")
    with application(folder, command(jar, folder, {}, str(JOB))) as started:
        yield started


def test_the_jar_is_the_same_for_the_same_sources(jar: Path, tmp_path: Path) -> None:
    assert write_jar(tmp_path / "again.jar").read_bytes() == jar.read_bytes()
    assert not list(tmp_path.glob(".*"))
    with zipfile.ZipFile(jar) as opened:
        assert all(name.startswith(("metaindex/spark/", "META-INF/")) for name in opened.namelist())


def test_the_queries_of_every_session_use_indexes(job: Application, users: Path) -> None:
    found = job.do("rows", "first", needle(users))
    assert found["rows"] == ROWS
    assert PRUNED in found["plan"]
    assert job.do("get", "first", "spark.metaindex.state") == "on"
    assert job.do("rules", "first") == ["metaindex.MetaIndexRule"]
    job.do("new", "other")
    found = job.do("rows", "other", needle(users))
    assert found["rows"] == ROWS
    assert PRUNED in found["plan"]
    assert job.do("default")
    assert not job.warnings()


def test_a_session_is_switched_off_and_on_while_it_runs(job: Application, users: Path) -> None:
    job.do("new", "switched")
    job.do("set", "switched", "spark.metaindex.enabled", "false")
    found = job.do("rows", "switched", needle(users))
    assert found["rows"] == ROWS
    assert "metaindex" not in found["plan"]
    assert job.do("rules", "switched") == []
    job.do("set", "switched", "spark.metaindex.enabled", "true")
    assert PRUNED in job.do("rows", "switched", needle(users))["plan"]
    job.do("set", "switched", "spark.metaindex.enabled", "false")
    assert "metaindex" not in job.do("rows", "switched", needle(users))["plan"]


def test_the_first_statement_of_a_session_may_be_about_indexes(job: Application, users: Path) -> None:
    job.do("new", "stating")
    shown = job.do("rows", "stating", f"/* first */ SHOW INDEXES ON parquet.`{users}`")["rows"]
    assert [row[0] for row in shown] == ["find"]
    job.do("new", "explaining")
    explained = job.do("rows", "explaining", f"EXPLAIN INDEXES {needle(users)}")["rows"]
    assert [1, FILES] in [row[4:6] for row in explained]
    job.do("new", "asking")
    for text in ("SET spark.metaindex.state", "SET", "SET spark.metaindex.state"):
        assert dict(row[:2] for row in job.do("rows", "asking", text)["rows"])["spark.metaindex.state"] == "on"
    assert job.do("rules", "asking") == ["metaindex.MetaIndexRule"]
    job.do("rows", "stating", f"CREATE INDEX ids ON parquet.`{users}` USING column_stats (id)")
    job.do("rows", "stating", f"DROP INDEX ids ON parquet.`{users}`")
    job.do("rows", "stating", f"VACUUM INDEX ids ON parquet.`{users}`")


def test_a_query_that_looks_like_a_statement_keeps_its_parameters(job: Application, users: Path) -> None:
    """`ANALYZE index`, and `SELECT index`, begin as statements about indexes do, or nearly."""
    for name, query in {
        "select": f"SELECT index FROM (SELECT id AS index, user FROM parquet.`{users}`) WHERE user = :user",
        "explain": f"EXPLAIN SELECT id FROM parquet.`{users}` WHERE user = :user",
    }.items():
        job.do("new", name)
        for _ in range(2):
            assert len(job.do("rows", name, query, {"user": "user-00007"})["rows"]) == 1


def test_whoever_else_calls_the_process_is_not_heard(job: Application, users: Path) -> None:
    """Its port is open to every user of the machine: who takes away what the JVM was given, by its number, would have
    all queries planned without indexes."""
    job.do("rows", "first", needle(users))
    (process,) = sidecars(job.do("jvm"))
    ports = listened_to(process)
    assert ports
    for port in ports:
        for number in range(4):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as other, contextlib.suppress(OSError):
                other.sendall(b"g\nd\np%d\ne\n" % number)
                other.shutdown(socket.SHUT_WR)
                assert not other.recv(100).startswith(b"!y")
    job.do("new", "untouched")
    assert PRUNED in job.do("rows", "untouched", needle(users))["plan"]
    assert PRUNED in job.do("rows", "first", needle(users))["plan"]


def test_a_clone_has_a_rule_of_its_own(job: Application, users: Path) -> None:
    job.do("new", "original")
    job.do("rows", "original", needle(users))
    job.do("clone", "clone", "original")
    assert PRUNED in job.do("rows", "clone", needle(users))["plan"]
    assert job.do("rules", "clone") == ["metaindex.MetaIndexRule"]
    assert [row[0] for row in job.do("rows", "clone", f"SHOW INDEXES ON parquet.`{users}`")["rows"]] == ["find"]
    job.do("set", "clone", "spark.metaindex.enabled", "false")
    assert "metaindex" not in job.do("rows", "clone", needle(users))["plan"]
    assert PRUNED in job.do("rows", "original", needle(users))["plan"]


def test_an_application_may_enable_a_session_itself(job: Application, users: Path) -> None:
    """Before or after the configuration has: there is one rule."""
    job.do("new", "before")
    assert job.do("enable", "before")
    assert PRUNED in job.do("rows", "before", needle(users))["plan"]
    assert job.do("rules", "before") == ["metaindex.MetaIndexRule"]
    job.do("new", "after")
    assert PRUNED in job.do("rows", "after", needle(users))["plan"]
    assert job.do("enable", "after")
    assert job.do("rules", "after") == ["metaindex.MetaIndexRule"]
    assert PRUNED in job.do("rows", "after", needle(users))["plan"]
    assert [row[0] for row in job.do("rows", "after", f"SHOW INDEXES ON parquet.`{users}`")["rows"]] == ["find"]
    assert not job.do("disable", "after")
    assert job.do("rules", "after") == []
    assert "metaindex" not in job.do("rows", "after", needle(users))["plan"]
    job.do("new", "refused")
    assert not job.do("disable", "refused")
    assert "metaindex" not in job.do("rows", "refused", needle(users))["plan"]
    assert job.do("enable", "refused")
    assert PRUNED in job.do("rows", "refused", needle(users))["plan"]
    job.do("new", "told")
    job.do("rows", "told", needle(users))
    assert "find by user" in job.do("explain", "told", needle(users))


def until_pruned(job: Application, session: str, users: Path) -> None:
    """Queries of the session use the index again; all give the rows."""
    until = time.monotonic() + 120
    while True:
        found = job.do("rows", session, needle(users))
        assert found["rows"] == ROWS
        if PRUNED in found["plan"]:
            return
        assert time.monotonic() < until, job.warnings()


def test_a_process_that_is_killed_or_hangs_costs_no_query(job: Application, users: Path) -> None:
    job.do("rows", "first", needle(users))
    (process,) = sidecars(job.do("jvm"))
    job.do("new", "hanging")
    os.kill(process, signal.SIGINT)  # as a terminal sends it to all
    assert PRUNED in job.do("rows", "hanging", needle(users))["plan"]
    job.do("rows", "hanging", "CREATE TEMPORARY VIEW index AS SELECT 1 AS a")
    job.do("set", "hanging", "spark.metaindex.timeoutSeconds", "0.1")
    job.do("new", "meanwhile")
    os.kill(process, signal.SIGSTOP)
    try:
        first, second, new = (job.do("rows", name, needle(users)) for name in ("hanging", "hanging", "meanwhile"))
        # Nor does a statement wait, nor a script that is none of ours.
        with pytest.raises(AssertionError, match="Python that reads statements does not answer; wait, and try again"):
            job.do("rows", "hanging", f"SHOW INDEXES ON parquet.`{users}`")
        assert job.do("rows", "hanging", "DESCRIBE index")["rows"] == [["a", "int", None]]
        if Version(pyspark.__version__) >= Version("4.1"):  # scripts of SQL are on from there
            assert job.do("rows", "hanging", "BEGIN SELECT 'INDEX'; END")["rows"] == [["INDEX"]]
    finally:
        os.kill(process, signal.SIGCONT)
    for found in (first, second, new):
        assert found["rows"] == ROWS
        assert "metaindex" not in found["plan"]
    assert max(second["seconds"], new["seconds"]) < first["seconds"]  # one has waited
    assert any("does not answer" in line for line in job.warnings())
    job.do("set", "hanging", "spark.metaindex.timeoutSeconds", "120")
    until_pruned(job, "hanging", users)
    until_pruned(job, "meanwhile", users)
    assert [row[0] for row in job.do("rows", "hanging", f"SHOW INDEXES ON parquet.`{users}`")["rows"]] == ["find"]


def test_a_process_that_hangs_in_a_build_holds_up_no_job(job: Application, users: Path, tmp_path: Path) -> None:
    """Of the application's, which has one scheduler for all: it told the process of each task that had run for it,
    and waited until it was heard."""
    until_pruned(job, "first", users)
    job.do("new", "building")
    job.do("new", "working")
    (process,) = sidecars(job.do("jvm"))
    other = shutil.copytree(users, tmp_path / "users")
    job.do("begin", "building", f"CREATE INDEX copy ON parquet.`{other}` USING covering (user) INCLUDE (id)")
    while not job.do("built"):
        os.kill(process, signal.SIGSTOP)
        try:
            assert job.do("rows", "working", "SELECT count(*) FROM range(0, 10, 1, 4)")["rows"] == [[10]]
        finally:
            os.kill(process, signal.SIGCONT)
        time.sleep(0.1)
    until_pruned(job, "working", users)


def test_a_process_that_is_killed_is_started_again(job: Application, users: Path) -> None:
    jvm = job.do("jvm")
    job.do("rows", "first", needle(users))
    (process,) = sidecars(jvm)
    job.do("new", "old")
    assert PRUNED in job.do("rows", "old", needle(users))["plan"]
    job.do("new", "stating")
    job.do("rows", "stating", needle(users))
    os.kill(process, signal.SIGKILL)
    wait_until_ended(process)
    shown = job.do("rows", "stating", f"SHOW INDEXES ON parquet.`{users}`")["rows"]  # which waits for the next one
    assert [row[0] for row in shown] == ["find"]
    until_pruned(job, "old", users)
    assert job.do("rules", "old") == ["metaindex.MetaIndexRule"]
    assert job.do("get", "old", "spark.metaindex.state") == "on"
    (other,) = sidecars(jvm)
    assert other != process
    job.do("new", "later")
    assert PRUNED in job.do("rows", "later", needle(users))["plan"]
    for session in ("old", "later"):
        assert [row[0] for row in job.do("rows", session, f"SHOW INDEXES ON parquet.`{users}`")["rows"]] == ["find"]
    assert len([line for line in job.warnings() if "has ended: exit code 137; it is started again" in line]) == 1
    job.do("restart")  # in the same JVM
    assert PRUNED in job.do("rows", "first", needle(users))["plan"]
    (process,) = sidecars(jvm)
    wait_until_ended(other)
    os.kill(process, signal.SIGSTOP)
    job.do("restart")
    wait_until_ended(process)


def sql(
    jar: Path, folder: Path, conf: dict[str, str], text: str, master: str = "local[2]", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Spark's own program for SQL, which is an application of the JVM."""
    driver = "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"
    shell = ["--master", master, "--class", driver, "spark-internal", "-e", text]
    return subprocess.run(
        command(jar, folder, {"spark.sql.catalogImplementation": "in-memory", **conf}, *shell),
        env=environment(**variables),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_sql_of_an_application_of_the_jvm_uses_indexes(jar: Path, users: Path, tmp_path: Path) -> None:
    """With variables of another Python, of which ours has to know nothing."""
    text = f"SHOW INDEXES ON parquet.`{users}`; EXPLAIN {needle(users)}; {needle(users)}"
    ran = sql(jar, tmp_path, {}, text, PYTHONHOME="/nowhere", PYTHONWARNINGS="error")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "find\t" in ran.stdout
    assert PRUNED in ran.stdout
    assert "1\tuser-00007" in ran.stdout
    assert " WARN metaindex: " not in ran.stderr


def test_indexes_lie_where_the_configuration_says(jar: Path, users: Path, tmp_path: Path) -> None:
    """What lies beside the table is not used, then."""
    conf = {"spark.metaindex.indexLocation": str(tmp_path / "indexes")}
    text = f"EXPLAIN {needle(users)}; CREATE INDEX own ON parquet.`{users}` USING bloom (user); EXPLAIN {needle(users)}"
    ran = sql(jar, tmp_path, conf, f"{text}; {needle(users)}")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert PRUNED not in ran.stdout
    assert "<metaindex own: " in ran.stdout
    assert "1\tuser-00007" in ran.stdout
    assert [index.name for index in mi.open_table(users).indexes()] == ["find"]
    assert [
        index.name for index in mi.open_table(users, config=mi.Config(index_location=tmp_path / "indexes")).indexes()
    ] == ["own"]


@pytest.mark.parametrize(
    ("python", "says"),
    [("/nowhere/python", "Cannot run program"), (None, "No module named")],
    ids=["no Python", "a Python without metaindex"],
)
def test_an_application_runs_without_what_metaindex_needs(
    jar: Path, users: Path, tmp_path: Path, python: str | None, says: str
) -> None:
    if python is None:
        bare = tmp_path / "bare"
        venv.create(bare)
        python = str(bare / "bin" / "python")
    conf = {"spark.metaindex.python": python, "spark.driver.extraClassPath": ""}
    ran = sql(jar, tmp_path, conf, f"{needle(users)}; SET spark.metaindex.state")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "1\tuser-00007" in ran.stdout
    assert "off: its Python" in ran.stdout
    warned = [line for line in ran.stderr.splitlines() if " WARN metaindex: " in line]
    assert len(warned) == 1
    assert says in warned[0]
    assert "spark.metaindex.python" in warned[0]


def test_the_process_ends_with_a_jvm_that_is_killed(jar: Path, users: Path, tmp_path: Path) -> None:
    with application(tmp_path, command(jar, tmp_path, {}, str(JOB))) as started:
        started.do("rows", "first", needle(users))
        jvm = started.do("jvm")
        (process,) = sidecars(jvm)
        arguments = Path(f"/proc/{process}/cmdline").read_bytes()
        secret = next(
            line for line in Path(f"/proc/{process}/environ").read_bytes().split(b"\0") if b"GATEWAY_SECRET" in line
        ).partition(b"=")[2]
        assert len(secret) == 64
        assert secret not in arguments
        assert secret.decode() not in started.log.read_text()
        os.kill(jvm, signal.SIGKILL)
        wait_until_ended(process)


def test_workers_of_a_cluster_need_nothing_but_spark(jar: Path, users: Path, tmp_path: Path) -> None:
    """Those here have another Python, and no metaindex."""
    with cluster(tmp_path, 1, {"PYTHONPATH": "", "PYSPARK_PYTHON": "/usr/bin/python3"}) as machines:
        text = f"{needle(users)}; EXPLAIN {needle(users)}; SHOW INDEXES ON parquet.`{users}`"
        ran = sql(jar, tmp_path, {"spark.executor.memory": "600m"}, text, machines.master)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "1\tuser-00007" in ran.stdout
    assert PRUNED in ran.stdout
    assert "find\t" in ran.stdout
    assert " WARN metaindex: " not in ran.stderr


def test_what_reads_no_table_does_not_wait(jar: Path, tmp_path: Path) -> None:
    """For a process that never gets ready; it ends with the application."""
    stopped = tmp_path / "python"
    stopped.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/process\nexec sleep 100000\n")
    stopped.chmod(0o755)
    conf = {"spark.metaindex.python": str(stopped), "spark.metaindex.startSeconds": "100000"}
    text = "SELECT 1 AS one; CREATE TABLE made USING parquet AS SELECT 2 AS two; SHOW TABLES; EXPLAIN SELECT (SELECT 3)"
    ran = sql(jar, tmp_path, conf, text)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.split("\n")[:2] == ["1", "made"]
    wait_until_ended(int((tmp_path / "process").read_text()))
