"""Tables of a lake: every folder below one that is a table. Only names are looked at, and so many of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from metaindex.expressions.errors import ArgumentError
from metaindex.formats.registry import METADATA_ENDS
from metaindex.formats.storage import Storage
from metaindex.formats.storage_opening import storage_for

MOST_FOLDERS: Final = 20_000
"""That are looked at."""
_DEPTH: Final = 8
_DATA: Final = (".parquet", ".csv", ".json", ".jsonl", ".csv.gz", ".json.gz")


def tables_below(path: str, storage_options: Mapping[str, str] | None = None) -> Iterator[str]:
    """Their folders below `path`, sorted: "" alone where it is a table itself. Below a table none is looked for.
    ArgumentError where there are too many folders; StorageError."""
    storage, _ = storage_for(path, storage_options)
    todo = [("", 0)]
    looked = 0
    while todo:
        folder, depth = todo.pop()
        looked += 1
        if looked > MOST_FOLDERS:
            raise ArgumentError(
                f"tables are looked for in at most {MOST_FOLDERS:,} folders; there are more below {path!r}; name a"
                " folder further down, or the tables"
            )
        names = storage.folders(folder)
        if _is_table(storage, folder, names):
            yield folder
        elif depth < _DEPTH:
            inside = [f"{folder}/{name}" if folder else name for name in names if not name.startswith(("_", "."))]
            todo += [(name, depth + 1) for name in reversed(inside)]


def _is_table(storage: Storage, folder: str, names: list[str]) -> bool:
    """Delta's log, Iceberg's metadata, folders of partitions, or files of data."""
    if "_delta_log" in names or any("=" in name for name in names):
        return True
    if "metadata" in names and _any_ends(storage, f"{folder}/metadata" if folder else "metadata", METADATA_ENDS):
        return True
    return _any_ends(storage, folder, _DATA)


def _any_ends(storage: Storage, folder: str, ends: tuple[str, ...]) -> bool:
    return any(
        info.path.lower().endswith(ends) and not info.path.rsplit("/", 1)[-1].startswith(("_", "."))
        for info in storage.list(folder, recursive=False)
    )
