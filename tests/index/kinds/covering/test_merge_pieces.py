"""Runs of covering indexes are merged piece by piece: every piece once, every row once, where it belongs; else nothing
is visible."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import BuildError, DamagedIndexError, Progress
from metaindex.index.kinds.covering import merge as merging
from metaindex.index.kinds.covering import order
from metaindex.index.kinds.covering.bounds import Stretch, stretches
from metaindex.index.kinds.covering.murmur3 import buckets_of
from metaindex.index.kinds.covering.order import Ascending
from metaindex.index.kinds.covering.parts import stored_parts
from metaindex.index.kinds.covering.placement import ByColumns
from metaindex.index.kinds.pieces import PIECES_MERGED, MergedPiece, RowMerge, in_threads
from metaindex.index.kinds.values.encoding import KEPT, as_bytes, encode_values
from metaindex.index.store.layout import PartInfo

from .arrow_builder import ArrowBuilder
from .awkward import grow, indexed, parquet_folder
from .served import Held, objects

KIND = mi.Covering("k", ["s"], buckets=3)
RANGES = mi.CoveringRange(["s", "k"], ["f"])
BY_FIRST = ByColumns(1).leading


def test_a_row_in_another_bucket_is_not_merged(tmp_path: Path) -> None:
    table = two_runs(tmp_path, KIND, ArrowBuilder(hashes=shifted))
    refused(table, DamagedIndexError, "some hash to others")


@pytest.mark.parametrize("kind", [KIND, RANGES], ids=["buckets", "ranges"])
def test_rows_that_do_not_ascend_are_not_written_and_not_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: mi.Covering | mi.CoveringRange
) -> None:
    with pytest.raises(BuildError, match="another order"):
        two_runs(tmp_path, kind, ArrowBuilder(sorts=backwards))
    table = mi.open_table(str(tmp_path / "lake"))
    with monkeypatch.context() as patch:
        patch.setattr(Ascending, "broken", lambda self, table: False)  # no task of ours writes such parts
        table.refresh_index("c", builder=ArrowBuilder(sorts=backwards))
    assert "ascend" in str(table.verify_index("c"))
    refused(table, DamagedIndexError, "they do not ascend")


def one_less(pieces: list[MergedPiece]) -> list[MergedPiece]:
    return pieces[1:]


def one_twice(pieces: list[MergedPiece]) -> list[MergedPiece]:
    return [*pieces, pieces[0]]


def a_row_unread(pieces: list[MergedPiece]) -> list[MergedPiece]:
    return [replace(pieces[0], read=pieces[0].read - 1), *pieces[1:]]


@dataclass(frozen=True, slots=True)
class Telling(ArrowBuilder):
    """Merges, and tells something else of it."""

    tells: Callable[[list[MergedPiece]], list[MergedPiece]] = list

    def merge_rows(self, merge: RowMerge, progress: Progress | None = None) -> Sequence[MergedPiece]:
        return self.tells(in_threads(merge, progress))


@pytest.mark.parametrize("tells", [one_less, one_twice, a_row_unread])
def test_what_is_told_of_pieces_adds_up_or_nothing_is_merged(
    tmp_path: Path, tells: Callable[[list[MergedPiece]], list[MergedPiece]]
) -> None:
    table = two_runs(tmp_path, KIND)
    refused(table, BuildError, "once", Telling(tells=tells))
    said: list[tuple[str, int, int]] = []
    assert table.optimize_index("c", "full", Telling(), lambda *told: said.append(told)).changed
    assert said[-1] == (PIECES_MERGED, 3, 3)
    assert len(Held.of(table, "c").runs) == 1


def test_a_lost_row_is_no_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = two_runs(tmp_path, KIND)
    real = merging.merged
    # What loses a row between reading and writing is a mistake of the merge itself: no storage and no part makes one.
    monkeypatch.setattr(merging, "merged", lambda streams, keys: (one.slice(1) for one in real(streams, keys)))
    refused(table, BuildError, "merged once")


@pytest.mark.parametrize("share", [1, 1 << 12, 1 << 40])
@pytest.mark.slow
def test_ranges_are_merged_in_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: int) -> None:
    """The same rows in the same order, whatever the stretches; and the parts' names ascend with them."""
    root = parquet_folder(tmp_path / "lake", 2)
    table = mi.open_table(str(root))
    for name in ("c", "whole"):
        table.create_index(name, RANGES, mi.CoveringRange("f", ["k"]), builder=ArrowBuilder(ranges=7))
    (root / "f1.parquet").unlink()
    grow(root, 5)
    for name in ("c", "whole"):
        table.refresh_index(name, builder=ArrowBuilder(ranges=4))
    before = Held.of(table, "c")
    table.optimize_index("whole", "full", builder="local")
    monkeypatch.setattr(merging, "range_bytes", lambda size_bytes: 0)  # of each piece's part
    monkeypatch.setattr(merging, "RANGE_BYTES", 0)  # in what is read for two stretches
    monkeypatch.setattr(merging, "STRETCH_BYTES", share)
    table.optimize_index("c", "full", builder="local")
    cut, whole = Held.of(table, "c"), Held.of(table, "whole")
    for place in (0, 1):
        key = cut.key(place)
        ours, theirs = cut.stored(cut.runs[0], key.key_id), whole.stored(whole.runs[0], key.key_id)
        assert list(map(repr, ours.to_pylist())) == list(map(repr, theirs.to_pylist()))
        assert cut.physical(place) == before.physical(place)
        pieces = {part.path.split("-")[-3] for part in stored_parts(cut.index.reader(cut.runs[0]), key)}
        assert (len(pieces) > 1) == (share < 1 << 40)
    assert table.verify_index("c", files=None).sound


texts = st.text("ab\U0001f600", max_size=3) | st.just("x" * 300) | st.just("x" * 299) | st.none()


@settings(max_examples=50)
@given(st.lists(texts, min_size=1, max_size=40), st.randoms(use_true_random=False), st.integers(1, 200))
@pytest.mark.slow
def test_stretches_hold_every_row_once(values: list[str | None], order_: random.Random, share: int) -> None:
    """Of parts that lap over each other, each row is in one stretch of those that its part touches; and stretches
    ascend."""
    rows = sorted(values, key=lambda one: (one is not None, (one or "").encode()))
    runs = [[one for one in rows if order_.random() < 0.5] for _ in range(3)]
    parts = [run[at : at + 4] for run in runs for at in range(0, len(run), 4)]
    infos = [_info(part) for part in parts]
    cut = stretches(infos, share)
    assert cut[0].low == b""
    assert [one.high for one in cut[:-1]] == [one.low for one in cut[1:]]
    assert cut[-1].high is None
    for part, info in zip(parts, infos, strict=True):
        table = pa.table({"k": pa.array(part, pa.string())})
        found = [one.rows(info, table, BY_FIRST).column(0).to_pylist() if one.touches(info) else [] for one in cut]
        assert [value for some in found for value in some] == part


def _info(values: list[str | None]) -> PartInfo:
    keys = [one or b"" for one in as_bytes(encode_values(pa.array(values, pa.string()), pa.string())).to_pylist()]
    return PartInfo("covering", "", len(values), 64, 0, "", 0, 0, keys[0].hex(), keys[-1].hex())


def test_a_stretch_without_an_end_is_everything() -> None:
    table = pa.table({"k": pa.array([None, "a", "z" * (KEPT + 50)])})
    assert Stretch().rows(_info([None, "z" * (KEPT + 50)]), table, BY_FIRST) is table


def shifted(columns: Sequence[pa.Array], count: int) -> Any:
    return (buckets_of(columns, count) + 1) % count


def backwards(table: pa.Table, keys: list[str]) -> pa.Table:
    found = order.in_spark_order(table, keys)
    return found.take(pa.array(range(found.num_rows - 1, -1, -1)))


def two_runs(folder: Path, kind: mi.Covering | mi.CoveringRange, second: ArrowBuilder | None = None) -> mi.Table:
    """A table with an index of two runs. `second`: who builds the second one."""
    root, table = indexed(folder, kind)
    grow(root, 1, 50)
    table.refresh_index("c", builder=second or ArrowBuilder())
    return table


def refused(table: mi.Table, error: type[Exception], why: str, builder: ArrowBuilder | None = None) -> None:
    """A merge says why, and leaves everything as it was."""
    before = Held.of(table, "c")
    there = objects(before.index)
    with pytest.raises(error, match=why):
        table.optimize_index("c", "full", builder or "local")
    after = Held.of(table, "c")
    assert [run.run for run in after.runs] == [run.run for run in before.runs]
    assert objects(after.index) == there
