"""A budget of bytes of data files: a query that would open more of them is refused before it opens one."""

from __future__ import annotations

from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Cure, ObjectNotFoundError, ScanError, Vector, counted, dataclass, human_bytes
from metaindex.formats import FileTable, Footer
from metaindex.storage import Storage, each_at

Rows = npt.NDArray[np.int64]
_AT_ONCE = 16
_UNPACKED = 100


class TooCostlyError(ScanError):
    """Raised for a query that would read more of data files than `Config(most_read_bytes=...)` allows, before it reads
    any. `files` and `size_bytes`: what it would open, at most; `budget_bytes`: what it may."""

    def __init__(self, files: int, size_bytes: int, budget_bytes: int, of: str = "") -> None:
        super().__init__(
            f"a query reads at most {human_bytes(budget_bytes)} of data files here; this one would open {of}"
            f"{counted(files, 'file')} with {human_bytes(size_bytes)}; ask for fewer rows, create an index that skips"
            f" files for it, or allow more with {Cure('setting', 'Config(most_read_bytes=...)')}"
        )
        self.files, self.size_bytes, self.budget_bytes = files, size_bytes, budget_bytes

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by its parts: the message is made of them."""
        return TooCostlyError, (self.files, self.size_bytes, self.budget_bytes)


@dataclass(frozen=True, slots=True)
class ReadBudget:
    """Bytes of data files that may still be read; None: any. What is read of the table's log, of indexes and of deletes
    is not counted."""

    most: int | None = None
    spent: int = 0
    unpacked: int = 0

    def after_rows(self, storage: Storage, files: FileTable, rows: Rows, times: int = 1) -> Self:
        """Return what is left once these files were read whole, so many times. Raises TooCostlyError. A log may claim
        any size: the files are looked at, too, if what it claims is allowed."""
        if self.most is None:
            return self
        claimed = _sizes(files, rows)
        self._check(rows, claimed, times)

        def now(row: int) -> int:
            try:
                return storage.head(files.paths[row].as_py()).size_bytes
            except ObjectNotFoundError:
                return 0  # who reads it says so

        real = np.array(each_at(storage.root, rows.tolist(), now, of_disk=_AT_ONCE), np.int64)
        return self._check(rows, np.maximum(claimed, real), times)

    def after_footers(self, files: FileTable, rows: Rows) -> Self:
        """Return what is left once the ends of these files were read. Raises TooCostlyError."""
        if self.most is None:
            return self
        return self._check(rows, np.minimum(_sizes(files, rows), Footer.TAIL), 1, "the ends of ")

    def after_values(self, size_bytes: int) -> Self:
        """Return what is left of a budget that there is once values of so many bytes were unpacked: a small file may
        have any number of them. Raises ScanError."""
        assert self.most is not None
        unpacked, most = self.unpacked + size_bytes, _UNPACKED * self.most
        if unpacked > most:
            raise ScanError(
                f"a query unpacks at most {human_bytes(most)} of values here; this one would unpack more; ask for fewer"
                f" rows, or allow more with {Cure('setting', 'Config(most_read_bytes=...)')}"
            )
        return type(self)(self.most, self.spent, unpacked)

    def _check(self, rows: Rows, sizes: Rows, times: int, of: str = "") -> Self:
        assert self.most is not None
        total = self.spent + times * int(sizes.sum())
        if total > self.most:
            raise TooCostlyError(len(rows), total, self.most, of)
        return type(self)(self.most, total, self.unpacked)


ANY: Final = ReadBudget()


def _sizes(files: FileTable, rows: Rows) -> Rows:
    return Vector(files.table.column("size_bytes").take(pa.array(rows, pa.int64()))).items(np.int64)
