"""Parts that a merge takes over byte for byte: what comes out is what a build of all files writes, whatever is carried;
and nothing is carried that would not have come out so."""

import datetime as dt
import math
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from metaindex.core import DamagedIndexError
from metaindex.expressions import Literal
from metaindex.index.kinds.kind import KeyKind
from metaindex.index.kinds.values.merge import merge_values
from metaindex.index.kinds.values.rows import Layout
from metaindex.index.kinds.values.spec import ValueList, Values
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage
from tests.hostile.changes import turn
from tests.index.contract import built_keys
from tests.index.contract.built_keys import Built, File, on_disk, written
from tests.index.contract.key_contract import inherited

BY_VALUE = Values("c0", by="value")


def parted(root: Path, built: Built, cuts: Sequence[int], files: int) -> Built:
    """The same rows in parts that begin at other places."""
    (rows,) = built.rows()
    storage = LocalStorage(str(root))
    sink, bounds = RunSink(storage, "parted"), sorted({0, rows.num_rows, *(cut % (rows.num_rows + 1) for cut in cuts)})
    tables_ = [rows.slice(a, b - a) for a, b in pairwise(bounds)]
    columns = Layout.of(built.key.layout).columns
    parts = [sink.write(built.key.kind, table, number, columns) for number, table in enumerate(tables_)]
    return on_disk(storage, sink.run, built.key, parts, built.unkeyed, files)


def merged(root: Path, some: Sequence[tuple[Built, Sequence[int]]], files: int, least: int = 1) -> Built:
    return built_keys.merged(root, some, files, partial(merge_values, least_carried=least))


def carried(built: Built, *sources: Built) -> int:
    """How many parts are, byte for byte, those of a source."""
    before = {one.storage.read(part.path) for one in sources for part in one.parts}
    return sum(built.storage.read(part.path) in before for part in built.parts)


OF: dict[pa.DataType, Callable[[int], object]] = {
    pa.int64(): lambda n: -(2**63) if n == 0 else n - 7,
    pa.string(): lambda n: "x" * n if n % 5 else "",
    pa.float64(): lambda n: math.nan if n > 28 else n - 7.5,
    pa.date32(): lambda n: dt.date(1969, 12, 20) + dt.timedelta(n),
}
"""Values in order of their numbers, or nearly so."""


@inherited
@given(st.data())
def test_what_is_carried_is_what_would_have_been_written(data: st.DataObject) -> None:
    t = data.draw(st.sampled_from(list(OF)))
    kind: KeyKind = data.draw(st.sampled_from([BY_VALUE, ValueList("c0"), ValueList("c0", limit=3)]))
    least = data.draw(st.sampled_from([0, 5, 14, 16]))  # of the second run
    first, second = (
        data.draw(st.lists(st.lists(st.lists(one, min_size=1, max_size=6), max_size=3), min_size=1, max_size=3))
        for one in (st.none() | st.integers(0, 15), st.integers(least, 30))
    )
    files: list[File] = [
        [[(None if n is None else OF[t](n),) for n in group] for group in file] for file in (*first, *second)
    ]
    count = len(files)
    order = data.draw(st.sampled_from([list(range(count))] * 3 + [list(range(count))[::-1]]))
    gone = data.draw(st.sampled_from([set[int]()] * 3 + [{number} for number in range(count)]))
    with tempfile.TemporaryDirectory() as name:
        sources = []
        for number, which in enumerate((order[: len(first)], order[len(first) :])):
            built = written(Path(name) / f"{number}", kind, [files[i] for i in which], [t])
            cuts = range(0, 60, data.draw(st.integers(1, 9)))
            sources.append((parted(Path(name) / f"{number}-parts", built, cuts, len(which)), which))
        left: list[File] = [[] if number in gone else one for number, one in enumerate(files)]
        whole = written(Path(name) / "whole", kind, left, [t])
        some = [(one, [-1 if number in gone else number for number in which]) for one, which in sources]
        both = merged(Path(name) / "merged", some, count)
        over = carried(both, *(one for one, _ in sources))
        event(f"carried: {over > 0}, merged: {len(both.parts) > over}")
        if both.key.layout["group_bits"] == whole.key.layout["group_bits"]:
            assert both.rows() == whole.rows()
        reader, other = both.reader([t]), whole.reader([t])
        for value in {row[0] for file in left for group in file for row in group if row[0] is not None}:
            found, expected = (one.among([(Literal(value),)]) for one in (reader, other))  # type: ignore[arg-type]
            assert found.mask(count).tolist() == expected.mask(count).tolist()


def numbered(first: int, files: int, rows: int = 50) -> list[File]:
    """Files whose values ascend from file to file."""
    return [[[(first + file * rows + row,) for row in range(rows)]] for file in range(files)]


@pytest.mark.parametrize("text", [False, True], ids=["integers", "texts"])
def test_a_run_behind_the_others_costs_its_own_rows(tmp_path: Path, text: bool) -> None:
    t = pa.string() if text else pa.int64()

    def of(files: list[File]) -> list[File]:
        return [[[(f"{row[0]:06d}",) for row in group] for group in file] for file in files] if text else files

    old, new = of(numbered(0, 4)), of(numbered(200, 1))
    big = parted(tmp_path / "b", written(tmp_path / "a", BY_VALUE, old, [t]), [60, 120], 4)
    small = written(tmp_path / "c", BY_VALUE, new, [t])
    whole = written(tmp_path / "d", BY_VALUE, [*old, *new], [t])
    both = merged(tmp_path / "e", [(big, range(4)), (small, [4])], 5)
    assert both.rows() == whole.rows()
    assert carried(both, big) == 3
    # Numbered before the others, its files move theirs.
    moved = merged(tmp_path / "f", [(big, range(1, 5)), (small, [0])], 5)
    assert moved.rows() == written(tmp_path / "g", BY_VALUE, [*new, *old], [t]).rows()
    assert carried(moved, big) == 0
    # Values among the old ones: only the part that they fall into is written again.
    between = of([[[(70,), (75,)]]])
    inside = written(tmp_path / "h", BY_VALUE, between, [t])
    both = merged(tmp_path / "i", [(big, range(4)), (inside, [4])], 5)
    assert both.rows() == written(tmp_path / "j", BY_VALUE, [*old, *between], [t]).rows()
    assert carried(both, big) == 2
    # A file that is left out is in one part of three.
    without = merged(tmp_path / "k", [(big, [0, 1, 2, -1]), (small, [3])], 4)
    assert without.rows() == written(tmp_path / "l", BY_VALUE, [*old[:3], *new], [t]).rows()
    assert carried(without, big) == 2
    # Small parts are put together.
    assert carried(merged(tmp_path / "m", [(big, range(4)), (small, [4])], 5, least=100), big) == 0


def test_a_damaged_part_is_not_carried(tmp_path: Path) -> None:
    old = parted(tmp_path / "b", written(tmp_path / "a", BY_VALUE, numbered(0, 2), [pa.int64()]), [50], 2)
    new = written(tmp_path / "c", BY_VALUE, numbered(500, 1), [pa.int64()])
    path = tmp_path / "b" / old.parts[1].path
    turn(path, -20)
    with pytest.raises(DamagedIndexError, match="footer does not match"):
        merged(tmp_path / "d", [(old, range(2)), (new, [2])], 3)
