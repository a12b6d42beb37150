"""Reads CSV and JSON files for their statistics: every file, the columns asked, block by block.

Values are those that Spark's readers show (`metaindex.formats.text` has the rules). A text that is no value of its
column's type is NULL there and an error elsewhere, so a column with one is UNKNOWN for that file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from metaindex.core import ScanError
from metaindex.formats import Field, Leaf, Schema, TextReader
from metaindex.storage import Storage

from .extremes import ColumnScan, inside


@dataclass(frozen=True, slots=True)
class TextScanner:
    """Scans the files of one snapshot. `texts` reads the same cells as texts, to tell NULLs from what does not
    parse."""

    values: TextReader
    texts: TextReader

    @classmethod
    def of(cls, file_format: str, options: Mapping[str, object], fields: tuple[Field, ...]) -> TextScanner:
        """Raises ScanError where an option is not honoured: no file can be read then."""
        texts = Schema(tuple(as_text(field) for field in fields))
        return cls(TextReader(file_format, options, Schema(fields)), TextReader(file_format, options, texts))

    def __call__(self, storage: Storage, path: str, size: int, leaves: Sequence[Leaf]) -> list[ColumnScan]:
        """Scan all rows of the file for each leaf."""
        actual = storage.head(path).size_bytes
        if actual != size:
            raise pa.ArrowInvalid(f"the snapshot says {size} bytes, the file has {actual}")
        try:
            return self._scan(storage, path, leaves)
        except ScanError:
            if len(leaves) == 1:
                raise
        # Some column holds what Spark's reader is not certain to take: the others are still told.
        scans = []
        errors = []
        for leaf in leaves:
            try:
                scans += self._scan(storage, path, [leaf])
            except ScanError as error:
                errors.append(error)
                scans.append(ColumnScan(unread=str(error)))
        if len(errors) == len(leaves):
            raise errors[0]
        return scans

    def _scan(self, storage: Storage, path: str, leaves: Sequence[Leaf]) -> list[ColumnScan]:
        scans = [ColumnScan() for _ in leaves]
        lost: set[str] = set()
        for values in columns_of(self.values, storage, path, leaves, lost):
            for scan, array in zip(scans, values, strict=True):
                scan.add(array)
        told = {leaf.stable: scan for leaf, scan in zip(leaves, scans, strict=True)}
        doubtful = {name: scan.rows - scan.nulls for name, scan in told.items() if scan.nulls}
        for name, why in self.unparsed(storage, path, leaves, doubtful, lost).items():
            told[name].unread = why
        for scan in scans:
            scan.close()
        return scans

    def unparsed(
        self, storage: Storage, path: str, leaves: Sequence[Leaf], present: Mapping[str, int], lost: set[str]
    ) -> dict[str, str]:
        """Why columns of other types than text, by stable name, have fewer values than there are texts. `present`: how
        many values those have that have NULLs, too; `lost`: the names of columns in which some may be such texts."""
        typed = [
            leaf for leaf in leaves if leaf.stable in present and leaf.path[0].name in lost and not _is_text(leaf.type)
        ]
        texts = dict.fromkeys((leaf.stable for leaf in typed), 0)
        for values in columns_of(self.texts, storage, path, list(map(leaf_as_text, typed))) if typed else ():
            for leaf, array in zip(typed, values, strict=True):
                texts[leaf.stable] += len(array) - array.null_count
        bad = ((leaf, texts[leaf.stable] - present[leaf.stable]) for leaf in typed)
        return {leaf.stable: f"{count} values do not parse as {leaf.type}" for leaf, count in bad if count}


def columns_of(
    reader: TextReader, storage: Storage, path: str, leaves: Sequence[Leaf], lost: set[str] | None = None
) -> Iterator[list[pa.Array]]:
    """The values of the leaves, block by block. `lost`: as of `TextReader.read`."""
    tops = tuple(dict.fromkeys(leaf.path[0] for leaf in leaves))
    with storage.open_input(path) as source:
        for _, _, arrays in reader.read(source, path, tops, path, lost):
            by_name = {field.name: array for field, array in zip(tops, arrays, strict=True)}
            yield [inside(by_name[leaf.path[0].name], [field.name for field in leaf.path[1:]]) for leaf in leaves]


def as_text(field: Field) -> Field:
    """Return the column with every primitive in it as text."""
    if field.children:
        children = tuple(as_text(child) for child in field.children)
        type_ = pa.struct([pa.field(child.name, child.type) for child in children])
        return replace(field, type=type_, children=children)
    return field if pa.types.is_nested(field.type) else replace(field, type=pa.string())


def leaf_as_text(leaf: Leaf) -> Leaf:
    """The leaf of `as_text` of its column."""
    return Leaf(tuple(as_text(field) for field in leaf.path))


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))
