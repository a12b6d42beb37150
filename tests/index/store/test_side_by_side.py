"""Parts of a run are put side by side: all are there before what names them, and an error waits for those under way."""

import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from metaindex.core import StorageError
from metaindex.index.store import writer as side_by_side_module
from metaindex.index.store.rows import FILE_IDS
from metaindex.index.store.writer import RunSink, side_by_side
from metaindex.storage import Storage, storage_for
from tests.index.actions.faults import MemoryStorage

TABLE = pa.table([pa.array([bytes(16)], pa.binary(16)), pa.array([0], pa.int32())], schema=FILE_IDS)


class Slow(MemoryStorage):
    """Every put takes a while (how long decides nothing: it is time for what does not wait to show); those of `bad`
    fail."""

    def __init__(self, bad: str = "nothing") -> None:
        super().__init__()
        self.bad, self.at_once = bad, 0
        self._count = threading.Lock()

    def put(self, path: str, data: bytes) -> None:
        with self._count:
            self.at_once += 1
        time.sleep(0.01)
        with self._count:
            self.at_once -= 1
        if self.bad in path:
            raise StorageError(f"no space left: {path}")
        super().put(path, data)


class InPairs(MemoryStorage):
    """No put is done before another is under way."""

    def __init__(self) -> None:
        super().__init__()
        self._pair = threading.Barrier(2)

    def put(self, path: str, data: bytes) -> None:
        self._pair.wait(30)
        super().put(path, data)


def test_all_parts_are_there_when_the_block_ends() -> None:
    storage = InPairs()
    with side_by_side(RunSink(storage, "r")) as many:
        parts = [many.write("file_ids", TABLE, number) for number in range(12)]
    assert sorted(storage.objects) == sorted(part.path for part in parts)


def write(storage: Storage, error: type[Exception] | None = None) -> None:
    with side_by_side(RunSink(storage, "r")) as many:
        for number in range(6):
            many.write("file_ids", TABLE, number)
        if error is not None:
            raise error


def test_a_put_that_failed_is_told() -> None:
    storage = Slow(bad="part-00003")
    with pytest.raises(StorageError, match="part-00003"):
        write(storage)
    assert storage.at_once == 0


def test_an_error_waits_for_the_puts_under_way() -> None:
    storage = Slow()
    with pytest.raises(ZeroDivisionError):
        write(storage, ZeroDivisionError)
    assert storage.at_once == 0
    assert len(storage.objects) == 6


def test_another_process_gets_the_storage_itself(tmp_path: Path) -> None:
    storage: Storage = storage_for(tmp_path)[0]
    with side_by_side(RunSink(storage, "r")) as many:
        assert pickle.loads(pickle.dumps(many)) == RunSink(storage, "r")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    write(Slow())
    child = os.fork()
    if child == 0:
        storage = Slow()
        write(storage)
        os._exit(0 if len(storage.objects) == 6 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_without_threads_parts_are_put_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(threads: int) -> None:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(side_by_side_module, "_pool", refused)
    storage = Slow()
    write(storage)
    assert len(storage.objects) == 6


class Nested(MemoryStorage):
    """Every put writes a whole run elsewhere, as a storage may that keeps two copies."""

    def __init__(self, other: Storage) -> None:
        super().__init__()
        self.other = other

    def put(self, path: str, data: bytes) -> None:
        write(self.other)
        super().put(path, data)


def test_a_run_that_is_written_inside_of_a_put_does_not_wait_for_itself() -> None:
    outer, inner = Nested(Slow()), Slow()
    outer.other = inner
    pool = ThreadPoolExecutor(2)
    for writing in [pool.submit(write, outer) for _ in range(2)]:
        writing.result(30)
    assert len(outer.objects) == len(inner.objects) == 6
