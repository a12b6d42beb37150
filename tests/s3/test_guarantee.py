"""Stores of which it is not known whether put-if-absent has one winner: read, and written only by who says that he is
alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.core import ObjectExistsError, StorageError
from metaindex.storage import exclusive as storage_exclusive
from metaindex.storage import storage_for
from metaindex.storage.client import open_bucket

from .lakes import S3Lake
from .proxy import Fault, Proxy, Request
from .server import S3Server
from .test_tables import MAKERS, ids, rows, uses

pytestmark = pytest.mark.slow

IGNORES = Fault(acts=True, status=200, headers={"ETag": '"0"'})
"""Answers a put that lost as if it had replaced the object: a store that does not know `If-None-Match`."""


@pytest.fixture(autouse=True)
def _ask_anew() -> Iterator[None]:
    """Another proxy may come to have the port of an earlier one."""
    storage_exclusive._known.drop(lambda _: True)
    yield
    storage_exclusive._known.drop(lambda _: True)


@pytest.fixture
def lake(s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path) -> S3Lake:
    one = next(MAKERS["parquet"](s3, bucket, tmp_path))
    one.append(rows(0))
    one.append(rows(10))
    return one


def _conditional(request: Request) -> bool:
    return request.method == "PUT" and "if-none-match" in request.headers


def test_a_store_that_keeps_the_promise_is_asked_once(proxy: Proxy, bucket: str) -> None:
    for name in ("a", "b", "c/d"):
        storage_for(f"s3://{bucket}/t")[0].put_if_absent(name, b"x")
    asked = [r for r in proxy.requests if "_probe-" in r.path or "?delete" in r.path]
    assert len(asked) == 3 * (1 + storage_exclusive._RACES)  # put, put, delete; and so for each that two put at once
    assert [o.path for o in storage_for(f"s3://{bucket}")[0].list("")] == ["t/a", "t/b", "t/c/d"]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (IGNORES, "ignores the condition"),
        (Fault(acts=False, status=501, code="NotImplemented"), "does not know put-if-absent"),
    ],
)
def test_a_store_without_the_promise_is_read_and_not_written(
    lake: S3Lake, proxy: Proxy, fault: Fault, why: str
) -> None:
    proxy.fail_always(fault, where=_conditional)
    table = lake.open()
    assert ids(table, "id = 15") == [15]
    with pytest.raises(StorageError, match=rf"one winner.*{why}.*single_writer=True"):
        table.create_index("main", mi.ColumnStats())
    assert not table.indexes()


def test_a_single_writer_may_write_there(lake: S3Lake, proxy: Proxy, bucket: str) -> None:
    proxy.fail_always(IGNORES, where=_conditional)
    config = mi.Config(builder="local", single_writer=True)
    lake.open(config).create_index("main", mi.ColumnStats())
    assert uses(lake.open())
    lake.append(rows(20))
    assert lake.open(config).refresh_index("main").changed
    assert ids(lake.open(), "id >= 15") == list(range(15, 30))
    with pytest.raises(StorageError, match="single_writer"):
        lake.open().drop_index("main")
    storage, _ = storage_for(f"s3://{bucket}", {"single_writer": "true"})
    storage.put_if_absent("x", b"one")
    with pytest.raises(ObjectExistsError):
        storage.put_if_absent("x", b"two")
    assert storage.read("x") == b"one"


def test_a_store_that_cannot_be_asked_is_neither_trusted_nor_doubted(lake: S3Lake, proxy: Proxy) -> None:
    lake.options["storage_options"] = {"max_retries": "1"}
    table = lake.open()
    proxy.fail_always(Fault(acts=False, status=503, code="SlowDown"), where=_conditional)
    with pytest.raises(StorageError, match="try again later"):
        table.create_index("main", mi.ColumnStats())
    proxy.reset()
    table.create_index("main", mi.ColumnStats())
    assert uses(table)


def test_a_lost_answer_to_the_question_is_no_doubt(proxy: Proxy, bucket: str) -> None:
    proxy.fail_next(Fault(acts=True), where=_conditional)
    storage, _ = storage_for(f"s3://{bucket}")
    storage.put_if_absent("x", b"one")
    assert storage.read("x") == b"one"


@pytest.mark.parametrize(
    ("uri", "options", "unproven"),
    [
        ("s3://b/t", {}, False),
        ("s3://b/t", {"endpoint": "https://s3.eu-west-1.amazonaws.com"}, False),
        ("s3://b/t", {"endpoint": "https://minio.example:9000"}, True),
        ("s3://b/t", {"endpoint": "https://amazonaws.com.example"}, True),
        ("s3://b/t", {"conditional_put": "disabled"}, True),
        ("gs://b/t", {}, False),
        ("memory:///t", {}, False),
    ],
)
def test_whose_word_is_taken(
    monkeypatch: pytest.MonkeyPatch, uri: str, options: dict[str, str], unproven: bool
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    assert bool(open_bucket(uri, options).unproven) == unproven
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://minio.example:9000")
    if uri.startswith("s3:") and not any("endpoint" in o for o in options):
        assert open_bucket(uri, options).unproven


def test_a_local_disk_needs_no_word(tmp_path: Path) -> None:
    import deltalake

    deltalake.write_deltalake(str(tmp_path / "t"), rows(0))
    table = mi.open_table(str(tmp_path / "t"), config=mi.Config(builder="local", single_writer=True))
    table.create_index("main", mi.ColumnStats())
    assert uses(table)
