"""The bits of filters are those of the Parquet specification, and slicing them across files loses none."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.index.kinds.bloom.blocks import (
    bits_of,
    block_of,
    files_of,
    set_bits,
    sliced,
    sliced_bytes,
    unsliced,
    vectors,
)
from metaindex.index.kinds.canonical import hash_values
from tests.index.kinds.bloom.filters import integers, specified

HASHES = st.integers(0, 2**64 - 1)


def filter_bytes(values: pa.Array, blocks: int) -> bytes:
    hashes, _ = hash_values(values)
    words = np.zeros((blocks, 8), np.uint32)
    set_bits(words, np.unique(hashes), blocks)
    return words.astype("<u4").tobytes()


@given(st.sets(HASHES), st.integers(1, 3000))
@pytest.mark.slow
def test_filters_are_the_specified_ones(hashes: set[int], blocks: int) -> None:
    words = np.zeros((blocks, 8), np.uint32)
    set_bits(words, np.array(sorted(hashes), np.uint64), blocks)
    assert words.astype("<u4").tobytes() == specified(sorted(hashes), blocks)


@given(st.lists(HASHES, min_size=1), st.integers(1, 1000), st.integers(0, 1000))
def test_stretches_of_a_filter_make_the_filter(hashes: list[int], blocks: int, cut: int) -> None:
    ordered = np.array(sorted(set(hashes)), np.uint64)
    whole, pieces = np.zeros((blocks, 8), np.uint32), np.zeros((blocks, 8), np.uint32)
    set_bits(whole, ordered, blocks)
    cut = min(cut, blocks)
    low = block_of(ordered, blocks) < cut
    set_bits(pieces[:cut], ordered[low], blocks)
    set_bits(pieces[cut:], ordered[~low], blocks, cut)
    assert (whole == pieces).all()


@pytest.mark.parametrize(
    "values", [pa.array(range(-500, 500), pa.int64()), pa.array([f"value {i}" for i in range(700)])]
)
def test_filters_are_those_that_arrow_writes(values: pa.Array, tmp_path: Path) -> None:
    if "bloom_filter_options" not in pq.write_table.__code__.co_varnames:
        pytest.skip("this pyarrow does not write bloom filters")
    path = tmp_path / "arrow.parquet"
    pq.write_table(pa.table({"a": values}), path, bloom_filter_options={"a": {"ndv": 1000, "fpp": 0.01}})
    bits = written_filter(path, *_place_by_arrow(path))
    assert bits == filter_bytes(values, len(bits) // 32)


@pytest.mark.parametrize("of", ["(range % 150)::BIGINT", "'value ' || (range % 150)"])
def test_filters_are_those_that_duckdb_writes(of: str, tmp_path: Path) -> None:
    path = tmp_path / "duckdb.parquet"
    duckdb.sql(f"COPY (SELECT {of} AS a FROM range(5000)) TO '{path}' (FORMAT parquet)")
    (place,) = duckdb.sql(f"SELECT bloom_filter_offset, bloom_filter_length FROM parquet_metadata('{path}')").fetchall()
    bits = written_filter(path, *place)
    distinct = pa.array(duckdb.sql(f"SELECT DISTINCT a FROM '{path}'").fetchnumpy()["a"].tolist())
    assert bits == filter_bytes(distinct, len(bits) // 32)


def _place_by_arrow(path: Path) -> tuple[int, int]:
    column = pq.read_metadata(path).row_group(0).column(0)
    return column.bloom_filter_offset, column.bloom_filter_length


def written_filter(path: Path, offset: int, length: int) -> bytes:
    """The bits behind the header (Thrift compact: numBytes, then three empty unions) of a bloom filter in a Parquet
    file."""
    data = path.read_bytes()[offset : offset + length]
    assert data[0] == 0x15
    size, at, shift = 0, 1, 0
    while True:
        size |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            break
    assert data[at : at + 13] == b"\x1c\x1c\x00\x00" * 3 + b"\x00"
    return data[at + 13 : at + 13 + size // 2]


@given(st.integers(1, 5), st.one_of(st.integers(1, 40), st.sampled_from([255, 256, 257, 263, 264, 5000])))
def test_slicing_turns_filters_by_files_into_bits_by_files(count: int, files: int) -> None:
    blocks = np.random.default_rng(count * files).integers(0, 256, (count, files, 32), np.uint8)
    rows = sliced(blocks)
    assert rows.shape == (count, sliced_bytes(files))
    assert (unsliced(rows, files) == blocks).all()
    bits = np.unpackbits(blocks, axis=2, bitorder="little")
    held = vectors(rows, files)
    for block, bit in ((0, 0), (count - 1, 255), (count // 2, 77)):
        assert (files_of(held[block * 256 + bit], files) == bits[block, :, bit]).all()


def test_of_one_file_a_sliced_block_is_its_block() -> None:
    blocks = np.random.default_rng(0).integers(0, 256, (7, 1, 32), np.uint8)
    assert (sliced(blocks) == blocks[:, 0]).all()


def test_the_eight_bits_of_a_hash_are_set_in_its_block() -> None:
    hashes, _ = hash_values(integers(1000, 1))
    words = np.zeros((40, 8), np.uint32)
    set_bits(words, np.sort(hashes), 40)
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    assert bits[block_of(hashes, 40)[:, None] * 256 + bits_of(hashes)].all()
