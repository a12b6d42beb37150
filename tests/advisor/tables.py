"""Tables that are asked for advice, and the files of a folder, to which nothing is added."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from tests.tables import FIVE, settle


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder: size and time."""
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(folder.rglob("*")) if p.is_file()}


def filled_with(tables: Iterable[pa.Table], folder: Path, kind: str) -> mi.Table:
    """A table of a file for each."""
    lake = FIVE[kind](folder)
    for rows in tables:
        lake.append(rows)
    return lake.open()


def of_parquet(tables: Iterable[dict[str, Any]], folder: Path, **options: object) -> mi.Table:
    """A folder of plain files, one for each; the options are the writer's."""
    root = folder / "lake"
    root.mkdir(parents=True)
    for number, columns in enumerate(tables):
        pq.write_table(pa.table(columns), root / f"f{number:03d}.parquet", **options)
    settle(root)
    return mi.open_table(str(root))
