"""Local storage: the contract, one winner in a race of processes, and errors that say the cure."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import StorageError, StoragePermissionError
from metaindex.storage import LocalStorage, Storage, storage_for
from metaindex.storage.local import HANDLES, opened
from tests.contract.storage_contract import StorageContract, place_files
from tests.disks import someone_elses_folder
from tests.racers import raced


class TestLocalStorage(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return LocalStorage(str(tmp_path / "store"))

    def place(self, storage: Storage, objects: Mapping[str, bytes]) -> None:
        place_files(Path(storage.root), objects)


_RACER = """
import sys
from metaindex.storage.local import LocalStorage
from metaindex.core.expression_errors import ObjectExistsError
from tests.racers import ready
store, me = LocalStorage(sys.argv[1]), sys.argv[2]
ready()
won = []
for n in range(40):
    try:
        store.put_if_absent(f"log/{n:020}.json", me.encode() * 1000)
        won.append(n)
    except ObjectExistsError:
        pass
print(*won)
"""


@pytest.mark.slow
def test_put_if_absent_has_exactly_one_winner_among_processes(tmp_path: Path) -> None:
    said = raced(_RACER, [[str(tmp_path), str(me)] for me in range(4)])
    wins = {me: [int(n) for n in words.split()] for me, words in enumerate(said)}
    assert sorted(n for won in wins.values() for n in won) == list(range(40))
    store = LocalStorage(str(tmp_path))
    for me, won in wins.items():
        for n in won:
            assert store.read(f"log/{n:020}.json") == str(me).encode() * 1000
    assert len(os.listdir(tmp_path / "log")) == 40  # no temporary file is left


def test_a_temporary_file_left_by_a_crash_is_never_listed(tmp_path: Path) -> None:
    (tmp_path / "._put_0123").write_bytes(b"half")
    (tmp_path / "whole").write_bytes(b"x")
    assert [o.path for o in LocalStorage(str(tmp_path)).list("")] == ["whole"]


def test_a_place_without_write_permission_is_said_with_another_place_as_the_cure() -> None:
    with someone_elses_folder() as folder:
        folder.chmod(0o500)
        said = f"permission denied, as {str(folder)!r} takes no new files .*index_location="
        for path in ("a", "not/yet/there"):
            with pytest.raises(StoragePermissionError, match=said):
                LocalStorage(str(folder)).put_if_absent(path, b"x")
        assert os.listdir(folder) == []


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(StorageError):
        LocalStorage(str(tmp_path)).put_if_absent("file/below", b"x")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("form", ["file:{}", "file://{}", "file://localhost{}"])
def test_file_uris_name_local_paths(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "a b#c?"
    folder.mkdir()
    (folder / "x").write_bytes(b"1")
    uri = form.format(str(tmp_path) + "/a%20b%23c%3F")
    storage, root = storage_for(uri)
    assert root == str(folder)
    assert storage.read("x") == b"1"
    assert LocalStorage(str(tmp_path)).read(uri + "/x") == b"1"


def test_a_file_uri_of_another_host_is_refused() -> None:
    with pytest.raises(StorageError, match="this machine"):
        storage_for("file://other/x")


def test_a_link_that_leads_back_is_refused_and_a_dangling_one_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"1")
    (tmp_path / "nothing").symlink_to(tmp_path / "missing")
    assert [o.path for o in LocalStorage(str(tmp_path)).list("")] == ["a/x"]
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    with pytest.raises(StorageError, match="leads to a folder above"):
        list(LocalStorage(str(tmp_path)).list(""))


def test_a_single_file_is_its_own_root(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    storage, root = storage_for(tmp_path / "x.csv")
    assert storage.head("").size_bytes == 4
    assert root == str(tmp_path / "x.csv")


def test_what_is_no_regular_file_is_no_object_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    store = LocalStorage(str(tmp_path))

    for name in ("pipe", "endless"):
        with pytest.raises(StorageError, match="no regular file; remove it"):
            store.read(name, 0, 10)
        with pytest.raises(StorageError, match="no regular file; remove it"):
            store.open_input(name)


@pytest.mark.skipif(not os.path.isdir(HANDLES), reason="open files have no names here")
def test_what_was_looked_at_is_what_is_opened(tmp_path: Path) -> None:
    """A pipe that is put in its place in between would keep its reader for ever."""
    where = tmp_path / "x"
    where.write_bytes(b"looked at")

    def swap(handle: int) -> None:
        where.unlink()
        os.mkfifo(where)

    with opened(str(where), swap) as file:
        assert file.read() == b"looked at"
    with pytest.raises(StorageError, match="no regular file; remove it"):
        opened(str(where))


def test_no_more_memory_is_taken_than_there_are_bytes(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"abc")

    assert LocalStorage(str(tmp_path)).read("small", 1, 1 << 60) == b"bc"
    assert LocalStorage(str(tmp_path)).read("small", 7, 1 << 60) == b""


@given(data=st.data())
def test_a_listing_goes_on_behind_any_name(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    parts = st.text("ab./0", min_size=1, max_size=4)
    root = tmp_path_factory.mktemp("listed")
    for name in data.draw(st.lists(parts, max_size=8)):
        path = root / name.strip("/").replace("//", "/").replace(".", "-")
        if not any(above.is_file() for above in (path, *path.parents)) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    storage = LocalStorage(str(root))
    for prefix in ("", "a", "b/a"):
        for recursive in (True, False):
            every = [info.path for info in storage.list(prefix, recursive=recursive)]
            after = data.draw(st.one_of(st.just(""), parts, st.sampled_from(["", *every])))
            listed = [info.path for info in storage.list(prefix, recursive=recursive, start_after=after)]
            assert listed == [path for path in every if path > after], (prefix, after)
