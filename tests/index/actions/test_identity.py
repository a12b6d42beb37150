"""A file is not its path and size: other bytes under the same name and of the same length are another file, for every
kind and every verb.

The tables here are written by hand, so that paths and sizes are equal on purpose: numbers of fixed width, without
compression.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.formats import At, Base, FileTable, TableRef, Version
from metaindex.formats.delta.table import DeltaFormat
from metaindex.index.keys import file_ids, path_ids
from metaindex.storage import LocalStorage
from metaindex.table import handle_of
from tests.formats.delta import hand
from tests.formats.delta.hand import column, commit, protocol

LOCAL = mi.Config(builder="local")
KINDS = {
    "statistics": lambda: [mi.ColumnStats()],
    "values": lambda: [mi.Values("a")],
    "lists": lambda: [mi.ValueList("a")],
    "blooms": lambda: [mi.Bloom("a")],
}


def data(table: Path, first: int, name: str = "part-0.parquet") -> int:
    """Ten numbers from `first` on; as many bytes whatever they are."""
    table.mkdir(parents=True, exist_ok=True)
    numbers = pa.table({"a": pa.array(range(first, first + 10), pa.int64())})
    pq.write_table(numbers, table / name, compression=None, use_dictionary=False)
    return (table / name).stat().st_size


def add(size: int, time: int, name: str = "part-0.parquet", **more: Any) -> dict[str, Any]:
    return hand.add(name, size=size, modificationTime=time, **more)


def remove(size: int, time: int, name: str = "part-0.parquet") -> dict[str, Any]:
    return hand.remove(name, deletionTimestamp=time, size=size)


def metadata(table_id: str, *columns: str) -> dict[str, Any]:
    return hand.metadata(*map(column, columns or "a"), table_id=table_id)


def made(table: Path, first: int, table_id: str, time: int) -> int:
    """A table of one file."""
    size = data(table, first)
    commit(table, 0, protocol(), metadata(table_id), add(size, time))
    return size


def count(table: mi.Table, condition: str) -> int:
    return table.scan(condition).to_arrow().num_rows


def written_anew(table: Path, size: int) -> None:
    """Removed, and written and added again under its name."""
    assert data(table, 100) == size
    commit(table, 1, remove(size, 2000))
    commit(table, 2, add(size, 2000))


def written_anew_at_once(table: Path, size: int) -> None:
    """Added again under its name without a remove: the last word on a path counts."""
    assert data(table, 100) == size
    commit(table, 1, add(size, 2000))


def made_anew(table: Path, size: int) -> None:
    """Dropped and made anew; the index lies elsewhere."""
    shutil.rmtree(table)
    made(table, 100, "two", 2000)


def made_anew_beside(table: Path, size: int) -> None:
    """Log and data made anew beside the index, at the very times of the first."""
    shutil.rmtree(table / "_delta_log")
    made(table, 100, "two", 1000)


def changing(form: str, root: Path) -> Callable[[], mi.Table]:
    """Opens a table, to which that happens as soon as it has an index."""
    table, waits = root / "t", True
    config = mi.Config(builder="local", index_location=str(root / "indexes")) if form == "made_anew" else LOCAL
    size = made(table, 0, "one", 1000)

    def opened() -> mi.Table:
        nonlocal waits
        if waits and mi.open_table(str(table), config=config).indexes():
            waits = False
            FORMS[form](table, size)
        return mi.open_table(str(table), config=config)

    return opened


FORMS = {f.__name__: f for f in (written_anew, written_anew_at_once, made_anew, made_anew_beside)}


@pytest.mark.exhaustive(but="written_anew")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_other_bytes_of_the_same_name_and_size_are_another_file(tmp_path: Path, form: str, kind: str) -> None:
    opened = changing(form, tmp_path)
    opened().create_index("ix", *KINDS[kind]())
    table = opened()
    assert (count(table, "a = 105"), count(table, "a = 5")) == (1, 0)
    assert table.prune("a < 50").certain.paths.to_pylist() == []
    assert table.locate("a = 5", exact=True).table.num_rows == 0
    assert table.refresh_index("ix").changed
    for asked in (table, opened()):
        assert (count(asked, "a = 105"), count(asked, "a = 5")) == (1, 0)
        assert asked.prune("a < 50").certain.paths.to_pylist() == []
    table.refresh_index("ix", mode="full")
    for asked in (table, opened()):
        assert (count(asked, "a = 105"), count(asked, "a = 5")) == (1, 0)
        assert asked.prune("a = 105").total_files == 1
        assert asked.verify_index("ix").sound


@pytest.mark.parametrize("form", ["written_anew", "written_anew_at_once"])
def test_a_refresh_indexes_what_was_written_anew(tmp_path: Path, form: str) -> None:
    opened = changing(form, tmp_path)
    opened().create_index("ix", mi.ColumnStats())
    assert opened().refresh_index("ix").changed
    table = opened()
    assert table.verify_index("ix").sound
    assert len(table.prune("a = 5").files) == 0
    assert table.prune("a = 105").total_files == 1
    assert len(table.prune("a = 105", version=0).files) == 0  # the older version keeps its own
    assert len(table.prune("a = 5", version=0).files) == 1


@pytest.mark.parametrize("form", ["written_anew", "made_anew"])
def test_erase_takes_out_what_was_written_over(tmp_path: Path, form: str) -> None:
    """The log still has the version with the older file; its bytes are gone."""
    opened = changing(form, tmp_path)
    opened().create_index("ix", mi.ColumnStats(), mi.ValueList("a"))
    assert opened().refresh_index("ix").changed
    opened().erase_index("ix")
    table = opened()
    assert sum(run.files for entry in handle_of(table).entries() for run in entry.content.runs) == 1
    found = table.verify_index("ix", files=None, versions="all")
    assert found.sound, str(found)
    assert (count(table, "a = 105"), len(table.prune("a = 5").files)) == (1, 0)


@pytest.mark.parametrize("form", ["made_anew", "made_anew_beside"])
def test_a_table_made_anew_takes_its_older_index_out_and_says_so(tmp_path: Path, form: str) -> None:
    opened = changing(form, tmp_path)
    opened().create_index("ix", mi.ColumnStats())
    table = opened()
    (report,) = [one for one in table.prune("a = 105").indexes if one.name == "ix"]
    assert not report.used
    assert "another table" in report.reason
    assert "mode='full'" in report.reason
    assert "another table" in str(table.refresh_index("ix", mode="quick"))
    assert count(table, "a = 105") == 1


@pytest.mark.parametrize("form", ["made_anew", "made_anew_beside"])
def test_an_incremental_refresh_of_a_table_made_anew_is_a_full_one(tmp_path: Path, form: str) -> None:
    opened = changing(form, tmp_path)
    opened().create_index("ix", mi.ColumnStats())
    table = opened()
    outcome = table.refresh_index("ix")
    assert "another table" in str(outcome)
    assert "all of it was indexed anew" in str(outcome)
    assert len(outcome.entry.content.runs) == len(outcome.entry.content.versions) == 1
    (report,) = [one for one in table.prune("a = 5").indexes if one.name == "ix"]
    assert report.used
    assert report.dropped_files == 1


def test_a_renamed_folder_keeps_its_index(tmp_path: Path) -> None:
    made(tmp_path / "t", 0, "one", 1000)
    mi.open_table(str(tmp_path / "t"), config=LOCAL).create_index("ix", mi.ColumnStats())
    (tmp_path / "t").rename(tmp_path / "u")
    table = mi.open_table(str(tmp_path / "u"), config=LOCAL)
    assert len(table.prune("a = 105").files) == 0
    size = data(tmp_path / "u", 100, "part-1.parquet")
    commit(tmp_path / "u", 1, add(size, 2000, "part-1.parquet"))
    assert table.prune("a = 105").files.paths.to_pylist() == ["part-1.parquet"]
    assert table.refresh_index("ix").changed
    assert table.prune("a = 105").files.paths.to_pylist() == ["part-1.parquet"]


def test_an_id_that_the_log_gives_anew_is_followed(tmp_path: Path) -> None:
    """CREATE OR REPLACE TABLE: the same log, another id."""
    size = made(tmp_path, 0, "one", 1000)
    table = mi.open_table(str(tmp_path), config=LOCAL)
    table.create_index("ix", mi.ColumnStats())
    data(tmp_path, 100)
    commit(tmp_path, 1, metadata("two"), remove(size, 1000), add(size, 1000))
    for asked in (table, mi.open_table(str(tmp_path), config=LOCAL)):
        assert (count(asked, "a = 105"), count(asked, "a = 5")) == (1, 0)
    assert table.refresh_index("ix").changed
    assert (count(table, "a = 105"), len(table.prune("a = 5").files)) == (1, 0)
    assert len(table.prune("a = 105", version=0).files) == 0
    table.optimize_index("ix", mode="full")
    assert (count(table, "a = 105"), len(table.prune("a = 5").files)) == (1, 0)
    assert table.verify_index("ix").sound


def plain(folder: Path, first: int, name: str = "part-0.parquet") -> Path:
    """As `data`, of one fixed time that is long ago."""
    data(folder, first, name)
    os.utime(folder / name, (1_600_000_000, 1_600_000_000))
    return folder / name


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_file_of_the_same_size_and_time_is_another_file(tmp_path: Path, kind: str) -> None:
    """Inode and change time tell: nobody sets those."""
    for number in range(2):
        plain(tmp_path / "t", 10 * number, f"part-{number}.parquet")
    table = mi.open_table(str(tmp_path / "t"), config=LOCAL)
    table.create_index("ix", *KINDS[kind]())
    os.replace(plain(tmp_path, 100, "new.parquet"), tmp_path / "t" / "part-0.parquet")
    table = mi.open_table(str(tmp_path / "t"), config=LOCAL)
    assert (count(table, "a = 105"), count(table, "a = 5"), count(table, "a = 15")) == (1, 0, 1)
    assert table.prune("a < 50").certain.paths.to_pylist() in (["part-1.parquet"], [])
    assert table.indexes()[0].new_files == 1
    found = table.verify_index("ix")
    assert (found.sound, found.replaced) == (True, 1), str(found)
    assert "stale: 1 indexed data files were replaced" in str(found)
    assert table.refresh_index("ix").changed
    assert (count(table, "a = 105"), count(table, "a = 5")) == (1, 0)
    assert len(table.prune("a = 5").files) == 0
    found = table.verify_index("ix")
    assert (found.sound, found.replaced) == (True, 0), str(found)


def test_a_verification_of_a_table_made_anew_says_stale(tmp_path: Path) -> None:
    opened = changing("made_anew", tmp_path)
    opened().create_index("ix", mi.ColumnStats(), mi.Values("a"))
    found = opened().verify_index("ix")
    assert (found.sound, found.replaced) == (True, 1), str(found)


def test_two_indexes_with_as_many_files_are_not_of_the_same_files(tmp_path: Path) -> None:
    """Ordinals go with their run: another index's are found by ids, unless both number the very same files."""

    def two(first: int, name: str) -> int:
        columns = {"a": range(first, first + 10), "b": range(first + 500, first + 510)}
        pq.write_table(pa.table({n: pa.array(v, pa.int64()) for n, v in columns.items()}), tmp_path / name)
        return (tmp_path / name).stat().st_size

    sizes = [two(10 * at, f"{at}.parquet") for at in range(3)]
    added = (add(sizes[at], 1000, f"{at}.parquet") for at in (0, 1))
    commit(tmp_path, 0, protocol(), metadata("one", "a", "b"), *added)
    table = mi.open_table(str(tmp_path), config=LOCAL)
    table.create_index("of_a", mi.ColumnStats("a"))
    commit(tmp_path, 1, remove(sizes[0], 2000, "0.parquet"), add(sizes[2], 2000, "2.parquet"))
    table.create_index("of_b", mi.ColumnStats("b"))
    table.refresh_index("of_a")
    runs = {entry.name: [run.files for run in entry.content.runs] for entry in handle_of(table).entries()}
    assert runs == {"of_a": [2, 1], "of_b": [2]}
    for value, path in ((15, "1.parquet"), (25, "2.parquet")):
        for condition in (f"a = {value} AND b = {value + 500}", f"b = {value + 500} AND a = {value}"):
            assert table.prune(condition).files.paths.to_pylist() == [path]
            for name in ("of_a", "of_b"):
                assert path in table.prune(condition, indexes=[name]).files.paths.to_pylist()


class Rewritten(DeltaFormat):
    """The log is written anew between the moment when a version is resolved and that when its commits are read."""

    def resolve(self, ref: TableRef, at: At) -> Version:
        found = DeltaFormat.resolve(self, ref, at)
        table = Path(ref.path)
        commit(table, 1, add(data(table, 900, "other.parquet"), 9000, "other.parquet"))
        return found


def test_a_log_that_is_written_anew_while_it_is_read_tells_no_changes(tmp_path: Path) -> None:
    size = made(tmp_path, 0, "one", 1000)
    reference = TableRef(LocalStorage(str(tmp_path)), str(tmp_path))
    snapshot = DeltaFormat().snapshot(reference, At(0))
    base = Base(snapshot.version, snapshot.schema)

    def append() -> None:
        commit(tmp_path, 1, add(size, 2000, "part-1.parquet"))

    append()
    changes = DeltaFormat().changes(reference, [base], At())
    assert changes.touched.files.paths.to_pylist() == ["part-1.parquet"]
    assert Rewritten().changes(reference, [base], At()) is None
    append()
    assert Rewritten().diff(reference, snapshot, At()) is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"), st.integers(0, 2), st.none() | st.integers(0, 2), st.none() | st.sampled_from("xy")
        ),
        max_size=12,
    )
)
def test_ids_are_equal_where_files_are_and_tell_the_path(rows: list[tuple[str, int, int | None, str | None]]) -> None:
    full = [{"path": p, "size_bytes": s, "modified_ms": m, "etag": e, "partition": ""} for p, s, m, e in rows]
    files = FileTable(pa.Table.from_pylist(full, FileTable.SCHEMA))
    ids = file_ids(files).to_pylist()
    paths = path_ids(files.paths).to_pylist()
    for one, (row, id_, path) in enumerate(zip(rows, ids, paths, strict=True)):
        assert path[:10] == id_[:10]
        for other in range(one):
            assert (ids[other] == id_) == (rows[other] == row)
            assert (ids[other][:10] == id_[:10]) == (rows[other][0] == row[0])
