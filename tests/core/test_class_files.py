"""Class files are kept in a folder of the user's own, and read where nobody else can have written them."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metaindex.core.jvm import class_files
from tests.hostile.changes import turn


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "home" / "cache"
    monkeypatch.setenv("METAINDEX_CACHE", str(cache))
    return cache


def put(key: str, content: bytes) -> None:
    with class_files.opened_folder() as folder:
        class_files.write(folder, key, content)


def found(key: str) -> bytes | None:
    with class_files.opened_folder() as folder:
        return class_files.read(folder, key)


def test_what_is_written_is_read_and_is_the_users_alone(cache: Path) -> None:
    assert found("a") is None
    put("a", b"classes")
    assert found("a") == b"classes"
    assert found("b") is None
    folder = cache / "classes"
    assert (folder.stat().st_mode & 0o777, (folder / "a").stat().st_mode & 0o777) == (0o700, 0o600)
    assert [file.name for file in folder.iterdir()] == ["a"]


@pytest.mark.parametrize("byte", [0, 31, 32, -1])
def test_damage_is_not_read_and_written_anew(cache: Path, byte: int) -> None:
    put("a", b"classes")
    turn(cache / "classes" / "a", byte)
    assert found("a") is None
    put("a", b"classes")
    assert found("a") == b"classes"


def test_half_a_file_and_one_of_another_key_are_not_read(cache: Path) -> None:
    put("a", b"classes")
    whole = (cache / "classes" / "a").read_bytes()
    (cache / "classes" / "b").write_bytes(whole)
    (cache / "classes" / "c").write_bytes(whole[:20])
    (cache / "classes" / "d").mkdir()
    assert [found(key) for key in "abcd"] == [b"classes", None, None, None]


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
@pytest.mark.parametrize("part", [".", "classes"])
def test_a_folder_that_others_may_write_into_is_not_opened(cache: Path, part: str, mode: int) -> None:
    put("a", b"classes")
    (cache / part).chmod(mode)
    with pytest.raises(class_files.ForeignFolderError):
        found("a")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="who is not root gives no files away")
@pytest.mark.parametrize("part", [".", "classes", "classes/a"])
def test_what_belongs_to_another_user_is_not_read(cache: Path, part: str) -> None:
    put("a", b"classes")
    os.chown(cache / part, 4711, -1)
    try:
        assert found("a") is None
    except class_files.ForeignFolderError:
        assert part != "classes/a"
    else:
        assert part == "classes/a"


def test_a_file_that_others_may_write_is_not_read(cache: Path) -> None:
    put("a", b"classes")
    (cache / "classes" / "a").chmod(0o666)
    assert found("a") is None


def test_no_link_is_followed_below_the_cache(cache: Path, tmp_path: Path) -> None:
    put("a", b"classes")
    (cache / "classes" / "b").symlink_to("a")
    with class_files.opened_folder() as folder:
        assert class_files.read(folder, "b") is None
    elsewhere = tmp_path / "elsewhere"
    (cache / "classes").rename(elsewhere)
    (cache / "classes").symlink_to(elsewhere)
    with pytest.raises(OSError, match="classes"):
        found("a")


def test_a_cache_above_which_a_link_stands_is_the_users_choice(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a", b"classes")
    (tmp_path / "link").symlink_to(cache)
    monkeypatch.setenv("METAINDEX_CACHE", str(tmp_path / "link"))
    assert found("a") == b"classes"


def test_where_no_folder_can_be_made_an_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("METAINDEX_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(OSError, match="file"):
        found("a")


def test_those_that_were_used_last_stay(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_files, "KEPT", 3)
    for number, key in enumerate("abc"):
        put(key, b"classes")
        os.utime(cache / "classes" / key, (number, number))
    assert found("a") == b"classes"
    put("d", b"classes")
    assert sorted(file.name for file in (cache / "classes").iterdir()) == ["a", "c", "d"]


def test_two_at_once_read_whole_files(cache: Path) -> None:
    put("a", b"x" * 100_000)

    def both(number: int) -> bytes | None:
        put("a", b"x" * 100_000)
        return found("a")

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(both, range(40))) == {b"x" * 100_000}
    assert [file.name for file in (cache / "classes").iterdir()] == ["a"]
