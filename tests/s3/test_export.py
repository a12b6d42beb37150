"""Exports into a store: the same tables as in a local folder, read by the formats' own readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.formats.storage_opening import storage_for

from .server import S3Server

pytestmark = pytest.mark.slow

TABLES = ("files", "column_stats", "keys", "key_values")
Format = Literal["delta", "iceberg"]


def table(folder: Path) -> mi.Table:
    root = str(folder / "lake")
    for first in (0, 10, 20):
        ids = range(first, first + 10)
        deltalake.write_deltalake(root, pa.table({"id": ids, "s": [f"n{i}" for i in ids]}), mode="append")
    mi.open_table(root).create_index("all", mi.ColumnStats(), mi.Values("s", by="value"), builder="local")
    return mi.open_table(root)


def read(target: str, name: str, format_: Format, server: S3Server) -> list[dict[str, Any]]:
    """By the format's own reader."""
    if format_ == "delta":
        options = {**server.environment, "AWS_ENDPOINT_URL": server.endpoint}
        found = deltalake.DeltaTable(f"{target}/{name}", storage_options=options).to_pyarrow_table()
    else:
        from pyiceberg.table import StaticTable

        version = storage_for(target)[0].read(f"{name}/metadata/version-hint.text").decode()
        properties = {
            "s3.endpoint": server.endpoint,
            "s3.access-key-id": server.access_key,
            "s3.secret-access-key": server.secret_key,
            "s3.region": "us-east-1",
        }
        where = f"{target}/{name}/metadata/v{version}.metadata.json"
        found = StaticTable.from_metadata(where, properties).scan().to_arrow()
    return sorted(pa.table(found).to_pylist(), key=str)


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_an_export_into_a_store_is_that_into_a_folder(
    s3: S3Server, bucket: str, tmp_path: Path, format_: Format
) -> None:
    lake, target, local = table(tmp_path), f"s3://{bucket}/deep/out put", tmp_path / "out"
    said = lake.export_index("all", target, format=format_)
    assert said.rows == lake.export_index("all", str(local), format=format_).rows
    for name in TABLES:
        own = mi.open_table(str(local / name)).scan().to_arrow().to_pylist()
        assert read(target, name, format_, s3) == sorted(own, key=str)
        assert sorted(mi.open_table(f"{target}/{name}").scan().to_arrow().to_pylist(), key=str) == sorted(own, key=str)

    with pytest.raises(mi.ArgumentError, match="overwrite"):
        lake.export_index("all", target, format=format_)
    deltalake.write_deltalake(lake.path, pa.table({"id": [99], "s": ["n99"]}), mode="append")
    lake.refresh_index("all", builder="local")
    again = lake.export_index("all", target, format=format_, overwrite=True)
    assert again.rows["files"] == said.rows["files"] + 1
    for name in TABLES:
        assert len(read(target, name, format_, s3)) == again.rows[name]


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_options_of_the_table_reach_the_store(
    s3: S3Server, bucket: str, tmp_path: Path, format_: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    root, options = f"s3://{bucket}/lake", s3.options
    storage, _ = storage_for(root, options)
    from .lakes import parquet_bytes

    storage.put("f.parquet", parquet_bytes(pa.table({"id": [1, 2]})))
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    lake = mi.open_table(root, storage_options=options)
    lake.create_index("all", mi.ColumnStats(), builder="local")
    target = f"s3://{bucket}/out"
    rows = lake.export_index("all", target, format=format_).rows
    got = mi.open_table(f"{target}/column_stats", storage_options=options).scan().to_arrow().num_rows
    assert got == rows["column_stats"] > 0
