"""The contract of Storage on a real S3 server, and one winner among processes."""

from collections.abc import Mapping

import pytest

from metaindex.core import StorageError
from metaindex.storage import Storage, storage_for
from tests.contract.storage_contract import StorageContract, place_files
from tests.racers import raced

from .server import S3Server


class TestS3(StorageContract):
    many = 1100

    @pytest.fixture
    def storage(self, bucket: str) -> Storage:
        return storage_for(f"s3://{bucket}")[0]

    @pytest.fixture(autouse=True)
    def _server(self, s3: S3Server) -> None:
        self.root = s3.root

    def place(self, storage: Storage, objects: Mapping[str, bytes]) -> None:
        place_files(self.root / storage.root.removeprefix("s3://"), objects)


@pytest.mark.slow
class TestS3BelowAPrefix(TestS3):
    @pytest.fixture
    def storage(self, bucket: str) -> Storage:
        storage_for(f"s3://{bucket}/tables/mine2")[0].put("file", b"not ours")
        return storage_for(f"s3://{bucket}/tables/mine")[0]


_RACER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from metaindex.storage.opening import storage_for
from metaindex.core.expression_errors import ObjectExistsError
from tests.racers import ready
store, me = storage_for(sys.argv[1])[0], sys.argv[2]
ready()
def race(task):
    thread, n = task
    try:
        store.put_if_absent(f"log/{n:020}.json", f"{me}.{thread}".encode())
    except ObjectExistsError:
        return ""
    return f"{n}:{me}.{thread}"
with ThreadPoolExecutor(8) as pool:
    print(*filter(None, pool.map(race, [(t, n) for n in range(20) for t in range(8)])))
"""


@pytest.mark.slow
def test_put_if_absent_has_exactly_one_winner_among_32_writers_in_4_processes(bucket: str) -> None:
    said = [words.split() for words in raced(_RACER, [[f"s3://{bucket}/x", str(me)] for me in range(4)])]
    wins = dict(one.split(":") for words in said for one in words)
    assert sum(len(words) for words in said) == len(wins) == 20
    store = storage_for(f"s3://{bucket}/x")[0]
    for n, who in wins.items():
        assert store.read(f"log/{int(n):020}.json") == who.encode()
    assert len(list(store.list("log"))) == 20  # the probes are gone


@pytest.mark.parametrize("name", ["a//b", "./a", "tab\tx", "line\nbreak"])
def test_a_name_that_no_store_takes_is_refused_in_one_line(bucket: str, name: str) -> None:
    with pytest.raises(StorageError, match=r"cannot (read|write)") as caught:
        storage_for(f"s3://{bucket}")[0].put_if_absent(name, b"")
    assert "\n" not in str(caught.value)


def test_a_foreign_bucket_is_refused(bucket: str) -> None:
    with pytest.raises(StorageError, match="outside the store"):
        storage_for(f"s3://{bucket}/t")[0].read("s3://elsewhere/t/x")
