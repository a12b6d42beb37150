"""The keys of a run read back: every row, and that rows, parts, directory and log entry fit each other.

values                    entries ascend, each once; units are of files of the run
value_keys, value_lists   keys ascend, NULL first, and the units of each; units are of files of the run
bloom_filters             every frame has its check; rows, classes and members are those that the directory says, and what a reader of Parquet finds
covering                  see `covering_parts`
unkeyed                   as many as the entry says; no row is of such a file
"""  # noqa: W505

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expressions.statistics import Mask
from metaindex.build.merging import unkeyed_of
from metaindex.kinds.bloom.blocks import BLOCK_BITS
from metaindex.kinds.bloom.layout import PARTITION, SizeClass
from metaindex.kinds.bloom.reader import StoredFilters
from metaindex.kinds.keyed import Units
from metaindex.kinds.values.rows import Layout
from metaindex.kinds.values.stored import StoredKeys
from metaindex.log.entry import CoveredKey, RunRef
from metaindex.pruning.open_index import OpenIndex
from metaindex.store.reader import RunReader

from .report import Mismatch

_GROUPS_AT_ONCE = 16
_FRAME_BYTES = 32 << 20


def check_keys(index: OpenIndex, run: RunRef, named: set[int], records: pa.ChunkedArray) -> None:
    """`named`: ids of all keys of the run, of those too that are not known here. `records`: by ordinal, how many rows
    the table's log says. Raises Mismatch, or what reading raises, where something is wrong."""
    reader = index.reader(run)
    unkeyed = unkeyed_of(reader)
    if strange := unkeyed.keys() - named:
        raise Mismatch(f"it names files of keys that the entry does not know ({len(strange)})", "unkeyed")
    for kind in sorted({key.kind for key in run.keys}):
        if any(not part_is_of(part.first_key, part.last_key, named) for part in reader.parts(kind)):
            raise Mismatch("a part has rows of no key of the run", kind)
    for key in run.keys:
        mask = np.zeros(run.files, np.bool_)
        without = unkeyed.get(key.key_id, np.zeros(0, np.int64))
        if len(without) and not 0 <= without[0] <= without[-1] < run.files:
            raise Mismatch("it names files that the run does not have", "unkeyed")
        mask[without] = True
        match key.kind:
            case "covering":
                from .covering_parts import check_parts

                check_parts(reader, key, mask, records)
            case "bloom_filters":
                _check_filters(reader, key, mask)
            case "values":
                _check_entries(reader, key, mask)
            case _:
                _check_values(reader, key, mask)


def part_is_of(first: int | None, last: int | None, named: set[int]) -> bool:
    return first is None or (first == last and first in named)


def stored_rows(reader: RunReader, key: CoveredKey) -> Iterator[pa.Table]:
    """All rows of a key, in order, some row groups at a time."""
    for part in reader.parts(key.kind):
        if part.first_key is not None and part.first_key != key.key_id:
            continue
        footer = reader.footer(part)
        names = list(footer.columns)
        for start in range(0, len(footer.rows), _GROUPS_AT_ONCE):
            groups = range(start, min(start + _GROUPS_AT_ONCE, len(footer.rows)))
            table = reader.read(part, groups, names, keep=False)
            mine = table.filter(pc.equal(table.column("key_id"), key.key_id))
            if mine.num_rows < table.num_rows:
                raise Mismatch(f"part {part.path} has rows of another key", key.kind)
            yield mine.combine_chunks()


def _check_entries(reader: RunReader, key: CoveredKey, unkeyed: Mask) -> None:
    layout, last = Layout.of(key.layout), -1
    for table in stored_rows(reader, key):
        entries = table.column("entry").to_numpy()
        if not len(entries):
            continue
        if entries[0] <= last or (entries[1:] <= entries[:-1]).any():
            raise Mismatch(f"the entries of {_named(key)} do not ascend", key.kind)
        last = int(entries[-1])
        _check_units(entries & ((1 << layout.unit_bits) - 1), layout, key, unkeyed)


def _check_values(reader: RunReader, key: CoveredKey, unkeyed: Mask) -> None:
    layout = Layout.of(key.layout)
    before: pa.Table | None = None
    for table in stored_rows(reader, key):
        if not table.num_rows:
            continue
        units = table.column("unit").to_numpy()
        _check_units(units, layout, key, unkeyed)
        joined = table if before is None else pa.concat_tables([before, table]).combine_chunks()
        if not _ascending(joined, StoredKeys(reader, key).column):
            raise Mismatch(f"the values of {_named(key)} do not ascend", key.kind)
        before = table.slice(table.num_rows - 1)


def _ascending(rows: pa.Table, column: str) -> bool:
    """By key with NULL first, then by unit, each row once."""
    keys, units = (rows.column(name).combine_chunks() for name in (column, "unit"))
    one, two = keys.slice(0, len(keys) - 1), keys.slice(1)
    later = pc.greater(units.slice(1), units.slice(0, len(units) - 1))
    less = pc.fill_null(pc.less(one, two), False)
    same = pc.fill_null(pc.equal(one, two), False)
    nulls = pc.and_(pc.is_null(one), pc.is_null(two))
    from_null = pc.and_(pc.is_null(one), pc.is_valid(two))
    fine = pc.or_(pc.or_(less, from_null), pc.and_(pc.or_(same, nulls), later))
    return bool(pc.all(fine, min_count=0).as_py())


def _check_units(units: Units, layout: Layout, key: CoveredKey, unkeyed: Mask) -> None:
    ordinals = units >> layout.group_bits
    if len(ordinals) and not 0 <= ordinals.min() <= ordinals.max() < len(unkeyed):
        raise Mismatch(f"rows of {_named(key)} are of files that the run does not have", key.kind)
    if unkeyed[ordinals].any():
        raise Mismatch(f"rows of {_named(key)} are of files of which it is said to know nothing", key.kind)


def _check_filters(reader: RunReader, key: CoveredKey, unkeyed: Mask) -> None:
    filters = StoredFilters(reader, key.key_id)
    classes = filters.directory.classes
    listed = dict(_listed(reader, key))
    for number, one in enumerate(classes):
        ordinals = filters.ordinals(number)
        ordinals = np.arange(one.files) if ordinals is None else ordinals
        if not np.array_equal(listed.get(one.blocks, []), ordinals):
            raise Mismatch(f"{_named(key)} lists other files of a class than its directory has", PARTITION)
        if len(ordinals) != one.files or ordinals[-1] >= len(unkeyed):
            raise Mismatch(f"{_named(key)} has filters of other files than its directory counts", PARTITION)
        if unkeyed[ordinals].any():
            raise Mismatch(f"{_named(key)} has filters of files of which it is said to know nothing", PARTITION)
        _read_all(filters, number, one)
    expected = [(one.blocks, row * one.span, one.length(row)) for one in classes for row in range(one.rows)]
    if list(_rows(reader, key)) != expected:
        raise Mismatch(f"the rows of {_named(key)} are not those of its classes", PARTITION)


def _read_all(filters: StoredFilters, number: int, one: SizeClass) -> None:
    at_once = max(1, _FRAME_BYTES // one.length(0))
    for first in range(0, one.rows, at_once):
        rows = range(first, min(first + at_once, one.rows))
        vectors = range(BLOCK_BITS) if one.by_vector else (-1,)
        filters.read([filters.frame(number, row, vector) for row in rows for vector in vectors])


def _listed(reader: RunReader, key: CoveredKey) -> Iterator[tuple[int, Units]]:
    """Of every class the files that its column `ordinals` lists, by its blocks."""
    for part in reader.parts(PARTITION):
        if part.first_key == key.key_id and part.rows:
            footer, opened = reader.footer(part), reader.open(part)
            at = [footer.columns[name] for name in ("blocks", "ordinals.list.element")]
            for group in range(len(footer.rows)):
                rows = opened.read_row_group(group, column_indices=at, use_threads=False)
                for blocks, files in zip(*(rows.column(name) for name in ("blocks", "ordinals")), strict=True):
                    if files.is_valid:
                        yield blocks.as_py(), files.values.to_numpy()


def _rows(reader: RunReader, key: CoveredKey) -> Iterator[tuple[int, int, int]]:
    """Of every row its blocks, its first block, and the bytes of its filters, by Parquet: look-ups compute where frames
    stand, and never see the heads of pages."""
    for part in reader.parts(PARTITION):
        if part.first_key == key.key_id and part.rows:
            for group in range(len(reader.footer(part).rows)):
                table = reader.read(part, [group], ["key_id", "blocks", "block", "bits"], keep=False)
                if pc.any(pc.not_equal(table.column("key_id"), key.key_id)).as_py():
                    raise Mismatch(f"part {part.path} has rows of another key", PARTITION)
                lengths = pc.binary_length(table.column("bits"))
                columns = (table.column("blocks"), table.column("block"), lengths)
                yield from zip(*(column.to_pylist() for column in columns), strict=True)


def _named(key: CoveredKey) -> str:
    return f"key ({', '.join(column.name for column in key.columns)})"
