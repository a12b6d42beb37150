"""Small tables of the same rows in every format on S3, written there by real writers without a JVM: pyarrow, deltalake,
pyiceberg."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.storage import storage_for

from .server import S3Server


@dataclass
class S3Lake:
    """One table. `append` commits the rows as one new data file."""

    path: str
    append: Callable[[pa.Table], None]
    options: dict[str, Any] = field(default_factory=dict)

    def open(self, config: mi.Config | None = None, **more: Any) -> mi.Table:
        return mi.open_table(self.path, config=config or mi.Config(builder="local"), **self.options, **more)


Maker = Callable[[S3Server, str, Path], Iterator[S3Lake]]


def _plain(ending: str, written: Callable[[pa.Table], bytes], **options: object) -> Maker:
    def make(server: S3Server, bucket: str, folder: Path) -> Iterator[S3Lake]:
        root = f"s3://{bucket}/raw/lake"
        storage, _ = storage_for(root)
        numbers = iter(range(1000))
        lake = S3Lake(root, lambda rows: storage.put(f"f{next(numbers):03d}.{ending}", written(rows)), dict(options))
        yield lake

    return make


def parquet_bytes(rows: pa.Table) -> bytes:
    """A Parquet file of the rows."""
    out = io.BytesIO()
    pq.write_table(rows, out)
    return out.getvalue()


def _csv(rows: pa.Table) -> bytes:
    out = io.BytesIO()
    pacsv.write_csv(rows, out)
    return out.getvalue()


def _json(rows: pa.Table) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows.to_pylist()).encode()


def delta(server: S3Server, bucket: str, folder: Path) -> Iterator[S3Lake]:
    import deltalake

    root = f"s3://{bucket}/delta/lake"
    yield S3Lake(root, lambda rows: deltalake.write_deltalake(root, rows, mode="append"))


def iceberg(server: S3Server, bucket: str, folder: Path) -> Iterator[S3Lake]:
    with iceberg_catalog(server, bucket, folder) as catalog:
        catalog.create_namespace("db")
        tables: list[Any] = []

        def append(rows: pa.Table) -> None:
            if not tables:
                tables.append(catalog.create_table("db.lake", rows.schema))
            tables[0].append(rows)

        yield S3Lake(f"s3://{bucket}/warehouse/db/lake", append)


@contextmanager
def iceberg_catalog(server: S3Server, bucket: str, folder: Path) -> Iterator[Any]:
    """A pyiceberg catalog whose tables lie on the server."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog(
        "s3",
        **{
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"s3://{bucket}/warehouse",
            "s3.endpoint": server.endpoint,
            "s3.access-key-id": server.access_key,
            "s3.secret-access-key": server.secret_key,
            "s3.region": "us-east-1",
        },
    )
    try:
        yield catalog
    finally:
        catalog.close()


def makers(schema: pa.Schema) -> dict[str, Maker]:
    """A maker for each format. `schema`: what text files are read as."""
    return {
        "parquet": _plain("parquet", parquet_bytes),
        "csv": _plain("csv", _csv, header=True, schema=schema),
        "json": _plain("json", _json, schema=schema),
        "delta": delta,
        "iceberg": iceberg,
    }
