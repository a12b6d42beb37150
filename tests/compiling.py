"""Whether Spark compiles the queries of a test. To compile a query takes longer than to run it over the few rows of a
test. Tests marked `uncompiled`, of which it decides nothing (tables that Spark writes and tells, files that the rule
leaves out), compile one commit in three, and wherever every case is run (`tests/rotation.py`). All others compile, but
for what they compare with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

from metaindex.spark.jobs import setting
from tests.rotation import ALL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}  # Spark's default


def settings_of(test: str, seed: str, *, marked: bool) -> dict[str, str]:
    """Of a test of this name in the run of this seed. Those of a module have theirs together."""
    turn = sha256(f"compiled {seed} {test.partition('::')[0]}".encode()).digest()[0] % 3 == 0
    return INTERPRETED if marked and seed != ALL and not turn else COMPILED


@contextmanager
def uncompiled(spark: SparkSession) -> Iterator[SparkSession]:
    """The session does not compile inside."""
    with ExitStack() as every:
        for name, value in INTERPRETED.items():
            every.enter_context(setting(spark, name, value))
        yield spark
