"""Cache of parsed pieces of JSON: all entries of a log repeat the same schemas, columns and versions, and a writer
reads each entry several times."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_HELD: Final = 32
_LONGEST: Final = 1 << 16


class Repeated(Generic[T]):
    """`make` of a JSON value, once for values that are alike. What it makes is immutable; what it raises is raised
    again. `held`: how many values; `longest`: characters of one, what is longer is made anew each time."""

    def __init__(self, make: Callable[[object], T], held: int = _HELD, longest: int = _LONGEST) -> None:
        self._make = make
        self._most, self._longest = held, longest
        self._held: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, value: object) -> T:
        text = repr(value)  # tells apart what JSON tells apart: 1, 1.0, "1" and true
        with self._lock:
            if text in self._held:
                self._held.move_to_end(text)
                return self._held[text]
        made = self._make(value)
        if len(text) <= self._longest:
            with self._lock:
                self._held[text] = made
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
        return made
