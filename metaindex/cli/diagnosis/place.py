"""The folder of a table's indexes: whether it can be written, put-if-absent has one winner, and the clocks agree. What
is written is one object, which is removed again."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from metaindex.core import ObjectExistsError, StorageError, local_path, one_line
from metaindex.storage import Storage, is_remote, own_folder
from metaindex.table import Table, handle_of

from .diagnosis import Symptom, lacking, right, wrong

_APART_SECONDS: Final = 2.0
"""A file that is younger is not believed to keep its identity (`Config.settle_seconds`): clocks that are further apart
make young files look old."""
_ABOUT: Final = "folder of indexes"
_ELSEWHERE: Final = "choose another place with Config(index_location=...)"


def folder(opened: Table, *, write: bool) -> Iterator[Symptom]:
    """Check the folder of the indexes. `write`: an object is put there, and removed."""
    handle = handle_of(opened)
    root = handle.indexes_folder()
    if not is_remote(root):
        there = Path(local_path(root) or root)
        at = next((place for place in (there, *there.parents) if place.exists()), there)
        if at.is_file():
            fact = f"{one_line(str(at))} is a file, where the folder of indexes would be: none can be built"
            yield lacking(_ABOUT, fact, f"move that file away, or {_ELSEWHERE}")
            return
        if not os.access(at, os.W_OK | os.X_OK):
            fact = f"nothing can be written in {one_line(str(at))}: indexes are used, not built"
            yield lacking(_ABOUT, fact, _ELSEWHERE)
            return
        if at != there:
            yield right(_ABOUT, f"{one_line(root)}, which does not exist yet")
            return
    if not write:
        yield right(_ABOUT, one_line(root))
        return
    options = handle.storage_options if is_remote(root) else None
    yield from written(own_folder(root, root, handle.root(None), options), root)


def written(storage: Storage, root: str) -> Iterator[Symptom]:
    """Check that an object can be put, put only once and read, and compare the storage's clock with ours."""
    name = f"_doctor-{uuid.uuid4().hex}"
    try:
        before = time.time_ns()
        storage.put_if_absent(name, b"")
        after = time.time_ns()
        kept = storage.head(name).modified_ns
        yield right(_ABOUT, f"{one_line(root)}: written and read")
        try:
            storage.put_if_absent(name, b"x")
        except ObjectExistsError:
            yield right("put-if-absent", "has one winner")
        else:
            yield wrong("put-if-absent", "replaced an object: two writers would both win", _ELSEWHERE)
        yield clock(before, kept, after)
    except (StorageError, OSError) as error:
        yield lacking(_ABOUT, f"{one_line(str(error))}: indexes are used, not built", _ELSEWHERE)
    finally:
        try:
            storage.delete(name)
        except (StorageError, OSError) as error:
            yield lacking(
                _ABOUT, f"{name} cannot be removed: {one_line(str(error))}", "clean needs the right to delete"
            )


def clock(before: int, kept: int, after: int) -> Symptom:
    """The object was made between two looks at our clock."""
    off = max(before - kept, kept - after, 0) / 1e9
    if off <= _APART_SECONDS:
        return right("clock", "agrees with that of the storage")
    which = "ahead of" if kept < before else "behind"
    return wrong("clock", f"this machine is {off:,.1f} seconds {which} the storage", "set the clock (NTP)")
