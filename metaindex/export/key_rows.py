"""What an index's keys say of each live file: is it keyed, how large is its bloom filter, which values or hashes does
it hold. Of a covering index nothing: its rows are the table's."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from expressions.statistics import Mask
from expressions.vectors import numbers
from metaindex.kinds.bloom.reader import StoredFilters
from metaindex.kinds.values.decoding import decoded
from metaindex.kinds.values.rows import Layout
from metaindex.log.entry import CoveredKey, RunRef
from metaindex.log.types import type_from_text
from metaindex.pruning.known import unkeyed_files
from metaindex.pruning.open_index import OpenIndex

from .rows import Live, files_of, groups_of

KEYS = pa.schema(
    [
        ("path", pa.string()),
        ("partition", pa.string()),
        ("kind", pa.string()),
        ("columns", pa.string()),
        ("keyed", pa.bool_()),
        ("filter_bytes", pa.int64()),
        ("run", pa.string()),
    ]
)
"""`columns`: their names, joined by a comma. `keyed`: what no row of `key_values`, or no filter, has is not in the
file. `filter_bytes`: 0 of a file without values."""

KEY_VALUES = pa.schema(
    [
        ("path", pa.string()),
        ("partition", pa.string()),
        ("kind", pa.string()),
        ("columns", pa.string()),
        ("value", pa.string()),
        ("is_null", pa.bool_()),
        ("hash", pa.string()),
        ("row_group", pa.int64()),
        ("run", pa.string()),
    ]
)
"""`value`: as text (several columns: a JSON array); NULL where `is_null` says so, where the text was cut, and of kinds
that keep hashes. `hash`: the first bits, in binary digits. `row_group`: where the key tells it."""


def keys(index: OpenIndex, live: Live) -> Iterator[pa.Table]:
    """KEYS."""
    for run in index.entry.content.runs:
        files, mask = _named(index, run), live(run)
        for key in run.looked_up:
            at = np.flatnonzero(mask)
            some = files.take(pa.array(at))
            held = _said(key, run, some) | {
                "keyed": pa.array(~unkeyed_files(index, run, key)[at]),
                "filter_bytes": _filter_bytes(index, run, key, at),
            }
            yield pa.table([held[name] for name in KEYS.names], schema=KEYS)


def key_values(index: OpenIndex, live: Live) -> Iterator[pa.Table]:
    """KEY_VALUES, one row group of a part after another."""
    for run in index.entry.content.runs:
        files, mask = _named(index, run), live(run)
        for key in run.looked_up:
            if key.kind == "bloom_filters":
                continue
            for part in index.reader(run).parts(key.kind):
                if part.first_key == key.key_id:
                    for table in groups_of(index, run, part):
                        yield _values(table, key, run, files, mask)


def _values(table: pa.Table, key: CoveredKey, run: RunRef, files: pa.Table, live: Mask) -> pa.Table:
    layout = Layout.of(key.layout)
    hashed = "entry" in table.column_names
    units = numbers(table.column("entry" if hashed else "unit")).astype(np.int64)
    heads = units >> layout.unit_bits if hashed else units
    units = units & ((1 << layout.unit_bits) - 1) if hashed else units
    at = np.flatnonzero(live[units >> layout.group_bits])
    units, heads = units[at], heads[at]
    held = _said(key, run, files.take(pa.array(units >> layout.group_bits)))
    groups = pa.nulls(len(at), pa.int64())
    if layout.group_bits and not layout.shared:
        groups = pa.array(units & ((1 << layout.group_bits) - 1), pa.int64())
    texts: list[str | None] = [None] * len(at)
    nulls, hashes = [False] * len(at), texts
    if hashed:
        hashes = [f"{head:0{layout.hash_bits}b}" for head in heads.tolist()]
    else:
        stored = table.column("key_int" if "key_int" in table.column_names else "key").take(pa.array(at)).to_pylist()
        texts = [_text(one, key) for one in stored]
        nulls = [one is None for one in stored]
    held |= {
        "value": pa.array(texts, pa.string()),
        "is_null": pa.array(nulls, pa.bool_()),
        "hash": pa.array(hashes, pa.string()),
        "row_group": groups,
    }
    return pa.table([held[name] for name in KEY_VALUES.names], schema=KEY_VALUES)


def _text(stored: int | bytes | None, key: CoveredKey) -> str | None:
    types = [type_from_text(column.type_text) for column in key.columns]
    values = None if stored is None or None in types else decoded(stored, types)
    if values is None:
        return None
    shown = [one.hex() if isinstance(one, bytes) else str(one) for one in values]
    return shown[0] if len(shown) == 1 else json.dumps(shown, ensure_ascii=False)


def _filter_bytes(index: OpenIndex, run: RunRef, key: CoveredKey, at: npt.NDArray[np.int64]) -> pa.Array:
    if key.kind != "bloom_filters":
        return pa.nulls(len(at), pa.int64())
    sizes = np.zeros(run.files, np.int64)
    filters = StoredFilters(index.reader(run), key.key_id)
    for number, one in enumerate(filters.directory.classes):
        ordinals = filters.ordinals(number)
        sizes[np.arange(one.files) if ordinals is None else ordinals] = 32 * one.blocks
    return pa.array(sizes[at])


def _named(index: OpenIndex, run: RunRef) -> pa.Table:
    return files_of(index, run).select(["path", "partition", "run"]) if run.looked_up else None


def _said(key: CoveredKey, run: RunRef, files: pa.Table) -> dict[str, pa.ChunkedArray | pa.Array]:
    count = files.num_rows
    return {
        **{name: files.column(name) for name in ("path", "partition", "run")},
        "kind": pa.array([key.kind] * count, pa.string()),
        "columns": pa.array([",".join(column.name for column in key.columns)] * count, pa.string()),
    }
