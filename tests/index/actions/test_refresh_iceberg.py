"""Histories of an Iceberg table with branches, rollbacks, rewritten files and new columns against an index refreshed at
versions asked in any order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import LongType

import metaindex as mi

STEPS = ["append", "append", "branch", "delete", "overwrite", "rollback", "column"]


class History:
    """An Iceberg table to which random things happen."""

    def __init__(self, folder: Path, seed: int) -> None:
        catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        catalog.create_namespace("db")
        self.table: Any = catalog.create_table("db.lake", pa.schema([("id", pa.int64())]))
        self.path = f"{folder}/warehouse/db/lake"
        self.random = random.Random(seed)
        self.count = 0
        self.append(None)
        self.append(None)
        self.table.manage_snapshots().create_branch(self.table.current_snapshot().snapshot_id, "audit").commit()

    def append(self, branch: str | None) -> None:
        self.count += 1
        ids = pa.array(range(self.count * 10, self.count * 10 + 10), pa.int64())
        names = [field.name for field in self.table.schema().fields]
        self.table.append(pa.table(dict.fromkeys(names, ids)), **({"branch": branch} if branch else {}))

    def step(self) -> None:
        first = self.random.randrange(1, self.count + 1) * 10
        match self.random.choice(STEPS):
            case "append":
                self.append(None)
            case "branch":
                self.append("audit")
            case "delete":
                self.table.delete(f"id = {first + 3}")
            case "overwrite":
                self.table.delete(f"id >= {first} and id < {first + 10}")
                self.append(None)
            case "rollback":
                ancestor = self.random.choice([s.snapshot_id for s in self.table.history()])
                with self.table.transaction() as transaction:
                    from pyiceberg.table.update import AssertRefSnapshotId, SetSnapshotRefUpdate

                    transaction._apply(
                        (SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=ancestor),),
                        (AssertRefSnapshotId(ref="main", snapshot_id=self.table.current_snapshot().snapshot_id),),
                    )
            case "column":
                with self.table.update_schema() as update:
                    update.add_column(f"c{self.random.randrange(10**9)}", LongType())

    def snapshots(self) -> list[int]:
        return [s.snapshot_id for s in self.table.metadata.snapshots]


@pytest.mark.exhaustive(but="2")
@pytest.mark.filterwarnings("ignore:Delete operation did not match")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_every_snapshot_answers_like_its_files(tmp_path: Path, seed: int) -> None:
    lake = History(tmp_path, seed)
    mi.open_table(lake.path).create_index("kept", mi.ColumnStats("id"), builder="local")
    asked: set[int] = set()
    for _ in range(14):
        lake.step()
        choice = lake.random.randrange(5)
        table = mi.open_table(lake.path)
        if choice == 0:
            version = lake.random.choice(lake.snapshots())
            table.refresh_index("kept", version=version, builder="local")
            asked.add(version)
        elif choice == 1:
            table.refresh_index("kept", version="audit", builder="local")
        elif choice == 2:
            table.refresh_index("kept", mode="quick", builder="local")
        elif choice == 3:
            table.refresh_index("kept", builder="local")
            asked.add(lake.table.current_snapshot().snapshot_id)

    table = mi.open_table(lake.path)
    ids: dict[str, set[int]] = {}
    for snapshot in lake.snapshots():
        files = table.snapshot(version=snapshot).files.paths.to_pylist()
        for path in files:
            if path not in ids:
                ids[path] = set(pq.read_table(f"{lake.path}/{path}", columns=["id"]).column("id").to_pylist())
        for number in (13, lake.count * 10 + 3, 1):
            result = mi.open_table(lake.path).prune(f"id = {number}", version=snapshot, indexes=["kept"])
            wanted = {path for path in files if number in ids[path]}
            kept = set(result.files.paths.to_pylist())
            assert (wanted <= kept, result.total_files) == (True, len(files))
            if snapshot in asked:
                may = {path for path in files if ids[path] and min(ids[path]) <= number <= max(ids[path])}
                assert kept == may
