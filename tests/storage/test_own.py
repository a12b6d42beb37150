"""A folder of our own: the contract, no link followed by any call, what killed puts leave, and permissions that are the
table's."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import StorageError
from metaindex.storage import KeepsLeftovers, LocalStorage, Storage, meant_by, own_folder
from metaindex.storage.own import OwnFolder, temporary_name
from tests.contract.storage_contract import StorageContract, place_files


class TestOwnFolder(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return OwnFolder(str(tmp_path / "home" / "store"), str(tmp_path / "home"))

    def place(self, storage: Storage, objects: Mapping[str, bytes]) -> None:
        place_files(Path(storage.root), objects)


CALLS: dict[str, Callable[[OwnFolder], object]] = {
    "list": lambda s: list(s.list("")),
    "list below": lambda s: list(s.list("kind/run")),
    "read": lambda s: s.read("kind/run/part"),
    "head": lambda s: s.head("kind/run/part"),
    "open": lambda s: s.open_input("kind/run/part"),
    "put": lambda s: s.put("kind/run/part", b"x"),
    "put_if_absent": lambda s: s.put_if_absent("kind/run/part", b"x"),
    "delete": lambda s: s.delete("kind/run/part"),
    "leftovers": lambda s: list(s.leftovers()),
}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """What a planted link leads to: all that an index would have, and somebody's file."""
    there = tmp_path / "victim"
    place_files(there, {"kind/run/part": b"precious", "run/part": b"precious", "part": b"precious", "._put_x.1": b"p"})
    return there


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("link", ["home", "home/store", "home/store/kind", "home/store/kind/run"])
def test_no_call_goes_through_a_link(tmp_path: Path, victim: Path, link: str, call: str) -> None:
    before = bytes_of(victim)
    where = tmp_path / link
    where.parent.mkdir(parents=True, exist_ok=True)
    target = {"home": victim, "home/store": victim, "home/store/kind": victim, "home/store/kind/run": victim / "run"}
    where.symlink_to(target[link])
    with pytest.raises(StorageError, match=r"follows no link; .* is one; remove the link"):
        CALLS[call](OwnFolder(str(tmp_path / "home" / "store"), str(tmp_path / "home")))
    assert bytes_of(victim) == before


@pytest.mark.parametrize("call", ["list", "list below", "read", "head", "open"])
def test_an_object_that_is_a_link_is_refused(tmp_path: Path, victim: Path, call: str) -> None:
    place_files(tmp_path / "own", {"kind/run/other": b"x"})
    (tmp_path / "own/kind/run/part").symlink_to(victim / "part")
    with pytest.raises(StorageError, match="follows no link"):
        CALLS[call](OwnFolder(str(tmp_path / "own")))


def test_a_link_in_the_place_of_an_object_is_replaced_or_removed_and_what_it_leads_to_stays(
    tmp_path: Path, victim: Path
) -> None:
    storage = OwnFolder(str(tmp_path / "own"))
    for call in (lambda: storage.put("part", b"new"), lambda: storage.delete("part")):
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own/part").unlink(missing_ok=True)
        (tmp_path / "own/part").symlink_to(victim / "part")
        call()
        assert (victim / "part").read_bytes() == b"precious"
        assert not (tmp_path / "own/part").is_symlink()


def test_links_above_the_home_are_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "lake").symlink_to(tmp_path / "disk")
    storage = OwnFolder(str(tmp_path / "lake/home/store"), str(tmp_path / "lake/home"))
    storage.put("a/b", b"x")
    assert storage.read("a/b") == b"x"
    assert (tmp_path / "disk/home/store/a/b").read_bytes() == b"x"


@pytest.mark.parametrize("call", ["read", "head", "open", "list"])
def test_a_pipe_is_refused_and_waited_for_by_nobody(tmp_path: Path, call: str) -> None:
    place_files(tmp_path / "own", {"kind/run/other": b"x"})
    os.mkfifo(tmp_path / "own/kind/run/part")
    with pytest.raises(StorageError, match="made of plain files"):
        CALLS[call](OwnFolder(str(tmp_path / "own")))


def test_absolute_paths_of_elsewhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "own2").mkdir()
    (tmp_path / "own2/x").write_bytes(b"x")
    with pytest.raises(StorageError, match="is outside"):
        OwnFolder(str(tmp_path / "own")).read(str(tmp_path / "own2/x"))


def test_handles_are_closed_whatever_happens(tmp_path: Path, victim: Path) -> None:
    storage = OwnFolder(str(tmp_path / "own"))
    storage.put("kind/run/part", b"x")
    (tmp_path / "own/kind/link").symlink_to(victim)
    calls = [*CALLS.values(), lambda s: s.read("kind/link/part"), lambda s: s.read("no/part"), lambda s: s.folders("")]
    for turn in range(3):
        before = len(os.listdir("/dev/fd"))
        for call in calls:
            with contextlib.suppress(StorageError):
                call(storage)
            storage.put("kind/run/part", b"x")
        assert turn == 0 or len(os.listdir("/dev/fd")) == before


def test_it_travels_to_another_process(tmp_path: Path) -> None:
    storage = own_folder(str(tmp_path / "a/b"), str(tmp_path / "a"), str(tmp_path))
    assert pickle.loads(pickle.dumps(storage)) == storage


# -- what killed puts leave --------------------------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
from metaindex.storage.own import OwnFolder
end = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
os.replace = os.link = end
getattr(OwnFolder(sys.argv[1]), sys.argv[2])("kind/run/part.mix", b"a value")
"""


@pytest.mark.parametrize("put", ["put", "put_if_absent"])
@pytest.mark.slow
def test_what_a_killed_put_leaves_is_found_and_can_be_removed(tmp_path: Path, put: str) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path / "own"), put], check=False)
    assert done.returncode == -signal.SIGKILL
    storage = OwnFolder(str(tmp_path / "own"))
    assert isinstance(storage, KeepsLeftovers)
    assert list(storage.list("")) == []
    (left,) = storage.leftovers()
    assert storage.read(left.path) == b"a value"
    assert meant_by(left.path) == "kind/run/part.mix"
    storage.delete(left.path)
    assert list(storage.leftovers()) == []
    assert os.listdir(tmp_path / "own/kind/run") == []


@given(st.text(st.characters(exclude_characters="/\0", codec="ascii"), min_size=1, max_size=40))
def test_a_temporary_name_says_what_it_was_to_become(name: str) -> None:
    assert meant_by(f"kind/run/{temporary_name(name)}") == f"kind/run/{name}"


# -- permissions -------------------------------------------------------------------------------------------------------


def modes(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mode & 0o7777 for p in [folder, *folder.rglob("*")]}


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
@pytest.mark.parametrize(
    ("root", "data", "folder", "file"),
    [
        (0o700, 0o600, 0o700, 0o600),
        (0o755, 0o644, 0o755, 0o644),
        (0o755, 0o600, 0o700, 0o600),
        (0o700, 0o644, 0o700, 0o600),
        (0o750, 0o640, 0o750, 0o640),
        (0o750, 0o644, 0o750, 0o640),
        (0o770, 0o660, 0o770, 0o640),
        (0o2775, 0o664, 0o2775, 0o644),
        (0o711, 0o644, 0o700, 0o600),
    ],
)
def test_folders_and_objects_are_as_open_as_the_table(
    tmp_path: Path, umask: int, root: int, data: int, folder: int, file: int
) -> None:
    table = tmp_path / "table"
    place_files(table, {"p=1/f.parquet": b"x"})
    (table / "p=1/f.parquet").chmod(data)
    (table / "p=1").chmod(root)
    table.chmod(root)
    home = tmp_path / "_metaindex/table"
    storage = OwnFolder(str(home / "ix"), str(home), str(table))
    before = os.umask(umask)
    try:
        storage.put("kind/run/part", b"x")
        storage.put_if_absent("_log/1", b"x")
    finally:
        os.umask(before)
    for path, mode in modes(home).items():
        assert mode == (folder if (home / path).is_dir() else file), path


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
@pytest.mark.parametrize(
    ("lake", "shared"),
    [
        (0o755, 0o755),
        (0o700, 0o700),
        (0o750, 0o750),
        (0o2775, 0o2775),
        (0o777, 0o777),
        (0o1777, 0o755),  # there nobody takes away the tables of others: nor do they make indexes of them
        (0o711, 0o711),
    ],
)
def test_the_folder_that_tables_of_a_lake_share_is_as_open_as_the_lake(
    tmp_path: Path, umask: int, lake: int, shared: int
) -> None:
    """Of plain folders: whoever may reach, or add, a table there may do so with its indexes."""
    table = tmp_path / "lake/table"
    place_files(table, {"f.parquet": b"x"})
    (tmp_path / "lake").chmod(lake)
    home = tmp_path / "lake/_metaindex/table"
    before = os.umask(umask)
    try:
        OwnFolder(str(home / "ix"), str(home), str(table)).put("part", b"x")
    finally:
        os.umask(before)
    assert home.parent.stat().st_mode & 0o7777 == shared


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another group")
def test_the_group_of_that_folder_is_the_lakes(tmp_path: Path) -> None:
    table = tmp_path / "lake/table"
    place_files(table, {"f.parquet": b"x"})
    os.chown(tmp_path / "lake", -1, 4242)
    (tmp_path / "lake").chmod(0o770)
    home = tmp_path / "lake/_metaindex/table"
    OwnFolder(str(home), "", str(table)).put("part", b"x")
    found = home.parent.stat()
    assert (found.st_gid, found.st_mode & 0o7777) == (4242, 0o770)


def test_one_file_that_is_closed_closes_the_index(tmp_path: Path) -> None:
    table = tmp_path / "table"
    place_files(table, {f"p={n}/f{n}.parquet": b"x" for n in range(30)})
    for path in [table, *table.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    (table / "p=17").chmod(0o700)
    OwnFolder(str(table / "_metaindex"), "", str(table)).put("x", b"")
    assert modes(table / "_metaindex") == {".": 0o700, "x": 0o600}


def test_a_table_that_was_closed_closes_its_indexes_and_is_not_opened_again(tmp_path: Path) -> None:
    table = tmp_path / "table"
    place_files(table, {"f.parquet": b"x"})
    table.chmod(0o755)
    (table / "f.parquet").chmod(0o644)
    storage = OwnFolder(str(table / "_metaindex/ix"), str(table / "_metaindex"), str(table))
    storage.put_if_absent("_log/1", b"")
    for closed in (0o700, 0o755):
        table.chmod(closed)
        storage.put_if_absent(f"_log/{closed}", b"")
        assert (table / "_metaindex").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another group")
def test_the_group_is_the_tables(tmp_path: Path) -> None:
    table = tmp_path / "table"
    place_files(table, {"f.parquet": b"x"})
    for path in (table, table / "f.parquet"):
        os.chown(path, -1, 4242)
        path.chmod(0o750 if path.is_dir() else 0o640)
    OwnFolder(str(table / "_metaindex/ix"), str(table / "_metaindex"), str(table)).put("kind/part", b"")
    for path in (table / "_metaindex").rglob("*"):
        assert path.stat().st_gid == 4242
        assert path.stat().st_mode & 0o777 == (0o750 if path.is_dir() else 0o640)


def test_without_a_table_the_process_decides(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        OwnFolder(str(tmp_path / "own")).put("a/b", b"")
        LocalStorage(str(tmp_path / "plain")).put("a/b", b"")
    finally:
        os.umask(before)
    assert modes(tmp_path / "own") == modes(tmp_path / "plain")


@pytest.mark.parametrize("times", [1, 3])
def test_a_put_whose_temporary_file_is_taken_away_is_made_again(tmp_path: Path, times: int) -> None:
    """Who cancels an operation removes what its writer has begun; the writer learns of it at its commit, and not by a
    file that is gone."""
    storage = OwnFolder(str(tmp_path / "index"))
    taken = []

    def take_away_first(folder: int, temporary: str, name: str) -> None:
        if len(taken) < times:
            os.unlink(temporary, dir_fd=folder)
            taken.append(temporary)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)

    storage._put("values/part", b"rows", take_away_first)
    assert storage.read("values/part") == b"rows"
    assert len(set(taken)) == times
    assert not list(storage.leftovers())
