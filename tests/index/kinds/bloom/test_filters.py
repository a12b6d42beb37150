"""Bloom filters of runs: built, looked up, merged; no file that holds a value is ever left out."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaindex.index.kinds.bloom import layout, writer
from metaindex.index.kinds.bloom import stored as stored_filters
from metaindex.index.kinds.bloom.reader import StoredFilters
from metaindex.index.kinds.bloom.sizing import blocks_for
from metaindex.index.kinds.bloom.stored import merge_filters, whole_filters
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.reader import ReadCount
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage
from tests.index.contract.built_keys import Built, on_disk
from tests.index.kinds.bloom.filters import KEY, hashes_of, holding, integers, specified, write

ABSENT = np.random.default_rng(99).integers(0, 2**64, 4000, dtype=np.uint64)


@pytest.fixture(params=["rows", pytest.param("vectors", marks=pytest.mark.slow), "many parts"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How filters stand in parts: as few files have them, and as only millions of files would."""
    if request.param == "vectors":
        monkeypatch.setattr(layout, "WHOLE_BYTES", 0)
        monkeypatch.setattr("metaindex.index.kinds.bloom.blocks.PACKED_BELOW", 0)
    if request.param == "many parts":
        monkeypatch.setattr(layout, "ROW_BYTES", 300)
        monkeypatch.setattr(writer, "GROUP_BYTES", 1_000)
        monkeypatch.setattr(writer, "PART_BYTES", 2_500)
        monkeypatch.setattr(stored_filters, "_AHEAD_BYTES", 3_000)
    return str(request.param)


def files_of_many_sizes(count: int = 40) -> dict[int, pa.Array]:
    return {ordinal: integers(9 * (ordinal % 11) ** 2 + ordinal % 3, ordinal) for ordinal in range(count)}


@pytest.mark.usefixtures("cut")
def test_a_file_that_holds_a_value_is_found(tmp_path: Path) -> None:
    files = files_of_many_sizes()
    run = write(tmp_path, files)
    for ordinal, values in files.items():
        for one in hashes_of(values)[:5]:
            assert ordinal in holding(run, np.array([one], np.uint64))
    rates = np.mean([len(holding(run, ABSENT[i : i + 1])) for i in range(150)]) / len(files)
    assert rates <= 0.015
    some = np.concatenate([ABSENT[:40], *(hashes_of(values)[:2] for values in files.values())])
    one_by_one = {found for one in some for found in holding(run, np.array([one], np.uint64))}
    assert holding(run, some) == sorted(one_by_one)


@pytest.mark.usefixtures("cut")
def test_filters_stand_in_the_run_as_the_specification_says(tmp_path: Path) -> None:
    files = files_of_many_sizes(15)
    run = write(tmp_path, files)
    found = dict(whole_filters(run.run_reader(), KEY, range(15)))
    for ordinal, values in files.items():
        distinct = np.unique(hashes_of(values)).tolist()
        if distinct:
            assert found[ordinal].tobytes() == specified(distinct, blocks_for(len(distinct), 0.01))
        else:
            assert ordinal not in found


def _bytes(run: Built) -> list[bytes]:
    return [run.storage.read(part.path) for part in run.parts]


def test_a_file_with_more_values_than_memory(tmp_path: Path) -> None:
    values = integers(300_000, 5)
    twice = pa.concat_arrays([values, values.slice(100_000)])
    run, small = write(tmp_path, {0: twice}, 32 * 20_000), write(tmp_path, {0: twice})
    assert _bytes(run) == _bytes(small)
    assert holding(run, hashes_of(values.slice(7, 1))) == [0]


@pytest.mark.usefixtures("cut")
def test_merged_runs_say_what_a_run_of_their_files_would(tmp_path: Path) -> None:
    files = files_of_many_sizes(30) | {30: None}
    halves = [{o: files[o] for o in range(31) if o % 2 == half} for half in range(2)]
    sources = [write(tmp_path, dict(enumerate(half.values()))) for half in halves]
    places = [np.array(list(half)) for half in halves]
    assert _bytes(_merged(tmp_path, sources, places, 31)) == _bytes(write(tmp_path, files))


@pytest.mark.usefixtures("cut")
def test_files_that_are_left_out_of_a_merge_leave_nothing_behind(tmp_path: Path) -> None:
    files = files_of_many_sizes(20)
    source = write(tmp_path, files)
    places = np.array([ordinal // 2 if ordinal % 2 else -1 for ordinal in range(20)])
    odd = {ordinal // 2: values for ordinal, values in files.items() if ordinal % 2}
    assert _bytes(_merged(tmp_path, [source], [places], 10)) == _bytes(write(tmp_path, odd))


def _merged(folder: Path, sources: list[Built], places: list[np.ndarray], count: int) -> Built:  # type: ignore[type-arg]
    storage = LocalStorage(str(folder))
    sink = RunSink(storage, new_run_id())
    some = [(source.run_reader(), source.key, mine) for source, mine in zip(sources, places, strict=True)]
    layout_, parts = merge_filters(sources[0].key, some, sink, lambda part: part)
    assert layout_ == {"classes": layout_["classes"]}
    return on_disk(storage, sink.run, sources[0].key, parts, [], count)


def test_parts_are_plain_parquet(tmp_path: Path, cut: str) -> None:
    run = write(tmp_path, files_of_many_sizes())
    paths = [str(tmp_path / part.path) for part in run.parts]
    assert (len(paths) > 5) == (cut == "many parts")
    rows = pa.concat_tables(
        [pq.read_table(pa.BufferReader(Path(path).read_bytes()), page_checksum_verification=True) for path in paths]
    )
    assert rows.schema.names == layout.ROWS.names
    said = duckdb.sql(f"SELECT * FROM read_parquet({paths}, file_row_number = false)").fetchall()
    assert said == [(*row.values(), run.run.run) for row in rows.to_pylist()]
    order = [(row["key_id"], row["blocks"], row["block"]) for row in rows.to_pylist()]
    assert order == sorted(order)
    for part, path in zip(run.parts, paths, strict=True):
        assert pq.read_metadata(path).num_rows == part.rows


def test_filters_of_many_sizes_that_stand_near_one_another_are_one_read(tmp_path: Path) -> None:
    run = write(tmp_path, files_of_many_sizes())
    assert len(StoredFilters(run.run_reader(), KEY).directory.classes) > 8
    count = ReadCount()
    reader = run.run_reader(count)
    holding(run, ABSENT[:1], reader)
    before = count.reads
    holding(run, ABSENT[1:2], reader)
    assert count.reads == before + 1
