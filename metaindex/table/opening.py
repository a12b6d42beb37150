"""Opening a table by a path and options."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from metaindex.core import ArgumentError, Config, Cure
from metaindex.formats import NAMED, ReadOptions
from metaindex.query import Handle

from .face import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARGUMENTS = ("storage_options", "config", "catalog", "identifier", "spark", "trust_index")
"""What `open_table` is told that is no option of a reader."""
_VERSIONS = {"versionasof": "version", "timestampasof": "timestamp", "version": "version", "timestamp": "timestamp"}
"""What names a version, Spark's options of Delta tables too, and what is said in their place."""
_ELSEWHERE = {"separator": "sep", "quotechar": "quote", "escapechar": "escape", "nullstring": "nullValue"}
"""What other readers of CSV call an option."""
_SUCH_AS = "header, sep, quote, escape, encoding, nullValue, dateFormat, multiLine, inferSchema, schema, glob"


def open_table(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002 - the word of every reader in the field
    catalog: object = None,
    storage_options: Mapping[str, str] | None = None,
    spark: SparkSession | Callable[[], SparkSession] | None = None,
    config: Config | None = None,
    trust_index: bool = False,
    **options: object,
) -> Table:
    """Open the table at a path: Delta, Iceberg, Hudi, or a folder of Parquet, CSV or JSON files, detected unless
    `format` says: `mi.open_table("lake/flights")`.

    Plain files may also be named by a pattern (`/data/2024-*/part-*.parquet`, as Hadoop reads them), a list of paths,
    or with `basePath`: all files that fit are one table, whose paths are relative to the deepest folder above them (or
    to `basePath`); `store.layout` says where its indexes lie. An existing path is never a pattern.

    `catalog` is a pyiceberg catalog (`path` is then the table's identifier). `storage_options` are the object store's.
    `spark` is the session that builds large and covering indexes, or a callable that makes one when it is needed
    (default: the one of this process; see `Config.builder`). `trust_index`: the caller promises that plain files have
    not changed since an index was last created or refreshed; "now" is then the newest version that an index has
    recorded, and the folder is not listed, unless none is recorded. Other options are the reader's (`header`,
    `delimiter`, `schema` ...); text files that cannot be read without take those of their indexes, where these agree.
    Raises NotATableError, UnsupportedFeatureError, StorageError; ArgumentError for a bad path, format or option.
    """
    _check_opening(path, format, storage_options, config, trust_index)
    check_options(options)
    handle = Handle.open(
        path,
        format=format,
        catalog=catalog,
        storage_options=storage_options,
        spark=spark,
        config=config,
        trust_index=trust_index,
        **options,
    )
    return Table(handle.as_indexed(needed=True))


def _check_opening(path: object, table_format: object, storage_options: object, config: object, trust: object) -> None:
    """Check the types of `open_table`'s arguments; what they name is checked later."""
    paths = list(path) if isinstance(path, Sequence) and not isinstance(path, str | bytes) else [path]
    for place in paths:
        text = os.fspath(place) if isinstance(place, str | os.PathLike) else None
        if not isinstance(text, str) or not text:
            raise ArgumentError(
                f"a table is opened by its path or URI, or a list of them; got {place!r}; name a folder"
            )
    if not isinstance(table_format, str | None):
        raise ArgumentError(f"the formats are {', '.join(NAMED)}; got {table_format!r}; name one of these")
    if not isinstance(storage_options, Mapping | None):
        raise ArgumentError(
            f"storage options are names and values, as in {{'region': 'eu-west-1'}}; got"
            f" {type(storage_options).__name__}"
        )
    if not isinstance(trust, bool):
        raise ArgumentError(f"trust_index is True or False; got {trust!r}; write trust_index=True")
    if not isinstance(config, Config | None):
        raise ArgumentError(f"config= is a metaindex.Config; got {type(config).__name__}; write mi.Config(...)")


def _near(name: str, known: Mapping[str, str | None]) -> str | None:
    """Return the known name that is closest, or what it is called here."""
    close = get_close_matches(name.lower(), known, n=1, cutoff=0.75)
    return (known[close[0]] or close[0]) if close else None


def check_options(options: Mapping[str, object]) -> None:
    """Raise ArgumentError for an unknown option: to ignore it may be to read something else than is meant. Names with a
    dot are settings of Hadoop's, for Spark when it reads the files."""
    for name, value in options.items():
        if ReadOptions.known(name) or name in _ARGUMENTS or "." in name:
            continue
        near = ReadOptions.nearest(name) or _near(name, {**dict.fromkeys(_ARGUMENTS), **_ELSEWHERE})
        if name.lower() in _VERSIONS:
            cure = f"say {Cure('argument', _VERSIONS[name.lower()])} where the table is asked"
        elif near is not None:
            cure = f"did you mean {Cure('option', near)}?"
        elif isinstance(value, Mapping):
            cure = f"say each option as an argument of its own: {Cure('reader', 'header', True)}"
        else:
            cure = f"leave it out, or name one that there is, such as {_SUCH_AS} (docs/guides/text.md)"
        raise ArgumentError(f"readers know options by name; {name!r} is none; {cure}")
