"""The distinct hashes of one file, however many: in memory up to a bound, beyond it as sorted stretches in a temporary
file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO

import numpy as np

from .blocks import Hashes

_LARGEST = (1 << 64) - 1
_TOGETHER = 1 << 20  # hashes that wait before they are sorted into the others


class DistinctHashes:
    """Takes hashes in any order and as often as they come; gives each once, in order. `most`: hashes held in memory,
    about."""

    def __init__(self, most: int) -> None:
        self._most = max(most, 1)
        self._held = np.zeros(0, np.uint64)
        self._waiting: list[Hashes] = []
        self._waiting_count = 0
        self._file: IO[bytes] | None = None
        self._stretches: list[tuple[int, int]] = []  # first and behind the last of each in the file, in hashes

    def add(self, hashes: Hashes) -> None:
        self._waiting.append(hashes)
        self._waiting_count += len(hashes)
        if self._waiting_count >= min(max(_TOGETHER, len(self._held)), self._most):
            self._settle()
            if len(self._held) > self._most // 2:
                self._put_away()

    def close(self) -> None:
        """Lets go of the temporary file."""
        if self._file is not None:
            self._file.close()

    def count(self) -> int:
        """Return the number of distinct hashes."""
        return sum(len(some) for some in self.ranges())

    def ranges(self) -> Iterator[Hashes]:
        """Yield all hashes, ascending: some thousands or millions at a time, each once."""
        self._settle()
        if self._file is None:
            yield self._held
            return
        self._file.flush()
        sources: list[Hashes] = [self._held]
        for first, end in self._stretches:
            sources.append(np.memmap(self._file, np.uint64, "r", first * 8, (end - first,)))
        total = sum(map(len, sources))
        turns = -(-2 * total // self._most)
        low = [0] * len(sources)
        for turn in range(1, turns + 1):
            bound = np.uint64(((turn << 64) // turns) & _LARGEST)
            last = turn == turns
            high = [len(source) if last else int(np.searchsorted(source, bound)) for source in sources]
            some = [np.asarray(source[a:b]) for source, a, b in zip(sources, low, high, strict=True)]
            low = high
            yield _each_once(np.concatenate(some))

    def _settle(self) -> None:
        if self._waiting:
            self._held = _each_once(np.concatenate([self._held, *self._waiting]))
            self._waiting, self._waiting_count = [], 0

    def _put_away(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="metaindex-")  # noqa: SIM115 - open as long as its hashes are of use
        first = self._stretches[-1][1] if self._stretches else 0
        self._file.write(self._held.data)
        self._stretches.append((first, first + len(self._held)))
        self._held = np.zeros(0, np.uint64)


def _each_once(hashes: Hashes) -> Hashes:
    hashes.sort()
    first = np.ones(len(hashes), np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=first[1:])
    return hashes if first.all() else hashes[first]
