"""Makes the kit with the program: `python -m tests.kit`. What is written holds random names (of runs) and times; all
else is the same each time, and a test compares it."""

import contextlib
import io
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.index.log.entry import FORMAT_VERSION

from .broken import BROKEN as BROKEN
from .broken import write_broken
from .case import lines
from .cases import CASES as CASES
from .cases import small
from .vectors import vectors

KIT = Path(__file__).parents[2] / "kit" / str(FORMAT_VERSION)


def make(target: Path) -> None:
    """The whole kit of this format, in a folder that is not there."""
    target.mkdir(parents=True)
    for name, build in CASES.items():
        with TemporaryDirectory() as folder:
            build(Path(folder)).write(target / name)
    with TemporaryDirectory() as folder:
        write_broken(small(Path(folder)), target / "broken")
    (target / "vectors.json").write_text(lines(vectors()))


def essence(kit: Path) -> dict[str, Any]:
    """The kit without names and times that are random: JSON with runs by number, and the rows of every part."""
    out: dict[str, Any] = {}
    for path in sorted(kit.rglob("*")):
        if path.name in ("live.json", "questions.jsonl", "rows.jsonl", "vectors.json", "broken.json"):
            out[str(path.relative_to(kit))] = re.sub(r'"etag": "[^"]*"', "", path.read_text())  # inodes
    for index in sorted({log.parent for log in kit.rglob("_log")}):
        out[str(index.relative_to(kit))] = _rows(index)
    return out


def _rows(index: Path) -> list[Any]:
    entry = json.loads(max((index / "_log").glob("0*.json")).read_bytes().split(b"\n")[0])
    found: list[Any] = [[k["name"] for k in entry["kinds"]], entry["content"]["columns"]]
    for run in entry["content"]["runs"]:
        found.append([run["files"], run["partitions"], run.get("keys"), run["columns"]])
        try:
            parts = json.loads((index / "_manifests" / f"{run['run']}.json").read_bytes())["parts"]
        except ValueError:
            continue
        for part in sorted(parts, key=lambda one: (one["kind"], one["path"].rpartition("/")[2])):
            with contextlib.suppress(pa.ArrowException, OSError):
                table = pq.read_table(io.BytesIO((index / part["path"]).read_bytes()))
                kept = [name for name in table.column_names if name not in ("etag", "file_id")]
                found.append(
                    [part["kind"], part["kind"] != "file_ids" and repr(table.select(kept).to_pylist())]
                )  # NaN is itself so
    return found
