"""Settings and job tags that hold in a Spark session for the length of a block. A tag marks the jobs that a thread
starts there; they are cancelled when the block is left by an error."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from inspect import signature
from typing import TYPE_CHECKING, Any

from .interrupts import interrupts_first, surely

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

logger = logging.getLogger("metaindex")

_PAUSE_SECONDS = 0.05
_MOST_SECONDS = 20
"""That cancelled jobs are waited for. Spark gives a Python worker that hangs four before it kills it."""


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """The session has this setting inside, for all its threads, and its old one afterwards."""
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        surely(lambda: spark.conf.unset(name) if before is None else spark.conf.set(name, before))


@contextmanager
def tagged(context: SparkContext) -> Iterator[str]:
    """Yield the tag of the jobs that this thread starts inside; a group that the user gave them is kept. If the block
    is left by an error or an interrupt they are cancelled, and no task of theirs runs any more. Spark itself cancels at
    some interrupts only, and then all jobs."""
    tag = f"metaindex-{secrets.token_hex(8)}"
    caller = _Caller(context)
    context.addJobTag(tag)
    try:
        with interrupts_first():
            yield tag
    except BaseException:
        _cancel(context, tag, caller)
        with suppress(Exception):  # a tag that stays is no other job's, and the first error is on its way
            context.removeJobTag(tag)
        raise
    context.removeJobTag(tag)


def inheriting(spark: SparkSession, target: Callable[[], object], name: str) -> threading.Thread:
    """A thread whose jobs are those of this one: with its tags, and its session."""
    from pyspark import InheritableThread

    # Before Spark 4 a thread is of the context alone.
    takes_session = "session" in signature(InheritableThread.__init__).parameters
    of_session = {"session": spark} if takes_session else {}
    thread: threading.Thread = InheritableThread(target=target, name=name, daemon=True, **of_session)
    return thread


@contextmanager
def ending_with(context: SparkContext, tag: str, thread: threading.Thread) -> Iterator[None]:
    """Cancel a thread's jobs with the tag, those running and those still to come, if the block is left by an error or
    an interrupt, until the thread has ended."""
    try:
        yield
    except BaseException:
        over = time.monotonic() + _MOST_SECONDS
        while thread.is_alive() and time.monotonic() < over:
            surely(lambda: context.cancelJobsWithTag(tag))
            thread.join(_PAUSE_SECONDS)
        raise


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


def _cancel(context: SparkContext, tag: str, caller: _Caller) -> None:
    """Cancels the jobs with the tag, those too that are started meanwhile, and waits for their tasks. By a thread of
    its own: the connection of this one may be broken, or still wait for an answer; and who interrupts the waiting as
    well stops no cancelling. It raises nothing else: another error is on its way."""

    def cancel() -> None:
        try:
            over = time.monotonic() + _MOST_SECONDS
            while context._jsc is not None and time.monotonic() < over:
                left_behind = caller.left_behind()
                surely(lambda: context.cancelJobsWithTag(tag))
                if not left_behind and not _is_at_work(context, tag):
                    return
                time.sleep(_PAUSE_SECONDS)
            if context._jsc is not None:
                logger.warning("a job was cancelled, and some of its tasks still run; what they write is for clean")
        except Exception as error:  # noqa: BLE001 - the session may have ended, and its jobs with it
            logger.debug("jobs were not cancelled: %s", error)

    thread = threading.Thread(target=cancel, name=tag, daemon=True)
    thread.start()
    thread.join()


def _is_at_work(context: SparkContext, tag: str) -> bool:
    """Return whether a job with the tag, or a task of one that ended, is running."""
    sc: Any = context._jsc.sc()
    sc.listenerBus().waitUntilEmpty()  # what ended is noted
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in sc.statusTracker().getJobIdsForTag(tag)]
    if any(job is not None and job.status == "RUNNING" for job in jobs):
        return True
    stages = [tracker.getStageInfo(stage) for stage in stage_ids(context, tag)]
    return any(stage is not None and stage.numActiveTasks for stage in stages)


def stage_ids(context: SparkContext, tag: str) -> list[int]:
    """The stages of the jobs with the tag."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    return sorted({stage for job in jobs if job is not None for stage in job.stageIds})
