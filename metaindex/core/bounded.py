"""The cache behind what is kept to be used again: bounded by number, and by bytes that all of the process share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from itertools import count
from typing import ClassVar, Final, Generic, TypeVar
from weakref import WeakSet

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_LOCK: Final = threading.RLock()


class BoundedCache(Generic[_Key, _Value]):
    """Values by key; the least recently used go first. For threads.

    `most`: of values. `limit_bytes`: of their sizes together; and all caches of the process that have such a limit hold
    together no more than the largest of these limits: of all their values the least recently used go. `let_go` is told
    of each value that goes so, or that another one replaces.
    """

    _SHARING: ClassVar[WeakSet[BoundedCache[object, object]]] = WeakSet()
    _CLOCK: ClassVar[count[int]] = count()

    def __init__(
        self, most: int | None = None, limit_bytes: int | None = None, let_go: Callable[[_Value], object] | None = None
    ) -> None:
        self.most, self.limit_bytes = most, limit_bytes
        self._let_go = let_go
        self._held: OrderedDict[_Key, tuple[_Value, int, int]] = OrderedDict()  # with its size, and when it was used
        self._bytes = 0
        if limit_bytes is not None:
            with _LOCK:
                self._SHARING.add(self)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self._held)

    def find(self, key: _Key) -> _Value | None:
        """Return the value, which counts as used now; None if it is not held."""
        with _LOCK:
            held = self._held.get(key)
            if held is None:
                return None
            self._held[key] = *held[:2], next(self._CLOCK)
            self._held.move_to_end(key)
            return held[0]

    def keep(self, key: _Key, value: _Value, size_bytes: int = 0) -> _Value:
        """Hold a value, unless it is larger than all may be. Return it."""
        with _LOCK:
            if key in self._held:
                self._lose(key)
            if self.limit_bytes is not None and size_bytes > self.limit_bytes:
                return value
            self._held[key] = value, size_bytes, next(self._CLOCK)
            self._bytes += size_bytes
            while (self.most is not None and len(self._held) > self.most) or (
                self.limit_bytes is not None and self._bytes > self.limit_bytes
            ):
                self._lose(next(iter(self._held)))
            if size_bytes:
                self._share()
        return value

    def take(self, key: _Key) -> _Value | None:
        """Return the value, which is not held any more; None if it was not."""
        with _LOCK:
            return self._out(key) if key in self._held else None

    def drop(self, is_out: Callable[[_Key], bool]) -> None:
        """Forget the values whose keys are out of use."""
        with _LOCK:
            for key in [key for key in self._held if is_out(key)]:
                self._out(key)

    def _share(self) -> None:
        """Keep the caches that share within their limit."""
        sharing = [cache for cache in self._SHARING if cache._bytes]
        excess = sum(cache._bytes for cache in sharing) - max(cache.limit_bytes or 0 for cache in self._SHARING)
        while excess > 0:
            oldest = min((cache for cache in sharing if cache._held), key=lambda cache: cache._oldest)
            before = oldest._bytes
            oldest._lose(next(iter(oldest._held)))
            excess -= before - oldest._bytes

    @property
    def _oldest(self) -> int:
        return next(iter(self._held.values()))[2]

    def _lose(self, key: _Key) -> None:
        value = self._out(key)
        if self._let_go is not None:
            self._let_go(value)

    def _out(self, key: _Key) -> _Value:
        value, size, _ = self._held.pop(key)
        self._bytes -= size
        return value
