"""What a reader gives does not depend on what was read before, nor on how much of it is kept; and it keeps no more than
it may. Some rows by their position are those that the part has, by whichever pages."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.core import DamagedIndexError
from metaindex.index.log.entry import RunRef
from metaindex.index.log.sealed import digest
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.layout import PartInfo, manifest_bytes, manifest_path
from metaindex.index.store.reader import ReadCount, RunReader
from metaindex.index.store.rows import FILE_IDS, FILES
from metaindex.index.store.writer import RunSink, write_sorted
from metaindex.storage import LocalStorage
from tests.query.readers.test_ahead import Far

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


def test_row_groups_of_other_rows_than_the_part_are_told(folder: Path, run: RunRef, tmp_path: Path) -> None:
    """The digest of the footer is made again: whoever can write the part can write its manifest, too."""
    (part,) = RunReader(LocalStorage(str(folder)), run, StoreCache(), ReadCount()).parts("file_ids")
    for path in (manifest_path("r"), part.path):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((folder / path).read_bytes())
    data = (folder / part.path).read_bytes()
    one, fewer = b"\x16\x80\x40", b"\x16\xfe\x3f"  # a whole number, zigzag: 4,096, and a row less
    changed = 0
    at = data.find(one, len(data) - part.footer_bytes)
    while at >= 0:
        other = data[:at] + fewer + data[at + len(one) :]
        counts = pq.read_metadata(pa.BufferReader(other))
        if sum(counts.row_group(group).num_rows for group in range(GROUPS)) != ROWS:
            changed += 1
            (tmp_path / part.path).write_bytes(other)
            lying = replace(part, footer_digest=digest(other[-part.footer_bytes :]))
            reader = RunReader(LocalStorage(str(tmp_path)), run, StoreCache(), ReadCount())
            with pytest.raises(DamagedIndexError, match="the footer counts"):
                reader.read(lying, [0], ["ordinal"])
        at = data.find(one, at + 1)
    assert changed


def files(count: int, seed: int, nulls: float) -> pa.Table:
    """Rows of `files`, random but for their order; some columns with so many NULLs."""
    random = np.random.default_rng(seed)
    names = random.bytes(24 * count).hex()
    partitions = np.sort(random.integers(0, max(1, count // 50), count)).tolist()

    def thinned(values: list[object] | np.ndarray) -> pa.Array:
        return pa.array(values, mask=random.random(count) < nulls)

    def hashes(width: int) -> list[object]:
        return [bytes.fromhex(names[48 * i : 48 * i + 2 * width]) for i in range(count)]

    columns = [
        np.arange(count),
        partitions,
        [f"p={p}" for p in partitions],
        [f"p={p}/{'x' * (i % 90)}{names[48 * i : 48 * i + 32]}" for i, p in enumerate(partitions)],
        random.integers(0, 1 << 40, count),
        thinned(random.integers(-(1 << 60), 1 << 60, count)),
        thinned(random.integers(0, 1000, count)),
        thinned([names[48 * i : 48 * i + 9] for i in range(count)]),
        hashes(16),
        thinned(hashes(24)),
    ]
    arrays = [pa.array(values).cast(field.type) for values, field in zip(columns, FILES, strict=True)]
    return pa.table(arrays, schema=FILES)


def placed(folder: Path, table: pa.Table, run: str) -> tuple[RunReader, PartInfo]:
    sink = RunSink(LocalStorage(str(folder)), run)
    (part,) = write_sorted(sink, "files", table)
    return RunReader(sink.storage, RunRef(run, len(table), 1, 0, 0, "", "", (), 0, ""), StoreCache(), ReadCount()), part


@given(
    st.integers(1, 3_000),
    st.integers(0, 1 << 30),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([7, 100, 1 << 17]),
    st.sampled_from([(1, 1, 1), (3, 64, 10), (128, 4096, 512)]),
    st.data(),
)
@settings(deadline=None)
def test_rows_by_position_are_those_of_the_part(
    folder: Path, count: int, seed: int, nulls: float, group: int, page: tuple[int, int, int], data: st.DataObject
) -> None:
    table = files(count, seed, nulls)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metaindex.index.store.writer._PLACED_ROWS", 0)
        patch.setattr("metaindex.index.store.writer._GROUP_ROWS", {"files": group})
        for name, value in zip(("_PAGE_ROWS", "_PAGE_BYTES", "_MOST_PAGE_ROWS"), page, strict=True):
            patch.setattr(f"metaindex.index.store.writer.{name}", value)
        reader, part = placed(folder, table, "by-position")
    told = reader.footer(part).pages(part.size_bytes)
    assert told is not None
    for rows in data.draw(st.lists(st.sets(st.integers(0, count - 1), min_size=1, max_size=40), max_size=6)):
        at = np.array(sorted(rows), np.int64)
        names = data.draw(st.lists(st.sampled_from(FILES.names), min_size=1, unique=True))
        found = reader.rows_at(part, at, names)
        expected = table.select(names).take(pa.array(at))
        assert found is None or found.cast(expected.schema).equals(expected)
        if 100 * len(at) * page[2] < count:
            assert found is not None


def test_a_few_rows_are_read_by_a_few_pages(folder: Path) -> None:
    table = files(60_000, 3, 0.5)
    reader, part = placed(folder, table, "few")
    footer = reader.footer(part)
    assert (len(footer.rows), part.footer_bytes // 1024) <= (2, part.size_bytes // 50_000)
    for rows in ([5], [0, 30_000, 59_999], list(range(40_000, 40_300))):
        before = reader._count.bytes
        found = reader.rows_at(part, np.array(rows), FILES.names)
        assert found is not None
        assert found.column("path").to_pylist() == table.column("path").take(pa.array(rows)).to_pylist()
        assert reader._count.bytes - before < part.size_bytes // 40
    assert reader.rows_at(part, np.arange(0, 60_000, 2), FILES.names) is None  # most of the pages: read whole
    # On a store the pages of a row group are one request, as the row group was.
    far = RunReader(Far(reader._storage), reader.run, StoreCache(), ReadCount())  # type: ignore[arg-type]
    for rows, groups in (([5], 1), ([5, 9_000, 31_000], 1), ([0, 30_000, 59_999], 2)):
        far.footer(part)
        before = far._count.reads
        assert far.rows_at(part, np.array(rows), FILES.names[:-2]) is not None
        assert far._count.reads - before <= groups


def test_a_part_that_is_asked_often_is_kept_where_it_is_small(folder: Path) -> None:
    table = files(60_000, 5, 0.5)
    reader, part = placed(folder, table, "often")
    by_pages = 0
    while reader.rows_at(part, np.array([by_pages]), ["path"]) is not None:
        by_pages += 1
    assert by_pages == 32
    names = ["path", "ordinal"]
    for row in (5, 40_000, 59_999):
        found = OpenIndex._rows_of_groups(reader, part, np.array([row]), names)
        assert found.to_pylist() == table.select(names).slice(row, 1).to_pylist()
    before = reader._count.bytes
    for row in range(0, 60_000, 999):
        found = OpenIndex._rows_of_groups(reader, part, np.array([row]), names)
        assert found.to_pylist() == table.select(names).slice(row, 1).to_pylist()
    assert reader._count.bytes == before
    tight = RunReader(reader._storage, reader.run, StoreCache(limit_bytes=part.size_bytes), ReadCount())
    assert all(tight.rows_at(part, np.array([row]), ["path"]) is not None for row in range(100))


def test_pages_that_are_not_those_written_are_told(folder: Path) -> None:
    table = files(5_000, 4, 0.0)
    reader, part = placed(folder, table, "damaged")
    path, row = folder / part.path, np.array([1_234])
    sound = path.read_bytes()
    whole = RunReader(LocalStorage(str(folder)), reader.run, StoreCache(), ReadCount())
    assert whole.rows_at(part, row, ["path"]) is not None
    damaged, lost = bytearray(sound), 0
    damaged[: part.size_bytes - part.footer_bytes] = bytes(part.size_bytes - part.footer_bytes)
    path.write_bytes(damaged)
    for name in FILES.names:
        with pytest.raises(DamagedIndexError, match="pages cannot be decoded"):
            reader.rows_at(part, row, [name])
    for at in range(part.size_bytes - part.footer_bytes, part.size_bytes, 97):  # what says where pages stand
        damaged = bytearray(sound)
        damaged[at] ^= 0x5A
        path.write_bytes(damaged)
        again = RunReader(LocalStorage(str(folder)), reader.run, StoreCache(), ReadCount())
        with pytest.raises(DamagedIndexError, match="does not match its digest"):
            again.rows_at(part, row, ["path"])
        end = bytes(damaged[part.size_bytes - part.footer_bytes :])
        strange = replace(part, footer_digest=digest(end))  # as a strange writer vouches for it
        try:
            found = again.rows_at(strange, row, ["ordinal", "path"])
        except DamagedIndexError:
            found = None
        lost += found is None
        if found is not None and found.column("ordinal")[0].as_py() == 1_234:
            assert found.column("path")[0] == table.column("path")[1_234]
    assert lost


def test_a_manifest_that_was_read_ahead_counts_by_its_digest(folder: Path, run: RunRef) -> None:
    path = manifest_path("r")
    right = (folder / path).read_bytes()
    parts = RunReader(LocalStorage(str(folder)), run, StoreCache(), ReadCount()).every_part()
    for ahead in (right, b"", right[:-1], right.replace(b"file_ids", b"partials"), b"{}"):
        cache, count = StoreCache(), ReadCount()
        cache.whole.keep(path, ahead, len(ahead))
        assert RunReader(LocalStorage(str(folder)), run, cache, count).every_part() == parts
        assert (count.reads, count.bytes) == (1, len(right))


def test_a_part_that_came_damaged_is_read_again(folder: Path, table: pa.Table, run: RunRef) -> None:
    cache = StoreCache()
    reader = RunReader(LocalStorage(str(folder)), run, cache, ReadCount())
    (part,) = reader.parts("file_ids")
    whole = (folder / part.path).read_bytes()
    for data in (whole, whole[:100] + bytes(100) + whole[200:], whole[:1000]):
        cache.whole.keep(part.path, data, len(data))
        if data != whole:
            with pytest.raises(DamagedIndexError, match="cannot be decoded"):
                reader.read(part, [0], ["file_id"], keep=False)
        assert (
            reader.read(part, [0], ["file_id"], keep=False).column(0).to_pylist() == table.column(0)[:4096].to_pylist()
        )
