"""CSV and JSON files read for their keys. A text that is no value of its column's type is NULL to Spark and an error
elsewhere: such a column of such a file is unfit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from metaindex.core import ScanError
from metaindex.formats import Field, Leaf
from metaindex.storage import Storage

from .key_file import Batches, KeyFile
from .text_scan import TextScanner, columns_of

_HELD = 64 << 20
"""Bytes of a file, as stored, up to which its values are held: it is read to its end before the first of them is
certain."""


@dataclass(frozen=True, slots=True)
class TextOpener:
    """Opens the files of one table."""

    scanner: TextScanner
    leaves: tuple[Leaf, ...]

    @classmethod
    def of(
        cls, file_format: str, options: Mapping[str, object], fields: tuple[Field, ...], leaves: tuple[Leaf, ...]
    ) -> TextOpener:
        """Raises ScanError where an option is not honoured: no file can be read then."""
        return cls(TextScanner.of(file_format, options, fields), leaves)

    def open(self, storage: Storage, path: str, size: int, *, ahead: bool) -> KeyFile:
        """Open a file; see `key_file.Opener`. Texts are never read ahead."""
        actual = storage.head(path).size_bytes
        if actual != size:
            raise pa.ArrowInvalid(f"the snapshot says {size} bytes, the file has {actual}")
        file = TextKeyFile(self.scanner, storage, path, size, self.leaves)
        file.present = {leaf.stable for leaf in self.leaves}
        return file


@dataclass(slots=True)
class TextKeyFile(KeyFile):
    """Text file read for its keys, as one row group; see `key_file.KeyFile`."""

    scanner: TextScanner
    storage: Storage
    path: str
    size: int
    leaves: tuple[Leaf, ...]

    def batches(self, wanted: set[str]) -> Batches:
        """Yield batches; see `key_file.KeyFile`."""
        leaves = [leaf for leaf in self.leaves if leaf.stable in wanted] or list(self.leaves[:1])
        if not leaves:
            yield [(0, 1)], {}  # whether it has rows is not worth reading it
            return
        lost: set[str] = set()
        certain, held = self._certain(leaves, lost)
        rows, present = 0, dict.fromkeys((leaf.stable for leaf in certain), 0)
        blocks = columns_of(self.scanner.values, self.storage, self.path, certain) if held is None and certain else held
        for values in blocks or ():
            count = len(values[0])
            rows += count
            columns = {leaf.stable: array for leaf, array in zip(certain, values, strict=True)}
            for name, array_ in columns.items():
                present[name] += count - array_.null_count
            # A column that cannot be read is NULL here, and unfit in the end.
            absent = {leaf.stable: pa.nulls(count, leaf.type) for leaf in leaves if leaf.stable not in columns}
            yield [(0, count)], columns | absent
        lacking = {name: count for name, count in present.items() if count < rows}
        self.unfit |= self.scanner.unparsed(self.storage, self.path, certain, lacking, lost)

    def _certain(self, leaves: list[Leaf], lost: set[str]) -> tuple[list[Leaf], list[list[pa.Array]] | None]:
        """Return the leaves that can be read, with their blocks if the file is small. Where one holds what Spark's
        reader is not certain to take, each is tried by itself. `lost`: as of `TextReader.read`."""
        held: list[list[pa.Array]] = []
        try:
            for values in columns_of(self.scanner.values, self.storage, self.path, leaves, lost):
                held += [values] if self.size <= _HELD else []
        except ScanError as error:
            if len(leaves) == 1:
                self.unfit[leaves[0].stable] = str(error)
                return [], []
            return [leaf for alone in leaves for leaf in self._certain([alone], lost)[0]], None
        return leaves, held if self.size <= _HELD else None
