"""A part that an earlier version wrote is read, and a part written today has the same bytes but for what Parquet's
writer says of itself.

Regenerate, only with a new version of the directory: `python -m tests.index.kinds.bloom.test_golden`.
"""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.index.kinds.bloom.layout import Directory, SizeClass, directory_from, size_class
from metaindex.index.store.layout import PartInfo
from metaindex.storage import LocalStorage
from tests.index.contract.built_keys import Built, on_disk
from tests.index.kinds.bloom.filters import hashes_of, holding, plan, write

GOLDEN = Path(__file__).parent / "golden"
FILES = {0: [*range(100)], 1: [], 2: [5, 6, 7], 3: [*range(50, 300)], 4: [7, None], 6: [*range(1000, 1100)]}
ANSWERS = {5: [0, 2], 7: [0, 2, 4], 60: [0, 3], 299: [3], 1050: [6], 5000: []}


def arrays() -> dict[int, pa.Array | None]:
    return {ordinal: pa.array(values, pa.int64()) for ordinal, values in FILES.items()} | {5: None}


def golden(folder: Path) -> Built:
    storage = LocalStorage(str(folder))
    part = PartInfo(**json.loads((GOLDEN / "part.json").read_text()))
    storage.put(part.path, (GOLDEN / "part.mix").read_bytes())
    return on_disk(storage, "golden", plan().covered({"classes": 3}, 1), [part], [5], 7)


@pytest.mark.parametrize("which", ["golden", "today"])
def test_answers_of_the_golden_part(which: str, tmp_path: Path) -> None:
    run = golden(tmp_path) if which == "golden" else write(tmp_path, arrays())
    for value, files in ANSWERS.items():
        assert holding(run, hashes_of(pa.array([value], pa.int64()))) == files


def test_rows_of_the_golden_part_are_those_of_today(tmp_path: Path) -> None:
    (part,) = write(tmp_path, arrays()).parts
    today, then = (tmp_path / part.path).read_bytes(), (GOLDEN / "part.mix").read_bytes()
    assert pq.read_table(pa.BufferReader(today)).equals(pq.read_table(pa.BufferReader(then)))
    name = b"metaindex.bloom_filters"
    directories = [directory_from(pq.read_metadata(pa.BufferReader(data)).metadata[name]) for data in (today, then)]
    assert directories[0] == directories[1]
    assert directories[0].member.tolist() == directories[1].member.tolist()


@given(
    st.dictionaries(st.integers(1, 2**26), st.integers(1, 10**6), max_size=4),
    st.lists(st.integers(0, 4), max_size=50),
    st.lists(st.tuples(st.integers(1, 2**26), st.integers(0, 2**26)), max_size=4),
)
def test_directories_are_read_as_written(
    sizes: dict[int, int], member: list[int], starts: list[tuple[int, int]]
) -> None:
    classes = tuple(size_class(blocks, files) for blocks, files in sorted(sizes.items()))
    one = Directory(classes, tuple(sorted(starts)), np.array(member, np.uint16))
    other = directory_from(one.encoded())
    assert other == one
    assert other.member.tolist() == member


@given(st.integers(1, 2**26), st.integers(1, 2_000_000), st.integers(0, 2**26))
def test_rows_have_all_blocks_once(blocks: int, files: int, row: int) -> None:
    one: SizeClass = size_class(blocks, files)
    row %= one.rows
    assert 1 <= one.spanned(row) <= one.span
    assert (one.rows - 1) * one.span + one.spanned(one.rows - 1) == blocks
    assert one.stretch(row, 1) == 4 + one.length(row)
    assert one.stretch(0, one.rows) == (one.rows - 1) * (4 + one.length(0)) + 4 + one.length(one.rows - 1)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (written,) = write(Path(folder), arrays()).parts
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / "part.mix").write_bytes((Path(folder) / written.path).read_bytes())
        (GOLDEN / "part.json").write_text(json.dumps(asdict(written), indent=1) + "\n")
