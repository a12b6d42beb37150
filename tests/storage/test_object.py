"""Object stores through obstore: the contract on its memory and local stores, and secrets that stay secret."""

import os
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest

from metaindex.core import ObjectNotFoundError, StorageError
from metaindex.storage import LocalStorage, Storage, both_at, each_at, parent_of, storage_for
from metaindex.storage.client import patient
from metaindex.storage.object_store import ObjectStorage
from tests.contract.storage_contract import StorageContract, place_files
from tests.processes import python, serving
from tests.storage.counting import CountingStorage


class TestMemory(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        from obstore.store import MemoryStore

        return ObjectStorage(MemoryStore(), "memory://", "")


class TestMemoryBelowAPrefix(StorageContract):
    @pytest.fixture
    def storage(self) -> Storage:
        from obstore.store import MemoryStore

        store = MemoryStore()
        ObjectStorage(store, "s3://lake").put("tables/other/file", b"not ours")
        ObjectStorage(store, "s3://lake").put("tables/mine2/file", b"not ours")
        return ObjectStorage(store, "s3://lake", "tables/mine")


class TestCountingLocal(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return CountingStorage(LocalStorage(str(tmp_path)))

    def place(self, storage: Storage, objects: Mapping[str, bytes]) -> None:
        place_files(Path(storage.root), objects)


def test_credentials_never_show() -> None:
    storage, root = storage_for(
        "s3a://lake/table/",
        {"aws_access_key_id": "AKIAKEY", "aws_secret_access_key": "hushhush", "region": "us-east-1"},
    )
    assert root == "s3://lake/table"
    assert "hushhush" not in repr(storage)
    assert "AKIAKEY" not in repr(storage)
    with pytest.raises(StorageError) as caught:
        storage_for("s3://lake/table", {"aws_secret_access_kye": "hushhush"})
    assert "hushhush" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_unreachable_store_fails_without_secrets_after_bounded_retries() -> None:
    from obstore.store import S3Store

    store = S3Store(
        "lake",
        endpoint="http://127.0.0.1:9",
        client_options={"allow_http": True},
        aws_access_key_id="AKIAKEY",
        aws_secret_access_key="hushhush",
        region="us-east-1",
        retry_config={"max_retries": 0},
    )
    with pytest.raises(StorageError) as caught:
        ObjectStorage(store, "s3://lake").read("x")
    assert not isinstance(caught.value, ObjectNotFoundError)
    assert "hushhush" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_bucket_is_refused() -> None:
    from obstore.store import MemoryStore

    storage = ObjectStorage(MemoryStore(), "s3://lake", "table")
    with pytest.raises(StorageError, match="outside the store"):
        storage.read("s3://elsewhere/table/x")


def test_an_unknown_scheme_says_what_is_known() -> None:
    with pytest.raises(StorageError, match="s3://"):
        storage_for("ftp://user:hush@host/x")
    with pytest.raises(StorageError) as caught:
        storage_for("ftp://user:hush@host/x")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("root", "parent"), [("/a/b", "/a"), ("s3://lake/a/b", "s3://lake/a"), ("s3://lake/a", "s3://lake")]
)
def test_parent_of_a_root(root: str, parent: str) -> None:
    assert parent_of(root) == parent


_FORKING = """
import os, sys
sys.path[:0] = sys.argv[1:]
from metaindex.core.expression_errors import StorageError
from metaindex.storage.opening import storage_for
before = os.fork()
if before == 0:
    storage_for("memory:///")[0].put("a", b"x")
    os._exit(0)
assert os.waitpid(before, 0)[1] == 0
storage, _ = storage_for("memory:///")
storage.put("a", b"x")
after = os.fork()
if after == 0:
    for one in (storage, storage_for("memory:///")[0]):
        try:
            one.read("a")
            os._exit(1)
        except StorageError as error:
            assert "spawn" in str(error)
    os._exit(0)
assert os.waitpid(after, 0)[1] == 0
assert storage.read("a") == b"x"
"""


@pytest.mark.slow
def test_a_process_that_was_forked_after_a_store_was_used_is_refused_and_does_not_wait_for_ever() -> None:
    python("-c", _FORKING, os.getcwd(), timeout=600)


class _Requests(BaseHTTPRequestHandler):
    """Takes every object, and notes what was asked."""

    asked: ClassVar[list[tuple[str, str, int]]] = []

    def do_PUT(self) -> None:
        length = int(self.headers["Content-Length"])
        self.rfile.read(length)
        self._answer(length)

    def do_POST(self) -> None:
        self._answer(0)

    def do_HEAD(self) -> None:
        self._answer(0, 404)

    def _answer(self, length: int, status: int = 200) -> None:
        self.asked.append((self.command, self.path, length))
        self.send_response(status)
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def endpoint() -> Iterator[str]:
    _Requests.asked.clear()
    with serving(_Requests) as uri:
        yield uri


@pytest.mark.parametrize("by_environment", [False, True])
@pytest.mark.slow
def test_an_object_of_any_size_is_put_in_one_request(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, by_environment: bool
) -> None:
    """A writer killed in an upload in pieces would leave those for ever. What the environment says of the client holds
    for large objects, too."""
    options = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region": "x", "endpoint": endpoint}
    if by_environment:
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    else:
        options["allow_http"] = "true"
    storage, _ = storage_for("s3://lake/t", {**options, "single_writer": "true"})
    large = bytes(70 << 20)
    storage.put("small", b"1")
    storage.put("large", large)
    storage.put_if_absent("entry", large)
    puts = [("/lake/t/small", 1), ("/lake/t/large", len(large)), ("/lake/t/entry", len(large))]
    assert [
        asked for asked in _Requests.asked if "_probe" not in asked[1] and (asked[0] == "PUT" or "uploads" in asked[1])
    ] == [("PUT", path, length) for path, length in puts]


def test_a_client_that_has_more_time_is_the_same_but_for_that() -> None:
    options = {"aws_access_key_id": "k", "aws_secret_access_key": "hush", "region": "x", "max_retries": "3"}
    storage, _ = storage_for("s3://lake/t", {**options, "user_agent": "we"})
    assert isinstance(storage, ObjectStorage)
    longer = patient(storage.store, "300 seconds")
    assert longer.config == storage.store.config
    assert longer.retry_config == storage.store.retry_config
    assert longer.client_options == {**(storage.store.client_options or {}), "timeout": "300 seconds"}
    assert patient(longer, "400 seconds").client_options == longer.client_options


def test_what_is_asked_at_once_is_asked_in_a_row_where_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert each_at("s3://lake", range(3), lambda number: number * 2) == [0, 2, 4]
    assert both_at("s3://lake", lambda: 1, lambda: 2) == (1, 2)
