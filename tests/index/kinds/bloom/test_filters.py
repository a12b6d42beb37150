"""Bloom filters of runs: built, looked up, merged; no file that holds a value is ever left out."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.expressions import Literal
from metaindex.index.kinds.bloom import layout, writer
from metaindex.index.kinds.bloom import stored as stored_filters
from metaindex.index.kinds.bloom.reader import StoredFilters
from metaindex.index.kinds.bloom.sizing import blocks_for
from metaindex.index.kinds.bloom.stored import merge_filters, whole_filters
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.reader import ReadCount
from metaindex.index.store.writer import RunSink
from metaindex.storage import storage_for
from tests.index.kinds.bloom.filters import KEY, Run, hashes_of, integers, sealed, specified, write, write_in_shares

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


def files_of_many_sizes(count: int = 40) -> dict[int, pa.Array | None]:
    return {ordinal: integers(9 * (ordinal % 11) ** 2 + ordinal % 3, ordinal) for ordinal in range(count)}


def assert_no_file_is_left_out(run: Run, files: dict[int, pa.Array | None]) -> None:
    for ordinal, values in files.items():
        if values is not None:
            for one in hashes_of(values)[:5]:
                assert ordinal in run.holding(np.array([one], np.uint64))


@pytest.mark.usefixtures("cut")
def test_a_file_that_holds_a_value_is_found(tmp_path: Path) -> None:
    files = files_of_many_sizes()
    run = write(tmp_path, files)
    assert_no_file_is_left_out(run, files)
    rates = np.mean([len(run.holding(ABSENT[i : i + 1])) for i in range(150)]) / len(files)
    assert rates <= 0.015


@pytest.mark.usefixtures("cut")
def test_many_hashes_are_found_as_one_by_one(tmp_path: Path) -> None:
    files = files_of_many_sizes()
    run = write(tmp_path, files, fpp=0.1)
    some = np.concatenate([ABSENT[:40], *(hashes_of(values)[:2] for values in files.values() if values is not None)])
    one_by_one = {found for one in some for found in run.holding(np.array([one], np.uint64))}
    assert run.holding(some) == sorted(one_by_one)
    assert run.holding(np.zeros(0, np.uint64)) == []


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


def test_values_of_a_literal_are_asked_by_their_canonical_form(tmp_path: Path) -> None:
    run = write(tmp_path, {0: pa.array([1, 2, None], pa.int64()), 1: pa.array(["x"]), 2: pa.array([2.0, 0.5])})
    assert run.reader().among([(Literal.of(2),)]).mask(3).tolist() == [True, False, True]  # type: ignore[union-attr]
    texts = [(Literal.of("x"),), (Literal.of("y"),)]
    assert run.reader(pa.string()).among(texts).mask(3).tolist() == [False, True, False]  # type: ignore[union-attr]
    assert run.reader().among([(Literal.of(0.5),)]).mask(3).tolist() == [False, False, False]  # type: ignore[union-attr]
    assert run.reader().among([(Literal.of("x"),)]) is None
    assert run.reader().among([]).mask(3).tolist() == [False] * 3  # type: ignore[union-attr]


def test_a_file_without_values_is_proved_out_and_one_that_failed_is_told(tmp_path: Path) -> None:
    run = write(tmp_path, {0: pa.nulls(5, pa.int64()), 1: None, 2: pa.array([7], pa.int64())})
    assert run.holding(hashes_of(pa.array([7], pa.int64()))) == [2]
    assert run.holding(hashes_of(pa.array([1, 2, 3], pa.int64()))) == []
    assert run.unkeyed == [1]
    assert run.key.unkeyed_files == 1


def test_a_run_without_any_value_is_a_run(tmp_path: Path) -> None:
    run = write(tmp_path, {0: pa.nulls(5, pa.int64())})
    assert run.holding(ABSENT) == []
    assert write(tmp_path, {}).holding(ABSENT) == []


@settings(max_examples=40)
@given(
    st.dictionaries(st.integers(0, 12), st.none() | st.lists(st.integers(-50, 50)), max_size=8),
    st.sampled_from([0.3, 0.01]),
)
def test_whatever_the_files_no_value_is_lost(
    tmp_path_factory: pytest.TempPathFactory, files: dict[int, list[int] | None], fpp: float
) -> None:
    arrays = {o: None if v is None else pa.array(v, pa.int64()) for o, v in files.items()}
    run = write(tmp_path_factory.mktemp("run"), arrays, 13, fpp)
    for ordinal, values in files.items():
        if values:
            assert ordinal in run.holding(hashes_of(pa.array(values[:1], pa.int64())))
    assert set(run.holding(ABSENT)) <= {ordinal for ordinal, values in files.items() if values}


def test_order_shares_and_spills_make_no_difference(tmp_path: Path) -> None:
    files = files_of_many_sizes()
    expected = _bytes(write(tmp_path / "at once", files))
    shuffled = {ordinal: files[ordinal] for ordinal in np.random.default_rng(1).permutation(len(files)).tolist()}
    assert _bytes(write(tmp_path / "shuffled", shuffled)) == expected
    spilled = write(tmp_path / "spilled", shuffled, limit=4000)
    assert _bytes(spilled) == expected
    shares = [{o: v for o, v in files.items() if o % 3 == share} for share in range(3)]
    assert _bytes(write_in_shares(tmp_path / "shares", shares)) == expected


def _bytes(run: Run) -> list[bytes]:
    return [run.storage.read(part.path) for part in run.parts]


def test_a_file_with_more_values_than_memory(tmp_path: Path) -> None:
    values = integers(300_000, 5)
    twice = pa.concat_arrays([values, values.slice(100_000)])
    run, small = write(tmp_path, {0: twice}, limit=32 * 20_000), write(tmp_path, {0: twice})
    assert _bytes(run) == _bytes(small)
    assert run.holding(hashes_of(values.slice(7, 1))) == [0]


@pytest.mark.usefixtures("cut")
def test_merged_runs_say_what_a_run_of_their_files_would(tmp_path: Path) -> None:
    files = files_of_many_sizes(30) | {30: None}
    halves = [{o: files[o] for o in range(31) if o % 2 == half} for half in range(2)]
    sources = [write(tmp_path, dict(enumerate(half.values())), len(half)) for half in halves]
    places = [np.array(list(half)) for half in halves]
    assert _bytes(_merged(tmp_path, sources, places, 31)) == _bytes(write(tmp_path, files))


@pytest.mark.usefixtures("cut")
def test_files_that_are_left_out_of_a_merge_leave_nothing_behind(tmp_path: Path) -> None:
    files = files_of_many_sizes(20)
    source = write(tmp_path, files)
    places = np.array([ordinal // 2 if ordinal % 2 else -1 for ordinal in range(20)])
    odd = {ordinal // 2: values for ordinal, values in files.items() if ordinal % 2}
    assert _bytes(_merged(tmp_path, [source], [places], 10)) == _bytes(write(tmp_path, odd))


def _merged(folder: Path, sources: list[Run], places: list[np.ndarray], count: int) -> Run:  # type: ignore[type-arg]
    storage, _ = storage_for(folder)
    sink = RunSink(storage, new_run_id())
    some = [(source.run_reader(), source.key, mine) for source, mine in zip(sources, places, strict=True)]
    layout_, parts = merge_filters(sources[0].key, some, sink, lambda part: part)
    assert layout_ == {"classes": layout_["classes"]}
    return sealed(storage, sink, count, sources[0].key, parts, [])


def test_parts_are_plain_parquet(tmp_path: Path, cut: str) -> None:
    run = write(tmp_path, files_of_many_sizes())
    paths = [str(tmp_path / part.path) for part in run.parts]
    assert (len(paths) > 5) == (cut == "many parts")
    rows = pa.concat_tables(
        [pq.read_table(pa.BufferReader(Path(path).read_bytes()), page_checksum_verification=True) for path in paths]
    )
    assert rows.schema.names == layout.ROWS.names
    said = duckdb.sql(f"SELECT * FROM read_parquet({paths}, file_row_number = false)").fetchall()
    assert said == [(*row.values(), run.ref.run) for row in rows.to_pylist()]
    order = [(row["key_id"], row["blocks"], row["block"]) for row in rows.to_pylist()]
    assert order == sorted(order)
    for part, path in zip(run.parts, paths, strict=True):
        assert pq.read_metadata(path).num_rows == part.rows


def test_a_look_up_is_three_reads(tmp_path: Path) -> None:
    run = write(tmp_path, {ordinal: integers(2000, ordinal) for ordinal in range(100)})
    run.holding(ABSENT[:1])
    assert run.count.reads == 3  # manifest, footer, row
    run.count = ReadCount()
    run.holding(ABSENT[1:2])
    assert run.count.reads == 1
    assert run.count.bytes < 17_000


def test_filters_of_many_sizes_that_stand_near_one_another_are_one_read(tmp_path: Path) -> None:
    run = write(tmp_path, files_of_many_sizes())
    assert len(StoredFilters(run.run_reader(), KEY).directory.classes) > 8
    run.count = ReadCount()
    run.holding(ABSENT[:1])
    assert run.count.reads == 1


def test_pieces_out_of_order_are_put_in_order() -> None:
    bits = np.random.default_rng(3).integers(0, 256, (4, 5, 32), np.uint8)
    order = np.array([9, 2, 5])
    apart = writer.Assembled(
        [writer.HeldPiece(4, order, bits[:, :3]), writer.HeldPiece(4, np.array([1, 7]), bits[:, 3:])]
    )
    assert apart.ordinals.tolist() == [1, 2, 5, 7, 9]
    assert (apart.read(1, 2) == bits[1:3, [3, 1, 2, 4, 0]]).all()
