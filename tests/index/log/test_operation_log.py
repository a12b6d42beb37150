"""Numbers are taken once, whoever races for them."""

import os
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from metaindex.core import ConcurrentWriteError, DamagedIndexError
from metaindex.index.log.codec import encode
from metaindex.index.log.entry import IndexLogEntry, TableInfo
from metaindex.index.log.operation_log import OperationLog, Tombstone, entry_path, tombstone_path
from metaindex.index.log.sealed import MAX_BYTES
from metaindex.index.log.states import State
from metaindex.storage import LocalStorage
from tests.racers import raced
from tests.storage.counting import Replacing


def entry(number: int, nonce: str = "n") -> IndexLogEntry:
    return IndexLogEntry(number, "stats", "u", nonce, State.ACTIVE, TableInfo("/t", "delta"), ())


def test_an_empty_folder_has_no_entry(tmp_path: Path) -> None:
    assert OperationLog(LocalStorage(str(tmp_path))).latest() is None


def test_the_highest_number_is_the_latest(tmp_path: Path) -> None:
    log = OperationLog(LocalStorage(str(tmp_path)))
    for number in range(1, 12):
        log.append(entry(number))
    assert OperationLog(log.storage).latest() == entry(11)
    assert log.numbers() == list(range(1, 12))


def test_a_taken_number_is_a_lost_race(tmp_path: Path) -> None:
    log = OperationLog(LocalStorage(str(tmp_path)))
    log.append(entry(1, "mine"))
    with pytest.raises(ConcurrentWriteError, match="1 of index 'stats' was taken"):
        log.append(entry(1, "other"))
    assert log.entry(1).nonce == "mine"


def test_a_put_whose_answer_was_lost_is_recognized(tmp_path: Path) -> None:
    log = OperationLog(LocalStorage(str(tmp_path)))
    log.append(entry(1, "mine"))
    log.append(entry(1, "mine"))
    assert log.numbers() == [1]


def test_a_damaged_latest_entry_is_an_error_and_not_the_one_before(tmp_path: Path) -> None:
    log = OperationLog(LocalStorage(str(tmp_path)))
    log.append(entry(1))
    (tmp_path / entry_path(2)).write_bytes(b"{}")
    with pytest.raises(DamagedIndexError):
        OperationLog(log.storage).latest()


RACER = """
import sys
from metaindex.storage.local import LocalStorage
from metaindex.core import ConcurrentWriteError
from metaindex.index.log.entry import IndexLogEntry, TableInfo
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.sealed import MAX_BYTES
from metaindex.index.log.states import State
from tests.racers import ready

folder, who = sys.argv[1:]
log = OperationLog(LocalStorage(folder))
ready()
for number in range(1, 21):
    try:
        log.append(IndexLogEntry(number, "stats", "u", f"{who}.{number}", State.ACTIVE, TableInfo("/t", "delta"), ()))
        print(number)
    except ConcurrentWriteError:
        pass
"""


@pytest.mark.slow
def test_processes_racing_for_numbers_have_one_winner_each(tmp_path: Path) -> None:
    said = raced(RACER, [[str(tmp_path), str(who)] for who in range(4)])
    won = [(int(line), who) for who, words in enumerate(said) for line in words.split()]
    assert sorted(number for number, _ in won) == list(range(1, 21))
    log = OperationLog(LocalStorage(str(tmp_path)))
    assert all(log.entry(number).nonce == f"{who}.{number}" for number, who in won)


def test_a_log_that_was_removed_and_begun_anew_is_read_anew(tmp_path: Path) -> None:
    log = OperationLog(LocalStorage(str(tmp_path)))
    log.append(entry(1, "old"))
    log.append(entry(2, "old"))
    assert log.latest() == entry(2, "old")
    for path in (tmp_path / "_log").iterdir():
        path.unlink()
    assert log.latest() is None
    log.append(entry(1, "mine"))
    other = OperationLog(log.storage)
    (tmp_path / entry_path(1)).unlink()
    other.append(entry(1, "new"))
    other.append(entry(2, "new"))
    assert log.latest() == entry(2, "new")


def test_an_entry_below_the_tombstone_counts_for_nothing(tmp_path: Path) -> None:
    log = OperationLog(LocalStorage(str(tmp_path)))
    for number in range(1, 8):
        log.append(entry(number))
    log.bury(Tombstone(5, {"r": 7}))
    log.bury(Tombstone(5, {}))  # the first one stays
    for number in range(1, 5):
        log.storage.delete(entry_path(number))
    with pytest.raises(ConcurrentWriteError, match="cleaned away"):
        OperationLog(log.storage).append(entry(3, "stalled"))
    found = OperationLog(log.storage).listing()
    assert (list(found.entries), found.buried, found.lowest) == ([5, 6, 7], (3,), 5)
    assert log.tombstone(5) == Tombstone(5, {"r": 7})
    assert OperationLog(log.storage).latest() == entry(7)
    (tmp_path / tombstone_path(5)).write_bytes(b"[]")
    with pytest.raises(DamagedIndexError, match="a tombstone says"):
        log.tombstone(5)


def test_more_than_an_entry_has_is_not_read(tmp_path: Path) -> None:
    log = OperationLog(LocalStorage(str(tmp_path)))
    log.append(entry(1))
    with (tmp_path / entry_path(1)).open("r+b") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(DamagedIndexError, match=r"at most .* has more"):
        OperationLog(log.storage).latest()


def test_a_log_that_somebody_began_anew_is_read_anew(tmp_path: Path) -> None:
    log = OperationLog(LocalStorage(str(tmp_path)))
    log.append(entry(1, "mine"))
    assert [one.nonce for one in (log.latest(), log.latest()) if one] == ["mine", "mine"]
    path = tmp_path / entry_path(1)
    path.unlink()
    OperationLog(log.storage).append(entry(1, "other"))
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9))
    found = log.latest()
    assert found.nonce == "other"


def test_an_entry_under_another_number_is_a_copy(tmp_path: Path) -> None:
    """As a tool makes it that keeps both sides of a conflict."""
    log = OperationLog(LocalStorage(str(tmp_path)))
    log.append(entry(1))
    data = log.read(1)
    assert log.decoded(1, data) == entry(1)
    for number in (0, 2, 65):
        with pytest.raises(DamagedIndexError, match="it is a copy, or was renamed"):
            log.decoded(number, data)


def test_a_log_begun_anew_while_it_is_opened_is_seen() -> None:
    at = entry_path(1)
    old, new = (encode(entry(1, nonce)) for nonce in ("old", "new"))
    storage = Replacing(MemoryStore(), "s3://lake", "t/_metaindex/stats", at=at, by=new)
    storage.put(at, old)
    log = OperationLog(storage, "stats", guess=(1, storage.head(at).modified_ns))
    log.latest()
    assert storage.done.is_set()
    assert (found := log.latest()) is not None
    assert found.nonce == "new"
