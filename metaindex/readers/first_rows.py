"""The first rows of a scan: files are read one after the other until there are enough, and no other is opened.

Which file comes first was decided before (`ScanPlan.rows` is in that order); that there are enough rows is seen in the
rows themselves, so no count that somebody wrote can make an answer short.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.expressions.records import dataclass

Files: TypeAlias = npt.NDArray[np.int64]
ReadFiles: TypeAlias = Callable[[Files], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class FirstRows:
    """At most `limit` rows, of files in the order of the plan. `certain`: so many files at the beginning hold matching
    rows only."""

    limit: int
    certain: int = 0

    def __str__(self) -> str:
        known = f"; {self.certain:,} files hold no other rows and are read first" if self.certain else ""
        return f"at most {self.limit:,} rows{known}"


def first_batches(first: FirstRows, files: Files, read: ReadFiles) -> Iterator[pa.RecordBatch]:
    """The first rows that `read` gives of the files. It is given one file, then twice as many each time: what is read
    ahead of its turn is at most as much as was needed so far."""
    left = first.limit
    for some in _growing(files) if left else ():
        with closing(_generator(read(some))) as batches:
            for batch in batches:
                yield batch.slice(0, left)
                left -= min(left, batch.num_rows)
                if not left:
                    return


def _growing(files: Files) -> Iterator[Files]:
    start, size = 0, 1
    while start < len(files):
        yield files[start : start + size]
        start, size = start + size, 2 * size


def _generator(batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, None]:
    yield from batches
