"""Plain files may be replaced in place: another file is no part of a version, even where it has the same size."""

from __future__ import annotations

from collections.abc import Iterable

from expressions.errors import ObjectNotFoundError
from formats.model import Snapshot
from formats.storage import Storage

from .errors import ScanError
from .scan import describe


def refuse_replaced(storage: Storage, snapshot: Snapshot, rows: Iterable[int]) -> None:
    """ScanError where one of the files is no longer what the snapshot lists (size, time, and inode and change time or
    ETag); ObjectNotFoundError where one is gone."""
    if snapshot.format != "files":
        return
    table = snapshot.files.table
    for row in rows:
        path = table.column("path")[row].as_py()
        try:
            found = storage.head(path)
        except ObjectNotFoundError as error:
            raise ObjectNotFoundError(
                f"a scan reads every file of the version or none; {describe(snapshot, path)} is gone; ask a version that is still whole, or restore the file"
            ) from error
        now = {"size_bytes": found.size_bytes, "modified_ms": found.modified_ns // 1_000_000, "etag": found.etag}
        for name, value in now.items():
            had = table.column(name)[row].as_py()
            if had is not None and value is not None and had != value:
                raise ScanError(
                    f"a scan reads the files of its snapshot; {describe(snapshot, path)} was replaced ({name} is {value}, it was {had}); ask the present version"
                )
