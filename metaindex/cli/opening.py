"""From the command line's words to an open table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from expressions.errors import MissingDependencyError

from .output import Output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metaindex.api import Table

_WORDS = {"true": True, "false": False}


def open_from(arguments: argparse.Namespace, spark: SparkSession | None = None, path: str | None = None) -> Table:
    """The table that TABLE (or `path`) and its options name. Starts no JVM."""
    from metaindex import Config, open_table

    options: dict[str, object] = {key: _WORDS.get(value.lower(), value) for key, value in arguments.option}
    config = Config(
        index_location=arguments.index_location,
        namespace=arguments.namespace,
        use_indexes=not getattr(arguments, "no_indexes", False),
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


def open_to_build(arguments: argparse.Namespace, out: Output) -> tuple[Table, str]:
    """The table and the builder's name; with Spark running, and that said, where Spark builds."""
    from importlib.util import find_spec

    table = open_from(arguments)  # what is wrong with it is said before Spark is started
    chosen = arguments.builder or ("spark" if find_spec("pyspark") is not None else "local")
    if chosen == "local":
        return table, chosen
    from .jvm import quiet_session

    out.say("metaindex: starting Spark, which takes some seconds (--builder local does without)")
    return open_from(arguments, quiet_session("metaindex")), chosen


def _catalog(name: str | None) -> object:
    if name is None:
        return None
    try:
        from pyiceberg.catalog import load_catalog
    except ImportError as error:
        raise MissingDependencyError(
            "a catalog is read by pyiceberg; it is not installed; install metaindex with the extra: metaindex[iceberg]"
        ) from error
    return load_catalog(name)
