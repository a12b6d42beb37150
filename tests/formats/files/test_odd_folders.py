"""What a folder may hold against the reader: closed folders, links, odd names, files that vanish."""

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from metaindex import open_table
from metaindex.core import StorageError, StoragePermissionError, UnsupportedFeatureError
from metaindex.formats.format import At
from tests.disks import someone_elses_folder

from .folders import FORMAT, ONE, now, put, ref


def test_a_folder_that_may_not_be_read_is_an_error_that_names_it() -> None:
    with someone_elses_folder() as folder:
        put(folder / "t" / "0.parquet", ONE)
        (folder / "t" / "locked").mkdir(mode=0)
        with pytest.raises(StoragePermissionError, match="locked"):
            now(folder / "t")


@pytest.mark.parametrize("target", [".", "..", "loop"])
def test_links_in_a_circle_are_errors_that_name_them(tmp_path: Path, target: str) -> None:
    put(tmp_path / "t" / "sub" / "0.parquet", ONE)
    (tmp_path / "t" / "sub" / "loop").symlink_to(target)
    with pytest.raises(StorageError, match="sub/loop"):
        now(tmp_path / "t")


def test_a_link_to_a_folder_beside_is_followed_and_one_to_nothing_is_not(tmp_path: Path) -> None:
    put(tmp_path / "other" / "1.parquet", ONE)
    put(tmp_path / "t" / "0.parquet", ONE)
    (tmp_path / "t" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "t" / "nothing.parquet").symlink_to(tmp_path / "missing.parquet")
    assert now(tmp_path / "t").files.paths.to_pylist() == ["0.parquet", "link/1.parquet"]


ODD = ["new\nline", "quo'te\"s", "ünï😀", "100%41", "a b", "[x]", "back\\slash", "#?;&", "*"]


def test_odd_names_are_names(tmp_path: Path) -> None:
    for name in ODD:
        put(tmp_path / name / f"{name}.parquet", ONE)
    snapshot = now(tmp_path)
    assert sorted(snapshot.files.paths.to_pylist()) == sorted(f"{name}/{name}.parquet" for name in ODD)
    for path in snapshot.files.paths.to_pylist():
        with open(snapshot.uri(path), "rb") as file:
            assert pq.read_table(file).num_rows == 2


def test_a_name_that_is_no_text_is_an_error_that_shows_it(tmp_path: Path) -> None:
    put(tmp_path / "0.csv", b"a\n1\n")
    with open(os.fsencode(tmp_path) + b"/\xff.csv", "wb") as file:
        file.write(b"a\n1\n")
    with pytest.raises(StorageError, match=r"xff\.csv"):
        now(tmp_path)


def test_a_file_that_vanishes_before_its_schema_is_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = put(tmp_path / "0.parquet", ONE)
    resolved = FORMAT.resolved(ref(tmp_path), At())
    file.unlink()
    with pytest.raises(StorageError, match=r"0\.parquet"):
        resolved.load()


def test_many_names_of_no_known_kind_are_refused_at_once(tmp_path: Path) -> None:
    for number in range(50):
        put(tmp_path / f"log.{number}", b"x")
    with pytest.raises(UnsupportedFeatureError, match=r"log\.0"):
        now(tmp_path)


@pytest.mark.parametrize("name", ["events.json", "2024.csv", "t.parquet"])
def test_a_folder_may_be_called_as_a_file_is(tmp_path: Path, name: str) -> None:
    """Spark's writers name folders so. One that ends in .json was taken for a metadata file of Iceberg's."""
    path, form = tmp_path / name, name.rpartition(".")[2]
    rows = {"json": b'{"a": 1}\n', "csv": b"a\n1\n", "parquet": ONE}[form]
    put(path / f"0.{form}", rows)
    for options in ({}, {"format": form}):
        assert open_table(path, **options).scan().to_arrow().num_rows > 0
    if form == "json":
        (tmp_path / "one.json").write_bytes(rows)
        assert open_table(tmp_path / "one.json").scan().to_arrow().num_rows == 1
