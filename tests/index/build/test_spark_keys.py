"""Keys built by Spark's tasks are those of the local builder: the same rows under the same layout, whatever the shares
of files and ranges; and what is left when a task fails, or a build is killed."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import BuildError
from metaindex.expressions import physical_type
from metaindex.formats import Leaf
from metaindex.index.build.key_build import BuiltKey, key_build
from metaindex.index.build.key_scan import KeyScan
from metaindex.index.build.local import LocalBuilder
from metaindex.index.build.protocol import BuildReport, BuildRequest
from metaindex.index.build.spark import SparkBuilder
from metaindex.index.build.spark_keys import CollectTask, FinishTask, held_bytes_for, spill_of, tasks_for
from metaindex.index.build.spark_tasks import FILE, unpickled
from metaindex.index.kinds import registry
from metaindex.index.kinds.bloom.spec import Bloom
from metaindex.index.kinds.keyed import Gathered, Units
from metaindex.index.kinds.kind import KeyKind, PlannedKey, WholeKind
from metaindex.index.kinds.values.spec import ValueList, Values
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo, new_run_id
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage
from tests.index.build.lake import fields_of, request_for, request_of_table, write
from tests.index.build.scenarios import SCENARIOS, scenario
from tests.tables import settle

KINDS: list[KeyKind] = [Values("x"), Values("x", by="value"), ValueList("x", limit=3), Bloom("x", fpp=0.01)]
KINDS += [
    kind(*KINDS[0].keys)
    for kind in registry.KINDS
    if issubclass(kind, WholeKind) and kind.name not in {asked.name for asked in KINDS}
]


def plans_of(request: BuildRequest, kinds: Sequence[KeyKind] = KINDS) -> list[PlannedKey]:
    """Every kind on every column, and on the first two together."""
    leaves = [leaf for leaf in request.snapshot.schema.leaves() if physical_type(leaf.type) is not None]
    keys: list[tuple[Leaf, ...]] = [(leaf,) for leaf in leaves]
    if len(leaves) > 1:
        keys.append((leaves[0], leaves[1]))
    asked = [(kind, key) for kind in kinds for key in keys]
    return [PlannedKey.of(kind, key, place) for place, (kind, key) in enumerate(asked)]


@dataclass(frozen=True)
class Keys:
    """What a builder wrote, as values."""

    found: BuildReport
    rows: dict[tuple[str, int], list[dict[str, object]]]


def read(found: BuildReport, index: Path) -> Keys:
    """The rows of each key and metadata partition, in the order of the parts."""
    rows: dict[tuple[str, int], list[dict[str, object]]] = {}
    for part in found.parts:
        table = pq.read_table(pa.BufferReader((index / part.path).read_bytes()))
        assert table.num_rows == part.rows
        for row in table.to_pylist():
            rows.setdefault((part.kind, row["key_id"]), []).append(row)
    return Keys(found, rows)


def local(request: BuildRequest, plans: Sequence[PlannedKey], index: Path) -> Keys:
    return read(LocalBuilder().keys(request, plans, RunSink(LocalStorage(str(index)), "run")), index)


def agree(one: Keys, other: Keys) -> None:
    assert one.found.keys == other.found.keys
    assert one.rows == other.rows
    assert (one.found.uncovered, one.found.uncovered_files) == (other.found.uncovered, other.found.uncovered_files)
    assert one.found.files_scanned == other.found.files_scanned


def files_of(request: BuildRequest) -> pa.Table:
    """The files, as a task is given them."""
    count, table = len(request.files), request.files.table
    columns = (range(count), *(table.column(name).to_pylist() for name in ("path", "size_bytes")))
    columns = (*columns, request.partition_ord, [0] * count)
    return pa.table([pa.array(one, f.type) for one, f in zip(columns, FILE, strict=True)], schema=FILE)


def by_tasks(
    request: BuildRequest, plans: Sequence[PlannedKey], index: Path, shares: Sequence[Sequence[int]], limit_bytes: int
) -> Keys:
    """The tasks, one after the other in this process: each share of the ordinals in one, then each range."""
    sink, count = RunSink(LocalStorage(str(index)), "run"), len(request.files)
    source = KeyScan.of(request, plans)
    files = files_of(request)
    gathered: list[list[Gathered]] = [[] for _ in plans]
    problems: dict[int, str] = {}
    scanned = 0
    for share in shares:
        task = pickle.loads(pickle.dumps(CollectTask(request.ref.storage, source, sink, count, limit_bytes)))
        for batch in task.run(iter(files.take(pa.array(share, pa.int64())).to_batches())):
            for row in batch.to_pylist():
                value = pickle.loads(row["data"])
                if row["place"] >= 0:
                    gathered[row["place"]].append(value)
                else:
                    problems |= value.problems
                    scanned += value.opened
    spill = spill_of(sink, limit_bytes)
    finishers = [plan.kind.finisher(plan, sink, spill, count, some) for plan, some in zip(plans, gathered, strict=True)]
    ranges = [(place, number) for place, one in enumerate(finishers) for number in range(one.ranges)]
    finish = pickle.loads(pickle.dumps(FinishTask(tuple(finishers), tuple(ranges))))
    parts = finished(finish)
    built = [
        BuiltKey(key, some, unkeyed)
        for (key, unkeyed), some in zip((f.covered() for f in finishers), parts, strict=True)
    ]
    return read(key_build(built, sink, request, problems, scanned), index)


def finished(task: FinishTask) -> list[list[PartInfo]]:
    """The parts of each key, from one task for all ranges."""
    batches = task.run(iter([pa.record_batch({"id": pa.array(range(len(task.ranges)))})]))
    return task.parts(unpickled(row for batch in batches for row in batch.to_pylist()))


@dataclass(frozen=True)
class ManyParts:
    """A finisher whose ranges have as many parts as it likes."""

    name: str
    each: tuple[int, ...]

    @property
    def ranges(self) -> int:
        return len(self.each)

    def write(self, number: int) -> list[PartInfo]:
        return [PartInfo(self.name, f"{self.name}/{number}/{part}", 1, 1, 1, "") for part in range(self.each[number])]

    def covered(self) -> tuple[CoveredKey, Units]:
        return CoveredKey(self.name, 0, ()), np.empty(0, np.int64)


@given(st.lists(st.lists(st.sampled_from([0, 1, 99, 100, 101, 250]), max_size=3), min_size=1, max_size=3))
def test_each_part_is_of_the_key_whose_range_wrote_it(sizes: list[list[int]]) -> None:
    finishers = tuple(ManyParts(f"k{place}", tuple(each)) for place, each in enumerate(sizes))
    ranges = tuple((place, number) for place, one in enumerate(finishers) for number in range(one.ranges))
    expected = [[part for number in range(one.ranges) for part in one.write(number)] for one in finishers]
    assert finished(FinishTask(finishers, ranges)) == expected


def test_no_two_objects_of_tasks_and_keys_have_one_name(tmp_path: Path) -> None:
    spill = spill_of(RunSink(LocalStorage(str(tmp_path)), "run"), 1)
    again = pickle.loads(pickle.dumps(replace(spill, limit_bytes=2)))
    paths = [one.fresh("rows") for one in (spill, again, spill)]
    assert len(set(paths)) == 3
    assert all(path.startswith("spills/run=run/rows-") for path in paths)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_tasks_write_the_rows_of_the_local_builder(name: str, tmp_path: Path) -> None:
    request = scenario(name, tmp_path)
    plans = plans_of(request)
    count = len(request.files)
    shares = [list(range(0, count, 2)), list(range(1, count, 2))[::-1]]
    agree(by_tasks(request, plans, tmp_path / "tasks", shares, 1 << 20), local(request, plans, tmp_path / "local"))


@settings(max_examples=max(5, settings().max_examples // 4))
@given(data=st.data())
@pytest.mark.slow
def test_any_shares_and_any_bound_of_memory_give_the_same_rows(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("keys")
    values = st.lists(st.one_of(st.none(), st.integers(-3, 3)), max_size=12)
    contents = data.draw(st.lists(values, min_size=1, max_size=6))
    paths = []
    for number, numbers in enumerate(contents):
        texts = [None if one is None else "é" * abs(one) for one in numbers]
        table = pa.table({"i": pa.array(numbers, pa.int64()), "s": pa.array(texts, pa.string())})
        paths.append(write(folder / "t", f"{number}.parquet", table, row_group_size=data.draw(st.integers(1, 5))))
    if data.draw(st.booleans()):
        (folder / "t" / paths[-1]).write_bytes(b"PAR1 damaged")
    request = request_for(folder / "t", fields_of(pa.schema([("i", pa.int64()), ("s", pa.string())])), paths)
    order = data.draw(st.permutations(range(len(paths))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(paths)), max_size=3)))
    shares = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(paths)], strict=True)]
    plans = plans_of(request)
    limit = data.draw(st.sampled_from([16, 200, 1 << 20]))
    agree(by_tasks(request, plans, folder / "tasks", shares, limit), local(request, plans, folder / "local"))


def test_tasks_are_as_many_as_the_files_and_their_bytes_ask_for(tmp_path: Path) -> None:
    table = pa.table({"i": [1]})
    paths = [write(tmp_path, f"{i}.parquet", table) for i in range(7)]
    fields = fields_of(table.schema)
    assert tasks_for(request_for(tmp_path, fields, paths), 500) == 1
    assert tasks_for(request_for(tmp_path, fields, paths), 3) == 3
    large = dict.fromkeys(paths[:2], 1 << 28)
    assert tasks_for(request_for(tmp_path, fields, paths, sizes=large), 500) == 5
    huge = request_for(tmp_path, fields, paths, sizes=dict.fromkeys(paths, 1 << 38))
    assert tasks_for(huge, 500) == 7
    assert held_bytes_for(request_for(tmp_path, fields, paths, sizes=large)) == 128 << 20
    assert held_bytes_for(huge) == 7 * (1 << 38) // 4000


def test_what_a_killed_build_left_is_removed_by_clean(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    write(root, "a.parquet", pa.table({"i": [1, 2, 3]}))
    settle(root)
    table = mi.open_table(str(root))
    entry = table.create_index("find", Values("i"), builder="local").entry
    index = tmp_path / "_metaindex" / "lake" / "find"
    request = request_of_table(str(root))
    (tmp_path / "_metaindex" / "lake" / "find" / "spills").mkdir()
    left = []
    for run in (new_run_id(), entry.content.runs[0].run):
        sink = RunSink(LocalStorage(str(index)), run)
        task = CollectTask(request.ref.storage, KeyScan.of(request, plans_of(request)), sink, 1, 1 << 20)
        list(task.run(iter(files_of(request).to_batches())))
        left += list((index / "spills" / f"run={run}").iterdir())
    assert left
    table.clean_index("find", retention=0)
    assert not any(path.exists() for path in left)
    assert len(table.scan("i = 2").to_arrow()) == 1


# On Spark ---------------------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.parametrize(
    "name", ["every_type", "damaged_files", "partition_columns", "csv_files", "json_files", "no_files"]
)
def test_spark_writes_the_rows_of_the_local_builder(name: str, tmp_path: Path, spark: SparkSession) -> None:
    request = scenario(name, tmp_path)
    plans = plans_of(request)
    sink = RunSink(LocalStorage(str(tmp_path / "spark")), "run")
    found = SparkBuilder(spark, files_per_task=2).keys(request, plans, sink)
    agree(read(found, tmp_path / "spark"), local(request, plans, tmp_path / "local"))
    assert not [path for path in (tmp_path / "spark" / "spills").rglob("*") if path.is_file()]


@pytest.mark.spark
def test_many_ranges_of_more_values_than_a_task_may_hold(tmp_path: Path, spark: SparkSession) -> None:
    values = np.random.default_rng(1).integers(0, 5000, 20_000)
    paths = [
        write(tmp_path / "t", f"{i}.parquet", pa.table({"i": values[i::4]}), row_group_size=1000) for i in range(4)
    ]
    request = request_for(tmp_path / "t", fields_of(pa.schema([("i", pa.int64())])), paths)
    plans = plans_of(request)
    found = SparkBuilder(spark, files_per_task=1, task_bytes=1 << 16).keys(
        request, plans, RunSink(LocalStorage(str(tmp_path / "spark")), "run")
    )
    assert len([part for part in found.parts if part.kind == "values"]) > 4
    agree(read(found, tmp_path / "spark"), local(request, plans, tmp_path / "local"))


@pytest.mark.spark
def test_a_task_that_fails_leaves_no_index_and_no_rows(tmp_path: Path, spark: SparkSession) -> None:
    root = tmp_path / "lake"
    write(root, "a.parquet", pa.table({"i": [1, 2, 3]}))
    settle(root)
    table = mi.open_table(str(root), spark=spark)
    index = tmp_path / "_metaindex" / "lake" / "find"
    index.mkdir(parents=True)
    (index / "spills").write_text("where a folder should be")
    with pytest.raises(BuildError, match="nothing became visible") as caught:
        table.create_index("find", Values("i"), builder="spark")
    assert "\n" not in str(caught.value)
    assert not [path for path in (index / "values").rglob("*") if path.is_file()]
    assert len(table.scan("i = 2").to_arrow()) == 1
    (index / "spills").unlink()
    table.create_index("find", Values("i"), builder="spark")
    result = table.prune("i = 4")
    assert len(result.files) == 0


@pytest.mark.spark
def test_an_index_built_by_spark_answers_as_one_built_here(tmp_path: Path, spark: SparkSession) -> None:
    root = tmp_path / "delta"
    spark.range(0, 1000, 1, 4).selectExpr("id * 7 % 1000 AS id", "CAST(id % 10 AS STRING) AS s").write.format(
        "delta"
    ).save(str(root))
    table = mi.open_table(str(root), spark=spark)
    table.create_index("by-spark", Values("id", "s", ("id", "s")), builder="spark")
    table.create_index("by-local", Values("id", "s", ("id", "s")), builder="local")
    for text in ("id = 77", "id = 77 AND s = '1'", "s = '3'", "id IN (1, 2, 999)", "id = 1001"):
        ours, theirs = (table.prune(text, indexes=[name]) for name in ("by-spark", "by-local"))
        assert sorted(ours.paths) == sorted(theirs.paths)
        expected = spark.read.format("delta").load(str(root)).where(text).count()
        assert table.scan(text, indexes=["by-spark"]).to_arrow().num_rows == expected
        assert table.scan(text, indexes=["by-spark"]).to_spark(spark).count() == expected


def test_a_task_without_files_says_nothing(tmp_path: Path) -> None:
    request = request_for(tmp_path, fields_of(pa.schema([("i", pa.int64())])), [])
    sink = RunSink(LocalStorage(str(tmp_path)), "run")
    task = CollectTask(request.ref.storage, KeyScan.of(request, plans_of(request)), sink, 0, 1 << 20)
    empty: Iterator[pa.RecordBatch] = iter(FILE.empty_table().to_batches())
    assert list(task.run(empty)) == []
