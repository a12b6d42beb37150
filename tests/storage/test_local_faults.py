"""Local disks that are full, read-only or not ours: an error that says the cure, and nothing half-written."""

import errno
import os
from collections.abc import Callable

import pytest

from metaindex.core import StorageError, StoragePermissionError
from metaindex.storage import LocalStorage
from tests.disks import files_up_to, read_only, small_disk, someone_elses_folder

PUTS: dict[str, Callable[[LocalStorage, str, bytes], None]] = {
    "put": LocalStorage.put,
    "put_if_absent": LocalStorage.put_if_absent,
}


@pytest.mark.parametrize("put", PUTS)
def test_a_full_disk_is_said_and_nothing_is_left(put: str) -> None:
    with small_disk(64) as folder:
        storage = LocalStorage(str(folder))
        storage.put("kept", b"k" * 1000)
        for path in ("big", "new folder/big", "kept"):
            if (put, path) == ("put_if_absent", "kept"):
                continue
            with pytest.raises(StorageError, match=r"cannot write .*: the disk is full; free some space"):
                PUTS[put](storage, path, b"x" * 100_000)
        assert storage.read("kept") == b"k" * 1000
        assert [o.path for o in storage.list("")] == ["kept"]
        assert sorted(os.listdir(folder)) == ["kept", "new folder"]
        assert os.listdir(folder / "new folder") == []
        PUTS[put](storage, "small", b"x")


@pytest.mark.parametrize("put", PUTS)
def test_a_limit_of_the_process_is_said_and_nothing_is_left(put: str, tmp_path: os.PathLike[str]) -> None:
    storage = LocalStorage(str(tmp_path))
    with files_up_to(1000), pytest.raises(StorageError, match="ulimit -f"):
        PUTS[put](storage, "big", b"x" * 1001)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("put", PUTS)
def test_a_read_only_mount_is_said(put: str) -> None:
    with small_disk(64) as folder:
        storage = LocalStorage(str(folder))
        storage.put("there", b"x")
        with read_only(folder):
            with pytest.raises(StoragePermissionError, match=r"mounted read-only.*index_location"):
                PUTS[put](storage, "new", b"x")
            with pytest.raises(StoragePermissionError, match="mounted read-only"):
                storage.delete("there")
            assert storage.read("there") == b"x"


def test_what_may_not_be_read_listed_written_or_deleted_is_said() -> None:
    with someone_elses_folder() as folder:
        storage = LocalStorage(str(folder))
        storage.put("closed/a", b"x")
        os.chmod(folder / "closed", 0)
        calls: list[Callable[[], object]] = [
            lambda: storage.read("closed/a"),
            lambda: storage.head("closed/a"),
            lambda: storage.open_input("closed/a"),
            lambda: list(storage.list("closed")),
            lambda: list(storage.list("")),
            lambda: storage.folders("closed"),
            lambda: storage.put("closed/b", b""),
            lambda: storage.put_if_absent("closed/b", b""),
            lambda: storage.delete("closed/a"),
        ]
        for call in calls:
            with pytest.raises(
                StoragePermissionError, match=r"permission denied(;|, as .* takes).*owner (and|or) mode"
            ) as caught:
                call()
            assert "\n" not in str(caught.value)


def test_a_file_system_without_hard_links_is_refused(
    tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few machines have such a disk at hand: what it answers stands in for it."""

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    storage = LocalStorage(str(tmp_path))
    with pytest.raises(StorageError, match=r"hard links.*has none.*index_location"):
        storage.put_if_absent("a", b"x")
    assert os.listdir(tmp_path) == []
