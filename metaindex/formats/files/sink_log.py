"""The log of a stream of Spark that writes files: `_spark_metadata` names those that live. What a batch left behind
that failed, and was run again, lies beside them.

Each batch has a file, `N`; now and then one stands for all batches until its own, `N.compact`. The first line is the
version, every other one a file as JSON. Read is what Spark reads: the newest compacted batch, and all after it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from metaindex.core import CorruptTableError, NotATableError, ObjectNotFoundError, StorageError
from metaindex.formats.damage import as_damage, parse_json
from metaindex.storage import LocalStorage, Storage

from .owners import SINK_LOG

_BATCH: Final = re.compile(r"(\d{1,18})(\.compact)?")
_TRIES: Final = 5
_MOST_BYTES: Final = 128 << 20


def live_files(storage: Storage) -> dict[str, int]:
    """Return the live files, as paths below the root, and their sizes. Raises CorruptTableError for a log that is
    damaged or lacks a batch, NotATableError for one without a batch."""
    for _ in range(_TRIES):
        try:
            return _live(storage)
        except ObjectNotFoundError:
            continue  # Spark removes batches once a later one stands for them: that one is listed by now
    raise _damaged(storage, "batches are removed while they are read")


def _live(storage: Storage) -> dict[str, int]:
    batches, whole = dict[int, int](), -1
    for info in storage.list(SINK_LOG, recursive=False):
        batch = _BATCH.fullmatch(info.path.rpartition("/")[2])
        if batch is not None:
            number = int(batch[1])
            batches[number] = max(info.size_bytes, batches.get(number, 0))
            whole = max(whole, number) if batch[2] else whole
    if not batches:
        raise NotATableError(
            f"the output of a stream of Spark has the files of its batches; {storage.root!r} has none yet; write one"
        )
    names = [f"{whole}.compact"] if whole >= 0 else []
    for number in range(whole + 1, max(batches) + 1):
        if number not in batches:
            raise _damaged(storage, f"batch {number} is missing")
        names.append(str(number))
    if sum(size for number, size in batches.items() if number >= whole) > _MOST_BYTES:
        raise _damaged(storage, f"it has more than {_MOST_BYTES:,} bytes")
    entries = [entry for name in names for entry in _entries(storage, name)]
    gone = {path for path, _, action in entries if action == "delete"}
    return {path: size for path, size, _ in entries if path not in gone}


def _entries(storage: Storage, name: str) -> Iterator[tuple[str, int, str]]:
    """Yield the files that a batch names: their path, size, and what became of them."""
    with as_damage(lambda: str(_damaged(storage, "")), ""):
        version, *lines = storage.read(f"{SINK_LOG}/{name}").decode().removesuffix("\n").split("\n")
        if version != "v1":
            raise _damaged(storage, f"{name} begins with {version[:20]!r}, and 'v1' is known")
        for line in lines:
            said: Any = parse_json(line)
            path, size, action = said["path"], said["size"], said["action"]
            if action not in ("add", "delete") or not isinstance(size, int):
                raise _damaged(storage, f"{name} says {line[:200]!r}")
            if not said.get("isDir"):
                yield _below(storage, path), size, action


def _below(storage: Storage, uri: str) -> str:
    """Return the path below the root of a file, which the log names by its URI."""
    root = storage.root.rstrip("/")
    try:
        where = storage.uri(uri if isinstance(storage, LocalStorage) else unquote(uri))
    except StorageError:
        where = uri
    if isinstance(storage, LocalStorage) and not where.startswith(f"{root}/"):  # one of them leads over a link
        folder, _, name = where.rpartition("/")
        root, where = os.path.realpath(root), f"{os.path.realpath(folder)}/{name}"
    if not where.startswith(f"{root}/"):
        raise _damaged(storage, f"it names {uri!r}, which is elsewhere, as after a move or a copy")
    return where[len(root) + 1 :]


def _damaged(storage: Storage, fact: str) -> CorruptTableError:
    return CorruptTableError(
        f"the files of a stream of Spark are those that its log names; {storage.uri(SINK_LOG)!r} cannot be read: {fact}"
    )


def missing(storage: Storage, path: str) -> CorruptTableError:
    """Return the error of a file that the log names and the folder lacks."""
    return _damaged(storage, f"{path!r}, which it names, is not there; restore it")
