"""Merges of covering indexes by tasks of Spark: the rows, order and parts that this process makes of the same runs,
told of as they go, and nothing of them where one part is damaged."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.cli import main, verbs
from metaindex.cli.output import Progress
from metaindex.core import DamagedIndexError
from metaindex.index.build.spark import SparkBuilder
from metaindex.index.build.spark_rows import merging_tasks
from metaindex.index.kinds.covering import merge as merging
from metaindex.index.kinds.covering.merge import CoveringMerge
from metaindex.index.kinds.covering.parts import stored_parts
from metaindex.index.kinds.pieces import PIECES_MERGED
from tests.hostile.changes import turn

from .awkward import ALL, grow, parquet_folder
from .served import Held, index_folder, objects

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]

KINDS = (
    mi.Covering(["k", "s"], [one for one in ALL if one not in ("k", "s")], buckets=5),
    mi.CoveringRange(["t"], ["f"]),
)


def not_here(*_: object) -> None:
    raise AssertionError("rows are merged by tasks")


def with_three_runs(spark: SparkSession, folder: Path, *names: str) -> mi.Table:
    root = parquet_folder(folder / "lake", 2)
    table = mi.open_table(str(root), spark=spark)
    for name in names:
        table.create_index(name, mi.ColumnStats("k"), *KINDS, builder="spark")
    for seed in (7, 8):
        grow(root, seed, 150)
        for name in names:
            table.refresh_index(name, builder="spark")
    return table


def test_tasks_merge_what_this_process_merges(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_three_runs(spark, tmp_path, "c", "here")
    monkeypatch.setattr(merging, "RANGE_BYTES", 0)
    monkeypatch.setattr(merging, "range_bytes", lambda size_bytes: 0)
    monkeypatch.setattr(merging, "STRETCH_BYTES", 1)
    before = Held.of(table, "c")
    said: list[tuple[str, int, int]] = []
    with monkeypatch.context() as patch:
        patch.setattr(CoveringMerge, "write", not_here)
        table.optimize_index("c", "full", "spark", lambda *told: said.append(told))
    table.optimize_index("here", "full", "local")
    merged, here = Held.of(table, "c"), Held.of(table, "here")
    assert len(merged.runs) == len(here.runs) == 1
    counts = []
    for place, kind in enumerate(KINDS):
        key = merged.key(place)
        ours, theirs = merged.stored(merged.runs[0], key.key_id), here.stored(here.runs[0], key.key_id)
        assert list(map(repr, ours.to_pylist())) == list(map(repr, theirs.to_pylist()))
        assert merged.physical(place) == before.physical(place)
        assert key == here.key(place)
        parts = stored_parts(merged.index.reader(merged.runs[0]), key)
        counts.append(len(parts))
        assert {part.bucket for part in parts} == (set(range(5)) if isinstance(kind, mi.Covering) else {None})
    assert counts[0] == 5
    assert counts[1] > 2  # stretches
    pieces = {total for what, _, total in said if what == PIECES_MERGED}
    assert pieces == set(counts)
    assert (PIECES_MERGED, counts[1], counts[1]) in said
    assert [done for what, done, total in said if total == 5] == sorted(done for _, done, total in said if total == 5)
    merged.check(spark)
    table.clean_index("c", retention=0)
    named = {
        part.path for place in (0, 1) for part in stored_parts(merged.index.reader(merged.runs[0]), merged.key(place))
    }
    assert objects(merged.index) == named


def test_a_build_is_told_of_task_by_task(spark: SparkSession, tmp_path: Path) -> None:
    table = mi.open_table(str(parquet_folder(tmp_path / "lake", 4)), spark=spark)
    said: list[tuple[str, int, int]] = []
    builder = SparkBuilder(spark, files_per_task=1)
    kind = mi.Covering(["k"], ["s"], buckets=6)
    table.create_index("c", kind, builder=builder, progress=lambda *told: said.append(told))
    tasks = [(done, total) for what, done, total in said if what == "tasks of the covering index of k"]
    assert tasks[0] == (0, 0)  # nothing is known yet
    assert tasks == sorted(tasks)  # more tasks are known of as they begin
    assert [total for _, total in tasks] == sorted(total for _, total in tasks)
    assert said[-1] == ("covering indexes written", 1, 1)


def test_a_damaged_part_is_found_by_tasks_and_nothing_is_merged(spark: SparkSession, tmp_path: Path) -> None:
    table = with_three_runs(spark, tmp_path, "c")
    held = Held.of(table, "c")
    there = objects(held.index)
    path = index_folder(table, "c") / sorted(there)[0]
    path.chmod(0o644)
    turn(path, 1 / 3, 0x5A)
    said = "an optimize reads the runs that it merges; a part of an index"
    with pytest.raises(DamagedIndexError, match=said) as caught:
        table.optimize_index("c", "full")
    assert "\n" not in str(caught.value)
    after = Held.of(table, "c")
    assert after.runs == held.runs
    assert objects(after.index) == there
    table.repair_index("c")
    table.optimize_index("c", "full")
    assert len(Held.of(table, "c").runs) == 1
    Held.of(table, "c").check(spark)


def test_small_pieces_share_tasks() -> None:
    """As many tasks as run at a time, more where there is more to merge, a piece each at most."""
    assert [merging_tasks([1] * count, 4) for count in (1, 3, 200)] == [1, 3, 4]
    assert merging_tasks([64 << 20] * 200, 4) == 100
    assert merging_tasks([512 << 20] * 200, 4) == 200


def test_the_command_line_merges_by_spark(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_three_runs(spark, tmp_path, "c", "stats")
    root = str(tmp_path / "lake")
    monkeypatch.setattr(
        "metaindex.spark.quiet_session", lambda name: spark
    )  # the session of the tests: a process has one
    monkeypatch.setattr(verbs, "Progress", lambda: Progress(0.0))
    monkeypatch.setattr(CoveringMerge, "write", not_here)
    assert main(["optimize", root, "c", "--mode", "full", "--builder", "spark"]) == 0
    told = capsys.readouterr()
    assert "3 runs merged into 1" in told.out
    assert "starting Spark" in told.err
    assert PIECES_MERGED in told.err
    assert main(["optimize", root, "c", "--mode", "full"]) == 0
    assert "starting Spark" not in capsys.readouterr().err  # nothing to merge
    monkeypatch.undo()
    assert main(["optimize", root, "stats", "--mode", "full", "--builder", "local"]) == 0
    assert "starting Spark" not in capsys.readouterr().err
    assert len(Held.of(table, "stats").runs) == 1
