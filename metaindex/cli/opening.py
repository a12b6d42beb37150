"""Tables opened from the words of a command line, and answers written."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from metaindex.cli.output import Output
from metaindex.core import Config, QueryLog, TextTable

from .arguments import DONE, Run
from .output import busy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metaindex.index import Outcome
    from metaindex.table import Table

_WORDS = {"true": True, "false": False}


def open_from(
    args: argparse.Namespace, spark: Callable[[], SparkSession] | None = None, path: str | None = None
) -> Table:
    """The table that TABLE (or `path`) and its options name. Starts no JVM."""
    from metaindex.formats import ConfiguredCatalog
    from metaindex.table import open_table

    options: dict[str, object] = {key: _WORDS.get(value.lower(), value) for key, value in args.option}
    config = Config(
        index_location=args.index_location,
        namespace=args.namespace,
        use_indexes=not getattr(args, "no_indexes", False),
        confine=args.confine,
        confine_to=tuple(args.confine_to),
        query_log=_query_log(getattr(args, "query_log", None)),
    )
    return open_table(
        path or ([args.table, *args.root] if args.root else args.table),
        format=args.format,
        catalog=None if args.catalog is None else ConfiguredCatalog(args.catalog).load(),
        storage_options=dict(args.storage_option),
        spark=spark,
        config=config,
        trust_index=args.trust_index,
        **options,
    )


def _query_log(word: str | None) -> QueryLog | bool | None:
    if word is None or word == "off":
        return None if word is None else False
    return QueryLog(word)  # type: ignore[arg-type]  # one of the choices


def open_to_build(args: argparse.Namespace, out: Output) -> tuple[Table, Any]:
    """Return the table and the builder's name. Spark is started, with a message, once there is something to build."""
    return open_from(args, lambda: start_spark(out)), args.builder or "default"


def start_spark(out: Output) -> SparkSession:
    """A session of this command, and that it is being started."""
    from metaindex.spark import quiet_session

    out.say("metaindex: starting Spark, which takes some seconds")
    return quiet_session("metaindex")


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


# -- answers -----------------------------------------------------------------------------------------------------------


class Answer(Protocol):
    """An answer of a method of `Table`."""

    @property
    def shown(self) -> Sequence[str | TextTable]: ...
    def to_json(self) -> Any: ...


def write(answer: Answer, out: Output) -> int:
    """Write an answer whole, for people or for machines."""
    out.data(answer.to_json())
    write_parts(answer.shown if not out.json else (), out)
    return DONE


def answers(what: str, ask: Callable[[Table, argparse.Namespace], Answer]) -> Run:
    """Return the run of a command that writes an answer of its table whole. `what`: it is busy with meanwhile."""

    def run(args: argparse.Namespace, out: Output) -> int:
        with busy(what):
            answer = ask(open_from(args), args)
        return write(answer, out)

    return run


def write_parts(parts: Sequence[str | TextTable], out: Output) -> None:
    """Write texts and tables."""
    for part in parts:
        if isinstance(part, TextTable):
            out.table(part.columns, part.rows)
        else:
            out.write(str(part))


def report(outcome: Outcome, out: Output) -> int:
    """Write what a verb did to an index."""
    out.data(outcome.to_json())
    out.write(str(outcome))
    return DONE
