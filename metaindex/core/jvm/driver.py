"""A Spark session as this project works with it: its JVM, settings and job tags that hold for the length of a block,
and Arrow tables as DataFrames and back. A tag marks the jobs that a thread starts in its block; they are cancelled when
the block is left by an error."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from inspect import signature
from typing import TYPE_CHECKING, Any

from metaindex.core.expression_errors import ArgumentError

from .interrupts import interrupts_first, surely
from .releases import SparkRelease

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

    from .classes import JavaClasses

logger = logging.getLogger("metaindex")

_PAUSE_SECONDS = 0.05
_MOST_SECONDS = 20
"""That cancelled jobs are waited for. Spark gives a Python worker that hangs four before it kills it."""


class SparkDriver:
    """A session, of which this process is mostly the driver."""

    __slots__ = ("spark",)

    def __init__(self, spark: SparkSession) -> None:
        self.spark: Any = spark

    def check_running(self) -> None:
        """ArgumentError for what is no session, or one that was stopped, before Java is called. A session of Spark
        Connect passes: what it cannot do, the verbs say."""
        if "pyspark.sql.connect" in type(self.spark).__module__:
            return
        if not self.is_here:
            told = "None" if self.spark is None else f"a {type(self.spark).__name__}"
            raise ArgumentError(
                f"Spark is given as a SparkSession; got {told}; give the session, as in metaindex.spark.spark_session()"
            )
        context = self.spark.sparkContext._jsc
        if context is None or context.sc().isStopped():
            raise ArgumentError(
                "Spark works in a session that runs; the one that was given was stopped; give a new one"
            )

    @property
    def is_here(self) -> bool:
        """Return whether this process has the session's driver; with Spark Connect another one has."""
        return hasattr(self.spark, "_jsparkSession")

    @property
    def jvm(self) -> Any:
        """The session's JVM, through py4j."""
        jvm = self.spark.sparkContext._jvm
        assert jvm is not None, "a session of this process has a JVM"
        return jvm

    @property
    def gateway(self) -> Any:
        """Gateway of py4j to the JVM: each JVM has one."""
        gateway = self.spark.sparkContext._gateway
        assert gateway is not None, "a session of this process has a gateway"
        return gateway

    @property
    def release(self) -> SparkRelease:
        """UnsupportedFeatureError where metaindex does not know the insides of this Spark."""
        return SparkRelease.of(self.spark.version)

    @property
    def scala(self) -> str:
        """The Scala of the JVM: "2.12" or "2.13"."""
        return ".".join(str(self.jvm.scala.util.Properties.versionNumberString()).split(".")[:2])

    def room_classes(self, package: str, release: SparkRelease | None = None) -> JavaClasses:
        """Return a room's Java classes, compiled once a JVM, as a release has them, by default the session's.
        UnsupportedFeatureError for an unknown Spark."""
        from .classes import ROOMS

        rooms = ROOMS.setdefault(self.gateway, {})
        if package not in rooms:
            rooms[package] = self.compiled(self.sources(package, release))
        return rooms[package]

    def sources(self, package: str, release: SparkRelease | None = None) -> dict[str, str]:
        """The Java sources of a room, as a release needs them, by default this Spark's. UnsupportedFeatureError for an
        unknown one."""
        from .sources import java_sources

        return java_sources(package, release or self.release, self.scala)

    def compiled(self, sources: Mapping[str, str], parent: JavaClasses | None = None) -> JavaClasses:
        """Compile sources, by class name, or load cached class files. `parent`: classes that they refer to."""
        from .classes import java_classes

        return java_classes(self.jvm, sources, parent)

    @staticmethod
    def java_function(answer: Callable[[str], str], proof: str = "", *, in_pieces: bool = False) -> tuple[str, Any]:
        r"""A token, and a `java.util.function.Function` from text to text (a JDK interface, so that any class loader
        knows it): `token\nrequest` is answered, anything else by nothing. Each answer begins with the `proof`, where
        one is given: whoever asks knows by it that nobody else has taken the port. `in_pieces`: requests may come as
        `Callback.java` sends them; one that lacks a piece is answered by nothing."""
        from .callbacks import guarded

        return guarded(answer, proof, in_pieces)

    @staticmethod
    def interrupts_first() -> AbstractContextManager[None]:
        """Return a block in which an interrupt takes precedence over the errors that it causes in calls into the JVM.
        Code that handles an error of py4j has this inside its `try`."""
        return interrupts_first()

    @contextmanager
    def setting(self, name: str, value: str) -> Iterator[None]:
        """The session has this setting inside, for all its threads, and its old one afterwards."""
        conf = self.spark.conf
        before = conf.get(name, None)
        conf.set(name, value)
        try:
            yield
        finally:
            surely(lambda: conf.unset(name) if before is None else conf.set(name, before))

    @contextmanager
    def tagged(self) -> Iterator[str]:
        """Yield the tag of the jobs that this thread starts inside; a group that the user gave them is kept. If the
        block is left by an error or an interrupt they are cancelled, and no task of theirs runs any more. Spark itself
        cancels at some interrupts only, and then all jobs."""
        context, tag = self.spark.sparkContext, f"metaindex-{secrets.token_hex(8)}"
        caller = _Caller(context)
        context.addJobTag(tag)
        try:
            with interrupts_first():
                yield tag
        except BaseException:
            self._cancel(tag, caller)
            with suppress(Exception):  # a tag that stays is no other job's, and the first error is on its way
                context.removeJobTag(tag)
            raise
        context.removeJobTag(tag)

    def stage_ids(self, tag: str) -> list[int]:
        """The stages of the jobs with the tag."""
        return sorted({stage for job in self._jobs(tag) for stage in job.stageIds})

    def thread(self, target: Callable[[], object], name: str) -> threading.Thread:
        """A thread whose jobs are those of this one: with its tags, and its session."""
        from pyspark import InheritableThread

        # Before Spark 4 a thread is of the context alone.
        takes_session = "session" in signature(InheritableThread.__init__).parameters
        of_session = {"session": self.spark} if takes_session else {}
        thread: threading.Thread = InheritableThread(target=target, name=name, daemon=True, **of_session)
        return thread

    def frame(self, table: pa.Table) -> DataFrame:
        """An Arrow table as a DataFrame."""
        from .frames import sent

        self.check_running()
        return sent(self.spark, table)

    @staticmethod
    def schema_of(schema: pa.Schema) -> Any:
        """The StructType of an Arrow schema; times without a zone have none in Spark either."""
        from .frames import spark_schema

        return spark_schema(schema)

    @staticmethod
    @contextmanager
    def persisted(rows: DataFrame) -> Iterator[DataFrame]:
        """Rows that Spark keeps until the block is left."""
        kept = rows.persist()
        try:
            yield kept
        finally:
            surely(kept.unpersist)

    @classmethod
    def arrow_of(cls, frame: DataFrame) -> pa.Table:
        """The rows of a DataFrame as an Arrow table. They all come to this process. Its jobs end where the call does,
        by an interrupt too: PySpark's own waits for them whatever comes, so a thread waits in its place."""
        from .frames import collected

        if not hasattr(frame, "_jdf"):  # of Spark Connect, which has its jobs elsewhere
            return frame.toArrow()
        rows: Future[pa.Table] = Future()

        def collect() -> None:
            try:
                rows.set_result(collected(frame))
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                rows.set_exception(error)

        driver = cls(frame.sparkSession)
        with driver.tagged() as tag:
            thread = driver.thread(collect, tag)
            with driver._ending_with(tag, thread):
                thread.start()
                thread.join()
        if not rows.done():  # the session ended before the thread could begin
            driver.check_running()
        return rows.result(timeout=0)

    @contextmanager
    def _ending_with(self, tag: str, thread: threading.Thread) -> Iterator[None]:
        """Cancel a thread's jobs with the tag, those running and those still to come, if the block is left by an error
        or an interrupt, until the thread has ended."""
        try:
            yield
        except BaseException:
            over = time.monotonic() + _MOST_SECONDS
            while thread.is_alive() and time.monotonic() < over:
                surely(lambda: self.spark.sparkContext.cancelJobsWithTag(tag))
                thread.join(_PAUSE_SECONDS)
            raise

    def _jobs(self, tag: str) -> list[Any]:
        context = self.spark.sparkContext
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag)]
        return [job for job in jobs if job is not None]

    def _cancel(self, tag: str, caller: _Caller) -> None:
        """Cancels the jobs with the tag, those too that are started meanwhile, and waits for their tasks. By a thread
        of its own: the connection of this one may be broken, or still wait for an answer; and who interrupts the
        waiting as well stops no cancelling. It raises nothing else: another error is on its way."""
        context = self.spark.sparkContext

        def cancel() -> None:
            try:
                over = time.monotonic() + _MOST_SECONDS
                while context._jsc is not None and time.monotonic() < over:
                    left_behind = caller.left_behind()
                    surely(lambda: context.cancelJobsWithTag(tag))
                    if not left_behind and not self._is_at_work(tag):
                        return
                    time.sleep(_PAUSE_SECONDS)
                if context._jsc is not None:
                    logger.warning("a job was cancelled, and some of its tasks still run; what they write is for clean")
            except Exception as error:  # noqa: BLE001 - the session may have ended, and its jobs with it
                logger.debug("jobs were not cancelled: %s", error)

        thread = threading.Thread(target=cancel, name=tag, daemon=True)
        thread.start()
        thread.join()

    def _is_at_work(self, tag: str) -> bool:
        """Return whether a job with the tag, or a task of one that ended, is running."""
        context = self.spark.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty()  # what ended is noted
        if any(job.status == "RUNNING" for job in self._jobs(tag)):
            return True
        tracker = context.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in self.stage_ids(tag)]
        return any(stage is not None and stage.numActiveTasks for stage in stages)


class _Caller:
    """The JVM's thread that runs the calls of this one. An interrupt leaves it behind with the call that it is at: it
    goes on, and may start another job."""

    def __init__(self, context: SparkContext) -> None:
        from py4j.clientserver import ClientServer

        gateway: Any = context._gateway
        self._thread: Any = None
        self._connection: Any = None
        if isinstance(gateway, ClientServer):  # else threads are not pinned to each other, and it is anybody's next
            self._thread = gateway.jvm.java.lang.Thread.currentThread()
            self._connection = gateway._gateway_client.get_thread_connection()

    def left_behind(self) -> bool:
        """Return whether the thread is still in a call whose answer nobody waits for."""
        left = self._connection is not None and self._connection.socket is None
        return left and bool(self._thread.isAlive())
