"""Listing plain files: what a snapshot of a folder of many files costs, beside what merely walking it costs others. All
in the same run, interleaved; each in this process, with the operating system's cache warm. CPU counts all threads.
`snapshot` is the whole of it: names, sizes, times, inodes, typed partitions, fingerprint, columns (from two footers),
all as Arrow columns; the others give less, as `gives` says.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq

from metaindex.formats import At, TableRef
from metaindex.formats.files.table import FilesFormat
from metaindex.formats.files.walk import list_files
from metaindex.storage import storage_for


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    figures = []
    for layout, folders, files in (
        ("100 partitions", 100, 1000),
        ("one folder", 1, 100_000),
        ("10,000 partitions", 10_000, 10),
    ):
        if quick:
            folders, files = max(1, folders // 100), max(1, files // 10)
        place = folder / f"files-{folders}-{files}"
        if not (place / "_COMPLETE").exists():
            _make(place, folders, files)
        figures += _measure(place, layout, folders * files, 2 if quick else 5)
    return figures


def _make(place: Path, folders: int, files: int) -> None:
    shutil.rmtree(place, ignore_errors=True)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", None]}), sink)
    content = sink.getvalue().to_pybytes()
    for number in range(folders):
        where = place / f"day={20_000_000 + number}" if folders > 1 else place
        where.mkdir(parents=True)
        for file in range(files):
            (where / f"part-{file:05d}-c000.snappy.parquet").write_bytes(content)
    (place / "_COMPLETE").write_bytes(b"")


def _measure(place: Path, layout: str, count: int, times: int) -> list[dict[str, object]]:
    storage, root = storage_for(place)
    ref = TableRef(storage, root)
    who: dict[str, tuple[str, Callable[[], int]]] = {
        "metaindex snapshot": ("all", lambda: len(FilesFormat().snapshot(ref, At()).files)),
        "metaindex listing": ("names, sizes, times, inodes", lambda: len(list_files(storage))),
        "os.walk": ("names", lambda: sum(len(names) for _, _, names in os.walk(root)) - 1),
        "os.walk and os.stat": ("names, sizes, times", lambda: _walk_and_stat(root)),
        "pyarrow.fs": ("names, sizes, times", lambda: _arrow_files(root)),
        "pyarrow.dataset": ("names, partitions, columns", lambda: len(ds.dataset(root, partitioning="hive").files)),
    }
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in who}
    for _ in range(times):
        for name, (_, work) in who.items():
            wall, cpu = time.perf_counter(), time.process_time()
            found = work()
            took[name].append((time.perf_counter() - wall, time.process_time() - cpu))
            assert found == count, f"{name} finds {found} files, not {count}"
    return [
        {
            "layout": layout,
            "files": count,
            "who": name,
            "gives": gives,
            "wall s": statistics.median(wall for wall, _ in took[name]),
            "CPU s": statistics.median(cpu for _, cpu in took[name]),
            "least CPU s": min(cpu for _, cpu in took[name]),
        }
        for name, (gives, _) in who.items()
    ]


def _walk_and_stat(root: str) -> int:
    count = 0
    for folder, _, names in os.walk(root):
        for name in names:
            count += os.stat(f"{folder}/{name}").st_size > 0
    return count


def _arrow_files(root: str) -> int:
    found = fs.LocalFileSystem().get_file_info(fs.FileSelector(root, recursive=True))
    return sum(one.type == fs.FileType.File and one.size > 0 for one in found)
