"""From nothing to the first pruned query on data that is there: six lines, each with its seconds, in an empty folder,
with an empty cache of pip; and what the install takes on disk, package by package.

    python3 -m venv own
    own/bin/pip install metaindex_lake-0.1.0-py3-none-any.whl
    >>> import metaindex as mi
    >>> table = mi.open_table("data")
    >>> table.create_index("find", mi.Values("user"))
    >>> print(table.prune("user = 4711"))
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
LINES = (
    "import metaindex as mi",
    'table = mi.open_table("data")',
    'table.create_index("find", mi.Values("user"))',
    'print(table.prune("user = 4711"))',
)
TIMED = """
import json, sys, time
seconds, space = [], {}
for line in json.loads(sys.argv[1]):
    started = time.perf_counter()
    exec(line, space)
    seconds.append(time.perf_counter() - started)
answer = space["table"].prune("user = 4711")
print(json.dumps([seconds, answer.kept_files, answer.total_files]))
"""
SIZES = """
import importlib.metadata, json
every = importlib.metadata.distributions()
print(json.dumps([[each.metadata["Name"], str(file.locate())] for each in every for file in each.files or ()]))
"""
_SHOWN = 6
"""Packages that are named by themselves."""


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        here = Path(place)
        wheel = _wheel(here)
        _data(here / "data", files=10 if quick else 100)
        python = here / "own" / "bin" / "python"
        steps = [("python3 -m venv own", _timed([sys.executable, "-m", "venv", "own"], here))]
        # An empty cache, as on a new machine.
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
        steps.append(("own/bin/pip install metaindex", _timed([*pip, str(wheel)], here)))
        seconds, kept, total = json.loads(_said([str(python), "-c", TIMED, json.dumps(LINES)], here).splitlines()[-1])
        steps += zip(LINES, seconds, strict=True)
        figures: list[dict[str, object]] = [{"line": line, "seconds": took} for line, took in steps]
        whole = sum(took for _, took in steps)
        figures.append({"line": f"{len(steps)} lines; reads {kept} of {total} files", "seconds": whole})
        return [*figures, *_sizes(python, here)]


def _wheel(here: Path) -> Path:
    copy = here / "source"  # a build leaves folders behind, which the next one would take for sources
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, copy / name)
    for name in ("metaindex", "metaindex_lake"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    built = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", here]
    subprocess.run([*map(str, built), str(copy)], check=True, capture_output=True)
    (wheel,) = here.glob("metaindex_lake-*.whl")
    return wheel


def _data(place: Path, files: int) -> None:
    """Users that lie scattered: 20,000 rows a file."""
    place.mkdir()
    rng = np.random.default_rng(3)
    for number in range(files):
        rows = {"user": rng.integers(0, 1_000_000, 20_000), "amount": rng.normal(size=20_000)}
        pq.write_table(pa.table(rows), place / f"{number:03}.parquet")


def _sizes(python: Path, here: Path) -> list[dict[str, object]]:
    """On disk, with what pip compiled, without pip itself."""
    sizes: Counter[str] = Counter()
    for name, file in json.loads(_said([str(python), "-c", SIZES], here)):
        if name not in ("pip", "setuptools") and os.path.exists(file):
            sizes[name] += os.path.getsize(file)
    largest = sizes.most_common(_SHOWN)
    rest = sizes.total() - sum(size for _, size in largest)
    every = [*largest, (f"{len(sizes) - _SHOWN} others", rest), ("all", sizes.total())]
    return [{"package": name, "MB": size / 1e6} for name, size in every]


def _timed(words: list[str], here: Path) -> float:
    started = time.perf_counter()
    _said(words, here)
    return time.perf_counter() - started


def _said(words: list[str], here: Path) -> str:
    """What it prints, with nothing of this repository on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(words, cwd=here, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
