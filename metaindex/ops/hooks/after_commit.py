"""Hooks after a commit: whoever wrote to a table says so, and its indexes follow.

    write_somehow("/lake/flights")
    mi.hooks.after_commit("/lake/flights")                    # in the background
    mi.hooks.after_commit(table, mode="synchronous")          # returns when the indexes stand at the table's version

    with mi.hooks.commits("/lake/flights"):                   # the same around some writes
        ...

The commit is done by then, and nothing that goes wrong here is raised: it is logged and counted (`mi.hooks.counts()`),
and the index is stale, which costs speed and no row.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, Literal

from metaindex.core import ArgumentError
from metaindex.index import BuilderChoice, Written
from metaindex.storage import local_path
from metaindex.table import Table, handle_of, open_table

from . import worker
from .keep import Kept, keep, names_in, no_index_named, use

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Mode = Literal["background", "synchronous"]

logger = logging.getLogger("metaindex.hooks")

_LONG_SECONDS = 3600.0
_TOLD: Final[set[tuple[str, str]]] = set()
"""Tables, and names of indexes that they had not."""


def after_commit(
    table: object,
    *,
    mode: Mode = "background",
    indexes: Collection[str] | None = None,
    builder: BuilderChoice = "local",
    written: Written | None = None,
    **options: Any,
) -> list[Kept]:
    """Tells that a table was written to: its indexes are refreshed, in the background or before this returns. Never
    raises but for a wrong call (TypeError, ValueError).

    `table`: a path or URI, a `metaindex.Table`, a `deltalake.DeltaTable`, or a pyiceberg table. `indexes`: only these
    (of a name that no index has yet the outcome has the error, and a warning is logged once); default: all of the
    table. `builder` reads what came; "local" (this process) suits commits, see `Config.builder`;
    covering indexes are built by the session of `spark=`, where there is one.
    `written`: what the writer knows of the one commit that it made. Other options are those of `open_table`. What the
    log of the table says is refreshed, so a call that comes late, twice, or for several commits at once is as good.
    Synchronous calls return what became of each index.
    """
    if mode not in ("background", "synchronous"):
        raise ArgumentError(f"a hook runs 'background' or 'synchronous', not {mode!r}")
    key, opened = _opener(table, options)
    session = options.get("spark")
    named = (key, type(table), session, *sorted(dict(options.get("storage_options") or {}).items()))

    def refreshed(refreshing: Table) -> list[Kept]:
        handle_of(refreshing).written = written
        version, kept = keep(refreshing, indexes, builder)
        return [*kept, *_not_there(refreshing, version.id, set(indexes or ()) - {each.index for each in kept})]

    def job() -> list[Kept]:
        # What other options mean, and a pyiceberg table's newest metadata file, is asked every time.
        kept = isinstance(table, str | os.PathLike) and not options.keys() - {"storage_options", "spark"}
        return use(named, opened, refreshed) if kept else refreshed(opened())

    if mode == "synchronous":
        return worker.WORKER.run(job)
    try:
        worker.WORKER.submit(key, job)
    except RuntimeError as error:  # no thread can be started: too many, or the process is ending
        worker.WORKER.failed(error)
    return []


def _not_there(table: Table, version: str, names: set[str]) -> list[Kept]:
    """Return the outcomes for names that no index of the table has (typos, or indexes to come). Warns of each once."""
    if not names:
        return []
    told, there = [], names_in(table)
    for name in sorted(names - there):
        why = no_index_named(name, there)
        if (table.path, name) not in _TOLD:
            _TOLD.add((table.path, name))
            logger.warning("no index %r of %s is kept fresh: %s", name, table.path, why)
        told.append(Kept(table.path, name, version, False, error=why))
    return told


def check_options(options: Collection[str]) -> None:
    """Raises ArgumentError for an option that neither `after_commit` nor `open_table` has by its name."""
    known = {
        parameter.name
        for verb in (after_commit, open_table)
        for parameter in signature(verb).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    } - {"written"}
    for name in options:
        if name not in known:
            near = get_close_matches(name, known | {"mode"}, n=1)
            cure = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known))}"
            raise ArgumentError(f"a hook has the options of after_commit and open_table; {name!r} is none; {cure}")


@contextmanager
def commits(table: object, **options: Any) -> Iterator[None]:
    """Around writes to a table: `after_commit(table, ...)` when the block ends, whether or not it raised, for it may
    have committed before that."""
    _opener(table, {})  # a wrong call is told before anything is written
    try:
        yield
    finally:
        after_commit(table, **options)


def flush(timeout_seconds: float | None = None, spark: SparkSession | None = None) -> bool:
    """Wait for the refreshes in the background of this process. False: they were not done in time."""
    started = time.monotonic()
    if spark is not None and not worker.told(spark, _LONG_SECONDS if timeout_seconds is None else timeout_seconds):
        return False
    left = None if timeout_seconds is None else max(timeout_seconds - (time.monotonic() - started), 0.0)
    return worker.WORKER.flush(left)


def counts() -> worker.Counts:
    """Return what the hooks of this process did since it started."""
    return worker.WORKER.counts


def _opener(table: object, options: dict[str, Any]) -> tuple[str, Callable[[], Table]]:
    """Return the one name of the table that is meant, and how to open it, later and in another thread."""
    if isinstance(table, Table):
        return _key(table.path), table.reopened
    if isinstance(table, str | os.PathLike):
        path = os.fspath(table)
        return _key(path), lambda: open_table(path, **options)
    if isinstance(uri := getattr(table, "table_uri", None), str):  # deltalake
        return _key(uri), lambda: open_table(uri, format="delta", **options)
    if isinstance(metadata := getattr(table, "metadata_location", None), str) and hasattr(
        table, "location"
    ):  # pyiceberg
        # Its metadata file as of now: a later one replaces this one in the queue.
        return _key(str(table.location())), lambda: open_table(metadata, format="iceberg", **options)
    raise ArgumentError(
        f"a table is named by its path, or is a Table of metaindex, deltalake or pyiceberg; got {type(table).__name__};"
        " name its path"
    )


def _key(path: str) -> str:
    """Return one name for a table, however its path is written."""
    local = local_path(path)
    return (path if local is None else os.path.abspath(local)).rstrip("/")
