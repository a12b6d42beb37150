"""One S3 server a worker, buckets of their own a test, and the environment that a user would set."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from .build import missing
from .proxy import Proxy
from .server import S3Server, running


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with running(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, named by the environment and nothing else."""
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def bucket(s3: S3Server) -> str:
    """The name of an empty bucket."""
    name = f"lake-{uuid.uuid4().hex[:12]}"
    s3.make_bucket(name)
    return name


@pytest.fixture
def bucket_folder(s3: S3Server, bucket: str) -> Path:
    """The bucket as a folder: files put there are objects."""
    return s3.root / bucket


@pytest.fixture
def proxy(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """What the environment names from here on: the server behind a proxy."""
    with Proxy(s3.port).running() as one:
        monkeypatch.setenv("AWS_ENDPOINT_URL", one.endpoint)
        yield one
