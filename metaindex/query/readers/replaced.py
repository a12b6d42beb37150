"""Plain files may be replaced in place: another file is no part of a version, even where it has the same size."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from metaindex.core import ObjectNotFoundError, ScanError, StorageError
from metaindex.formats import Format, Snapshot
from metaindex.storage import ObjectInfo, Storage, is_remote

_LISTED_FROM = 64


def seen(storage: Storage, snapshot: Snapshot, row: int, source: pa.NativeFile) -> ObjectInfo | None:
    """Look at a file that was just opened, refusing it as `refuse_replaced` does: a store has said what it opened. None
    if a look at a local disk cannot tell."""
    plain, local = not Format.named(snapshot.format).has_log, "://" not in storage.root
    if not plain and not local:
        return None
    path = snapshot.files.table.column("path")[row].as_py()
    try:
        info = getattr(source, "info", None) or storage.head(path)
    except ObjectNotFoundError as error:
        if plain:
            raise _gone(snapshot, path) from error
        return None  # it is open: what is read is the file
    except StorageError:
        if plain:
            raise
        return None
    if plain:
        _refuse_other(snapshot, row, path, info)
    return info if local else None


def refuse_replaced(storage: Storage, snapshot: Snapshot, rows: Iterable[int]) -> None:
    """Raise ScanError if a file is no longer what the snapshot lists (size, time, and inode and change time or ETag);
    ObjectNotFoundError if one is gone."""
    if Format.named(snapshot.format).has_log:
        return
    asked = list(rows)
    # One request a file would take long on a store: many files are listed instead, a thousand at a time.
    listed: dict[str, ObjectInfo] = {}
    if is_remote(storage.root) and len(asked) > _LISTED_FROM:
        listed = {info.path: info for info in storage.list("")}
    for row in asked:
        path = snapshot.files.table.column("path")[row].as_py()
        try:
            info_ = listed.get(path) or storage.head(path)
        except ObjectNotFoundError as error:
            raise _gone(snapshot, path) from error
        _refuse_other(snapshot, row, path, info_)


def _gone(snapshot: Snapshot, path: str) -> ObjectNotFoundError:
    return ObjectNotFoundError(
        f"a scan reads every file of the version or none; {snapshot.described(path)} is gone; scan anew, ask a version"
        " that is still whole, or restore the file"
    )


def _refuse_other(snapshot: Snapshot, row: int, path: str, info: ObjectInfo) -> None:
    table = snapshot.files.table
    now = {"size_bytes": info.size_bytes, "modified_ms": info.modified_ns // 1_000_000, "etag": info.etag}
    for name, value in now.items():
        had = table.column(name)[row].as_py()
        if had is not None and value is not None and had != value:
            raise ScanError(
                f"a scan reads the files of its snapshot; {snapshot.described(path)} was replaced ({name} is {value},"
                f" it was {had}); ask the present version"
            )
