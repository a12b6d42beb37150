"""Whether Spark compiles the queries of a test. To compile a query takes longer than to run it over the few rows of a
test: where Spark only writes tables and says what is in them, it does without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from metaindex.readers.spark_jobs import setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@contextmanager
def uncompiled(spark: SparkSession) -> Iterator[SparkSession]:
    """The session does not compile inside."""
    with ExitStack() as every:
        for name, value in INTERPRETED.items():
            every.enter_context(setting(spark, name, value))
        yield spark
