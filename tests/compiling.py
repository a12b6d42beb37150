"""Whether Spark compiles the queries of a test. To compile a query takes longer than to run it over the few rows of a
test. Tests marked `uncompiled`, of which it decides nothing (tables that Spark writes and tells, files that the rule
leaves out), compile in `make test-all` alone, which sets METAINDEX_COMPILED. All others compile, but for what they
compare with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from metaindex.core import SparkDriver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VARIABLE: Final = "METAINDEX_COMPILED"
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}  # Spark's default


def settings_of(*, marked: bool, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    return INTERPRETED if marked and not environ.get(VARIABLE) else COMPILED


@contextmanager
def uncompiled(spark: SparkSession) -> Iterator[SparkSession]:
    """The session does not compile inside."""
    with ExitStack() as every:
        for name, value in INTERPRETED.items():
            every.enter_context(SparkDriver(spark).setting(name, value))
        yield spark
