"""A seekable pyarrow input made of a storage's range reads."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

import pyarrow as pa


def range_file(fetch: Callable[[int, int], bytes], size: int, tail: bytes = b"") -> pa.NativeFile:
    """A file of `size` bytes of which `fetch(start, length)` gives any stretch; it may give less, and nothing only at
    the end. `tail`: its last bytes, which are never fetched."""
    return pa.PythonFile(_RangeFile(fetch, size, tail), mode="r")


class _RangeFile(io.RawIOBase):
    def __init__(self, fetch: Callable[[int, int], bytes], size: int, tail: bytes) -> None:
        self._fetch = fetch
        self._size = size
        self._tail = tail
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        held = self._at - (self._size - len(self._tail))
        if wanted == 0:
            return b""
        data = self._tail[held : held + wanted] if held >= 0 else self._fetch(self._at, wanted)
        self._at += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()
