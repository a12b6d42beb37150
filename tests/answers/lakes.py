"""Tables of all five formats for questions to their metadata, and how many data files an answer opens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import metaindex as mi
from metaindex.formats.storage import Storage
from metaindex.table.face import handle_of
from tests.tables import FORMATS, Lake, settle


def json_lake(folder: Path) -> Lake:
    root = folder / "lake"
    root.mkdir()
    count = 0
    lake = Lake(str(root), lambda rows: None, {"format": "json"}, lambda n: (root / f"f{n:03d}.json").unlink())

    def append(rows: pa.Table) -> None:
        nonlocal count
        lines = [json.dumps(row, default=str) for row in rows.to_pylist()]
        (root / f"f{count:03d}.json").write_text("\n".join(lines) + "\n")
        count += 1
        settle(root)
        lake.options.setdefault("schema", rows.schema)

    lake.append = append
    return lake


FIVE: dict[str, Callable[[Path], Lake]] = {**FORMATS, "json": json_lake}


class _Watched:
    """A storage whose opened files are told."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self.opened: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def open_input(self, path: str) -> pa.NativeFile:
        self.opened.append(path)
        return self._inner.open_input(path)


@contextmanager
def opened_files(table: mi.Table) -> Iterator[list[str]]:
    """The data files that are opened inside, each as often as it is."""
    handle = handle_of(table)
    before = handle.ref
    watched = _Watched(before.storage)
    handle.ref = replace(before, storage=watched)  # type: ignore[arg-type]
    data: list[str] = []
    try:
        yield data
    finally:
        handle.ref = before
        data += [path for path in watched.opened if "_delta_log" not in path and not path.endswith(".avro")]
