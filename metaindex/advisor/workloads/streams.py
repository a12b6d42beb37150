"""Opening a file that a user named, which may be a pipe: `<(...)` of a shell, /dev/stdin, a FIFO.

A pipe is read as it comes, for that is what people mean by it. Nobody can see that one waits for a writer: so it is
said once it has lasted. A device has no end, and is refused."""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from metaindex.core import StorageError, one_line

logger = logging.getLogger("metaindex")

PATIENCE_SECONDS: Final = 2.0


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open the file for its bytes. Raises StorageError for a device, OSError if it cannot be opened."""
    mode = path.stat().st_mode
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not _ends(path)):
        raise StorageError("a file is read to its end; this is a device, which may have none; name a file or a pipe")
    waiting = threading.Timer(PATIENCE_SECONDS, _say, (path,)) if stat.S_ISFIFO(mode) else None
    if waiting is not None:
        waiting.daemon = True
        waiting.start()
    try:
        with open(path, "rb", opener=_without_taking) as file:
            if waiting is not None:
                file.peek(1)  # the first bytes, or the end
                waiting.cancel()
            yield file
    finally:
        if waiting is not None:
            waiting.cancel()


def _without_taking(path: str, flags: int) -> int:
    """A terminal does not become that of a process which has none, and ends with it."""
    return os.open(path, flags | os.O_NOCTTY)


def _ends(path: Path) -> bool:
    """Return whether the path never yields data (the null device), or is a terminal at which somebody types."""
    if os.path.samefile(path, os.devnull):
        return True
    opened_here = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        return os.isatty(opened_here)
    finally:
        os.close(opened_here)


def _say(path: Path) -> None:
    logger.warning("waiting for what is written to %s, which is a pipe; Ctrl-C ends it", one_line(str(path)))
