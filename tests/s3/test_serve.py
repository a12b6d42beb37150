"""The proxy reads a table in a store with the credentials that the catalog gives the caller for it, and no others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

import metaindex as mi
from metaindex.serve import open_server
from tests.serve.upstream import RestCatalog

from .lakes import iceberg_catalog
from .server import S3Server

FILES = 4


@pytest.fixture
def keys(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What a catalog vends; this process has nothing of it."""
    for name in s3.environment:
        monkeypatch.delenv(name)
    return {
        "s3.endpoint": s3.endpoint,
        "s3.region": "us-east-1",
        "s3.access-key-id": s3.access_key,
        "s3.secret-access-key": s3.secret_key,
    }


@pytest.fixture
def behind(s3: S3Server, bucket: str, keys: dict[str, str], tmp_path: Path) -> Iterator[RestCatalog]:
    """A catalog whose table `db.t` lies in the bucket, with an index beside it."""
    with iceberg_catalog(s3, bucket, tmp_path) as writing, RestCatalog(tmp_path / "behind") as catalog:
        writing.create_namespace("db")
        table = writing.create_table("db.t", pa.schema([("id", pa.int64()), ("s", pa.string())]))
        for first in range(FILES):
            ids = range(first, 40 * FILES, FILES)  # bounds of each file have every id
            table.append(pa.table({"id": pa.array(ids, pa.int64()), "s": [f"t{n}" for n in ids]}))
        made = mi.open_table(table.metadata_location, storage_options=s3.options)
        made.create_index("i", mi.Values("id"), builder="local")
        catalog._sql.properties.update(keys)
        catalog._sql.create_namespace("db")
        catalog._sql.register_table("db.t", table.metadata_location)
        yield catalog


def planned(uri: str, **given: str) -> tuple[int, Any]:
    """The files of a plan, and the rows."""
    scan = load_catalog("over", type="rest", uri=uri, **given).load_table("db.t").scan("id = 13")
    return len(list(scan.plan_files())), scan.to_arrow().to_pylist()


@pytest.mark.parametrize("where", ["config", "credentials"])
def test_a_table_is_read_with_what_the_catalog_gives_for_it(
    behind: RestCatalog, keys: dict[str, str], bucket: str, where: str
) -> None:
    if where == "config":
        behind.table_config = keys
    else:
        behind.storage_credentials = [{"prefix": f"s3://{bucket}/", "config": keys}]
    with open_server(before=behind.uri, plan_all=True) as server:
        assert planned(server.uri, **keys) == (1, [{"id": 13, "s": "t13"}])


@pytest.mark.parametrize("given", ["nothing", "keys of another prefix"])
def test_without_them_the_client_plans(
    behind: RestCatalog, keys: dict[str, str], bucket: str, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although this process may read the store: its rights are not the caller's."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys["s3.access-key-id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys["s3.secret-access-key"])
    monkeypatch.setenv("AWS_ENDPOINT_URL", keys["s3.endpoint"])
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    if given == "keys of another prefix":
        behind.storage_credentials = [{"prefix": f"s3://{bucket}-other/", "config": keys}]
    with open_server(before=behind.uri) as server:
        assert planned(server.uri, **keys) == (FILES, [{"id": 13, "s": "t13"}])
