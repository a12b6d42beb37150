"""Who builds: this process, or a Spark session that is started when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from metaindex.config import BuilderName
from metaindex.expressions.errors import ArgumentError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metaindex.build.protocol import Builder


class Builders:
    """The builders of one table. `spark`: the session, or what makes one; None: the one of this process."""

    def __init__(self, default: BuilderName, spark: SparkSession | Callable[[], SparkSession] | None) -> None:
        self._default = default
        self.spark = spark

    def named(self, chosen: BuilderName | Builder | None) -> BuilderName | Builder:
        """The builder that is meant: an object, "local" or "spark". ArgumentError for what is none."""
        name = chosen if chosen is not None else self._default
        if not isinstance(name, str):
            if not hasattr(name, "facts"):
                raise ArgumentError(
                    f"a builder is 'spark', 'local' or 'default', or an object that builds; got {name!r}"
                )
            return name
        if name == "default":
            from importlib.util import find_spec

            return "spark" if find_spec("pyspark") is not None else "local"
        if name not in ("local", "spark"):
            raise ArgumentError(f"a builder is 'spark', 'local' or 'default', not {name!r}")
        return name

    def starts_spark(self, chosen: BuilderName | Builder | None) -> bool:
        """Would this builder start a Spark that does not run yet?"""
        return self.named(chosen) == "spark" and (self.spark is None or callable(self.spark))

    def builder(self, chosen: BuilderName | Builder | None) -> Builder:
        """Ready to build. Starts a Spark where one is meant and none runs."""
        name = self.named(chosen)
        if not isinstance(name, str):
            return name
        if name == "local":
            from metaindex.build.local import LocalBuilder

            return LocalBuilder()
        from metaindex.build.spark import SparkBuilder

        return SparkBuilder(self._session())

    def _session(self) -> Any:
        if self.spark is None:
            from metaindex.spark import spark_session

            self.spark = spark_session()
        elif callable(self.spark):
            self.spark = self.spark()
        return self.spark
