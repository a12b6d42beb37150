"""A lake of 1,000 tables of all formats, indexed, stale, noted and damaged ones among them, beside 10,000 folders that
are no tables: told by `mi.open_lake` in a process of its own, cold (caches of this process) each time.

* "s", "CPU s", "MB": wall time, processor time (user and system) and peak memory of that process, `import metaindex`
  included. "found": only the walk that finds tables. "page": the page, written.
* half of the stores silent: of 1,000 tables of two stores, the questions to one are never answered.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from .lake_tables import write_lake

_ONCE = """
import json, resource, sys, time
began = time.perf_counter()
import metaindex as mi
told = mi.open_lake(sys.argv[1], layout=sys.argv[2] == "layout")
page = told.report(sys.argv[3], overwrite=True) if sys.argv[3] else None
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "tables": len(told), "problems": len(told.problems), "behind": len(told.behind),
    "s": time.perf_counter() - began, "CPU s": used.ru_utime + used.ru_stime, "MB": used.ru_maxrss / 1024,
    "page KB": page.size_bytes // 1024 if page else 0,
}))
"""


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    tables, strays = (40, 100) if quick else (1_000, 10_000)
    lake = folder / f"lake-{tables}"
    print(f"writing {tables:,} tables and {strays:,} other folders, where they are not there", file=sys.stderr)
    write_lake(lake, tables, strays)
    page = str(folder / "lake.html")
    asked = (
        ("found", None),
        ("without layout", ("", "")),
        ("all", ("layout", "")),
        ("all, and the page", ("layout", page)),
    )
    figures: list[dict[str, object]] = []
    for name, words in asked:
        figures.append({"what": name, **(_found(lake) if words is None else _once(lake, *words))})
    return [*figures, {"what": "half of the stores silent", **_half(tables)}]


def _once(lake: Path, layout: str, page: str) -> dict[str, object]:
    words = [sys.executable, "-c", _ONCE, str(lake), layout, page]
    told: dict[str, object] = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return told


def _found(lake: Path) -> dict[str, object]:
    from metaindex.formats import Walk
    from metaindex.storage import storage_for

    began, cpu = time.perf_counter(), time.process_time()
    walk = Walk(storage_for(str(lake))[0], 1_000_000, container=True)
    many = sum(1 for _ in walk.tables())
    spent = {"s": time.perf_counter() - began, "CPU s": time.process_time() - cpu}
    return {"tables": many, "problems": 0, "behind": 0, **spent, "MB": 0.0, "page KB": 0}


def _half(tables: int) -> dict[str, object]:
    from metaindex.ops.lake.side_by_side import SideBySide, Unanswered

    silent = threading.Event()
    stores = ["silent" if number % 2 else "fine" for number in range(tables)]
    began, cpu = time.perf_counter(), time.process_time()
    asked = SideBySide[bool](
        stores, lambda number: silent.wait() if number % 2 else True, threads=16, timeout_seconds=30.0
    )
    answers = dict(asked.answers())
    silent.set()
    problems = sum(isinstance(answer, Unanswered) for answer in answers.values())
    spent = {"s": time.perf_counter() - began, "CPU s": time.process_time() - cpu}
    return {"tables": len(answers), "problems": problems, "behind": 0, **spent, "MB": 0.0, "page KB": 0}
