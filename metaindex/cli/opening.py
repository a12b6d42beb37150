"""Opening a table from the words of a command line."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from metaindex.core import Output, QueryLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metaindex.index import Builder, MergedPiece, Progress, RowMerge
    from metaindex.table import Table

_WORDS = {"true": True, "false": False}


def open_from(
    arguments: argparse.Namespace, spark: Callable[[], SparkSession] | None = None, path: str | None = None
) -> Table:
    """The table that TABLE (or `path`) and its options name. Starts no JVM."""
    from metaindex import Config, open_table

    options: dict[str, object] = {key: _WORDS.get(value.lower(), value) for key, value in arguments.option}
    config = Config(
        index_location=arguments.index_location,
        namespace=arguments.namespace,
        use_indexes=not getattr(arguments, "no_indexes", False),
        confine=arguments.confine,
        confine_to=tuple(arguments.confine_to),
        query_log=_query_log(getattr(arguments, "query_log", None)),
    )
    return open_table(
        path or ([arguments.table, *arguments.root] if arguments.root else arguments.table),
        format=arguments.format,
        catalog=_catalog(arguments.catalog),
        storage_options=dict(arguments.storage_option),
        spark=spark,
        config=config,
        trust_index=arguments.trust_index,
        **options,
    )


def _query_log(word: str | None) -> QueryLog | bool | None:
    if word is None or word == "off":
        return None if word is None else False
    return QueryLog(word)  # type: ignore[arg-type]  # one of the choices


def open_to_build(arguments: argparse.Namespace, out: Output) -> tuple[Table, str]:
    """Return the table and the builder's name. Spark is started, with a message, once there is something to build."""
    return open_from(arguments, lambda: start_spark(out)), chosen_builder(arguments)


def chosen_builder(arguments: argparse.Namespace) -> str:
    """Return the value of --builder, or the default."""
    return arguments.builder or "default"


def merging_builder(arguments: argparse.Namespace, out: Output) -> Builder:
    """Return the builder that merges rows. It starts Spark only for rows of covering indexes: most merges have none."""
    from metaindex.index import LocalBuilder

    class OnDemand(LocalBuilder):
        def merge_rows(self, merge: RowMerge, progress: Progress | None = None) -> Sequence[MergedPiece]:
            from metaindex.index import SparkBuilder

            return SparkBuilder(start_spark(out)).merge_rows(merge, progress)

    return OnDemand() if chosen_builder(arguments) == "spark" else LocalBuilder()


def start_spark(out: Output) -> SparkSession:
    """A session of this command, and that it is being started."""
    from metaindex.spark import quiet_session

    out.say("metaindex: starting Spark, which takes some seconds")
    return quiet_session("metaindex")


def _catalog(name: str | None) -> object:
    if name is None:
        return None
    from metaindex.formats import configured_catalog

    return configured_catalog(name)


@contextmanager
def each_warning_once() -> Iterator[None]:
    """Drop a warning, inside, that comes again in the same words: a command opens a table several times, for its row
    and for its page, and asks an index of each column."""
    said: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        new = message not in said
        said.add(message)
        return new

    logger = logging.getLogger("metaindex")
    logger.addFilter(is_new)
    try:
        yield
    finally:
        logger.removeFilter(is_new)
