"""Sketches keep what every kind promises that keeps a row of each file; and Apache DataSketches reads them."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import DamagedIndexError
from metaindex.index.kinds.sketches.spec import Sketches, SketchOfFile
from metaindex.index.kinds.theta.sketch import Theta
from tests.index.contract.of_files_contract import OfFilesContract

datasketches = pytest.importorskip("datasketches")


def told_apart(value: object) -> object:
    """What is one value to Spark's GROUP BY."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


class TestSketches(OfFilesContract):
    def kind(self, *columns: str) -> Sketches:
        return Sketches(*columns, entries=16)

    def check_row(self, row: Mapping[str, object], values: Sequence[object], type_: pa.DataType) -> None:
        there = [value for value in values if value is not None]
        assert (row["row_count"], row["value_count"]) == (len(values), len(there))
        different = {told_apart(value) for value in there}
        data = row["sketch"]
        assert isinstance(data, bytes)
        assert row["has_empty"] == bool(different & {"", b""})
        if len(different) <= 16:
            assert Theta.from_bytes(data).estimate == len(different) - bool(row["has_empty"])
            assert datasketches.compact_theta_sketch.deserialize(data).get_estimate() == len(different - {"", b""})


def sketched(values: pa.Array, entries: int = 4096) -> bytes:
    one = SketchOfFile(values.type, entries)
    one.add(values)
    data = one.row()["sketch"]
    assert isinstance(data, bytes)
    return data


def theirs(values: Sequence[object]) -> bytes:
    """That of Apache DataSketches, whose integers are 8 bytes and whose texts are UTF-8, as Iceberg's are."""
    sketch = datasketches.update_theta_sketch(12)
    for value in values:
        sketch.update(value)
    return bytes(sketch.compact().serialize())


@given(st.lists(st.integers(-(2**63), 2**63 - 1)) | st.lists(st.text(min_size=1).filter(lambda t: "\0" not in t)))
def test_bytes_are_those_of_data_sketches(values: list[object]) -> None:
    array = pa.array(values, pa.string() if values and isinstance(values[0], str) else pa.int64())
    assert sketched(array) == theirs(values)


def test_texts_of_every_length_are_hashed_as_there() -> None:
    values = ["x" * length for length in range(1, 70)] + ["é" * 20_000]
    assert sketched(pa.array(values)) == theirs(values)


def test_many_values_are_estimated_as_there() -> None:
    values = np.arange(100_000)
    mine = Theta.from_bytes(sketched(pa.array(values)))
    assert len(mine.hashes) == 4096
    assert datasketches.compact_theta_sketch.deserialize(mine.to_bytes()).get_estimate() == mine.estimate
    other = Theta.from_bytes(theirs(values.tolist()))
    assert np.array_equal(mine.hashes, other.hashes[:4096])
    assert abs(mine.estimate / 100_000 - 1) < 4 / math.sqrt(4096)


@given(st.lists(st.sets(st.integers(0, 400)), min_size=1, max_size=5), st.sampled_from([16, 64, 4096]))
def test_a_union_is_the_sketch_of_all_values(sets: list[set[int]], entries: int) -> None:
    every = sorted(set.union(*sets))
    one = Theta.union([Theta.from_bytes(sketched(pa.array(sorted(s), pa.int64()), entries)) for s in sets], entries)
    whole = Theta.from_bytes(sketched(pa.array(every, pa.int64()), entries))
    if one.is_exact:
        assert np.array_equal(one.hashes, whole.hashes)
        assert one.estimate == len(every)
    else:  # a sketch that was cut first has cut more
        assert one.theta <= whole.theta or len(one.hashes) == len(whole.hashes)
        assert np.array_equal(one.hashes, whole.hashes[: len(one.hashes)])


def test_decimals_are_hashed_as_iceberg_writes_them() -> None:
    """Unscaled, big-endian, as few bytes as hold them: Java's BigInteger.toByteArray."""
    unscaled = [0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, -32768, 10**17, -(10**17), 10**37, -(10**37)]
    values = pa.array([Decimal(v).scaleb(-2) for v in unscaled], pa.decimal128(38, 2))
    java = [v.to_bytes(((v if v >= 0 else ~v).bit_length() + 8) // 8, "big", signed=True) for v in unscaled]
    assert sketched(values) == sketched(pa.array(java, pa.binary()))


@given(st.binary(max_size=60))
def test_whatever_bytes_are_damage_or_a_sketch(data: bytes) -> None:
    for start in (b"", sketched(pa.array([1, 2, 3]))[:24]):
        try:
            found = Theta.from_bytes(start + data)
        except DamagedIndexError:
            continue
        assert Theta.from_bytes(found.to_bytes()).estimate == found.estimate


def test_a_part_has_fewer_rows_where_sketches_are_larger() -> None:
    """It is held in memory whole."""
    assert Sketches("a", entries=65_536).row_bytes == 16 * Sketches("a").row_bytes - 15 * 200


@pytest.mark.parametrize(("view", "type_"), [(pa.string_view(), pa.string()), (pa.binary_view(), pa.binary())], ids=str)
def test_null_of_a_view_is_no_empty_text(view: pa.DataType, type_: pa.DataType) -> None:
    """To Arrow's `unique` it is one."""
    values = pa.array([None, "a", "b", None, "a"]).cast(type_)
    one, other = SketchOfFile(type_, 16), SketchOfFile(type_, 16)
    one.add(values.cast(view))
    other.add(values)
    assert one.row() == other.row()
    assert one.row()["has_empty"] is False
