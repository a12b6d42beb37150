"""Tables written by pyiceberg in a SqlCatalog on sqlite: random histories, pyiceberg being the second opinion on files,
rows and statistics."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from metaindex.core import NotATableError
from metaindex.formats.format import At
from metaindex.formats.model import Snapshot
from tests.contract.format_contract import FormatContract, MadeTable
from tests.formats.iceberg.handmade import FORMAT, agreed, check_bounds, table_ref
from tests.histories.driver import run
from tests.histories.iceberg import IcebergHistory
from tests.tables import catalog_in


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Any]:
    made = catalog_in(tmp_path)
    yield made
    made.engine.dispose()


def rows(rng: Random, start: int, count: int) -> pa.Table:
    def some(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    return pa.table(
        {
            "id": pa.array(range(start, start + count), pa.int64()),
            "part": pa.array([rng.choice(["a", "b/c", "é", None]) for _ in range(count)], pa.string()),
            "f": pa.array(
                [some(rng.choice([float("nan"), -0.0, 0.0, rng.uniform(-9, 9)])) for _ in range(count)], pa.float64()
            ),
            "s": pa.array([some(rng.choice("xyz😀é") * rng.randint(0, 30)) for _ in range(count)], pa.string()),
            "at": pa.array([some(rng.randint(-(10**15), 2 * 10**15)) for _ in range(count)], pa.timestamp("us")),
            "n": pa.array([some({"x": rng.randint(-5, 5)}) for _ in range(count)], pa.struct([("x", pa.int32())])),
        }
    )


class Evolving(IcebergHistory):
    """Columns and partitions come, go and are renamed."""

    verbs = "append append delete overwrite add partition rename"

    def __init__(self, folder: Path, seed: int) -> None:
        random = Random(seed)
        version = {"format-version": random.choice("12")}
        super().__init__(folder, random, rows(random, 0, 1).schema, **version)

    def rows(self) -> pa.Table:
        return rows(self.random, self.number * 10, self.random.choice([8, 10]))

    def condition(self) -> str:
        return self.random.choice(["part = 'a'", f"id < {self.random.randint(0, self.number * 10)}"])

    def partition(self) -> None:
        from pyiceberg.transforms import IdentityTransform

        name = self.random.choice(["part", "at"])
        with self.table.update_spec() as update:
            if f"of_{name}" in {f.name for f in self.table.spec().fields}:
                update.remove_field(f"of_{name}")
            else:
                update.add_field(name, IdentityTransform(), f"of_{name}")


def files_by_pyiceberg(table: Any, snapshot_id: int) -> dict[str, tuple[int, int]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tasks = table.scan(snapshot_id=snapshot_id).plan_files()
    return {t.file.file_path.removeprefix("file://"): (t.file.file_size_in_bytes, t.file.record_count) for t in tasks}


def files_by_us(snapshot: Snapshot) -> dict[str, tuple[int | None, int | None]]:
    return {snapshot.uri(one.path): (one.size_bytes, one.record_count) for one in snapshot.files.entries()}


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_random_histories_read_as_pyiceberg_reads_them(tmp_path: Path, seed: int) -> None:
    history = Evolving(tmp_path, seed)
    run(9, history, oracles=[lambda: check(history)])


def check(history: Evolving) -> None:
    table = history.table
    ref = table_ref("unused", catalog=history.catalog, identifier="db.lake")
    versions = FORMAT.versions(ref)
    assert {v.id for v in versions} == {str(s.snapshot_id) for s in table.metadata.snapshots}
    snapshots = [FORMAT.snapshot(ref, At(version=v.id)) for v in versions]
    for snapshot in snapshots:
        assert files_by_us(snapshot) == files_by_pyiceberg(table, int(snapshot.version.id))
    diffs = {(a, b): agreed(ref, one, other) for a, one in enumerate(snapshots) for b, other in enumerate(snapshots)}
    assert all(diffs[at, at + 1] is not None for at in range(len(snapshots) - 1))
    if snapshots:
        check_bounds(snapshots[-1])


class TestContract(FormatContract):
    @pytest.fixture
    def made(self, catalog: Any) -> MadeTable:
        table = catalog.create_table("db.a_table", rows(Random(1), 0, 1).schema)
        for start in (0, 20):
            table.append(rows(Random(start), start, 20))
        folder = table.metadata.location.removeprefix("file://")
        return MadeTable(FORMAT, table_ref(folder), lambda: table.append(rows(Random(3), 40, 10)), 40)


def test_a_table_is_loaded_by_catalog_file_and_folder_alike(catalog: Any) -> None:
    table = catalog.create_table("db.one", rows(Random(1), 0, 1).schema)
    table.append(rows(Random(1), 0, 5))
    folder = table.metadata.location.removeprefix("file://")
    by_catalog = FORMAT.snapshot(table_ref("db.one", catalog=catalog), At())
    by_file = FORMAT.snapshot(table_ref(table.metadata_location.removeprefix("file://")), At())
    by_folder = FORMAT.snapshot(table_ref(folder), At())
    assert by_catalog.table == folder
    for one in (by_file, by_folder):
        assert one.version == by_catalog.version
        assert one.table == by_catalog.table
        assert one.files.table.equals(by_catalog.files.table)
    assert by_catalog.properties["table_uuid"] == str(table.metadata.table_uuid)


def test_branches_and_tags_of_a_catalog_table(catalog: Any) -> None:
    table = catalog.create_table("db.refs", rows(Random(1), 0, 1).schema)
    table.append(rows(Random(1), 0, 5))
    first = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_tag(first, "v1").create_branch(first, "audit").commit()
    table.append(rows(Random(1), 5, 5))
    table.append(rows(Random(1), 9, 5), branch="audit")
    ref = table_ref("db.refs", catalog=catalog)
    counts = {name: len(FORMAT.snapshot(ref, At(version=name)).files) for name in ("main", "v1", "audit")}
    assert counts == {"main": 2, "v1": 1, "audit": 2}
    assert FORMAT.diff(ref, FORMAT.snapshot(ref, At(version="audit")), At(version="main")) is None
    assert len(FORMAT.diff(ref, FORMAT.snapshot(ref, At(version="v1")), At(version="audit")).appended) == 1


def test_a_table_that_the_catalog_lacks_is_no_table(catalog: Any) -> None:
    with pytest.raises(NotATableError, match=r"db\.nothing"):
        FORMAT.resolve(table_ref("db.nothing", catalog=catalog), At())
