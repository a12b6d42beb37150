"""`deltalake` with indexes that follow: the library's own writer, and `after_commit` behind it.

    from metaindex.ops.hooks.deltalake import write_deltalake

    write_deltalake("/lake/flights", rows, mode="append")

For everything else that a `DeltaTable` does (merge, delete, update, restore, optimize): `with
mi.hooks.commits(delta_table): ...`
"""

from __future__ import annotations

import os
from typing import Any

from metaindex.core import MissingDependencyError
from metaindex.index import Written

from .after_commit import Mode, after_commit


def write_deltalake(table_or_uri: Any, data: Any, *args: Any, hook: Mode = "background", **options: Any) -> None:
    """`deltalake.write_deltalake` with the same arguments; then the table's indexes are refreshed, in the background or
    (`hook="synchronous"`) before this returns.
    Raises what the writer raises (MissingDependencyError without it), and then tells nobody. In which float columns of
    an Arrow table there is no NaN is seen in memory: a refresh need not read them for that."""
    try:
        import deltalake
    except ImportError as error:
        raise MissingDependencyError.lacking("its write_deltalake", "deltalake") from error

    own = None if args or not _tells(table_or_uri, data, options) else _opened(table_or_uri, options)
    before = None if own is None else own.version()
    deltalake.write_deltalake(table_or_uri if own is None else own, data, *args, **options)
    storage = {"storage_options": options["storage_options"]} if options.get("storage_options") else {}
    written = None if own is None or own.version() == before else _written(own, data)
    after_commit(table_or_uri, mode=hook, written=written, **storage)


def _tells(table_or_uri: Any, data: Any, options: dict[str, Any]) -> bool:
    """Return whether all rows of the commit are in memory, and the commit has no others."""
    import pyarrow as pa

    alone = options.get("mode") in ("append", "overwrite") and options.get("predicate") is None
    return alone and isinstance(data, pa.Table | pa.RecordBatch) and isinstance(table_or_uri, str | os.PathLike)


def _opened(uri: Any, options: dict[str, Any]) -> Any:
    """Return the table as the writer would open it; None if it will be created. It is private, so that its version is
    that of its own commit afterwards."""
    import deltalake
    from deltalake.exceptions import TableNotFoundError

    try:
        return deltalake.DeltaTable(uri, storage_options=options.get("storage_options"))
    except TableNotFoundError:
        return None


def _written(own: Any, data: Any) -> Written:
    version = own.version()
    return Written.of(str(version - 1), str(version), data)
