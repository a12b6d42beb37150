"""What an index's keys say of each live file: is it keyed, how large is its bloom filter, which values or hashes does
it hold. Of a covering index nothing: its rows are the table's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.expressions.statistics import Mask
from metaindex.kinds.kind import Listed, ListsValues
from metaindex.kinds.registry import keyed, looked_up_rows
from metaindex.log.entry import CoveredKey, RunRef
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
        for key in keyed(run):
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
        for key in keyed(run):
            rows = looked_up_rows(key)
            if not issubclass(rows, ListsValues):
                continue
            for part in index.reader(run).parts(key.kind):
                if part.first_key == key.key_id:
                    for table in groups_of(index, run, part):
                        yield _values(rows.listed(table, key), key, run, files, mask)


def _values(listed: Listed, key: CoveredKey, run: RunRef, files: pa.Table, live: Mask) -> pa.Table:
    at = np.flatnonzero(live[listed.ordinals])
    some = pa.array(at)
    held = _said(key, run, files.take(pa.array(listed.ordinals[at])))
    groups = listed.row_groups
    held |= {
        "value": _texts(listed.texts, some),
        "is_null": pa.array(np.zeros(len(at), np.bool_)) if listed.nulls is None else pa.array(listed.nulls).take(some),
        "hash": _texts(listed.hashes, some),
        "row_group": pa.nulls(len(at), pa.int64()) if groups is None else pa.array(groups[at], pa.int64()),
    }
    return pa.table([held[name] for name in KEY_VALUES.names], schema=KEY_VALUES)


def _texts(texts: Sequence[str | None] | None, at: pa.Array) -> pa.Array:
    return pa.nulls(len(at), pa.string()) if texts is None else pa.array(texts, pa.string()).take(at)


def _filter_bytes(index: OpenIndex, run: RunRef, key: CoveredKey, at: npt.NDArray[np.int64]) -> pa.Array:
    sizes = looked_up_rows(key).file_bytes(index.reader(run), key)
    return pa.nulls(len(at), pa.int64()) if sizes is None else pa.array(sizes[at])


def _named(index: OpenIndex, run: RunRef) -> pa.Table:
    return files_of(index, run).select(["path", "partition", "run"]) if keyed(run) else None


def _said(key: CoveredKey, run: RunRef, files: pa.Table) -> dict[str, pa.ChunkedArray | pa.Array]:
    count = files.num_rows
    return {
        **{name: files.column(name) for name in ("path", "partition", "run")},
        "kind": pa.array([key.kind] * count, pa.string()),
        "columns": pa.array([",".join(column.name for column in key.columns)] * count, pa.string()),
    }
