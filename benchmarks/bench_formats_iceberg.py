"""An Iceberg snapshot of many files from its manifests, beside pyiceberg on the same table in the same run: each in a
new process, after imports, with the operating system's cache warm. CPU counts all threads. Every entry has statistics
of every column, as Spark writes them; `one column` is what the first question about a column costs, `another` what each
further one does.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .iceberg_table import write_table

_OURS = """
import json, sys, time
import polars
from metaindex.formats.iceberg.table import IcebergFormat
from metaindex.formats.format import At, TableRef
from metaindex.storage.opening import storage_for

storage, root = storage_for(sys.argv[1])
ref = TableRef(storage, root)
def spent(work):
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - cpu
snapshot, *whole = spent(lambda: IcebergFormat().snapshot(ref, At()))
leaves = snapshot.schema.leaves()
first, *one = spent(lambda: snapshot.details.log_bounds(leaves[0]))
_, *another = spent(lambda: snapshot.details.log_bounds(leaves[2]))
assert first.lower.null_count == 0
print(json.dumps({"files": len(snapshot.files), "snapshot": whole, "one column": one, "another": another}))
"""
_PYICEBERG = """
import json, sys, time
from pyiceberg.table import StaticTable
table = StaticTable.from_metadata(sys.argv[1] + "/metadata/v1.metadata.json")
wall, cpu = time.perf_counter(), time.process_time()
count = sum(len(one.fetch_manifest_entry(table.io)) for one in table.current_snapshot().manifests(table.io))
print(json.dumps({"files": count, "entries": [time.perf_counter() - wall, time.process_time() - cpu]}))
"""


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    figures = []
    for columns in (4, 20):
        files = 2_000 if quick else 100_000
        place = folder / f"iceberg-{files}-{columns}"
        if not (place / "metadata/version-hint.text").exists():
            print(f"writing manifests of {files:,} files with statistics of {columns} columns", file=sys.stderr)
            shutil.rmtree(place, ignore_errors=True)
            write_table(place, files, columns)
        figures += _measure(place, files, columns, 2 if quick else 5)
    return figures


def _measure(place: Path, files: int, columns: int, times: int) -> Iterator[dict[str, object]]:
    took: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(times):
        for who, code in (("metaindex", _OURS), ("pyiceberg", _PYICEBERG)):
            found = _process(code, place)
            assert found.pop("files") == files, f"{who} finds other files"
            for what, (wall, cpu) in found.items():
                took.setdefault((who, what), []).append((wall, cpu))
    peer = statistics.median(cpu for _, cpu in took["pyiceberg", "entries"])
    for (who, what), figures in took.items():
        cpu = statistics.median(cpu for _, cpu in figures)
        yield {
            "files": files,
            "columns": columns,
            "who": who,
            "what": what,
            "wall s": statistics.median(wall for wall, _ in figures),
            "CPU s": cpu,
            "min": min(cpu for _, cpu in figures),
            "max": max(cpu for _, cpu in figures),
            "of pyiceberg's CPU": cpu / peer,
        }


def _process(code: str, place: Path) -> dict[str, Any]:
    out = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(out.stdout)
    return found
