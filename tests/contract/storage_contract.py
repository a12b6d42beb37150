"""What every storage promises. A storage's test class inherits the suite and gives the fixture `storage`: an empty
store."""

import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metaindex.core import ObjectExistsError, ObjectNotFoundError, StorageError
from metaindex.storage import ObjectInfo, Storage


class StorageContract:
    """Inherit, and define the fixture `storage`. `many`: more objects than one page of the store's listing has, where
    it has pages."""

    many = 120

    def place(self, storage: Storage, objects: Mapping[str, bytes]) -> None:
        """Many objects at once; where it can be, by another way than the storage under test."""
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda one: storage.put(*one), objects.items()))

    def test_it_is_a_storage(self, storage: Storage) -> None:
        assert isinstance(storage, Storage)

    def test_put_if_absent_creates_and_the_bytes_come_back(self, storage: Storage) -> None:
        storage.put_if_absent("a/b/c.json", b"hello")
        assert storage.read("a/b/c.json") == b"hello"
        assert storage.head("a/b/c.json").size_bytes == 5

    def test_put_if_absent_never_replaces(self, storage: Storage) -> None:
        storage.put_if_absent("one", b"first")
        with pytest.raises(ObjectExistsError):
            storage.put_if_absent("one", b"second")
        assert storage.read("one") == b"first"

    def test_put_if_absent_has_exactly_one_winner_among_threads(self, storage: Storage) -> None:
        def race(me: int) -> bool:
            try:
                storage.put_if_absent("log/0", str(me).encode() * 1000)
            except ObjectExistsError:
                return False
            return True

        with ThreadPoolExecutor(32) as pool:
            wins = list(pool.map(race, range(32)))
        assert sum(wins) == 1
        assert storage.read("log/0") == str(wins.index(True)).encode() * 1000

    def test_put_replaces(self, storage: Storage) -> None:
        storage.put("x/one", b"first")
        storage.put("x/one", b"second")
        assert storage.read("x/one") == b"second"

    def test_an_empty_object_is_an_object(self, storage: Storage) -> None:
        storage.put_if_absent("empty", b"")
        assert storage.read("empty") == b""
        assert [o.size_bytes for o in storage.list("")] == [0]

    @pytest.mark.parametrize(
        ("start", "length", "expected"),
        [
            (0, None, b"0123456789"),
            (3, None, b"3456789"),
            (3, 4, b"3456"),
            (8, 10, b"89"),
            (0, 0, b""),
            (10, None, b""),
        ],
    )
    def test_read_gives_the_range_that_is_there(
        self, storage: Storage, start: int, length: int | None, expected: bytes
    ) -> None:
        storage.put("ten", b"0123456789")
        assert storage.read("ten", start, length) == expected

    def test_a_missing_object_is_not_found(self, storage: Storage) -> None:
        storage.put("folder/child", b"x")
        for missing in ("nothing", "folder/nothing", "folder", "folder/child/below"):
            with pytest.raises(ObjectNotFoundError):
                storage.read(missing)
            with pytest.raises(ObjectNotFoundError):
                storage.head(missing)

    def test_delete_removes_and_is_quiet_about_what_is_gone(self, storage: Storage) -> None:
        storage.put("a/gone", b"x")
        storage.delete("a/gone")
        storage.delete("a/gone")
        storage.delete("never/was")
        assert list(storage.list("")) == []

    def test_list_is_in_path_order_over_folders(self, storage: Storage) -> None:
        names = ["a-b", "a/z", "a/b/c", "a.txt", "a0", "b", "é", "z", "a/b!"]
        for name in names:
            storage.put(name, name.encode())
        assert [o.path for o in storage.list("")] == sorted(names)

    def test_list_gives_all_of_many_objects_in_order(self, storage: Storage) -> None:
        names = [f"many/{n:04}" for n in range(self.many)]
        self.place(storage, dict.fromkeys(names, b""))
        assert [o.path for o in storage.list("many")] == names
        assert [o.path for o in storage.list("many", recursive=False)] == names
        assert [o.path for o in storage.list("many", start_after=names[60])] == names[61:]

    def test_folders_gives_all_of_many_folders(self, storage: Storage) -> None:
        names = [f"f{n:04}" for n in range(self.many)]
        self.place(storage, {f"many/{name}/x": b"" for name in names} | {"many/a file": b""})
        assert storage.folders("many") == names
        assert storage.folders("nowhere") == []

    def test_list_below_a_folder_takes_no_name_that_only_starts_like_it(self, storage: Storage) -> None:
        for name in ("log/1", "log/2", "log2/3", "logs"):
            storage.put(name, b"x")
        assert [o.path for o in storage.list("log")] == ["log/1", "log/2"]
        assert [o.path for o in storage.list("log/")] == ["log/1", "log/2"]

    def test_list_of_a_missing_folder_is_empty(self, storage: Storage) -> None:
        assert list(storage.list("nowhere")) == []
        assert list(storage.list("nowhere", recursive=False)) == []

    def test_list_without_recursion_gives_the_objects_of_the_folder_only(self, storage: Storage) -> None:
        for name in ("f/1", "f/sub/2", "f/3"):
            storage.put(name, b"x")
        assert [o.path for o in storage.list("f", recursive=False)] == ["f/1", "f/3"]

    @pytest.mark.parametrize("recursive", [True, False])
    def test_start_after_gives_only_later_paths(self, storage: Storage, recursive: bool) -> None:
        names = ["f/01", "f/02", "f/03", "f/03.tmp", "f/04"]
        for name in names:
            storage.put(name, b"x")
        assert [o.path for o in storage.list("f", recursive=recursive, start_after="f/02")] == names[2:]
        assert [o.path for o in storage.list("f", recursive=recursive, start_after="f/025")] == names[2:]
        assert [o.path for o in storage.list("f", recursive=recursive, start_after="f/04")] == []

    def test_start_after_inside_a_folder(self, storage: Storage) -> None:
        names = ["a/1", "a/b/1", "a/b/2", "a/c"]
        for name in names:
            storage.put(name, b"x")
        assert [o.path for o in storage.list("", start_after="a/b/1")] == names[2:]

    def test_head_and_list_say_the_same(self, storage: Storage) -> None:
        storage.put("f/1", b"abc")
        (listed,) = storage.list("f")
        assert listed == storage.head("f/1")
        assert isinstance(listed, ObjectInfo)
        assert listed.etag

    def test_a_replaced_object_of_the_same_size_has_another_etag(self, storage: Storage) -> None:
        storage.put("f", b"abc")
        before = storage.head("f").etag
        storage.put("f", b"abd")
        assert storage.head("f").etag != before

    def test_open_input_reads_and_seeks(self, storage: Storage) -> None:
        storage.put("f", b"0123456789")
        with storage.open_input("f") as file:
            assert file.size() == 10
            file.seek(4)
            assert file.read(3) == b"456"

    def test_open_input_of_an_empty_object_has_no_bytes(self, storage: Storage) -> None:
        storage.put("f", b"")
        with storage.open_input("f") as file:
            assert (file.size(), file.read()) == (0, b"")

    @pytest.mark.parametrize("size", [1, 65_535, 65_536, 65_537, 300_000])
    def test_open_input_gives_every_stretch(self, storage: Storage, size: int) -> None:
        data = random.Random(size).randbytes(size)
        storage.put("f", data)
        edges = sorted({0, 1, size // 2, max(size - 65_537, 0), max(size - 65_536, 0), size - 1, size})
        with storage.open_input("f") as file:
            assert file.size() == size
            for start in edges:
                for length in (0, 1, 8, 65_536, size):
                    file.seek(start)
                    assert file.read(length) == data[start : start + length]
            file.seek(0)
            assert file.read() == data

    def test_open_input_of_a_missing_object_is_not_found(self, storage: Storage) -> None:
        with pytest.raises(ObjectNotFoundError):
            storage.open_input("nothing")

    def test_absolute_paths_name_the_same_objects(self, storage: Storage) -> None:
        storage.put("f/1", b"abc")
        absolute = storage.uri("f/1")
        assert storage.read(absolute) == b"abc"
        assert storage.head(absolute).size_bytes == 3

    def test_names_with_odd_characters_survive(self, storage: Storage) -> None:
        names = ["p=a%20b/x y.parquet", "p=ü😀/1", "p=a+b/q?.json", "p=#/x"]
        names += [
            'it\'s "quoted"',
            "a&b=<c>;d",
            "100% %2F %41",
            " edge ",
            "back\\slash",
            "~*|:^`{}[]",
            "e\u0301 \u00e9",
        ]
        for name in names:
            storage.put_if_absent(name, name.encode())
        assert {o.path: storage.read(o.path) for o in storage.list("")} == {n: n.encode() for n in names}

    def test_a_relative_path_cannot_climb_out(self, storage: Storage) -> None:
        with pytest.raises(StorageError, match=r"\.\."):
            storage.read("../outside")
        with pytest.raises(StorageError, match=r"\.\."):
            storage.put("a/../../outside", b"x")


def place_files(root: Path, objects: Mapping[str, bytes]) -> None:
    """Objects of a store that keeps them as files below a folder."""
    for folder in {(root / name).parent for name in objects}:
        folder.mkdir(parents=True, exist_ok=True)
    for name, data in objects.items():
        (root / name).write_bytes(data)
