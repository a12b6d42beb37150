"""What stands in the parts of covering indexes: bounds, encodings, and how many keys are counted."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.index.kinds.covering import parts
from metaindex.index.kinds.covering.layout import RowLayout
from metaindex.index.kinds.covering.parts import GROUP_ROWS, LEAST_RANGE_BYTES, RANGE_BYTES, range_bytes, stored_parts
from tests.tables import settled

from .arrow_builder import ArrowBuilder
from .awkward import ALL, awkward, indexed, parquet_folder
from .served import Held, index_folder, shown

WIDE = mi.Covering(["k", "st.x"], [one for one in ALL if one != "k"], buckets=3)
RANGE = mi.CoveringRange(["f", "s"], ["k"])


def test_bounds_of_floats_are_not_stored(tmp_path: Path) -> None:
    """They would leave NaN out, which Spark holds for the greatest value: it would pass over row groups with rows that
    match."""
    _, table = indexed(tmp_path, WIDE, RANGE)
    columns = [
        pq.read_metadata(path).row_group(0).column(number)
        for path in (index_folder(table, "c") / "covering").rglob("*.mix")
        for number in range(pq.read_metadata(path).num_columns)
    ]
    floats = [one for one in columns if one.physical_type in ("FLOAT", "DOUBLE")]
    assert floats
    assert not any(one.is_stats_set or one.has_column_index for one in floats)
    assert all(one.is_stats_set for one in columns if one.physical_type in ("INT32", "INT64"))


@pytest.mark.slow
def test_only_values_that_repeat_have_a_dictionary(tmp_path: Path) -> None:
    """Who looks up a row reads the whole dictionary of each of its columns."""
    count = 150_000
    rng = np.random.default_rng(5)
    whole = pa.table(
        {
            "k": pa.array(rng.permutation(count) // 4),
            "few": pa.array(rng.integers(0, 9, count)),
            "some": pa.array(rng.integers(0, 10_000, count).astype(str)),
            "price": pa.array(rng.random(count)),
            "text": pa.array([f"{one:x}" for one in rng.integers(0, 2**60, count)]),
            "parts": pa.array([[1, 2]] * count),
            "nothing": pa.nulls(count, pa.int32()),
        }
    )
    root = tmp_path / "lake"
    root.mkdir()
    pq.write_table(whole, root / "one.parquet")
    table = mi.open_table(str(root))
    others = whole.column_names[1:]
    kinds = (mi.Covering("k", others, buckets=1), mi.CoveringRange(["few", "k"], []))
    table.create_index("all", *kinds, builder=ArrowBuilder())
    by_k, by_few, *_ = (
        {column.path_in_schema: column for column in (group.column(at) for at in range(group.num_columns))}
        for part in sorted((index_folder(table, "all") / "covering").rglob("*.mix"))
        for group in [pq.read_metadata(part).row_group(0)]
    )
    has = {name for name, column in by_k.items() if column.has_dictionary_page}
    assert has == {"few", "some", "parts.list.element", "nothing"}
    assert "DELTA_BINARY_PACKED" in by_k["k"].encodings
    assert by_k["k"].total_compressed_size < count // 2  # bytes: four rows a key, their differences are 0 and 1
    assert (by_few["few"].has_dictionary_page, by_few["k"].has_dictionary_page) == (True, False)  # sorted, but few
    held = Held.of(table, "all")
    assert held.physical() == shown(whole.to_pylist())


def test_keys_are_counted(tmp_path: Path) -> None:
    table = mi.open_table(str(parquet_folder(tmp_path / "lake", 2)))
    kinds = (mi.Covering(["s", "d"], ["t"], buckets=2), mi.Covering("k", buckets=3), mi.CoveringRange(["s"], ["m9"]))
    table.create_index("c", *kinds, builder=ArrowBuilder())
    for merged in (False, True):
        if merged:
            settled(tmp_path / "lake", {"late.parquet": awkward(77, 50)})
            table = mi.open_table(str(tmp_path / "lake"))
            table.refresh_index("c", builder=ArrowBuilder())
            table.optimize_index("c", mode="full", builder="local")
        held = Held.of(table, "c")
        (run,) = held.runs
        for place, kind in enumerate(kinds):
            key, changes = held.key(place), 0
            for part in stored_parts(held.index.reader(run), key):
                rows = pq.read_table(pa.BufferReader(held.index.storage.read(part.path)))
                values = [tuple(row.values()) for row in rows.select(range(len(kind.indexed))).to_pylist()]
                changes += 1 + sum(one != other for one, other in pairwise(values))
            assert changes > 3
            assert RowLayout.of(key).sizes.keys == changes


@given(st.integers(0, 1 << 50))
def test_a_small_index_has_as_many_ranges_as_buckets(size_bytes: int) -> None:
    ranges = -(-size_bytes // range_bytes(size_bytes))
    if size_bytes < 8 * LEAST_RANGE_BYTES:
        assert range_bytes(size_bytes) == LEAST_RANGE_BYTES
    elif size_bytes < 8 * RANGE_BYTES:
        assert ranges in (8, 9)  # what is left over by the division is one of its own
    else:
        assert range_bytes(size_bytes) == RANGE_BYTES


def test_a_range_is_written_in_parts_that_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = mi.open_table(str(parquet_folder(tmp_path / "lake", 2)))
    monkeypatch.setattr(parts, "GROUP_ROWS", 20)
    monkeypatch.setattr(parts, "LEAST_RANGE_BYTES", 0)
    table.create_index("c", mi.CoveringRange("k", ["s"]), builder=ArrowBuilder(ranges=1))
    held = Held.of(table, "c")
    (run,) = held.runs
    found = [
        pq.read_table(pa.BufferReader(held.index.storage.read(part.path))).column(0).to_pylist()
        for part in stored_parts(held.index.reader(run), held.key())
    ]
    assert len(found) > 2
    assert all(len(values) == 20 for values in found[:-1])
    every = [value for values in found for value in values]
    assert every == sorted(every, key=lambda value: (value is not None, value))
    assert len(every) == sum(pq.read_metadata(path).num_rows for path in (tmp_path / "lake").glob("*.parquet"))


@pytest.mark.slow
def test_keys_are_counted_over_row_groups(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    root.mkdir()
    numbers = np.arange(GROUP_ROWS + 200_000)
    pq.write_table(pa.table({"k": numbers * 7919 % len(numbers) // 3}), root / "one.parquet")
    table = mi.open_table(str(root))
    table.create_index("c", mi.Covering("k", buckets=1), builder=ArrowBuilder())
    held = Held.of(table, "c")
    (part,) = stored_parts(held.index.reader(held.runs[0]), held.key())
    assert pq.read_metadata(index_folder(table, "c") / part.path).num_row_groups == 2
    assert GROUP_ROWS % 3  # the first group ends within a key
    assert RowLayout.of(held.key()).sizes.keys == len(numbers) // 3
