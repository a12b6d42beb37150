"""The choice of a builder: this process, or a Spark session.

Where nothing is said the size of the files decides, each time some are read: up to `Config.local_bytes` are read here,
since a small table is done before Spark has sent its first task; more by the session that the table was opened with, or
that runs in this process. A Spark is started for what only Spark can build, and that is said: whose process it is has
to want a JVM in it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from metaindex.core import CLIENTS, ArgumentError, Config
from metaindex.index.kinds.kind import KeyKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metaindex.index.kinds.kind import Kind

    from .protocol import Builder, BuilderChoice

logger = logging.getLogger("metaindex")

_CHOICES = ("spark", "local", "default")


class Builders:
    """The builders of one table. `spark`: the session, or what makes one; None: the one of this process."""

    def __init__(self, config: Config, spark: SparkSession | Callable[[], SparkSession] | None) -> None:
        self._config = config
        self.spark = spark

    def named(self, chosen: BuilderChoice | None) -> BuilderChoice:
        """Return the builder that is meant: an object, or a word. Raises ArgumentError for anything else."""
        name = chosen if chosen is not None else self._config.builder
        if isinstance(name, str):
            if name in _CHOICES:
                return name
            raise ArgumentError(f"a builder is 'spark', 'local' or 'default', not {name!r}")
        if not hasattr(name, "facts"):
            raise ArgumentError(f"a builder is 'spark', 'local' or 'default', or an object that builds; got {name!r}")
        return name

    def is_spark(self, chosen: BuilderChoice | None, kinds: Sequence[Kind]) -> bool:
        """Return whether Spark is certain to read all data for these kinds: keys are made of what is read here."""
        name = self.named(chosen)
        if any(isinstance(kind, KeyKind) for kind in kinds):
            return False
        return "spark" in (name, getattr(name, "name", "")) or any(kind.needs_spark for kind in kinds)

    def starts_spark(self, chosen: BuilderChoice | None) -> bool:
        """Return whether this builder would start a Spark session."""
        return self.named(chosen) == "spark" and (self.spark is None or callable(self.spark))

    def builder(self, chosen: BuilderChoice | None, kinds: Sequence[Kind]) -> Builder:
        """Return a builder for the kinds. Starts a Spark if one is meant, or required, and none runs. BuildError where
        it does not build one of them."""
        from .local import BySize, LocalBuilder

        name = self.named(chosen)
        only_spark = any(kind.needs_spark for kind in kinds)
        if name == "spark":
            return self._by_spark()
        if name == "default":
            if only_spark:
                return self._only_spark(kinds)
            return BySize(LocalBuilder(), self._running, self._config.local_bytes)
        built = LocalBuilder() if isinstance(name, str) else name
        if only_spark and built.name == LocalBuilder.name:
            raise LocalBuilder.not_here()
        return built

    def merging(self, chosen: BuilderChoice | None) -> Builder:
        """Return the builder that merges rows of covering indexes; by default a running session, else threads here."""
        from .local import LocalBuilder

        name = self.named(chosen)
        if not isinstance(name, str):
            return name
        if name == "spark":
            return self._by_spark()
        return (self._running() if name == "default" else None) or LocalBuilder()

    def _by_spark(self) -> Builder:
        from .spark import SparkBuilder

        return SparkBuilder(self._session())

    def _only_spark(self, kinds: Sequence[Kind]) -> Builder:
        if self.starts_spark("spark"):
            running = self._running()
            if running is not None:
                return running
            # Who gives what makes a session says so by himself.
            if self.spark is None and find_spec("pyspark") is not None:
                needing = ", ".join(sorted({kind.name for kind in kinds if kind.needs_spark}))
                logger.warning(
                    "a Spark is started in this process, which takes some seconds: only Spark builds %s; give"
                    " open_table(..., spark=) a session of your own",
                    needing,
                )
        return self._by_spark()

    def _running(self) -> Builder | None:
        """Return a builder on the session that the table was opened with, or that runs in this process, if any."""
        session = _active() if self.spark is None or callable(self.spark) else self.spark
        if session is None:
            return None
        from .spark import SparkBuilder

        return SparkBuilder(session)

    def _session(self) -> Any:
        if self.spark is None:
            self.spark = CLIENTS.get("spark_session")()
        elif callable(self.spark):
            self.spark = self.spark()
        return self.spark


def _active() -> Any:
    """Return the Spark session of this process, if somebody has started one; nothing is imported to find out."""
    sql = sys.modules.get("pyspark.sql.session")
    if sql is None:
        return None
    session = sql.SparkSession.getActiveSession()
    return session if session is None or hasattr(session, "_jvm") else None
