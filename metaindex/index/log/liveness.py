"""Tells whether the writer of an operation is alive, by an advisory object beside the log, `_heartbeats/<nonce>`, put
again and again while the operation runs.

It only ever decides when to *suspect* a dead writer, never what is true: a wrong clock, a lost beat or a removed object
make a suspicion, and nothing happens by it. `cancel` ends the operation; a writer that is alive after all fails at its
commit.
"""

from __future__ import annotations

import logging
import re
import threading
from types import TracebackType

from metaindex.core import StorageError
from metaindex.storage import Storage

FOLDER = "_heartbeats"
INTERVAL_SECONDS = 20.0

_NONCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
logger = logging.getLogger("metaindex")


def heartbeat_path(nonce: str) -> str:
    return f"{FOLDER}/{nonce}"


def is_nonce(text: str) -> bool:
    """Return whether a writer could have made this nonce. Only such a one becomes a path."""
    return _NONCE.match(text) is not None


class Heartbeat:
    """Beats while the block runs. An operation that ends before the first interval costs nothing."""

    def __init__(self, storage: Storage, nonce: str, interval_seconds: float = INTERVAL_SECONDS) -> None:
        self._storage, self._path, self._interval = storage, heartbeat_path(nonce), interval_seconds
        self._over = threading.Event()
        self._beaten = False
        self._thread = threading.Thread(target=self._beat, name=f"heartbeat {nonce}", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(5)  # a store that does not answer holds nobody up
        if self._beaten:
            try:
                self._storage.delete(self._path)
            except StorageError as lost:
                logger.debug("a heartbeat is left behind: %s", lost)

    def _beat(self) -> None:
        while not self._over.wait(self._interval):
            self._beaten = True
            try:
                self._storage.put(self._path, b"")
            except StorageError as error:
                logger.debug("a heartbeat was lost: %s", error)
