"""Opens the storage of a path or a URI; and the places beside a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import xxhash

from metaindex.core import ArgumentError

from .local import LocalStorage
from .local_paths import local_path
from .protocol import Storage

_ENDS_BYTES = 64 << 20
_T = TypeVar("_T")
_R = TypeVar("_R")
_S = TypeVar("_S")


def storage_for(path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> tuple[Storage, str]:
    """The storage rooted at a local path, a `file:` URI or a store URI (`s3://`, `gs://`, `az://` ...), and that
    root in its canonical form.

    Keys are then relative to the root; objects beside it (an index lies beside a plain folder) are reached by
    absolute paths of the same store.
    """
    text = os.fspath(path)
    local = local_path(text)
    if local is not None:
        if storage_options and set(storage_options) != {"single_writer"}:
            raise ArgumentError(f"storage options are for object stores; {text!r} is a local path: leave them out")
        storage: Storage = LocalStorage(local)
    else:
        from .object_store import ObjectStorage

        storage = ObjectStorage.from_uri(text, storage_options)
    return storage, storage.root


def holding_ends(storage: Storage) -> Storage:
    """Return a store that asks for the end of an object once, for one operation that reads its objects several times; a
    disk is returned as it is."""
    from .object_store import Ends, ObjectStorage

    return replace(storage, ends=Ends(None, _ENDS_BYTES)) if isinstance(storage, ObjectStorage) else storage


def opening_whole(storage: Storage, size_bytes: int) -> Storage:
    """Return a store that fetches an object of no more than so many bytes whole when it is opened; a disk is returned
    as it is."""
    from .object_store import ObjectStorage

    return replace(storage, end_bytes=size_bytes) if isinstance(storage, ObjectStorage) else storage


def is_path(text: str) -> bool:
    """Return whether the text can be a file's name: without a zero byte, which would end it, and encodable."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def is_remote(path: str) -> bool:
    """Return whether the path is the URI of a store, which alone takes storage options."""
    return local_path(path) is None


def each_at(
    root: str, items: Iterable[_T], work: Callable[[_T], _R], *, of_store: int = 16, of_disk: int = 1
) -> list[_R]:
    """Do the work on each item, and return the results in order. So many are under way at once: a store is waited for,
    a disk mostly is not."""
    some = items if isinstance(items, Sequence) else list(items)
    threads = min(of_store if is_remote(root) else of_disk, len(some))
    if threads < 2:
        return [work(item) for item in some]
    with _threads(threads) as begin:
        return [answer() for answer in [begin(partial(work, item)) for item in some]]


def both_at(root: str, first: Callable[[], _R], second: Callable[[], _S]) -> tuple[_R, _S]:
    """Do both, neither of which needs the other, and return their results: at a store side by side, `second` in this
    thread. An error of `first` is the one that is raised."""
    if not is_remote(root):
        return first(), second()
    with beside(root, first) as answer:
        try:
            result = second()
        except BaseException:
            answer()
            raise
        return answer(), result


@contextmanager
def beside(root: str, work: Callable[[], _R]) -> Iterator[Callable[[], _R]]:
    """Yield what returns the work's result: at a store it is done beside the block, else when it is asked for. The
    block ends when it is done."""
    if not is_remote(root):
        yield work
        return
    with _threads(1) as begin:
        yield begin(work)


@contextmanager
def _threads(count: int) -> Iterator[Callable[[Callable[[], _R]], Callable[[], _R]]]:
    """Yield what begins a work in one of so many threads, and returns what waits for its result. Where no thread can be
    started (there are too many, or the process is ending), the work is done by who asks for that."""
    try:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(count, thread_name_prefix="metaindex-each")
    except RuntimeError:
        yield lambda work: work
        return

    def begin(work: Callable[[], _R]) -> Callable[[], _R]:
        try:
            return pool.submit(copy_context().run, work).result  # with words and deadline
        except RuntimeError:
            return work

    try:
        yield begin
    finally:
        pool.shutdown(cancel_futures=True)


def parent_of(root: str) -> str:
    """The folder above a root, in the same form (absolute path or URI)."""
    if "://" not in root:
        return str(Path(root).parent)
    scheme, _, rest = root.partition("://")
    return f"{scheme}://{rest.rstrip('/').rpartition('/')[0]}"


def name_of(root: str, patterns: Sequence[str] = ()) -> str:
    """The name that a table has among its neighbours: its folder's, with a hash of its roots where it has several."""
    last = root.rstrip("/").rpartition("/")[2]
    return f"{last}-{xxhash.xxh64_hexdigest(chr(10).join(patterns).encode())}" if patterns else last


def above(root: str) -> str:
    """Return the folder that contains the table, without a closing slash; the root of a store has none above it."""
    scheme, separator, rest = root.partition("://")
    if separator and "/" not in rest.rstrip("/"):
        return f"{scheme}://{rest.rstrip('/')}"
    return parent_of(root).rstrip("/")
