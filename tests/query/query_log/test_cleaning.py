"""clean bounds a query log and makes one file of many; beside writers, readers, other cleans and kills it loses and
doubles nothing, and removes nothing but its own."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.query.query_log.cleaning import DAY_MS, QueriesCleaned, clean
from metaindex.query.query_log.files import listed
from metaindex.query.query_log.reading import logged
from metaindex.storage import Storage, own_folder
from metaindex.storage.own import OwnFolder
from tests.query.query_log.lake import folder_of, noted, numbers, written
from tests.racers import raced
from tests.tables import delta_lake

FOREVER = mi.QueryLog(keep_days=1e6, keep_bytes=1 << 40)


class Killed(Exception):
    """The process ends here."""


@dataclass(frozen=True, slots=True)
class Dying(OwnFolder):
    """A folder whose user dies before so many writes and removals."""

    left: list[int] = field(default_factory=lambda: [0])

    def _step(self) -> None:
        self.left[0] -= 1
        if self.left[0] < 0:
            raise Killed

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._step()
        OwnFolder.put_if_absent(self, path, data)

    def delete(self, path: str) -> None:
        self._step()
        OwnFolder.delete(self, path)


def test_small_files_of_a_day_become_one(tmp_path: Path) -> None:
    storage = own_folder(str(tmp_path), str(tmp_path))
    for day in range(3):
        for part in range(4):
            written(storage, range(day * 100 + part * 10, day * 100 + part * 10 + 5), (20_000 + day) * DAY_MS + part)
    before = numbers(logged(storage).rows)
    assert clean(storage, FOREVER) == QueriesCleaned(0, 12, (), 3, sum(info.size_bytes for info in listed(storage)[0]))
    assert numbers(logged(storage).rows) == before
    assert not clean(storage, FOREVER)


def test_what_is_too_old_or_too_much_goes(tmp_path: Path) -> None:
    storage = own_folder(str(tmp_path), str(tmp_path))
    for day in range(5):
        written(storage, range(day, day + 1), (20_000 + day) * DAY_MS)
    newest = listed(storage)[0][-1]
    assert clean(storage, mi.QueryLog(keep_days=1e6, keep_bytes=newest.size_bytes)).removed == 4
    assert numbers(logged(storage).rows) == [4]
    assert clean(storage, mi.QueryLog()).removed == 1
    assert listed(storage) == ([], {})


def test_clean_of_an_index_cleans_the_log_of_its_table(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    for number in range(3):
        table.prune(f"id = {number}")
        table.query_log()
    outcome = table.clean_index("stats")
    assert outcome.changed
    assert any("3 merged" in note for note in outcome.notes)
    assert table.query_log().num_rows == 3
    assert len(list(folder_of(table).iterdir())) == 1


@given(
    ops=st.lists(st.tuples(st.sampled_from(["write", "clean"]), st.integers(0, 6)), max_size=12), last=st.integers(0, 6)
)
@pytest.mark.slow
def test_a_crash_between_steps_loses_and_doubles_nothing(
    tmp_path_factory: pytest.TempPathFactory, ops: list[tuple[str, int]], last: int
) -> None:
    root = str(tmp_path_factory.mktemp("log"))
    expected: list[int] = []
    for op, steps in [*ops, ("clean", last)]:
        storage: Storage = own_folder(root, root)
        if op == "write":
            new = range(len(expected), len(expected) + 1 + steps % 3)
            written(storage, new, 20_000 * DAY_MS + steps)
            expected += new
            continue
        with suppress(Killed):
            clean(Dying(root, root, left=[steps]), FOREVER)
        assert numbers(logged(own_folder(root, root)).rows) == expected
    clean(own_folder(root, root), FOREVER)
    assert numbers(logged(own_folder(root, root)).rows) == expected
    assert len(listed(own_folder(root, root))[0]) <= 1


@dataclass(frozen=True, slots=True)
class Meanwhile(Dying):
    """A folder in which another clean works between the steps of this user."""

    def _step(self) -> None:
        self.left[0] -= 1
        if self.left[0] == 0:
            clean(own_folder(self.root, self.root), FOREVER)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        self._step()
        return OwnFolder.read(self, path, start, length)


@pytest.mark.parametrize("step", range(1, 11))
def test_two_cleans_and_a_reader_between_any_steps(step: int, tmp_path: Path) -> None:
    storage = own_folder(str(tmp_path), str(tmp_path))
    for part in range(4):
        written(storage, range(part * 10, part * 10 + 3), 20_000 * DAY_MS + part)
    before = numbers(logged(storage).rows)
    clean(Meanwhile(str(tmp_path), str(tmp_path), left=[step]), FOREVER)
    assert numbers(logged(storage).rows) == before
    written(storage, range(100, 103), 20_000 * DAY_MS)
    assert numbers(logged(Meanwhile(str(tmp_path), str(tmp_path), left=[step])).rows) == [*before, 100, 101, 102]


_CLEANS = """
import sys, itertools
import metaindex as mi
from tests.racers import ready
table = mi.open_table(sys.argv[1])
ready()
for number in range(40):
    table.clean_query_log()
"""

_WRITES = """
import sys
import metaindex as mi
from tests.racers import ready
from tests.query.query_log.lake import storage_of, written
from metaindex.query.query_log.cleaning import DAY_MS
import time
storage = storage_of(mi.open_table(sys.argv[1]))
ready()
for number in range(80):
    written(storage, range(int(sys.argv[2]) + number, int(sys.argv[2]) + number + 1), time.time_ns() // 1_000_000)
"""


@pytest.mark.slow
def test_writers_readers_and_cleans_at_once(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    code = f"import sys\nif len(sys.argv) == 2:\n{_indented(_CLEANS)}\nelse:\n{_indented(_WRITES)}"
    path, seen = table.path, []

    def read() -> None:
        seen.extend(numbers(table.query_log()) for _ in range(10))

    raced(code, [[path], [path], [path, "0"], [path, "1000"]], read)
    table.clean_query_log()
    assert numbers(table.query_log()) == [*range(80), *range(1000, 1080)]
    for earlier, later in pairwise(seen):
        assert len(set(earlier)) == len(earlier)
        assert set(earlier) <= set(later)


def _indented(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.splitlines())


def test_what_killed_writers_left_goes_after_an_hour(tmp_path: Path) -> None:
    storage = own_folder(str(tmp_path), str(tmp_path))
    name = written(storage, range(2), 4 * 10**12)
    old, young, foreign = (tmp_path / f"._put_{of}.{n}" for of, n in ((name, 1), (name, 2), ("other", 3)))
    for path in (old, young, foreign):
        path.write_bytes(b"x")
    for path in (old, foreign):
        os.utime(path, (1, 1))
    clean(storage, FOREVER)
    assert (old.exists(), young.exists(), foreign.exists()) == (False, True, True)
