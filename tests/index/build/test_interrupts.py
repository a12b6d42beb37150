"""Who interrupts a build by Spark gets a KeyboardInterrupt, and no job of the build goes on; other jobs do. As it is in
notebooks: there Python's own handler of the signal is in place of PySpark's, which would cancel every job."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import BuildError, SparkDriver
from metaindex.core.jvm.interrupts import interrupt_of
from metaindex.spark.optimizer.executed import run
from tests.tables import settled

Grow = Callable[[int], None]
Verb = Callable[[], object]
Build = Callable[[mi.Table, Grow], Verb]


class Gate:
    """A pipe at which a task waits until it is killed, or until `opened`."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        os.mkfifo(path)
        self._held: list[int] = []

    def reached(self) -> None:
        """Returns once a task waits."""
        self._held.append(os.open(self.path, os.O_WRONLY))

    def opened(self) -> None:
        self._held.append(os.open(self.path, os.O_RDWR | os.O_NONBLOCK))  # whoever waits for a writer has one
        while self._held:
            os.close(self._held.pop())

    def waiting(self, given: Callable[[Any], Any] = iter) -> Callable[[Any], Any]:
        """A task's function that waits here before it does anything."""
        path = self.path

        def wait(values: Any) -> Any:
            with open(path, "rb") as gate:
                gate.read()
            yield from given(values)

        return wait


@contextmanager
def gate(path: Path) -> Iterator[Gate]:
    made = Gate(path)
    try:
        yield made
    finally:
        made.opened()


@contextmanager
def interrupted_at(gate: Gate) -> Iterator[None]:
    """As soon as a task waits at the gate this process is interrupted, as a notebook's is."""

    def interrupt() -> None:
        gate.reached()
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt, daemon=True)
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the block of whoever uses this
            thread.start()
            yield
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)


def started(spark: SparkSession, gate: Gate) -> Any:
    """A job that waits at the gate, and for which no call waits: py4j sends those of other threads again, where an
    interrupt has closed their connection. The number of its rows, 1, to come."""
    job: Any = spark.sparkContext.parallelize([7], 1).mapPartitions(gate.waiting())
    rows = job._jrdd.countAsync()
    gate.reached()
    return rows


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, spark: SparkSession, gate: Gate, nth: int) -> Iterator[None]:
    """Inside, the tasks of the `nth` function over Arrow that metaindex gives Spark wait at the gate first."""
    kind = type(spark.range(1))
    original = kind.mapInArrow
    given = []

    def map_in_arrow(frame: Any, function: Any, schema: Any) -> Any:
        given.append(function)
        return original(frame, gate.waiting(function) if len(given) == nth else function, schema)

    with monkeypatch.context() as patch:
        patch.setattr(kind, "mapInArrow", map_in_arrow)
        yield


def lake(folder: Path) -> Path:
    folder.mkdir()
    grow(folder, 0)
    grow(folder, 1)
    return folder


def grow(folder: Path, number: int) -> None:
    rows = pa.table({"s": [f"k{number}{i}" for i in range(50)], "a": list(range(50))})
    settled(folder, {f"{number}.parquet": rows})


def created(*kinds: Any) -> Build:
    return lambda table, _: lambda: table.create_index("x", *kinds, builder="spark")


def refreshed(table: mi.Table, grow: Grow) -> Verb:
    table.create_index("there", COVERING, builder="spark")
    grow(2)
    return lambda: table.refresh_index("there", builder="spark")


def merged(table: mi.Table, grow: Grow) -> Verb:
    refreshed(table, grow)()
    return lambda: table.optimize_index("there", builder="spark")


COVERING = mi.Covering(["s"], ["a"], buckets=1)
CASES: dict[str, tuple[Build, int]] = {
    "rows are written": (created(COVERING), 2),
    "rows are read": (created(COVERING), 1),
    "a sample is taken": (created(mi.CoveringRange(["s"], ["a"])), 1),
    "keys are collected": (created(mi.Values("s")), 1),
    "facts are read": (created(mi.ColumnStats()), 1),
    "a refresh": (refreshed, 1),
    "rows are merged": (merged, 1),
}


# A case takes what Spark gives a worker that hangs, some ten seconds.
@pytest.mark.spark
@pytest.mark.parametrize("name", CASES)
def test_no_job_of_an_interrupted_build_goes_on(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, index = lake(tmp_path / "lake"), tmp_path / "_metaindex" / "lake"
    table = mi.open_table(str(root), spark=spark)
    build, nth = CASES[name]
    verb = build(table, partial(grow, root))
    before = objects(index)
    with gate(tmp_path / "others") as others:
        job = started(spark, others)
        tracker = spark.sparkContext.statusTracker()
        (theirs,) = tracker.getActiveJobsIds()
        with gate(tmp_path / "ours") as ours, held(monkeypatch, spark, ours, nth), interrupted_at(ours):
            verb()
        assert list(tracker.getActiveJobsIds()) == [theirs]
        assert objects(index) == before
        others.opened()
        assert job.get() == 1
    assert "x" not in {status.name for status in table.indexes()}
    verb()
    assert objects(index) != before
    assert all(table.verify_index(status.name, files=None).sound for status in table.indexes())


def objects(index: Path) -> set[Path]:
    """Those of runs."""
    return {path for path in index.rglob("*") if path.is_file() and "run=" in str(path)}


@pytest.mark.spark
def test_what_is_run_to_be_explained_ends_with_an_interrupt(spark: SparkSession, tmp_path: Path) -> None:
    with (
        SparkDriver(spark).setting("spark.sql.parquet.hadoop.vectored.io.enabled", "true"),
        gate(tmp_path / "gate") as ours,
    ):
        waiting = spark.range(0, 1, 1, 1).mapInArrow(ours.waiting(), "id long")
        with interrupted_at(ours):
            run(spark, waiting._jdf.queryExecution())
        assert not spark.sparkContext.statusTracker().getActiveJobsIds()
        assert spark.conf.get("spark.sql.parquet.hadoop.vectored.io.enabled") == "true"


@pytest.mark.spark
@pytest.mark.parametrize(
    "verb", [SparkDriver.arrow_of, lambda frame: mi.narrowed(frame, "id")], ids=["rows", "keys of a join"]
)
def test_no_job_goes_on_whose_rows_were_to_come_here(
    spark: SparkSession, tmp_path: Path, verb: Callable[[Any], Any]
) -> None:
    with gate(tmp_path / "others") as others:
        job = started(spark, others)
        (theirs,) = spark.sparkContext.statusTracker().getActiveJobsIds()
        with gate(tmp_path / "gate") as ours:
            waiting = spark.range(0, 1, 1, 1).mapInArrow(ours.waiting(), "id long")
            lest_it_is_waited_for = threading.Timer(60, ours.opened)
            lest_it_is_waited_for.start()
            with interrupted_at(ours):
                verb(waiting)
            assert lest_it_is_waited_for.is_alive()
            lest_it_is_waited_for.cancel()
        assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == [theirs]
        others.opened()
        assert job.get() == 1
    assert "id" in str(verb(spark.range(1))), "the next call is answered"


@pytest.mark.spark
@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_is_no_failure_of_spark(spark: SparkSession, tmp_path: Path, end: BaseException) -> None:
    """The error of a connection that it broke hides it, and is that of Spark where nothing was interrupted."""
    table = mi.open_table(str(lake(tmp_path / "lake")), spark=spark)
    broken = Py4JNetworkError("Answer from Java side is empty")

    def tell(*_: object) -> None:
        try:
            raise end
        finally:
            raise broken

    def fail(*_: object) -> None:
        raise broken

    for kind in (COVERING, mi.Values("s"), mi.ColumnStats()):
        with pytest.raises(type(end)) as ended:
            table.create_index("x", kind, builder="spark", progress=tell)
        assert ended.value.args == end.args
        try:
            raise end
        except (KeyboardInterrupt, SystemExit):  # who builds after an interrupt is told of failures
            with pytest.raises(BuildError, match="Answer from Java side is empty; nothing became visible, try again"):
                table.create_index("x", kind, builder="spark", progress=fail)


@pytest.mark.spark
def test_an_error_cancels_the_jobs_of_its_block_alone(spark: SparkSession, tmp_path: Path) -> None:
    context = spark.sparkContext

    def fail(at: Gate) -> None:
        with SparkDriver(spark).tagged():
            ended.append(started(spark, at))
            raise ZeroDivisionError

    ended: list[Any] = []
    with gate(tmp_path / "ours") as ours, gate(tmp_path / "theirs") as theirs:
        with SparkDriver(spark).tagged() as tag:
            other = started(spark, theirs)
        assert list(context._jsc.sc().statusTracker().getJobIdsForTag(tag))  # a block that ends cancels nothing
        with pytest.raises(ZeroDivisionError):
            fail(ours)
        with pytest.raises(Py4JJavaError, match="cancelled"):
            ended[0].get()
        theirs.opened()
        assert other.get() == 1


def test_the_interrupt_of_a_chain() -> None:
    interrupt, error, first = KeyboardInterrupt(), ValueError(), OSError()
    assert interrupt_of(error) is None
    error.__context__, first.__cause__, first.__context__ = first, interrupt, error  # in a circle, too
    assert interrupt_of(error) is interrupt
    assert interrupt_of(interrupt) is interrupt
    assert interrupt_of(error, handled=interrupt) is None
    with pytest.raises(KeyboardInterrupt) as raised, SparkDriver.interrupts_first():
        raise error
    assert raised.value.__cause__ is error
    with SparkDriver.interrupts_first():
        pass
