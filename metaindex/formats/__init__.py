"""What files there are, and which of their rows live. Reads logs and footers, never data pages."""

from metaindex.storage.opening import parent_of, storage_for
from metaindex.storage.protocol import ObjectInfo, Storage

from .model import (
    FILE_SCHEMA,
    Deletes,
    Diff,
    EqualityDelete,
    Field,
    FileEntry,
    FileTable,
    Leaf,
    Schema,
    Snapshot,
    SnapshotDetails,
    Trust,
    Version,
    partition_text,
)
from .protocol import At, TableFormat, TableRef
from .registry import detect, format_named, open_ref

__all__ = [
    "FILE_SCHEMA",
    "At",
    "Deletes",
    "Diff",
    "EqualityDelete",
    "Field",
    "FileEntry",
    "FileTable",
    "Leaf",
    "ObjectInfo",
    "Schema",
    "Snapshot",
    "SnapshotDetails",
    "Storage",
    "TableFormat",
    "TableRef",
    "Trust",
    "Version",
    "detect",
    "format_named",
    "open_ref",
    "parent_of",
    "partition_text",
    "storage_for",
]
