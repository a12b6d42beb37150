"""Checks whether a store keeps the promise of put-if-absent, by asking the store itself, once per process, unless its
protocol guarantees it.

A store that speaks S3 but ignores `If-None-Match` would let every racing writer win: the operation log would lose
entries without a sign. So a probe object is put twice, and others by two at once.
"""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from metaindex.core import BoundedCache

from .errors import status_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_known: BoundedCache[str, tuple[str | None]] = BoundedCache(64)
_lock = threading.Lock()
_RACES = 3
_NOT_IMPLEMENTED = frozenset({400, 405, 501})


def doubt(store: ObjectStore, name: str, folder: str) -> str | None:
    """Why one winner is not certain; None: the store refused to replace the probe. `name`: of the store, with its
    endpoint; `folder`: a key below which we may write.

    Errors of the client that say nothing about the promise (no answer, no permission) are raised as they are.
    """
    with _lock:
        known = _known.find(name)
        if known is None:
            key = f"{folder}/_probe-{uuid.uuid4().hex}" if folder else f"_probe-{uuid.uuid4().hex}"
            known = _known.keep(name, (_probe(store, key),))
        return known[0]


def _probe(store: ObjectStore, key: str) -> str | None:
    import obstore
    from obstore import exceptions as obs

    try:
        for _ in range(2):
            obstore.put(store, key, b"", mode="create", use_multipart=False)
    except obs.AlreadyExistsError:
        return _raced(store, key)  # of the first put too: its answer was lost and it was made again
    except obs.NotSupportedError:
        return "put-if-absent is switched off for it"
    except obs.BaseError as error:
        if status_of(error) in _NOT_IMPLEMENTED:
            return "it does not know put-if-absent"
        raise
    finally:
        _remove(store, key)
    return "it ignores the condition of a put-if-absent and replaces the object"


def _raced(store: ObjectStore, key: str) -> str | None:
    """Two puts at once: a store that looks first and writes then keeps its promise of puts that follow each other."""
    import obstore
    from obstore import exceptions as obs

    def won(name: str) -> bool:
        try:
            obstore.put(store, name, b"", mode="create", use_multipart=False)
        except obs.BaseError as error:
            if isinstance(error, obs.AlreadyExistsError) or status_of(error) == 409:
                return False
            raise
        return True

    with ThreadPoolExecutor(2) as pool:
        for turn in range(_RACES):
            name = f"{key}-{turn}"
            try:
                winners = sum(pool.map(won, (name, name)))
            finally:
                _remove(store, name)
            if winners > 1:
                return "of two puts at once both won"
    return None


def _remove(store: ObjectStore, key: str) -> None:
    """Best effort: an empty object that stays is hidden from every engine by its name."""
    import obstore

    with suppress(Exception):  # what matters was learned already
        obstore.delete(store, key)
