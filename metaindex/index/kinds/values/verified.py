"""Stored rows of values and of hashes, read back and compared with those that files have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask
from metaindex.index.kinds.checks import EXTRA, LACKS, Mismatch
from metaindex.index.kinds.keyed import Gathered, Spill, Units
from metaindex.index.kinds.kind import PlannedKey
from metaindex.index.kinds.stored_rows import check_ordinals, named, stored_rows
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import RunSink

from .collecting import read_spill, unsigned
from .encoding import as_bytes
from .rows import Layout, packed, units_of
from .stored import StoredKeys

_SIGN = np.uint64(1 << 63)


def check_entries(reader: RunReader, key: CoveredKey, unkeyed: Mask) -> None:
    """Entries ascend, each once; units are of files of the run that are keyed."""
    layout, last = Layout.of(key.layout), -1
    for table in stored_rows(reader, key):
        entries = table.column("entry").to_numpy()
        if not len(entries):
            continue
        if entries[0] <= last or (entries[1:] <= entries[:-1]).any():
            raise Mismatch(f"the entries of {named(key)} do not ascend", key.kind)
        last = int(entries[-1])
        units = entries & ((1 << layout.unit_bits) - 1)
        check_ordinals(units >> layout.group_bits, key, unkeyed)


def check_values(reader: RunReader, key: CoveredKey, unkeyed: Mask) -> None:
    """Keys ascend, NULL first, and the units of each; units are of files of the run that are keyed."""
    layout = Layout.of(key.layout)
    before: pa.Table | None = None
    for table in stored_rows(reader, key):
        if not table.num_rows:
            continue
        units = table.column("unit").to_numpy()
        check_ordinals(units >> layout.group_bits, key, unkeyed)
        joined = table if before is None else pa.concat_tables([before, table]).combine_chunks()
        if not _ascending(joined, StoredKeys(reader, key).column):
            raise Mismatch(f"the values of {named(key)} do not ascend", key.kind)
        before = table.slice(table.num_rows - 1)


def _ascending(rows: pa.Table, column: str) -> bool:
    """Return whether rows ascend by key with NULL first, then by unit, each row once."""
    keys, units = (rows.column(name).combine_chunks() for name in (column, "unit"))
    earlier, two = keys.slice(0, len(keys) - 1), keys.slice(1)
    later = pc.greater(units.slice(1), units.slice(0, len(units) - 1))
    less = pc.fill_null(pc.less(earlier, two), False)
    same = pc.fill_null(pc.equal(earlier, two), False)
    nulls = pc.and_(pc.is_null(earlier), pc.is_null(two))
    from_null = pc.and_(pc.is_null(earlier), pc.is_valid(two))
    fine = pc.or_(pc.or_(less, from_null), pc.and_(pc.or_(same, nulls), later))
    return bool(pc.all(fine, min_count=0).as_py())


class _RowCheck(ABC):
    """The rows of the files are collected again by the kind's own collector, and compared with the stored ones."""

    def __init__(self, reader: RunReader, key: CoveredKey, plan: PlannedKey, spill: Spill) -> None:
        self._reader, self._key, self._spill = reader, key, spill
        nowhere = RunSink(spill.storage, "nowhere")
        self._inner = plan.kind.collector(plan, nowhere, spill, reader.run.files)
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

        def of_asked(rows: Iterator[tuple[pa.Array, Units]]) -> pa.Table:
            tables = [pa.table({"row": row, "unit": pa.array(units)}) for row, units in rows]
            every = pa.concat_tables([self._nothing, *tables])
            return every.filter(pa.array(asked[every.column("unit").to_numpy() >> layout.group_bits]))

        should = of_asked(self._collected(table, layout) for table in self._tables())
        does = of_asked(self._stored(table, layout) for table in stored_rows(self._reader, self._key))
        for message, units in ((LACKS, _without(should, does)), (EXTRA, _without(does, should))):
            ordinals_, counts = np.unique(units >> layout.group_bits, return_counts=True)
            yield from (
                (ordinal, message.format(f"{count:,}"))
                for ordinal, count in zip(ordinals_.tolist(), counts.tolist(), strict=True)
            )

    @property
    @abstractmethod
    def _nothing(self) -> pa.Table:
        """No rows: what makes each equal to others, and its unit."""

    @abstractmethod
    def _collected(self, table: pa.Table, layout: Layout) -> tuple[pa.Array, Units]:
        """Rows as the collector put them aside: what makes each equal to others, and its unit."""

    @abstractmethod
    def _stored(self, table: pa.Table, layout: Layout) -> tuple[pa.Array, Units]:
        """Stored rows likewise."""

    def _tables(self) -> Iterator[pa.Table]:
        for path in self._found().spills:
            yield from read_spill(self._spill, path, None, None)

    def _found(self) -> Gathered:
        """Return what the files have, once all are read."""
        if self._gathered is None:
            self._gathered = self._inner.hand_over()
        return self._gathered


class EntryCheck(_RowCheck):
    """Checks hashes."""

    _nothing = pa.table({"row": pa.nulls(0, pa.int64()), "unit": pa.nulls(0, pa.int64())})

    def _collected(self, table: pa.Table, layout: Layout) -> tuple[pa.Array, Units]:
        units = units_of(table.column("raw").to_numpy(), layout.group_bits)
        return pa.array(packed(unsigned(table.column("hash")) ^ _SIGN, units, layout)), units

    def _stored(self, table: pa.Table, layout: Layout) -> tuple[pa.Array, Units]:
        entries = table.column("entry").combine_chunks()
        return entries, entries.to_numpy() & ((1 << layout.unit_bits) - 1)


class ValueCheck(_RowCheck):
    """Checks values."""

    _nothing = pa.table({"row": pa.nulls(0, pa.large_binary()), "unit": pa.nulls(0, pa.int64())})

    def _collected(self, table: pa.Table, layout: Layout) -> tuple[pa.Array, Units]:
        units = units_of(table.column("raw").to_numpy(), layout.group_bits)
        return _as_row(table.column("key").combine_chunks(), units), units

    def _stored(self, table: pa.Table, layout: Layout) -> tuple[pa.Array, Units]:
        keys, units = StoredKeys(self._reader, self._key).rows(table)
        return _as_row(keys, units), units


def _as_row(keys: pa.Array, units: Units) -> pa.Array:
    """Rows as bytes: the unit, whether there is a value, the value."""
    data = pa.py_buffer(np.ascontiguousarray(units.astype(">i8")))
    fixed = pa.Array.from_buffers(pa.binary(8), len(units), [None, data]).cast(pa.large_binary())
    flag = pc.if_else(pc.is_null(keys), b"0", b"1").cast(pa.large_binary())
    value = pc.fill_null(as_bytes(keys).cast(pa.large_binary()), b"")
    return pc.binary_join_element_wise(fixed, flag, value, pa.scalar(b"", pa.large_binary()))


def _without(some: pa.Table, others: pa.Table) -> Units:
    """The units of rows that are not among the others, each row once."""
    alone = pc.invert(pc.is_in(some.column("row"), value_set=others.column("row").combine_chunks()))
    left = some.filter(alone)
    once = (
        left.group_by("row").aggregate([("unit", "min")]) if left.num_rows else left.rename_columns(["unit_min", "row"])
    )
    return cast(Units, once.column("unit_min").to_numpy())
