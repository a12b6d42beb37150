"""Bounds of decimals: writers that pass them through a double, and those that keep every digit."""

import json
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metaindex.expressions import from_physical, to_physical
from metaindex.formats.delta import statistics
from metaindex.formats.delta.decimals import loosened
from metaindex.formats.model import Snapshot
from tests.formats.delta.hand import add, column, commit, leaf, metadata, protocol, snapshot

deltalake = pytest.importorskip("deltalake")

EVERY_TYPE = [(precision, scale) for precision in range(1, 39) for scale in range(precision + 1)]
STATISTICS_AS_STRUCT = {
    "delta.dataSkippingNumIndexedCols": "-1",
    "delta.checkpoint.writeStatsAsStruct": "true",
    "delta.checkpoint.writeStatsAsJson": "false",
}
EXACT = Context(prec=80)

digits = st.integers(-(10**38) + 1, 10**38 - 1)
beside_powers = st.builds(
    lambda power, beside, sign: sign * max(10**power + beside, 0),
    st.integers(13, 37),
    st.integers(-3, 3),
    st.sampled_from([1, -1]),
)
beside_int64 = st.integers(2**63 - 3, 2**63 + 3) | st.integers(-(2**63) - 3, -(2**63) + 3)
some_types = st.lists(st.sampled_from(EVERY_TYPE), min_size=1, max_size=30, unique=True)


@pytest.fixture(params=[0, 64], ids=["together", "one by one"])
def few_texts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both ways to read texts: by Arrow's reader, and parsed one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "FEW_TEXTS", request.param)
        yield


def rows(numbers: Sequence[int], types: Sequence[tuple[int, int]]) -> pa.Table:
    """A column of each type, of the last digits of each number."""
    columns = {}
    for precision, scale in types:
        unscaled = [(-1 if n < 0 else 1) * (abs(n) % 10**precision) for n in numbers]
        values = [EXACT.scaleb(Decimal(n), -scale) for n in unscaled]
        columns[f"c{precision}_{scale}"] = pa.array(values, pa.decimal128(precision, scale))
    return pa.table(columns)


def check(found: Snapshot, written: pa.Table) -> None:
    for name in written.column_names:
        one = leaf(found, name)
        bounds = found.details.log_bounds(one)
        if bounds is None:
            continue
        values = sorted(to_physical(written.column(name), one.type, upper=False).to_pylist())
        lower, upper = bounds.lower[0].as_py(), bounds.upper[0].as_py()
        assert lower is None or lower <= values[0], (name, values[0], lower)
        assert upper is None or upper >= values[-1], (name, values[-1], upper)


@pytest.mark.usefixtures("few_texts")
@settings(max_examples=10)
@example([2**63 + 1], [(20, 0), (38, 0), (38, 2)])
@example([-(10**38) + 1], [(38, scale) for scale in range(39)])
@given(st.lists(digits | beside_powers | beside_int64, min_size=1, max_size=3), some_types)
@pytest.mark.slow
def test_deltalake_bounds_enclose_decimals(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], types: list[tuple[int, int]]
) -> None:
    write_and_check(tmp_path_factory.mktemp("table"), rows(numbers, types))


@pytest.mark.parametrize("precision", [1, 9, 10, 15, 16, 17, 18, 19, 22, 29, 38])
def test_deltalake_bounds_enclose_decimals_of_every_scale(tmp_path: Path, precision: int) -> None:
    types = [(precision, scale) for scale in range(precision + 1)]
    write_and_check(tmp_path, rows([123456789012345662, 9007199254740993, 10**17 + 13, -987654321987654321], types))


def write_and_check(path: Path, written: pa.Table) -> None:
    deltalake.write_deltalake(str(path), written, configuration=STATISTICS_AS_STRUCT)
    check(snapshot(path), written)
    deltalake.DeltaTable(str(path)).create_checkpoint()
    check(snapshot(path), written)


@pytest.mark.usefixtures("few_texts")
@settings(max_examples=5)
@example([-1234567_89, 123], [(9, 2), (3, 3), (5, 2), (38, 38)])
@given(st.lists(digits | beside_powers, min_size=1, max_size=3), some_types)
def test_bounds_of_converted_files_enclose_decimals(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], types: list[tuple[int, int]]
) -> None:
    """Their decimals are bytes in Parquet, of which deltalake takes the next double nearer to zero where the whole
    digits are full."""
    path, written = tmp_path_factory.mktemp("table"), rows(numbers, types)
    pq.write_table(written, path / "a.parquet")
    deltalake.convert_to_deltalake(str(path), configuration=STATISTICS_AS_STRUCT)
    check(snapshot(path), written)
    deltalake.DeltaTable(str(path)).create_checkpoint()
    check(snapshot(path), written)


def bounds_of(path: Path, type_: str, low: str, high: str) -> tuple[object, object]:
    text = json.dumps({"numRecords": 2, "minValues": {"c": "LOW"}, "maxValues": {"c": "HIGH"}, "nullCount": {"c": 0}})
    text = text.replace('"LOW"', low).replace('"HIGH"', high)
    commit(path, 0, protocol(), metadata(column("c", type_)), add("f0", stats=text))
    found = snapshot(path)
    one = leaf(found, "c")
    bounds = found.details.log_bounds(one)
    assert bounds.lower_exact is None
    assert bounds.upper_exact is None
    return from_physical(bounds.lower[0].as_py(), one.type), from_physical(bounds.upper[0].as_py(), one.type)


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize(
    ("type_", "low", "high"),
    [
        ("decimal(15,2)", "-9999999999999.99", "9999999999999.99"),
        ("decimal(18,2)", "-999999999999.99", "0.00"),
        ("decimal(38,10)", "0.0000000000", "1234.5678901234"),
    ],
)
def test_what_a_double_holds_stays_as_it_is(tmp_path: Path, type_: str, low: str, high: str) -> None:
    assert bounds_of(tmp_path, type_, low, high) == (Decimal(low), Decimal(high))


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("value", ["12345678901234567890123456.78", "123456789012345678901234567890123456.78"])
def test_many_digits_are_widened_by_a_sliver(tmp_path: Path, value: str) -> None:
    low, high = bounds_of(tmp_path, "decimal(38,2)", "-" + value, value)
    assert isinstance(low, Decimal)
    assert isinstance(high, Decimal)
    exact = Decimal(value)
    assert exact < high < exact * (1 + Decimal("1e-14"))
    assert -exact * (1 + Decimal("1e-14")) < low < -exact


@pytest.mark.usefixtures("few_texts")
def test_the_ends_of_int64_may_stand_for_anything_beyond(tmp_path: Path) -> None:
    low, high = bounds_of(tmp_path, "decimal(38,0)", str(2**63 - 1), str(2**63 - 1))
    assert (high, isinstance(low, Decimal)) == (None, True)
    low, high = bounds_of(tmp_path, "decimal(38,0)", str(-(2**63)), str(-(2**63)))
    assert (low, isinstance(high, Decimal)) == (None, True)
    low, high = bounds_of(tmp_path, "decimal(38,0)", "-" + "9" * 30, "9" * 30)
    assert isinstance(low, Decimal)
    assert isinstance(high, Decimal)


def test_loosened_is_arithmetic_on_128_bits() -> None:
    type_ = pa.decimal128(38, 1)
    numbers = [sign * n for power in range(38) for n in (10**power - 1, 10**power, 7 * 10**power) for sign in (1, -1)]
    numbers = [n for n in numbers if abs(n) < 10**38]
    values = to_physical(pa.array([EXACT.scaleb(Decimal(n), -1) for n in numbers], type_), type_, upper=False)
    lower, upper = loosened(values, values, type_)
    for number, low, high in zip(numbers, lower.to_pylist(), upper.to_pylist(), strict=True):
        by = (abs(number) >> 50) + 1 if abs(number) >= 10**14 else 0
        assert from_physical(low, type_) == EXACT.scaleb(Decimal(number - by), -1)
        assert from_physical(high, type_) == EXACT.scaleb(Decimal(number + by), -1)
    assert np.array_equal(values.is_null(), lower.is_null())
