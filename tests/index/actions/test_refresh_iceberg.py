"""Histories of an Iceberg table with branches, rollbacks, rewritten files and new columns against an index refreshed at
versions asked in any order."""

import random
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from tests.histories.driver import Index, run
from tests.histories.iceberg import IcebergHistory


class Branched(IcebergHistory):
    """Ten rows a file, whose ids are those of no other."""

    verbs = "append append branch delete overwrite roll_back add"

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, random.Random(seed), pa.schema([("id", pa.int64())]))
        for verb in ("append", "append", "branch"):
            self.happen(verb)

    def rows(self) -> pa.Table:
        return pa.table({"id": pa.array(range(self.number * 10, self.number * 10 + 10), pa.int64())})

    def condition(self) -> str:
        first = self.random.randint(1, self.number) * 10
        return self.random.choice([f"id = {first + 3}", f"id >= {first} AND id < {first + 10}"])


class OfAnyVersion(Index):
    """`asked`: the snapshots that were refreshed by their number, which are answered for exactly."""

    verbs = "refresh older of_a_branch quick"

    def __init__(self, history: Branched) -> None:
        super().__init__(history, history.open, mi.ColumnStats("id"))
        self.history, self.asked = history, set[int]()

    def refresh(self, mode: object = "incremental", **how: object) -> None:
        super().refresh(mode, **how)
        if mode == "incremental" and how.get("version") != "audit":
            self.asked.add(int(str(how.get("version", self.history.table.current_snapshot().snapshot_id))))

    def older(self) -> None:
        self.refresh(version=self.random.choice(self.history.snapshots()))

    def of_a_branch(self) -> None:
        self.refresh(version="audit")


@pytest.mark.exhaustive(but="2")
@pytest.mark.filterwarnings("ignore:Delete operation did not match")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_every_snapshot_answers_like_its_files(tmp_path: Path, seed: int) -> None:
    history = Branched(tmp_path, seed)
    index = OfAnyVersion(history)
    run(26, history, index, oracles=[lambda: check(history, index.asked)])


def check(history: Branched, asked: set[int]) -> None:
    @cache
    def ids(path: str) -> set[int]:
        return set(pq.read_table(f"{history.path}/{path}", columns=["id"]).column("id").to_pylist())

    for snapshot in history.snapshots():
        files = history.open().snapshot(version=snapshot).files.paths.to_pylist()
        for number in (13, history.number * 10 + 3, 1):
            result = history.open().prune(f"id = {number}", version=snapshot, indexes=["kept"])
            wanted = {path for path in files if number in ids(path)}
            kept = set(result.files.paths.to_pylist())
            assert (wanted <= kept, result.total_files) == (True, len(files))
            if snapshot in asked:
                assert kept == {path for path in files if ids(path) and min(ids(path)) <= number <= max(ids(path))}
