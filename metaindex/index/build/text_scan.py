"""Reads CSV and JSON files for their statistics: every file, the columns asked, block by block.

Values are those that Spark's readers show (`metaindex.formats.text` has the rules). A text that is no value of its
column's type is NULL there and an error elsewhere, so a column with one is UNKNOWN for that file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from metaindex.formats import Field, Leaf, Schema, TextReader
from metaindex.storage import Storage

from .extremes import ColumnScan, inside

Doubts = dict[tuple[str, ...], int | str]  # as of `TextReader.read`


@dataclass(frozen=True, slots=True)
class TextScanner:
    """Scans the files of one snapshot."""

    reader: TextReader

    @classmethod
    def of(cls, file_format: str, options: Mapping[str, object], fields: tuple[Field, ...]) -> TextScanner:
        """Raises ScanError where an option is not honoured: no file can be read then."""
        return cls(TextReader(file_format, options, Schema(fields)))

    def __call__(self, storage: Storage, path: str, size: int, leaves: Sequence[Leaf]) -> list[ColumnScan]:
        """Scan all rows of the file for each leaf."""
        hold_size(storage, path, size)
        scans = [ColumnScan() for _ in leaves]
        doubts: Doubts = {}
        for values in self.columns(storage, path, leaves, doubts):
            for scan, array in zip(scans, values, strict=True):
                scan.add(array)
        return closed(scans, leaves, doubts)

    def columns(self, storage: Storage, path: str, leaves: Sequence[Leaf], doubts: Doubts) -> Iterator[list[pa.Array]]:
        """The values of the leaves, block by block. `doubts`: as of `TextReader.read`."""
        tops = _only([leaf.path for leaf in leaves])
        with storage.open_input(path) as source:
            for _, _, arrays in self.reader.read(source, path, tops, path, doubts):
                by_name = {field.name: array for field, array in zip(tops, arrays, strict=True)}
                yield [inside(by_name[leaf.path[0].name], [field.name for field in leaf.path[1:]]) for leaf in leaves]


def hold_size(storage: Storage, path: str, size: int) -> None:
    """Raise ArrowInvalid for a file of another size than its snapshot's."""
    actual = storage.head(path).size_bytes
    if actual != size:
        raise pa.ArrowInvalid(f"the snapshot says {size} bytes, the file has {actual}")


def closed(scans: list[ColumnScan], leaves: Sequence[Leaf], doubts: Doubts) -> list[ColumnScan]:
    """Return the scans of these leaves after the last batch."""
    for leaf, scan in zip(leaves, scans, strict=True):
        scan.unread = unread_because(leaf, doubts)
        scan.close()
    return scans


def unread_because(leaf: Leaf, doubts: Doubts) -> str | None:
    """Return why NULLs of the leaf may stand for something else; None if they do not."""
    names = tuple(field.name for field in leaf.path)
    why = doubts.get(names[:1])
    if isinstance(why, str):
        return why
    count = doubts.get(names)
    return f"{count} values do not parse as {leaf.type}" if count else None


def _only(paths: Sequence[tuple[Field, ...]]) -> tuple[Field, ...]:
    """Return the fields that these paths begin with, each with nothing else inside it."""
    inside: dict[Field, list[tuple[Field, ...]]] = {}
    for field, *rest in paths:
        inside.setdefault(field, []).append(tuple(rest))
    return tuple(_with_inside(field, _only(rests)) if all(rests) else field for field, rests in inside.items())


def _with_inside(field: Field, children: tuple[Field, ...]) -> Field:
    type_ = pa.struct([pa.field(child.name, child.type) for child in children])
    return replace(field, type=type_, children=children)


def as_text(field: Field) -> Field:
    """Return the column with every primitive in it as text."""
    if field.children:
        return _with_inside(field, tuple(as_text(child) for child in field.children))
    return field if pa.types.is_nested(field.type) else replace(field, type=pa.string())
