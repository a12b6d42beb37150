"""Tables of a lake are found by names: each once, none inside another, the same on a disk and on a store."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.core import StorageError
from metaindex.formats.tables_below import FoundTable, Walk
from metaindex.storage import LocalStorage, Storage
from tests.storage.counting import in_memory

DELTA = ("_delta_log/00000000000000000000.json", "part-0.parquet", "day=1/part-1.parquet")
ICEBERG = ("metadata/00000-a.metadata.json", "data/a.parquet")
HINTED = ("metadata/version-hint.text", "metadata/v1.metadata.json")
PLAIN = ("a.parquet",)
PARTS = ("day=1/a.csv", "day=2/a.csv")
DATED = ("2024/01/31/a.json", "2024/02/01/a.json", "2025/01/01/a.json")
INDEX = ("_log/00000000000000000001.json", "_manifests/r.json", "values/run=r/part-0.mix", "run=x/a.parquet")
NOTHING = ("notes.txt", "sub/readme.md")
TABLES = {DELTA: "delta", ICEBERG: "iceberg", HINTED: "iceberg", PLAIN: "files", PARTS: "files", DATED: "files"}


def stored(files: list[str], disk: Path) -> tuple[Storage, Storage]:
    """The same files on a disk and on a store."""
    store = in_memory("memory://")
    for file in files:
        path = disk / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        store.put(file, b"")
    return LocalStorage(str(disk)), store


def walked(storage: Storage, most: int = 10_000) -> list[tuple[str, str]]:
    walk = Walk(storage, most, container=True)
    return sorted((table.folder, table.format) for table in walk.tables())


names = st.sampled_from(["sales", "Team A", "größe", "x;y", "'q'", "1001", "metadata", "data", "z.parquet.d"])
trees = st.recursive(
    st.sampled_from([*TABLES, INDEX, NOTHING]), lambda inside: st.dictionaries(names, inside, max_size=3), max_leaves=12
)
Tree = tuple[str, ...] | dict[str, "Tree"]


def flat(tree: Tree, below: str = "") -> tuple[list[str], list[tuple[str, str]]]:
    """Its files, and the tables in it."""
    if isinstance(tree, tuple):
        return [below + file for file in tree], [(below.rstrip("/"), TABLES[tree])] if tree in TABLES else []
    files, tables = [], []
    for name, inside in tree.items():
        more, found = flat(inside, f"{below}{name}/")
        files += more
        tables += found
    return files, tables


@settings(max_examples=60, deadline=None)
@given(tree=trees)
@pytest.mark.slow
def test_each_table_is_found_once_on_a_disk_and_on_a_store(tree: Tree) -> None:
    files, tables = flat(tree)
    with tempfile.TemporaryDirectory() as folder:
        disk, store = stored(files, Path(folder))
        assert walked(disk) == walked(store) == sorted(tables)


def test_hidden_folders_links_and_indexes_are_passed_over(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    files = [
        f"{at}/{file}"
        for at in ("t", ".old/t", "_metaindex/t", "idx/t-1/find")
        for file in DELTA
        if at != "idx/t-1/find"
    ]
    files += [f"idx/t-1/find/{file}" for file in INDEX]
    stored(files, lake)
    (tmp_path / "other" / "_delta_log").mkdir(parents=True)
    os.symlink(tmp_path / "other", lake / "linked")
    os.symlink(lake, lake / "round")
    assert walked(LocalStorage(str(lake))) == [("t", "delta")]


def test_a_stray_file_hides_no_tables(tmp_path: Path) -> None:
    files = ["catalog.json", *(f"gold/{file}" for file in PLAIN), "silver/dump.csv"]
    files += [f"silver/orders/{file}" for file in DELTA]
    for storage in stored(files, tmp_path):
        assert walked(storage) == [("gold", "files"), ("silver/orders", "delta")]


def test_the_root_itself_may_be_a_table(tmp_path: Path) -> None:
    for at, files in enumerate((DELTA, ICEBERG, PLAIN, PARTS, DATED)):
        for storage in stored(list(files), tmp_path / str(at)):
            assert walked(storage) == [("", TABLES[files])]


def test_folders_named_by_numbers_that_hold_tables_are_no_dates(tmp_path: Path) -> None:
    for storage in stored([f"tenants/{tenant}/{file}" for tenant in (2001, 2002) for file in DELTA], tmp_path):
        assert walked(storage) == [("tenants/2001", "delta"), ("tenants/2002", "delta")]


@pytest.mark.slow
def test_a_large_folder_is_known_by_its_beginning(tmp_path: Path) -> None:
    many = [f"wide/a{number:05}.parquet" for number in range(2_500)]
    files = [*many, "wide/_delta_log/00000000000000000000.json"]
    files += [f"deep/{number:05}/x/a.txt" for number in range(1_200)] + ["deep/zz/a.parquet"]
    for storage in stored(files, tmp_path):
        assert walked(storage) == [("deep/zz", "files"), ("wide", "delta")]


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    stored([f"{number:04}/a.parquet" for number in range(50)], tmp_path)
    walk = Walk(LocalStorage(str(tmp_path)), 20)
    assert 0 < len(list(walk.tables())) < 20
    assert walk.cut
    deep = "/".join("d" * 20)
    stored([f"{deep}/a.parquet"], tmp_path / "deep")
    walk = Walk(LocalStorage(str(tmp_path / "deep")), 1_000)
    assert list(walk.tables()) == []
    assert walk.deep == ["/".join("d" * 12)]


class Closed(LocalStorage):
    """A folder of it lets nobody in."""

    def glances(self, prefix: str):
        if prefix == "closed":
            raise StorageError("cannot list 'closed': permission denied")
        return super().glances(prefix)


def test_a_folder_that_is_closed_is_told_of_and_the_others_are_found(tmp_path: Path) -> None:
    stored([f"{at}/{file}" for at in ("closed", "open") for file in PLAIN], tmp_path)
    found = list(Walk(Closed(str(tmp_path)), 100).tables())
    assert [table.folder for table in found] == ["closed", "open"]
    assert found[0] == FoundTable("closed", "", "cannot list 'closed': permission denied")


def test_a_root_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert walked(LocalStorage(str(tmp_path / "none"))) == []
    with pytest.raises(StorageError):
        list(Walk(LocalStorage(str(tmp_path / "a\0b")), 10).tables())


def test_folders_with_signs_of_equality_may_hold_tables(tmp_path: Path) -> None:
    """As names of environments, or a name that somebody gave: they hide no table, and none beside them."""
    files = [f"env=prod/orders/{file}" for file in DELTA] + [f"env=test/orders/{file}" for file in ICEBERG]
    files += [f"users/{file}" for file in PLAIN]
    for storage in stored(files, tmp_path / "a"):
        assert walked(storage) == [("env=prod/orders", "delta"), ("env=test/orders", "iceberg"), ("users", "files")]
    files = [f"team/a=b/{file}" for file in PLAIN] + [f"team/{name}/{file}" for name in ("x", "y") for file in PLAIN]
    for storage in stored(files, tmp_path / "b"):
        assert walked(storage) == [("team/a=b", "files"), ("team/x", "files"), ("team/y", "files")]


def test_each_folder_is_looked_at_once(tmp_path: Path) -> None:
    """However often files lie beside folders that may be tables."""
    deep = [f"{'x/' * depth}a.parquet" for depth in range(1, 11)] + [f"{'x/' * 10}t/{file}" for file in DELTA]
    stored(deep, tmp_path)
    walk = Walk(LocalStorage(str(tmp_path)), 1_000)
    assert [table.folder for table in walk.tables()] == ["x/" * 10 + "t"]
    assert walk.looked <= 14


@pytest.mark.slow
def test_of_very_many_folders_beside_each_other_all_are_looked_at_or_that_is_said(tmp_path: Path) -> None:
    for number in range(21_000):
        (tmp_path / f"{number:05}x").mkdir()
    (tmp_path / "zz").mkdir()
    (tmp_path / "zz" / "a.parquet").touch()
    assert walked(LocalStorage(str(tmp_path)), 50_000) == [("zz", "files")]
    walk = Walk(LocalStorage(str(tmp_path)), 5_000)
    list(walk.tables())
    assert walk.cut
