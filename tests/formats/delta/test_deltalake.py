"""Tables written by `deltalake`, which is also the oracle of their live files and statistics; the contract of
formats."""

import datetime as dt
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.formats.diff import Diff
from metaindex.formats.format import At
from metaindex.formats.model import Snapshot
from tests.contract.format_contract import FormatContract, MadeTable
from tests.formats.delta.hand import DELTA, check_bounds, ref, snapshot
from tests.histories.delta import DeltaLakeHistory
from tests.histories.driver import RANDOM, run

deltalake = pytest.importorskip("deltalake")

ROWS = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("score", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("price", pa.decimal128(24, 4)),
        ("flag", pa.bool_()),
        ("nest", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("p", pa.string()),
        ("q", pa.int32()),
    ]
)


def rows(first: int, count: int) -> pa.Table:
    made = [
        {
            "id": n if n % 7 else None,
            "name": f"näme {n} " + "x" * (n % 90),
            "score": [n / 3, -0.0, float("inf"), None][n % 4],
            "at": dt.datetime(1890 + n % 200, 1, 1, 0, 0, 0, 123456 + n, tzinfo=dt.UTC),
            "day": dt.date(1900 + n % 100, 1, 1),
            "price": None if n % 5 == 0 else n,
            "flag": n % 2 == 0,
            "nest": None if n % 6 == 0 else {"x": n, "y": f"y{n}"},
            "p": [None, "a b/c%d", "é=😀", "plain"][n % 4],
            "q": None if n % 3 == 0 else n % 3,
        }
        for n in range(first, first + count)
    ]
    return pa.Table.from_pylist(made, ROWS)


def write(path: Path, table: pa.Table, mode: str = "append") -> None:
    deltalake.write_deltalake(str(path), table, mode=mode, partition_by=["p", "q"], schema_mode="merge")


class TestContract(FormatContract):
    @pytest.fixture
    def made(self, tmp_path: Path) -> MadeTable:
        path = tmp_path / "a täble"
        write(path, rows(0, 20))
        write(path, rows(20, 20))
        return MadeTable(DELTA, ref(path), lambda: write(path, rows(40, 10)), 40)


def live(path: Path, version: int) -> set[str]:
    return {p.rpartition("/")[2] for p in deltalake.DeltaTable(str(path), version=version).file_uris()}


def own(found: Snapshot) -> set[str]:
    return {p.rpartition("/")[2] for p in found.files.paths.to_pylist()}


def check_partitions(path: Path, found: Snapshot) -> None:
    """Partition bounds are what deltalake reads from the log."""
    actions = pa.table(
        deltalake.DeltaTable(str(path), version=int(found.version.id)).get_add_actions(flatten=True)
    ).to_pylist()
    said = {a["path"].rpartition("/")[2]: a for a in actions}
    for leaf in found.schema.leaves():
        if not leaf.field.partition:
            continue
        bounds = found.details.partition_bounds(leaf)
        assert bounds is not None
        for row, file in enumerate(found.files.paths.to_pylist()):
            value = said[file.rpartition("/")[2]][f"partition.{leaf.field.name}"]
            assert bounds.lower[row].as_py() == (value.encode() if isinstance(value, str) else value)
            assert (bounds.null_count[row].as_py() > 0) == (value is None)


class AnyVerb(DeltaLakeHistory):
    verbs = "append append overwrite delete update merge compact checkpoint restore replace add vacuum"
    rows = staticmethod(rows)

    def write(self, table: pa.Table, mode: str, schema_mode: Literal["merge", "overwrite"] = "merge") -> None:
        deltalake.write_deltalake(self.path, table, mode=mode, schema_mode=schema_mode, partition_by=["p", "q"])

    def update(self) -> None:
        self.table.update(predicate="flag", new_values={"name": "changed"})

    def merge(self) -> None:
        first = (self.number - 1) * 10 + 2
        (
            self.table.merge(rows(first, 6).select(["id", "name"]), "t.id = s.id", source_alias="s", target_alias="t")
            .when_matched_update({"name": "s.name"})
            .when_not_matched_insert({"id": "s.id", "p": "'new'"})
            .execute()
        )

    def replace(self) -> None:
        extra = rows(self.number * 10, 4).append_column("more", pa.array([self.number] * 4))
        self.write(extra, "overwrite", "overwrite")


@settings(max_examples=4)
@given(st.integers(3, 9), RANDOM)
@pytest.mark.slow
def test_random_histories(tmp_path_factory: pytest.TempPathFactory, steps: int, random: Random) -> None:
    history = AnyVerb(tmp_path_factory.mktemp("table"), random)
    run(steps, history, oracles=[lambda: check(Path(history.path))])


def check(path: Path) -> None:
    newest = deltalake.DeltaTable(str(path)).version()
    snapshots = [snapshot(path, v) for v in range(newest + 1)]
    for version, found in enumerate(snapshots):
        assert own(found) == live(path, version)
        assert found.schema.names == [f.name for f in deltalake.DeltaTable(str(path), version=version).schema().fields]
    for base in range(newest):
        for target in (base + 1, newest):
            diff, compared = (
                DELTA.diff(ref(path), snapshots[base], At(version=target)),
                Diff.between(snapshots[base], snapshots[target]),
            )
            for name in ("appended", "deleted", "deletes_changed"):
                assert set(getattr(diff, name).paths.to_pylist()) == set(getattr(compared, name).paths.to_pylist())
            assert diff.schema_changed == compared.schema_changed
            back = Diff.between(snapshots[target], snapshots[base])
            assert back.appended.table.equals(compared.deleted.table)
            assert back.deleted.table.equals(compared.appended.table)
            # Going back is what the log cannot serve; it says so and makes nothing up.
            assert DELTA.diff(ref(path), snapshots[target], At(version=base)) is None
    check_bounds(snapshots[-1])
    check_partitions(path, snapshots[-1])


def test_paths_lead_to_the_files(tmp_path: Path) -> None:
    write(tmp_path, rows(0, 12))
    found = snapshot(tmp_path)
    total = sum(ds.dataset(found.uri(p), format="parquet").count_rows() for p in found.files.paths.to_pylist())
    assert total == 12


def test_a_table_of_many_files_is_columns(tmp_path: Path) -> None:
    write(tmp_path, rows(0, 4))
    files = snapshot(tmp_path).files
    assert files.table.column("size_bytes").type == pa.int64()
    assert int(np.sum(files.table.column("size_bytes").to_numpy())) == files.size_bytes
