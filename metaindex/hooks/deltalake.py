"""`deltalake` with indexes that follow: the library's own writer, and `after_commit` behind it.

    from metaindex.hooks.deltalake import write_deltalake

    write_deltalake("/lake/flights", rows, mode="append")

For everything else that a `DeltaTable` does (merge, delete, update, restore, optimize): `with mi.hooks.commits(delta_table): ...`
"""

from __future__ import annotations

from typing import Any

from .after_commit import Mode, after_commit


def write_deltalake(table_or_uri: Any, data: Any, *args: Any, hook: Mode = "background", **options: Any) -> None:
    """`deltalake.write_deltalake` with the same arguments; then the table's indexes are refreshed, in the background or (`hook="synchronous"`) before this returns.
    Raises what the writer raises, and then tells nobody."""
    import deltalake

    deltalake.write_deltalake(table_or_uri, data, *args, **options)
    storage = {"storage_options": options["storage_options"]} if options.get("storage_options") else {}
    after_commit(table_or_uri, mode=hook, **storage)
