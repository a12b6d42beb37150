"""Checks of keys: they key the rows of some files again and compare what is stored of these files with it, kind by
kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from expressions.statistics import Mask
from formats.storage import Storage
from metaindex.kinds import registry
from metaindex.kinds.bloom.blocks import Bytes, set_bits
from metaindex.kinds.bloom.distinct import DistinctHashes
from metaindex.kinds.bloom.stored import whole_filters
from metaindex.kinds.canonical import hash_key
from metaindex.kinds.keyed import Gathered, KeyPlan, Spill, TakesRows, Units
from metaindex.kinds.values.encoding import as_bytes
from metaindex.kinds.values.rows import Layout, distinct, packed, units_of
from metaindex.kinds.values.spills import read_spill, unsigned
from metaindex.kinds.values.stored import StoredKeys
from metaindex.log.entry import CoveredKey
from metaindex.store.reader import RunReader
from metaindex.store.writer import RunSink

from .key_runs import stored_rows

_HASHES = 8 << 20
_SIGN = np.uint64(1 << 63)
_LACKS = "the index does not find {} of its values"
_EXTRA = "the index names {} values that are in no row of it"


class KeyCheck(TakesRows, Protocol):
    """Takes the rows of the files that are compared."""

    @property
    def failed(self) -> Sequence[int]:
        """The ordinals that would be unkeyed."""

    def wrong(self, ordinals: Sequence[int]) -> Iterator[tuple[int, str]]:
        """What is not so of these files, all of which ended."""


def check_of(
    reader: RunReader, key: CoveredKey, plan: KeyPlan, ordinals: npt.NDArray[np.intp], storage: Storage
) -> KeyCheck:
    """The check of a key for some files. `storage`: for what does not fit in memory."""
    if key.kind == "bloom_filters":
        return _FilterCheck(dict(whole_filters(reader, key.key_id, ordinals.tolist())))
    return _RowCheck(reader, key, plan, Spill(storage, str(plan.place)))


class _FilterCheck:
    """The filter of each file is made again, of as many blocks as the stored one has."""

    def __init__(self, stored: dict[int, Bytes]) -> None:
        self._stored = stored
        self._wrong: dict[int, str] = {}
        self._ordinal = -1
        self._hashes = DistinctHashes(_HASHES)
        self.failed: list[int] = []

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal, self._hashes = ordinal, DistinctHashes(_HASHES)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        hashes, valid = hash_key(values)
        self._hashes.add(hashes if valid is None else hashes[valid])

    def end(self) -> None:
        stored = self._stored.get(self._ordinal, np.zeros((0, 32), np.uint8))
        held = np.ascontiguousarray(stored).view("<u4").reshape(-1, 8)
        words = np.zeros_like(held)
        lost = 0
        for some in self._hashes.ranges():
            if len(words):
                set_bits(words, some, len(words))
            else:
                lost += len(some)
        self._hashes.close()
        if lost or (words & ~held).any():
            self._wrong[self._ordinal] = _LACKS.format(lost or "some")
        elif (held & ~words).any():
            self._wrong[self._ordinal] = _EXTRA.format("some")

    def fail(self) -> None:
        self._hashes.close()
        self.failed.append(self._ordinal)

    def wrong(self, ordinals: Sequence[int]) -> Iterator[tuple[int, str]]:
        yield from ((ordinal, self._wrong[ordinal]) for ordinal in ordinals if ordinal in self._wrong)


class _RowCheck:
    """The rows of the files are collected again by the kind's own collector, and compared with the stored ones."""

    def __init__(self, reader: RunReader, key: CoveredKey, plan: KeyPlan, spill: Spill) -> None:
        self._reader, self._key, self._spill = reader, key, spill
        nowhere = RunSink(spill.storage, "nowhere")
        self._inner = registry.collector(plan, nowhere, spill, reader.run.files)
        self._gathered: Gathered | None = None

    def begin(self, ordinal: int, groups: int) -> None:
        self._inner.begin(ordinal, groups)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        self._inner.add(group, values)

    def end(self) -> None:
        self._inner.end()

    def fail(self) -> None:
        self._inner.fail()

    @property
    def failed(self) -> Sequence[int]:
        return self._found().unkeyed

    def wrong(self, ordinals: Sequence[int]) -> Iterator[tuple[int, str]]:
        layout = Layout.of(self._key.layout)
        asked = np.zeros(self._reader.run.files, np.bool_)
        asked[list(ordinals)] = True
        stored = stored_rows(self._reader, self._key)
        if self._key.kind == "values":
            lacking, extra = _entries_apart(self._tables(), stored, layout, asked)
        else:
            keys = StoredKeys(self._reader, self._key)
            lacking, extra = _values_apart(self._tables(), map(keys.rows, stored), keys.type, layout, asked)
        for message, units in ((_LACKS, lacking), (_EXTRA, extra)):
            ordinals_, counts = np.unique(units >> layout.group_bits, return_counts=True)
            yield from (
                (ordinal, message.format(f"{count:,}"))
                for ordinal, count in zip(ordinals_.tolist(), counts.tolist(), strict=True)
            )

    def _tables(self) -> Iterator[pa.Table]:
        for path in self._found().spills:
            yield from read_spill(self._spill, path, None, None)

    def _found(self) -> Gathered:
        """What the files have, when all are read."""
        if self._gathered is None:
            self._gathered = self._inner.hand_over()
        return self._gathered


def _entries_apart(
    tables: Iterator[pa.Table], stored: Iterator[pa.Table], layout: Layout, asked: Mask
) -> tuple[Units, Units]:
    """Of `values`: the units of what is not stored, and of what is stored and is not so."""
    mask = (1 << layout.unit_bits) - 1
    expected, found = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for table in tables:
        hashes, raw = unsigned(table.column("hash")) ^ _SIGN, table.column("raw").to_numpy()
        mine = asked[raw >> 32]
        expected.append(packed(hashes[mine], units_of(raw[mine], layout.group_bits), layout))
    for table in stored:
        entries = table.column("entry").to_numpy()
        found.append(entries[asked[(entries & mask) >> layout.group_bits]])
    should, does = distinct(np.concatenate(expected)), np.concatenate(found)
    return np.setdiff1d(should, does, assume_unique=True) & mask, np.setdiff1d(does, should, assume_unique=True) & mask


def _values_apart(
    tables: Iterator[pa.Table],
    stored: Iterator[tuple[pa.Array, Units]],
    type_: pa.DataType,
    layout: Layout,
    asked: Mask,
) -> tuple[Units, Units]:
    """The same of `value_keys` and `value_lists`. `type_`: of the keys."""
    nothing = _rows(pa.nulls(0, type_), np.zeros(0, np.int64))
    expected, found = [nothing], [nothing]
    for table in tables:
        raw = table.column("raw").to_numpy()
        mine = asked[raw >> 32]
        expected.append(
            _rows(table.column("key").filter(pa.array(mine)).combine_chunks(), units_of(raw[mine], layout.group_bits))
        )
    for keys, units in stored:
        mine = asked[units >> layout.group_bits]
        found.append(_rows(keys.filter(pa.array(mine)), units[mine]))
    should, does = pa.concat_tables(expected), pa.concat_tables(found)
    return _without(should, does), _without(does, should)


def _rows(keys: pa.Array, units: Units) -> pa.Table:
    """Rows with what makes them equal, as bytes: the unit, whether there is a value, the value."""
    data = pa.py_buffer(np.ascontiguousarray(units.astype(">i8")))
    fixed = pa.Array.from_buffers(pa.binary(8), len(units), [None, data]).cast(pa.large_binary())
    flag = pc.if_else(pc.is_null(keys), b"0", b"1").cast(pa.large_binary())
    value = pc.fill_null(as_bytes(keys).cast(pa.large_binary()), b"")
    return pa.table(
        {
            "unit": pa.array(units),
            "row": pc.binary_join_element_wise(fixed, flag, value, pa.scalar(b"", pa.large_binary())),
        }
    )


def _without(some: pa.Table, others: pa.Table) -> Units:
    """The units of rows that are not among the others, each row once."""
    alone = pc.invert(pc.is_in(some.column("row"), value_set=others.column("row").combine_chunks()))
    left = some.filter(alone)
    once = (
        left.group_by("row").aggregate([("unit", "min")]) if left.num_rows else left.rename_columns(["unit_min", "row"])
    )
    return cast(Units, once.column("unit_min").to_numpy())
