"""Counts and bounds of columns, by which a client answers min, max and count without opening a file.

Only bounds that some row attains are sent, of types that have an order without exceptions.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from metaindex.formats import FileTable, Footer, FooterColumn, Snapshot
from metaindex.storage import Storage

from .columns import MILLISECONDS, Column, primitive

_PACKED = {"int": "<i", "date": "<i", "long": "<q", "timestamp": "<q", "timestamptz": "<q"}


def add_statistics(
    storage: Storage,
    snapshot: Snapshot,
    files: FileTable,
    tasks: Sequence[Mapping[str, Any]],
    ids: Mapping[Column, int],
) -> None:
    """Add the counts and bounds that footers state of columns (`ids`) to the tasks of these files."""
    leaves = {leaf.source: leaf for leaf in snapshot.schema.leaves()}
    forms = ((column, _PACKED.get(primitive(column.type) or "")) for column in ids if not column.partition)
    asked = [
        (column, form, leaves[column.path])
        for column, form in forms
        if form and column.path in leaves and MILLISECONDS not in column.facts
    ]
    if not asked:
        return
    paths, sizes = files.paths.to_pylist(), files.table.column("size_bytes").to_pylist()
    stated = Footer.of_files(storage, paths, [leaf for _, _, leaf in asked], sizes=sizes)
    for (column, form, _), of_column in zip(asked, stated.columns, strict=True):
        for task, values in zip(tasks, _stated(of_column, form), strict=True):
            for name, value in values.items():
                said = task["data-file"].setdefault(name, {"keys": [], "values": []})
                said["keys"].append(ids[column])
                said["values"].append(value)


def _stated(column: FooterColumn, form: str) -> list[dict[str, object]]:
    """Return of each file what is known for certain: bounds as hexadecimal of Iceberg's bytes, as Java takes them."""
    bounds, count = column.bounds, len(column.doubt)
    lists = [
        [None] * count if array is None else array.to_pylist()
        for array in (
            bounds.row_count,
            bounds.null_count,
            bounds.lower,
            bounds.upper,
            bounds.lower_exact,
            bounds.upper_exact,
            column.present,
        )
    ]
    made: list[dict[str, object]] = []
    for rows, nulls, low, high, low_exact, high_exact, present in zip(*lists, strict=True):
        stated: dict[str, object] = {}
        if present and rows is not None and nulls is not None:
            stated = {"value-counts": rows, "null-value-counts": nulls}
            if low is not None and high is not None and low_exact and high_exact:
                stated["lower-bounds"] = struct.pack(form, low).hex()
                stated["upper-bounds"] = struct.pack(form, high).hex()
        made.append(stated)
    return made
