"""Spark uses the indexes by itself: `mi.enable(spark)`, and the session's SQL and DataFrames leave out files that an
index proves to hold no matching row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from .parsing import ANSWERS

if TYPE_CHECKING:  # loaded when asked for
    from pyspark.sql import SparkSession

    from metaindex.core import Config


def _answering(
    session: Callable[[], SparkSession], config: Config, storage_options: Mapping[str, str]
) -> Callable[[str], str]:
    """Answers statements; what runs them is loaded with the first."""
    answer = cache(lambda: import_module(".statements", __name__).Answering(session, config, storage_options))
    return lambda request: str(answer()(request))


ANSWERS[:] = [_answering]
