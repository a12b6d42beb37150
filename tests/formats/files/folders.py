"""Folders of plain files, and the table that each is."""

import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.formats.files.table import FilesFormat
from metaindex.formats.format import At, TableRef
from metaindex.formats.model import Snapshot
from metaindex.storage import storage_for

FORMAT = FilesFormat()


def ref(path: Path, **options: object) -> TableRef:
    storage, root = storage_for(path)
    return TableRef(storage, root, options)


def now(path: Path, **options: object) -> Snapshot:
    return FORMAT.snapshot(ref(path, **options), At())


def put(path: Path, data: bytes | pa.Table) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        pq.write_table(data, path)
    return path


ONE = pa.table({"a": [1, 2], "b": ["x", None]})


def age(path: Path, seconds: float = 100) -> None:
    os.utime(path, (time.time() - seconds,) * 2)
