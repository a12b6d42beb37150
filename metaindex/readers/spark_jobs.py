"""What holds of a Spark session for a block: a setting, and a tag by which the jobs that a thread starts there are told
apart."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """The session has this setting inside, for all its threads, and its old one afterwards."""
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)


@contextmanager
def tagged(context: SparkContext) -> Iterator[str]:
    """The tag of the jobs that this thread starts inside; the group that a user gives them is left alone."""
    tag = f"metaindex-{secrets.token_hex(8)}"
    context.addJobTag(tag)
    try:
        yield tag
    finally:
        context.removeJobTag(tag)


def stage_ids(context: SparkContext, tag: str) -> list[int]:
    """The stages of the jobs with the tag."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    return sorted({stage for job in jobs if job is not None for stage in job.stageIds})
