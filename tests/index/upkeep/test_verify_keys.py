"""verify of the kinds that key values: every row is read back, the values of data files are keyed again, and repair
rebuilds what is wrong."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import metaindex as mi
from metaindex.index.build.key_parquet import ParquetKeyFile
from metaindex.index.verification import key_rows
from metaindex.table import handle_of
from tests.hostile.changes import turn
from tests.index.upkeep.flips import found_by_verify
from tests.kit.broken import Folders, filters_changed, listed_backwards
from tests.tables import FORMATS, Lake, delta_lake, parquet_lake

KINDS = {
    "values": mi.Values("id", "name", ("id", "name"), "v"),
    "value_keys": mi.Values("id", "name", ("id", "name"), "v", by="value"),
    "value_lists": mi.ValueList("id", "name", ("id", "name"), "v", limit=30),
    "bloom_filters": mi.Bloom("id", "name", ("id", "name"), "v"),
}


def rows(number: int) -> pa.Table:
    count = 50 if number == 2 else 8  # more than a value list takes
    names = [None if i % 5 == 3 else f"{'é' * (i % 3)}{number}-{i}" for i in range(count)]
    floats = [[0.5, float("nan"), None, -0.0, 1e300][i % 5] for i in range(count)]
    ids = pa.array(range(number * 100, number * 100 + count), pa.int64())
    return pa.table({"id": ids, "name": names, "v": floats})


def indexed(lake: Lake, *kinds: mi.Values | mi.ValueList | mi.Bloom) -> mi.Table:
    """The first file is a run of its own."""
    lake.append(rows(0))
    table = lake.open()
    table.create_index("keys", *kinds, builder="local")
    for number in range(1, 4):
        lake.append(rows(number))
    table.refresh_index("keys", builder="local")
    return table


def parts(table: mi.Table, kind: str) -> list[Path]:
    return sorted(Path(table.indexes()[0].location).glob(f"{kind}*/*/*.mix"))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "parquet" else pytest.mark.exhaustive) for n in FORMATS]
)
def test_a_sound_index_is_found_right_and_every_key_is_compared(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = indexed(FORMATS[name](tmp_path), *KINDS.values())
    found = table.verify_index("keys", files=None, versions="all", predicates=["id = 105", "name = '1-1' AND v < 1"])
    assert found.sound, str(found)
    assert found.keyed_files == 4
    unknown = 3  # the value lists of `id`, `name` and both do not know the large file
    if name == "csv":
        unknown += 16  # what its numbers are is not certain, NULL and NaN being texts
    assert found.keys == 4 * 16 - unknown
    assert "the keys of 4 data files against their rows" in str(found)
    monkeypatch.setattr(key_rows, "_BYTES_AT_ONCE", 1)  # file by file
    assert table.verify_index("keys", files=None).keys == found.keys
    assert table.optimize_index("keys", "full").changed
    found = table.verify_index("keys", files=None)
    assert found.sound, str(found)
    assert found.runs == 1


def _changed(batches: Iterator[tuple[int, Mapping[str, pa.Array]]]) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
    """A value that is not there instead of one that is, in each column."""
    for group, columns in batches:
        out = dict(columns)
        for name, values in columns.items():
            other = pa.scalar("other" if pa.types.is_string(values.type) else -7, values.type)
            mask = np.zeros(len(values), np.bool_)
            mask[-1] = True
            out[name] = pc.if_else(pa.array(mask), other, values)
        yield group, out


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[] if k == "bloom_filters" else pytest.mark.exhaustive) for k in KINDS]
)
def test_values_that_a_faulty_builder_keyed_are_found_and_repaired(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = parquet_lake(tmp_path)
    honest = ParquetKeyFile.batches
    with monkeypatch.context() as faulty:
        faulty.setattr(ParquetKeyFile, "batches", lambda self, wanted: _changed(honest(self, wanted)))
        indexed(lake, KINDS[kind])
    found = lake.open().verify_index("keys", files=None)
    assert {finding.kind for finding in found.findings} == {"keys"}
    assert len({finding.file for finding in found.findings}) == 4
    assert any("does not find" in finding.message for finding in found.findings)
    if kind != "bloom_filters":  # of filters the first is enough
        assert any("in no row of it" in finding.message for finding in found.findings)
    needle = "id = 7"
    assert f"{lake.path}/f000.parquet" not in lake.open().prune(needle).paths  # what it would have cost
    assert lake.open().repair_index("keys", builder="local").changed
    found = lake.open().verify_index("keys", files=None)
    assert found.sound, str(found)
    assert f"{lake.path}/f000.parquet" in lake.open().prune(needle).paths


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[] if k == "values" else pytest.mark.exhaustive) for k in KINDS]
)
def test_a_damaged_part_is_found_and_only_its_run_is_rebuilt(tmp_path: Path, kind: str) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake, *KINDS.values())
    first, last = (run.run for run in handle_of(table).indexes().log("keys").latest().content.runs)  # type: ignore[union-attr]
    (part, *_) = [path for path in parts(table, kind) if last in str(path)]
    turn(part, 1 / 3, 0x55)
    found = lake.open().verify_index("keys")
    assert found.damaged_runs == {last}
    assert {finding.kind for finding in found.findings} == {"run"}
    outcome = lake.open().repair_index("keys", builder="local")
    assert outcome.changed
    assert outcome.entry.content.runs[0].run == first
    assert lake.open().verify_index("keys", files=None).sound
    assert lake.open().prune("id = 105").kept_files == 1


def test_filters_that_list_their_files_otherwise_than_their_directory_are_found(tmp_path: Path) -> None:
    """SQL goes by the column, look-ups go by the directory: with every digest right, only verify compares them."""
    lake = parquet_lake(tmp_path)
    table = indexed(lake, mi.Bloom("id"))
    asked = [f"id = {number}" for number in (5, 105, 205, 305)]
    before = [lake.open().prune(one).paths for one in asked]
    assert [len(paths) for paths in before] == [1] * 4
    filters_changed(Folders(Path(table.indexes()[0].location)), listed_backwards)
    found = lake.open().verify_index("keys")
    assert not found.sound
    assert "lists other files of a class than its directory has" in str(found)
    assert [lake.open().prune(one).paths for one in asked] == before


@pytest.mark.slow
def test_any_flipped_bit_of_keys_is_found_unless_no_value_changes_by_it(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake, *KINDS.values())
    every = [path for kind in (*KINDS, "unkeyed") for path in parts(table, kind)]
    assert found_by_verify(lake, "keys", every, 80) > 50
