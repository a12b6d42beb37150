"""CSV and JSON files read for their keys, and in the same pass for facts. A text that is no value of its column's type
is NULL to Spark and an error elsewhere: such a column of such a file is unfit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metaindex.core import ScanError
from metaindex.formats import Field, Leaf
from metaindex.storage import Storage

from .extremes import ColumnScan
from .key_file import Batches, KeyFile
from .text_scan import Doubts, TextScanner, closed, hold_size, unread_because


@dataclass(frozen=True, slots=True)
class TextOpener:
    """Opens the files of one table. `facts`: columns that are scanned, too."""

    scanner: TextScanner
    leaves: tuple[Leaf, ...]
    facts: tuple[Leaf, ...]

    @classmethod
    def of(
        cls,
        file_format: str,
        options: Mapping[str, object],
        fields: tuple[Field, ...],
        leaves: tuple[Leaf, ...],
        facts: tuple[Leaf, ...],
    ) -> TextOpener:
        """Raises ScanError where an option is not honoured: no file can be read then."""
        return cls(TextScanner.of(file_format, options, fields), leaves, facts)

    def open(self, storage: Storage, path: str, size: int, *, ahead: bool) -> KeyFile:
        """Open a file; see `key_file.Opener`. Texts are never read ahead."""
        hold_size(storage, path, size)
        return TextKeyFile(self, storage, path, present={leaf.stable for leaf in self.leaves})


@dataclass(slots=True)
class TextKeyFile(KeyFile):
    """Text file read for its keys, as one row group; see `key_file.KeyFile`."""

    of: TextOpener
    storage: Storage
    path: str

    def batches(self, wanted: set[str]) -> Batches:
        """Yield batches; see `key_file.KeyFile`."""
        keyed = [leaf for leaf in self.of.leaves if leaf.stable in wanted] or list(self.of.leaves[:1])
        leaves = list({leaf.stable: leaf for leaf in (*keyed, *self.of.facts)}.values())
        if not leaves:
            yield [(0, 1)], {}  # whether it has rows is not worth reading it
            return
        scans, doubts = {leaf.stable: ColumnScan() for leaf in self.of.facts}, Doubts()
        try:
            for values in self.of.scanner.columns(self.storage, self.path, leaves, doubts):
                columns = {leaf.stable: array for leaf, array in zip(leaves, values, strict=True)}
                for stable, scan in scans.items():
                    scan.add(columns[stable])
                yield [(0, len(values[0]))], columns
        except ScanError as error:
            self.unfit |= {leaf.stable: str(error) for leaf in leaves}
            return
        self.unfit |= {leaf.stable: why for leaf in leaves if (why := unread_because(leaf, doubts)) is not None}
        self.scans = closed(list(scans.values()), self.of.facts, doubts)
