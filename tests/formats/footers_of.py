"""What footers say of files, read as the project reads them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from metaindex.expressions import from_physical
from metaindex.formats.model import Field, Schema
from metaindex.formats.parquet.footers import FooterColumn, FooterStatistics, read_footers
from metaindex.storage import LocalStorage


def schema_of(arrow: pa.Schema) -> Schema:
    def field(f: pa.Field) -> Field:
        children = tuple(field(c) for c in f.type) if pa.types.is_struct(f.type) else ()
        return Field(f.name, f.type, f.nullable, children=children)

    return Schema(tuple(field(f) for f in arrow))


def footers(paths: Sequence[Path], schema: pa.Schema, **options: Any) -> FooterStatistics:
    root = os.path.commonpath([p.parent for p in paths])
    return read_footers(
        LocalStorage(root), [os.path.relpath(p, root) for p in paths], schema_of(schema).leaves(), **options
    )


def one(statistics: FooterStatistics, name: str) -> FooterColumn:
    return next(c for c in statistics.columns if ".".join(c.leaf.parts) == name)


def said(column: FooterColumn, row: int = 0) -> tuple[object, object, int | None]:
    """Lower, upper (as people read them) and null count of a file."""
    low, high = (
        None if b is None else from_physical(b[row].as_py(), column.leaf.type)
        for b in (column.bounds.lower, column.bounds.upper)
    )
    return low, high, column.bounds.null_count[row].as_py()


def doubt(column: FooterColumn, row: int = 0) -> str | None:
    return column.doubt[row].as_py()
