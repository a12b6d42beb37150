"""The check of a kind that has none of its own: of the values that are in a file, look-ups must name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from metaindex.core import MetaIndexError
from metaindex.expressions import Literal

from .checks import LACKS
from .keyed import KeyReader

MOST_VALUES = 1_000
"""Different values of a file that are asked for, the first ones."""


class AskedAgain:
    """Checks a key by looking up the files' values (`checks.KeyCheck`). Superfluous entries go unnoticed."""

    def __init__(self, reader: KeyReader, files: int) -> None:
        self._reader, self._files = reader, files
        self._values: dict[int, dict[tuple[object, ...], None]] = {}
        self._ordinal = -1
        self.failed: list[int] = []

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal = ordinal
        self._values[ordinal] = {}

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        distinct = self._values[self._ordinal]
        if len(distinct) < MOST_VALUES:
            rows = zip(*(column.to_pylist() for column in values), strict=True)
            distinct.update((row, None) for row in rows if None not in row)

    def end(self) -> None:
        """Nothing: it is asked when all files are read."""

    def fail(self) -> None:
        self._values.pop(self._ordinal)
        self.failed.append(self._ordinal)

    def wrong(self, ordinals: Sequence[int]) -> Iterator[tuple[int, str]]:
        for ordinal in ordinals:
            some = list(self._values[ordinal])[:MOST_VALUES]
            lost = sum(not self._named(row, ordinal) for row in some)
            if lost:
                yield ordinal, LACKS.format(f"{lost:,}")

    def _named(self, row: tuple[object, ...], ordinal: int) -> bool:
        """Return whether a look-up finds the file, or leaves the question open."""
        try:
            asked = [Literal.of(value) for value in row]
        except MetaIndexError:
            return True  # a value that nobody can ask for
        hits = self._reader.among([asked])
        return hits is None or bool(hits.mask(self._files)[ordinal])
