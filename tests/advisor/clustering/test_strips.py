"""The picture of ranges: its full part is the share of files that one value reads, and it is as large for a million
files as for a thousand."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advisor.clustering.clustering import FilesOf, Measured
from metaindex.advisor.clustering.strips import strip_of
from metaindex.advisor.figures import Strip, strip_figure
from metaindex.expressions import ColumnBounds, to_physical
from metaindex.formats import Field, Leaf
from metaindex.index import ColumnFacts
from tests.pages import parsed

Numbers = npt.NDArray[np.int64]


def strip(
    lower: pa.Array, upper: pa.Array, known: npt.NDArray[np.bool_] | None = None
) -> tuple[Strip, Measured, FilesOf]:
    """Of files with these bounds, a hundred rows each."""
    count = len(lower)
    rows = pa.array(np.full(count, 100))
    low, high = to_physical(lower, lower.type, upper=False), to_physical(upper, upper.type, upper=True)
    if known is not None:
        low, high = (pc.if_else(pa.array(known), bound, None) for bound in (low, high))
    bounds = ColumnBounds(lower.type, low, high, pa.array(np.zeros(count, np.int64)), None, rows)
    facts = ColumnFacts.unknown(Leaf((Field("c", lower.type),)), count)
    facts.take("log", np.arange(count), bounds)
    files = FilesOf(count, np.ones(count), np.full(count, 100.0))
    measured = Measured.of(facts, files)
    return strip_of(measured, measured.summary(files)), measured, files


def integers(pairs: list[tuple[int, int]]) -> tuple[pa.Array, pa.Array]:
    return pa.array([min(pair) for pair in pairs], pa.int64()), pa.array([max(pair) for pair in pairs], pa.int64())


PAIR = st.tuples(st.integers(-50, 50), st.integers(-50, 50))


@given(pairs=st.lists(PAIR, min_size=1, max_size=48))
def test_the_full_part_is_what_a_value_reads(pairs: list[tuple[int, int]]) -> None:
    drawn, measured, files = strip(*integers(pairs))
    assert len(pairs) == len(drawn.marks)
    full = sum(end - start for start, end in drawn.marks) / len(pairs)
    assert full == pytest.approx(measured.summary(files).value_share)
    assert np.mean(drawn.reads) == pytest.approx(measured.summary(files).value_files)
    starts = [start for start, _ in drawn.marks]
    assert starts == sorted(starts)


@given(pairs=st.lists(PAIR, min_size=49, max_size=300), unknown=st.integers(0, 5))
def test_of_many_files_some_are_drawn_and_all_are_counted(pairs: list[tuple[int, int]], unknown: int) -> None:
    lower, upper = integers(pairs)
    known = np.arange(len(pairs)) >= unknown
    drawn, measured, files = strip(lower, upper, known)
    assert np.mean(drawn.reads) == pytest.approx(measured.summary(files).value_files)
    assert 24 < len(drawn.marks) <= 48
    assert all(0 <= start < end <= 1 for start, end in drawn.marks)
    assert drawn.marks == sorted(drawn.marks)


VALUES = {
    "text": pa.array(["a", "b</text>", "c" * 200]),
    "bytes": pa.array([b"\x00", b"\xff", b"\xff\xff"]),
    "double": pa.array([-1e300, 0.5, 1e300]),
    "bool": pa.array([False, True, True]),
    "timestamp": pa.array([0, 10**15, 10**17], pa.timestamp("us", "UTC")),
    "far timestamp": pa.array([-(2**62), 0, 2**62], pa.timestamp("us")),
    "date": pa.array([0, 10_000, 20_000], pa.date32()),
    "wide": pa.array([0, 1, 2**64 - 1], pa.uint64()),
}


@pytest.mark.parametrize("kind", sorted(VALUES))
def test_every_type_has_its_values_below_the_lines(kind: str) -> None:
    values = VALUES[kind]
    drawn, _, _ = strip(values, values)
    shown = [tick.value for tick in drawn.ticks if tick.drawn]
    assert 1 <= len(shown) <= 3
    assert all(0 < len(value) <= 26 for value in shown)
    assert all(tick.files >= 1 for tick in drawn.ticks)
    parsed(strip_figure(drawn).html())


def test_one_file_and_files_of_one_value() -> None:
    alone, _, _ = strip(*integers([(3, 3)]))
    assert alone.marks == [(0.0, 1.0)]
    same, _, _ = strip(*integers([(3, 3)] * 4))
    assert same.marks == [(0.0, 1.0)] * 4
    assert [tick.value for tick in same.ticks] == ["3"]


@pytest.mark.slow
@pytest.mark.parametrize(("overlap", "most"), [("none", 100_000), ("some", 100_000), ("all", 1_000_000)])
def test_a_million_files_are_as_large_as_some_thousand(overlap: str, most: int) -> None:
    def drawn(count: int) -> int:
        begin = np.arange(count) if overlap != "all" else np.random.default_rng(1).integers(0, count, count)
        wide = {"none": 0, "all": count, "some": count // 20}[overlap]
        return len(strip_figure(strip(pa.array(begin), pa.array(begin + wide))[0]).html())

    assert drawn(most) < 1.5 * drawn(10_000) < 150_000
