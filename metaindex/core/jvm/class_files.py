"""Class files that Spark compiled, in a folder of the user's own below the cache. They are code that runs in the
driver, so they are read only if no other user can have written them.

The folder has mode 0700 and the user as its owner, no link is followed below the cache, and neither the cache nor the
file is writable for others. Everywhere else nothing is read and nothing written: classes are compiled in memory.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from .releases import SparkRelease

logger = logging.getLogger("metaindex")
FOLDER: Final = "classes"
KEPT: Final = 32
"""Files at most, those that were used last: a few rooms of a few Sparks."""
_DIGEST: Final = hashlib.sha256().digest_size
_NOTHING_FOLLOWED: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class ForeignFolderError(OSError):
    """Raised if another user may write to the folder for class files."""


@contextmanager
def opened_folder() -> Iterator[int]:
    """A handle of the folder, which is made where it is not there. OSError where it cannot be had."""
    if not hasattr(os, "getuid"):
        raise ForeignFolderError("this system does not say whose a file is")
    root = SparkRelease.cache_dir()
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    above = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _check_own(above)
        with suppress(FileExistsError):
            os.mkdir(FOLDER, 0o700, dir_fd=above)
        folder = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | _NOTHING_FOLLOWED, dir_fd=above)
    finally:
        os.close(above)
    try:
        _check_own(folder)
        yield folder
    finally:
        os.close(folder)


def read(folder: int, key: str) -> bytes | None:
    """Return the content written under the key. None if there is none, or it is damaged or another user's."""
    try:
        with open(os.open(key, os.O_RDONLY | _NOTHING_FOLLOWED, dir_fd=folder), "rb") as file:
            _check_own(file.fileno())
            written = file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
            with suppress(OSError):  # it may be read where it cannot be written
                os.utime(file.fileno())
    except OSError as error:
        logger.debug("no class files are read: %s", error)
        return None
    content = written[_DIGEST:]
    return content if written[:_DIGEST] == _digest(key, content) else None


def write(folder: int, key: str, content: bytes) -> None:
    """Puts it there at once, in place of what is there, and removes what was not used for longest."""
    draft = f".{key}.{os.getpid()}.{time.monotonic_ns()}"
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOTHING_FOLLOWED, 0o600, dir_fd=folder)
        with open(handle, "wb") as file:
            file.write(_digest(key, content) + content)
        os.replace(draft, key, src_dir_fd=folder, dst_dir_fd=folder)
        _remove_oldest(folder)
    except OSError as error:
        logger.debug("class files are not kept: %s", error)
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)


def _remove_oldest(folder: int) -> None:
    used: dict[str, int] = {}
    for name in os.listdir(folder):
        with suppress(OSError):  # another process has removed it
            used[name] = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns
    for name in sorted(used, key=used.__getitem__, reverse=True)[KEPT:]:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


def _check_own(handle: int) -> None:
    status = os.fstat(handle)
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ForeignFolderError("somebody else may write there")
