"""Values of many rows: several row groups, parts and windows of a merge; keys of one sort are stored in the encoding
that is smaller for them."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from metaindex.expressions import Interval, Literal
from metaindex.index.kinds.keyed import Hits, Spill
from metaindex.index.kinds.kind import KeyKind
from metaindex.index.kinds.values import merge
from metaindex.index.kinds.values.by_hash import entry_rows
from metaindex.index.kinds.values.rows import HASH_COLUMNS, Layout
from metaindex.index.kinds.values.spec import Values
from metaindex.index.store.reader import ReadCount
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage
from tests.index.contract.built_keys import MANY, Built, on_disk, plan_of

FILES, GROUPS, ROWS = 6, 3, 4_000
BY_HASH, BY_VALUE = Values("c0"), Values("c0", by="value")


def columns(t: pa.DataType) -> list[list[pa.Array]]:
    """Values that repeat within and across files, with NULLs."""
    generator = np.random.default_rng(5)
    out = []
    for _ in range(FILES):
        numbers = [generator.integers(0, 30_000, ROWS) for _ in range(GROUPS)]
        arrays = [pa.array(one, mask=one % 997 == 0) for one in numbers]
        out.append(
            [
                one if t == pa.int64() else pa.array([None if v is None else f"user-{v:06d}" for v in one.to_pylist()])
                for one in arrays
            ]
        )
    return out


def build(root: Path, kind: KeyKind, files: list[list[pa.Array]], t: pa.DataType, limit: int = MANY) -> Built:
    storage = LocalStorage(str(root))
    collector = kind.collector(plan_of(kind, [t]), RunSink(storage, "run"), Spill(storage, "spill", limit), len(files))
    for ordinal, groups in enumerate(files):
        collector.begin(ordinal, len(groups))
        for group, values in enumerate(groups):
            collector.add(group, [values])
        collector.end()
    key, parts, unkeyed = collector.close()
    return on_disk(storage, "run", key, parts, unkeyed.tolist(), len(files))


@pytest.mark.parametrize("t", [pa.int64(), pa.string()], ids=str)
@pytest.mark.parametrize("kind", [BY_HASH, BY_VALUE], ids=["hash", "value"])
def test_merged_in_windows_and_spilled_in_ranges_are_what_is_built_whole(
    kind: KeyKind, t: pa.DataType, tmp_path: Path
) -> None:
    files = columns(t)
    whole = build(tmp_path / "whole", kind, files, t)
    spilled = build(tmp_path / "spilled", kind, files, t, limit=600_000)
    assert len(spilled.parts) > len(whole.parts)
    assert spilled.rows() == whole.rows()
    halves = [build(tmp_path / str(at), kind, files[at::2], t) for at in (0, 1)]
    merged_by = merge.merge_entries if kind is BY_HASH else merge.merge_values
    storage = LocalStorage(str(tmp_path / "merged"))
    some = [(half.run_reader(), half.key, np.arange(at, FILES, 2, dtype=np.int64)) for at, half in enumerate(halves)]
    layout, parts = partial(merged_by, window_rows=16_384)(
        halves[0].key, some, RunSink(storage, "merged"), lambda number: number
    )
    both = on_disk(storage, "merged", whole.key, parts, [], FILES)
    assert layout == whole.key.layout
    assert both.rows() == whole.rows()


@pytest.mark.parametrize("windows", [1, 4], ids=["one window", "several"])
def test_the_greatest_of_all_entries_is_merged(windows: int, tmp_path: Path) -> None:
    """A hash of all ones and a unit of all ones: 2^63 - 1, behind which no window begins."""
    files: list[list[pa.Array]] = [[pa.array([first, first + 1])] for first in range(4)]
    built = build(tmp_path, BY_HASH, files, pa.int64())
    layout = Layout(hash_bits=61, unit_bits=2, group_bits=0, groups=1)
    entries = np.array([0, 5, (1 << 62) - 1, 1 << 62, (1 << 63) - 1], np.int64)
    storage = LocalStorage(str(tmp_path / "made"))
    key = replace(built.key, layout=layout.as_mapping())
    parts = [RunSink(storage, "made").write(key.kind, entry_rows(key.key_id, entries), 0, HASH_COLUMNS)]
    made = on_disk(storage, "made", key, parts, [], len(files))
    some = [(made.run_reader(), key, np.arange(len(files), dtype=np.int64))]
    sink = RunSink(storage, "merged")
    said, merged = merge.merge_entries(key, some, sink, lambda number: number, window_rows=len(entries) // windows)
    assert said == key.layout
    assert on_disk(storage, "merged", key, merged, [], len(files)).rows() == made.rows()
    assert made.rows()[0]["entry"].to_pylist() == entries.tolist()


def truth(files: list[list[pa.Array]], low: int, high: int) -> set[tuple[int, int]]:
    return {
        (ordinal, group)
        for ordinal, groups in enumerate(files)
        for group, values in enumerate(groups)
        if any(v is not None and low <= v <= high for v in values.to_pylist())
    }


def found(hits: Hits | None) -> set[tuple[int, int]]:
    return {(int(unit) >> hits.group_bits, int(unit) & ((1 << hits.group_bits) - 1)) for unit in hits.units}


def test_ranges_over_many_row_groups(tmp_path: Path) -> None:
    files = columns(pa.int64())
    count = ReadCount()
    reader = build(tmp_path, BY_VALUE, files, pa.int64()).reader([pa.int64()], count)
    for low, high in ((0, 5), (29_990, 40_000), (12_345, 12_345), (3, 29_000), (50_000, 60_000)):
        assert found(reader.between(Interval(Literal(low), Literal(high)))) == truth(files, low, high)
    assert found(reader.between(Interval(None, Literal(3)))) == truth(files, 0, 3)
    assert found(reader.between(Interval(Literal(29_998), None))) == truth(files, 29_998, 30_000)
    many = list(range(0, 30_000, 7))
    expected = truth(files, 0, 30_000)
    assert found(reader.among([(Literal(value),) for value in many])) == expected
    assert found(reader.null()) == expected


def test_keys_are_stored_in_the_smaller_encoding(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    ids = [bytes(generator.integers(0, 256, 16, np.uint8)).hex() for _ in range(9_000)] * 3
    numbers = generator.integers(0, 2**62, 9_000)
    doubles = pa.array(numbers.astype(np.float64))
    for values, column, name in (
        (pa.array(ids), "key", "DELTA_LENGTH_BYTE_ARRAY"),
        (doubles, "key", "DELTA_BYTE_ARRAY"),
        (pa.array(numbers), "key_int", "DELTA_BINARY_PACKED"),
    ):
        built = build(tmp_path / name, BY_VALUE, [[values]], values.type)
        footer = built.run_reader().footer(built.parts[0])
        assert name in footer.metadata.row_group(0).column(footer.columns[column]).encodings
