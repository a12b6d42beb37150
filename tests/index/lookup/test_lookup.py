"""Keyed look-ups find exactly what was asked, in few reads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import DamagedIndexError, Vector
from metaindex.index import OpenIndex
from metaindex.index.keys import column_id, file_ids, partition_id
from metaindex.index.kinds.column_stats.reader import expand
from metaindex.index.store.kway import groups_holding
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import FILES, PARTITIONS
from metaindex.table import handle_of
from tests.tables import settle


def lake(tmp_path: Path) -> mi.Table:
    root = tmp_path / "lake"
    for part in range(3):
        (root / f"p={part}").mkdir(parents=True)
        for number in range(4):
            ids = range(part * 100 + number * 10, part * 100 + number * 10 + 10)
            values = [None if i % 10 == 0 else float(i) for i in ids]
            pq.write_table(
                pa.table({"id": ids, "x": pa.array(values, pa.float64())}), root / f"p={part}" / f"{number}.parquet"
            )
    settle(root)
    table = mi.open_table(str(root))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    return table


def _files_by_id(index: OpenIndex, ids: Sequence[bytes]) -> pa.Table:
    """The `files` rows of the file ids that the index knows, with their run; ids that it does not know have no row."""
    wanted = sorted(set(ids))
    found = []
    for run in index.entry.content.runs:
        ordinals = []
        for part in index.reader(run).parts("file_ids"):
            groups = groups_holding(index.reader(run).footer(part), "file_id", wanted)
            if groups:
                table = index.reader(run).read(part, groups, ["file_id", "ordinal"])
                hit = pc.is_in(table.column("file_id"), value_set=pa.array(wanted, pa.binary(16)))
                ordinals.append(Vector(table.filter(hit).column("ordinal")).numbers)
        if ordinals and len(at := np.sort(np.concatenate(ordinals)).astype(np.int64)):
            found.append(index.rows(run, "files", at, FILES.names).append_column("run", pa.array([run.run] * len(at))))
    return pa.concat_tables(found) if found else FILES.append(pa.field("run", pa.string())).empty_table()


def _partitions_by_id(index: OpenIndex, ids: Sequence[int]) -> pa.Table:
    """The `partitions` rows of the partition ids, with their run: one row for each run that has files of the
    partition."""
    wanted = sorted(set(ids))
    found = []
    for run in index.entry.content.runs:
        for part in index.reader(run).parts("partitions"):
            groups = groups_holding(index.reader(run).footer(part), "partition_id", wanted)
            if groups:
                table = index.reader(run).read(part, groups, PARTITIONS.names)
                table = table.filter(pc.is_in(table.column("partition_id"), value_set=pa.array(wanted, pa.int64())))
                found.append(table.append_column("run", pa.array([run.run] * table.num_rows)))
    return pa.concat_tables(found) if found else PARTITIONS.append(pa.field("run", pa.string())).empty_table()


def test_an_id_leads_to_its_file(tmp_path: Path) -> None:
    table = lake(tmp_path)
    files = table.snapshot().files
    ids = file_ids(files).to_pylist()
    found = _files_by_id(handle_of(table).open_index("stats"), [ids[5], b"\0" * 16])
    assert found.column("path").to_pylist() == [files.entry(5).path]
    assert found.column("file_id").to_pylist() == [ids[5]]
    assert _files_by_id(handle_of(table).open_index("stats"), ids).num_rows == len(files)
    assert _files_by_id(handle_of(table).open_index("stats"), []).num_rows == 0


def test_an_id_leads_to_its_partition(tmp_path: Path) -> None:
    found = _partitions_by_id(handle_of(lake(tmp_path)).open_index("stats"), [partition_id("p=1"), 12345])
    assert found.column("partition").to_pylist() == ["p=1"]
    assert found.column("file_count").to_pylist() == [4]


def test_statistics_of_a_column_in_a_partition(tmp_path: Path) -> None:
    table = lake(tmp_path)
    found = table.statistics("stats", "x", "p=2")
    assert found.column("path").to_pylist() == [f"p=2/{n}.parquet" for n in range(4)]
    assert found.column("lower").to_pylist() == [201.0, 211.0, 221.0, 231.0]
    assert found.column("upper").to_pylist() == [209.0, 219.0, 229.0, 239.0]
    assert found.column("null_count").to_pylist() == [1] * 4
    assert found.column("nan_count").to_pylist() == [0] * 4
    assert found.column("value_count").to_pylist() == [10] * 4
    assert all(size > 0 for size in found.column("compressed_bytes").to_pylist())
    assert table.statistics("stats", "x").num_rows == 12
    assert table.statistics("stats", "nope").num_rows == 0


def test_rows_of_a_part_that_is_out_of_order_are_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever took them for what is asked would name other files."""
    index = handle_of(lake(tmp_path)).open_index("stats")
    (run,) = index.entry.content.runs
    read = RunReader.read

    def out_of_order(self: RunReader, part: PartInfo, *asked: Any, **more: Any) -> pa.Table:
        found = read(self, part, *asked, **more)
        return found.take(pa.array(range(found.num_rows)[::-1])) if part.kind == "files" else found

    assert index.rows(run, "files", np.array([2]), ["path"]).column("path").to_pylist() == ["p=0/2.parquet"]
    monkeypatch.setattr(RunReader, "read", out_of_order)
    with pytest.raises(DamagedIndexError, match="one row an ordinal, in order"):
        index.rows(run, "files", np.array([2]), ["path"])


def test_aggregates_that_lack_a_partition_are_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of all partitions behind it would be taken for those of another."""
    index = handle_of(lake(tmp_path)).open_index("stats")
    (run,) = index.entry.content.runs
    read = RunReader.read

    def lacking(self: RunReader, part: PartInfo, *asked: Any, **more: Any) -> pa.Table:
        found = read(self, part, *asked, **more)
        if part.kind != "partition_stats":
            return found
        return found.filter(pc.not_equal(found.column("partition_ord"), 1))

    monkeypatch.setattr(RunReader, "read", lacking)
    with pytest.raises(DamagedIndexError, match="count its files, partition by partition"):
        expand(index.reader(run), np.array([True, False, True]), column_id("id"))


@pytest.mark.parametrize("partitions", [5, 300])  # one by one, and all at once
def test_the_files_of_partitions_are_theirs(tmp_path: Path, partitions: int) -> None:
    root = tmp_path / "lake"
    for number in range(partitions):
        (root / f"p={number:03}").mkdir(parents=True)
        for part in range(1 + number % 2):
            pq.write_table(pa.table({"id": [number]}), root / f"p={number:03}" / f"{part}.parquet")
    settle(root)
    table = mi.open_table(str(root))
    table.create_index("stats", mi.ColumnStats("id"), builder="local")
    index = handle_of(table).open_index("stats")
    (run,) = index.entry.content.runs
    wanted = np.arange(partitions) != 3
    files = index.rows(run, "files", np.arange(run.files), ["partition_ord"]).column("partition_ord").to_numpy()
    assert expand(index.reader(run), wanted, column_id("id")).tolist() == wanted[files].tolist()
    kept = table.prune("id = 3").files.paths.to_pylist()
    assert kept == [f"p=003/{part}.parquet" for part in range(2)]
