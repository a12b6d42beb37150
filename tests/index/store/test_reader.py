"""What a reader gives does not depend on what was read before, nor on how much of it is kept; and it keeps no more than
it may."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.core import DamagedIndexError
from metaindex.index.log.entry import RunRef
from metaindex.index.log.sealed import digest
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.layout import manifest_bytes, manifest_path
from metaindex.index.store.reader import ReadCount, RunReader
from metaindex.index.store.rows import FILE_IDS
from metaindex.index.store.writer import RunSink, write_sorted
from metaindex.storage import LocalStorage

ROWS = 30_000
GROUPS = 8  # of 4,096 rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def table() -> pa.Table:
    ids = [number.to_bytes(16, "big") for number in range(ROWS)]
    return pa.table([pa.array(ids, pa.binary(16)), pa.array(np.arange(ROWS, dtype=np.int32))], schema=FILE_IDS)


@pytest.fixture(scope="module")
def run(folder: Path, table: pa.Table) -> RunRef:
    sink = RunSink(LocalStorage(str(folder)), "r")
    manifest = manifest_bytes(write_sorted(sink, "file_ids", table))
    sink.storage.put(manifest_path("r"), manifest)
    return RunRef("r", ROWS, 1, 0, len(manifest), digest(manifest), "", (), 0, "")


reads = st.tuples(
    st.lists(st.integers(0, GROUPS - 1), unique=True).map(sorted),
    st.lists(st.sampled_from(FILE_IDS.names), min_size=1, unique=True),
    st.booleans(),
)


@given(st.lists(reads, max_size=8), st.sampled_from([0, 400_000, 10 << 20]))
@settings(deadline=None)
def test_a_cache_changes_nothing_but_the_reads(
    folder: Path, table: pa.Table, run: RunRef, asked: Sequence[tuple[list[int], list[str], bool]], limit: int
) -> None:
    cache, count = StoreCache(limit_bytes=limit), ReadCount()
    reader = RunReader(LocalStorage(str(folder)), run, cache, count)
    (part,) = reader.parts("file_ids")
    seen: set[tuple[int, str]] = set()
    for groups, columns, keep in asked:
        before = count.reads
        found = reader.read(part, groups, columns, keep=keep)
        rows = [row for group in groups for row in range(group * 4096, min((group + 1) * 4096, ROWS))]
        expected = table.select(columns).take(pa.array(rows, pa.int64()))
        assert found.cast(expected.schema).equals(expected)
        wanted = {(group, column) for group in groups for column in columns}
        if limit == 10 << 20 and wanted and wanted <= seen:
            assert count.reads == before
        seen |= wanted if keep else set()
        held = {id(one): one for one in cache._holders.values()}
        assert sum(one.size_bytes for one in held.values()) <= limit
        assert all(cache._decoded.find(number) is one for number, one in held.items())
        assert len(cache._decoded) >= len(held)  # what newer reads took the place of goes by its age


def test_bytes_that_are_not_those_written_are_told(folder: Path, table: pa.Table, run: RunRef, tmp_path: Path) -> None:
    (part,) = RunReader(LocalStorage(str(folder)), run, StoreCache(), ReadCount()).parts("file_ids")
    for path in (manifest_path("r"), part.path):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((folder / path).read_bytes())
    data = bytearray((tmp_path / part.path).read_bytes())
    data[100:200] = bytes(100)
    (tmp_path / part.path).write_bytes(data)
    reader = RunReader(LocalStorage(str(tmp_path)), run, StoreCache(), ReadCount())
    with pytest.raises(DamagedIndexError, match="cannot be decoded"):
        reader.read(part, [0], ["file_id", "ordinal"])
    assert reader.read(part, [7], ["ordinal"]).num_rows == ROWS - 7 * 4096
