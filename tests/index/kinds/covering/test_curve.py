"""Covering indexes along a curve, without a JVM: the curve, ranks by cut points, bounds of every indexed column, and
what becomes of the parts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions import And, ColumnRef, Predicate, col
from metaindex.index.kinds.covering import merge as merging
from metaindex.index.kinds.covering import parts as written
from metaindex.index.kinds.covering.cuts import BITS, MOST_BITS, Places, Words, cut_by, cut_points, no_curve, numbers_of
from metaindex.index.kinds.covering.layout import RowLayout
from metaindex.index.kinds.covering.order import sort_column
from metaindex.index.kinds.covering.parts import stored_parts
from metaindex.index.kinds.covering.placement import ByCurve
from metaindex.index.kinds.covering.range_parts import SaidColumn, parts_left
from metaindex.index.kinds.kind import AskedColumns
from metaindex.index.kinds.registry import KINDS
from metaindex.index.kinds.served import ROW, StoredPart
from metaindex.index.store.layout import PartInfo
from tests.evaluate import matches
from tests.examples import few
from tests.tables import settled

from .arrow_builder import ArrowBuilder
from .awkward import ALL, CURVE, awkward, grow, indexed, parquet_folder
from .served import Held, objects, shown
from .test_range_parts import VALUES

COLUMNS = ["k", "f", "s", "st", "d", "b"]


def places_of(numbers: Words, dimensions: int, bits: int) -> list[Places]:
    """The place of each cell in each dimension, by its number on the curve: `numbers_of` backwards."""
    axes = [np.zeros(len(numbers), np.uint16) for _ in range(dimensions)]
    for level in range(bits):
        for place, axis in enumerate(reversed(axes)):
            bit = (numbers >> np.uint64(level * dimensions + place)) & np.uint64(1)
            axis |= bit.astype(np.uint16) << np.uint16(level)
    last = axes[-1] >> np.uint16(1)
    for this, before in zip(reversed(axes[1:]), reversed(axes[:-1]), strict=True):
        this ^= before
    axes[0] ^= last
    for level in range(1, bits):
        low = np.uint16((1 << level) - 1)
        for axis in reversed(axes):
            is_set = (axis >> np.uint16(level)) & np.uint16(1)
            swapped = (axes[0] ^ axis) & low & (is_set - np.uint16(1))
            axes[0] ^= (is_set * low) | swapped
            if axis is not axes[0]:
                axis ^= swapped
    return axes


@given(st.integers(2, 6), st.integers(1, 6))
def test_the_curve_goes_through_every_cell_from_neighbour_to_neighbour(dimensions: int, bits: int) -> None:
    count = min(1 << (dimensions * bits), 1 << 14)
    for first in {0, (1 << (dimensions * bits)) - count}:
        numbers = np.arange(first, first + count, dtype=np.uint64)
        places = places_of(numbers, dimensions, bits)
        assert all((place < 1 << bits).all() for place in places)
        steps = sum(np.abs(np.diff(place.astype(np.int64))) for place in places)
        assert (steps == 1).all()
        assert (numbers_of(places, bits) == numbers).all()


@given(st.sampled_from(sorted(BITS)), st.data())
def test_a_cell_comes_back_from_its_number(dimensions: int, data: st.DataObject) -> None:
    bits = BITS[dimensions]
    place = st.integers(0, (1 << bits) - 1)
    cells = data.draw(st.lists(st.tuples(*[place] * dimensions), min_size=1, max_size=20))
    places = [np.array(axis, np.uint16) for axis in zip(*cells, strict=True)]
    numbers = numbers_of(places, bits)
    assert numbers.max() < 1 << MOST_BITS
    assert [axis.tolist() for axis in places_of(numbers, dimensions, bits)] == [axis.tolist() for axis in places]
    assert len(set(numbers.tolist())) == len(set(cells))


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("st", "map")])
@pytest.mark.parametrize("sampled", [0, 1, 400])
def test_ranks_are_in_the_order_of_the_values(name: str, sampled: int) -> None:
    """Of a sample of all, of one row and of none."""
    values = pa.concat_arrays(awkward(3)[name].chunks)
    cuts = cut_by(values.slice(0, sampled), 6)
    assert cut_points(cuts.text(), 6).text() == cuts.text()
    ranks = cut_points(cuts.text(), 6).ranks(values)
    table = pa.table({"v": sort_column(pa.chunked_array([values])), "rank": ranks})
    ordered = table.take(pc.sort_indices(table, [("v", "ascending", "at_start")]))
    assert (np.diff(ordered["rank"].to_numpy().astype(np.int64)) >= 0).all()
    assert ranks.max() < 1 << 6
    if sampled > 1:
        assert len(set(ranks.tolist())) >= min(len(pc.unique(ordered["v"])) - 2, 50)


def test_a_value_has_as_many_ranks_as_its_share_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    values = pa.array(np.where(rng.random(10_000) < 0.5, 7, rng.integers(-(10**9), 10**9, 10_000)))
    ranks = cut_by(values, 8).ranks(values)
    counts = np.bincount(ranks[np.array(values) != 7].astype(np.int64), minlength=256)
    assert counts.max() < 3 * 10_000 / 256
    assert len(set(ranks.tolist())) > 110
    texts = pa.array([f"https://example.org/{number:x}" for number in rng.integers(0, 1 << 40, 10_000)])
    cuts = cut_by(texts, 8)
    assert cuts.common == b"https://example.org/"
    assert np.bincount(cuts.ranks(texts).astype(np.int64)).max() < 120


@given(st.lists(st.text(min_size=3, max_size=12), min_size=2, unique=True))
def test_cut_points_are_no_values(values: list[str]) -> None:
    """They have the bits that tell two values apart, and no more."""
    said = cut_by(pa.array(values), 6)
    whole = [said.common + word.to_bytes(8, "big").rstrip(b"\0") for word in said.words.tolist()]
    ordered = sorted(value.encode() for value in values)
    for point in whole:
        behind = next(
            (at for at, value in enumerate(ordered) if value[: len(point)].ljust(len(point), b"\0") >= point), 0
        )
        bits = int.from_bytes(point.ljust(60, b"\0"), "big")
        if behind:
            before, at = (int.from_bytes(value.ljust(60, b"\0"), "big") for value in ordered[behind - 1 : behind + 1])
            assert before < bits <= at or bits == 0


@pytest.mark.parametrize(
    "text", ["", ":", ":8", ":8,4,c", "8:1,2,3", ":1,2,zz", ":1,2,3,4", ":1,,12345678901234567", "é:1,2,3", ":,1,2"]
)
def test_texts_that_are_no_cut_points_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cut points"):
        cut_points(text, 2)
    assert no_curve((8, (text, text)), 2) is not None
    assert no_curve((2, (":1,2,3", ":1,2,3")), 2) == "a curve of 2 bits through 2 columns"


@st.composite
def rows_and_conjuncts(draw: st.DrawFn) -> tuple[list[pa.DataType], list[tuple[Any, ...]], list[Predicate]]:
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=3))
    types, values = zip(*(VALUES[kind] for kind in kinds), strict=True)
    rows = draw(st.lists(st.tuples(*(st.none() | value for value in values)), min_size=1, max_size=20))
    every: list[Predicate] = []
    for place, value in enumerate(values):
        there = [row[place] for row in rows if row[place] is not None]
        literal = value | st.sampled_from(there) if there else value
        one, other, c = draw(literal), draw(literal), col(f"c{place}")
        every += [c == one, c != one, c < one, c <= one, c > one, c >= one, c.isin([one, other]), c.is_null()]
        every += [c.is_not_null(), ~(c < one), (c > one) | (c == other), (c >= one) & (c <= other)]
    every += [every[1] | every[-2], every[0] | every[-1]]
    return list(types), rows, draw(st.lists(st.sampled_from(every), min_size=1, max_size=3))


@settings(max_examples=few(60, 300))
@given(rows_and_conjuncts(), st.integers(1, 5), st.integers(0, 20))
@pytest.mark.slow
def test_no_matching_row_is_left_out(
    case: tuple[list[pa.DataType], list[tuple[Any, ...]], list[Predicate]], parts: int, sampled: int
) -> None:
    """Whatever the cut points are, the bounds of a part are those of its rows."""
    types, rows, conjuncts = case
    columns = [pa.array(column, type_) for column, type_ in zip(zip(*rows, strict=True), types, strict=True)]
    placement = ByCurve.of([column.slice(0, sampled) for column in columns])
    table = placement.sorting(
        pa.table([*columns, pa.array(range(len(rows)))], [f"c{n}" for n in range(len(types))] + [ROW])
    )
    table = table.sort_by(placement.sorted_by[0])
    share = -(-len(rows) // parts)
    pieces = [table.slice(at, share) for at in range(0, len(rows), share)]
    infos = []
    for number, piece in enumerate(pieces):
        bounds = placement.bounds()
        for at in range(piece.num_rows):
            bounds.add(piece.slice(at, 1))
        infos.append(PartInfo("covering", str(number), piece.num_rows, 1, 1, "", 1, 1, *bounds.said()))
    said = {ColumnRef((f"c{place}",)): SaidColumn(1 + place, type_) for place, type_ in enumerate(types)}
    left = {part.path for part in parts_left([StoredPart(info, None) for info in infos], conjuncts, said)}
    for number, piece in enumerate(pieces):
        for row in piece[ROW].to_pylist():
            if matches(And(tuple(conjuncts)), {f"c{place}": value for place, value in enumerate(rows[row])}):
                assert str(number) in left


def test_specs_say_what_they_are_and_come_back() -> None:
    assert KINDS.of(CURVE.spec()) == CURVE
    assert CURVE.title == "covering_curve(k, f, s; st, d, b)"
    for wrong in (["a"], [f"c{n}" for n in range(9)], [], ["a", "a"]):
        with pytest.raises(ValueError, match="CoveringCurve"):
            mi.CoveringCurve(wrong)
    asked = AskedColumns(("a", "b", "c", "d"), compared=("a", "b"), ranged=("b", "d"))
    assert mi.CoveringCurve.suggested(asked) == [mi.CoveringCurve(["b", "d", "a"], ["c"])]
    assert mi.CoveringCurve.suggested(AskedColumns(("a",), compared=("a",))) == []


def cuts_of(held: Held) -> list[object]:
    """Of each run."""
    return [RowLayout.of(held.keys(run)[0]).curve for run in held.runs]


@pytest.mark.slow
@pytest.mark.parametrize("ranges", [1, 5])
def test_a_life(tmp_path: Path, ranges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, "GROUP_ROWS", 150)
    monkeypatch.setattr(written, "LEAST_STRETCH_BYTES", 0)
    root = parquet_folder(tmp_path / "lake", 2)
    table = mi.open_table(str(root))
    builder = ArrowBuilder(ranges=ranges)
    table.create_index("c", mi.ColumnStats("k"), CURVE, builder=builder)
    assert table.indexes()[0].keys[0] == "covering(along a curve by k, f, s; st, d, b)"
    rows = [awkward(0), awkward(1)]
    for seed in (2, 3):
        grow(root, seed, 50)
        rows.append(awkward(seed, 50))
        table.refresh_index("c", builder=builder)
    (root / "f1.parquet").unlink()
    table.refresh_index("c", builder=builder)
    held = Held.of(table, "c")
    assert len(held.runs) == 3
    assert len(set(cuts_of(held))) == 1  # kept with the index
    live = shown(pa.concat_tables([rows[0], *rows[2:]]).select(COLUMNS).to_pylist())
    assert held.physical() == shown(pa.concat_tables(rows).select(COLUMNS).to_pylist())
    assert held.served() == (live, 0)
    assert table.verify_index("c", files=None, versions="all").sound
    monkeypatch.setattr(merging, "stretch_bytes", lambda size_bytes: 1 << 12)
    monkeypatch.setattr(merging, "RANGE_BYTES", 0)
    monkeypatch.setattr(merging, "STRETCH_BYTES", 1 << 13)
    table.optimize_index("c", mode="full", builder="local")
    merged = Held.of(table, "c")
    assert cuts_of(merged) == cuts_of(held)[:1]
    assert len(stored_parts(merged.index.reader(merged.runs[0]), merged.key())) > 2
    assert merged.served() == (live, 0)
    report = table.verify_index("c", files=None, versions="all")
    assert report.sound, str(report)
    assert report.rows_compared == sum(live.values())
    table.erase_index("c", builder="local")
    assert Held.of(table, "c").physical() == live
    assert table.verify_index("c", files=None).sound
    grow(root, 9, 900)
    table.refresh_index("c", mode="full", builder=builder)
    anew = Held.of(table, "c")
    assert cuts_of(anew) != cuts_of(merged)
    assert anew.served()[1] == 0
    table.drop_index("c")
    table.vacuum_index("c")
    assert not objects(anew.index)


def test_a_run_without_rows_has_no_say_in_where_rows_are(tmp_path: Path) -> None:
    root = parquet_folder(tmp_path / "lake", 1)
    whole = pq.read_table(root / "f0.parquet")
    settled(root, {"f0.parquet": whole.slice(0, 0)})
    table = mi.open_table(str(root))
    table.create_index("c", CURVE, builder=ArrowBuilder())
    for seed in (1, 2):
        grow(root, seed)
        table.refresh_index("c", builder=ArrowBuilder())
    held = Held.of(table, "c")
    first, *others = cuts_of(held)
    assert first != others[0]
    assert others[0] == others[1]
    table.optimize_index("c", "full", builder="local")
    merged = Held.of(table, "c")
    assert cuts_of(merged) == others[:1]
    assert merged.physical() == held.physical()
    assert table.verify_index("c", files=None).sound


def test_runs_of_other_cut_points_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, table = indexed(tmp_path, CURVE)
    grow(root, 5)
    with monkeypatch.context() as patch:  # no refresh of ours makes cut points where there are some
        patch.setattr("metaindex.index.kinds.row_plan.CurvePlan._as_before", lambda self, earlier: None)
        table.refresh_index("c", builder=ArrowBuilder())
    held = Held.of(table, "c")
    assert len(set(cuts_of(held))) == 2
    table.optimize_index("c", "full", builder="local")
    after = Held.of(table, "c")
    assert [run.run for run in after.runs] == [run.run for run in held.runs]
    assert after.served()[1] == 0
    assert table.verify_index("c", files=None).sound


def test_bounds_that_rows_are_beyond_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = mi.open_table(str(parquet_folder(tmp_path / "lake", 1)))
    with monkeypatch.context() as patch:
        patch.setattr(
            "metaindex.index.kinds.covering.bounds.Extremes.said", lambda self: ("80,80,80,80", "81,81,81,81")
        )
        table.create_index("c", CURVE, builder=ArrowBuilder())
    assert "beyond the bounds" in str(table.verify_index("c"))
    table.repair_index("c", builder=ArrowBuilder())
    assert table.verify_index("c", files=None).sound


def test_rows_that_are_not_in_the_order_of_the_curve_are_found_and_not_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, table = indexed(tmp_path, CURVE)
    held = Held.of(table, "c")
    real = RowLayout.of

    def other(key: object) -> RowLayout:
        layout = real(key)  # type: ignore[arg-type]
        bits, cuts = layout.curve
        return replace(layout, curve=(bits, (cuts[0], cuts[2], cuts[1])))

    monkeypatch.setattr(RowLayout, "of", other)
    assert "do not ascend" in str(table.verify_index("c"))
    monkeypatch.undo()
    assert table.verify_index("c").sound
    key = held.key()
    for wrong in ({"bits": 3}, {"cuts:1": "no"}, {"buckets": 4}, {"by": "spiral"}):
        assert not KINDS.readable(replace(key, layout={**key.layout, **wrong}))
    assert KINDS.readable(key)
