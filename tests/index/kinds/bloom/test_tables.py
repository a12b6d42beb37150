"""Bloom filters of tables: created, refreshed, merged and erased, whatever the format; and what is left of a run that
is damaged."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from tests.tables import FORMATS, Lake, settled

ROWS = 60


def rows(file: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([file * 1000 + row for row in range(ROWS)], pa.int64()),
            "name": [f"n-{file}-{row}" for row in range(ROWS)],
            "group": pa.array([row % 3 if file % 2 else None for row in range(ROWS)], pa.int32()),
        }
    )


@pytest.fixture(params=[pytest.param(n, marks=[] if n == "parquet" else pytest.mark.slow) for n in FORMATS])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    made: Callable[[Path], Lake] = FORMATS[request.param]
    one = made(tmp_path)
    for file in range(3):
        one.append(rows(file))
    return one


KIND = mi.Bloom("id", "name", ("group", "name"), fpp=0.001)


def kept(lake: Lake, predicate: str) -> int:
    return lake.open().prune(predicate).kept_files


def check(lake: Lake, files: int) -> None:
    table = lake.open()
    for file in range(files):
        assert table.prune(f"id = {file * 1000 + 7}").kept_files == 1
        assert table.prune(f"name = 'n-{file}-7'").kept_files == 1
        found = table.prune(f"name IN ('n-{file}-8', 'none') AND group = {8 % 3}")
        assert found.kept_files == file % 2
        assert table.scan(f"name = 'n-{file}-9'").to_arrow().column("id").to_pylist() == [file * 1000 + 9]
    assert table.prune("id = 17").kept_files == 1
    assert table.prune("id = 77").kept_files == 0
    assert table.prune("name = 'none' OR id = 7").kept_files == 1
    assert table.prune("name > 'n'").kept_files == files
    assert table.prune("group IS NULL").kept_files >= -(-files // 2)  # a log may know more


@pytest.mark.slow
def test_created_refreshed_and_merged(lake: Lake) -> None:
    lake.open().create_index("bloom", KIND, builder="local")
    check(lake, 3)
    for file in range(3, 8):
        lake.append(rows(file))
        outcome = lake.open().refresh_index("bloom", builder="local")
        assert outcome.changed
        check(lake, file + 1)
    assert lake.open().optimize_index("bloom", mode="full").changed
    check(lake, 8)
    found = lake.open().verify_index("bloom", files=None)
    assert found.sound, str(found)
    assert (found.runs, found.keys) == (1, 24)


def test_files_that_left_are_erased(tmp_path: Path) -> None:
    lake = FORMATS["parquet"](tmp_path)
    for file in range(4):
        lake.append(rows(file))
    lake.open().create_index("bloom", KIND, builder="local")
    lake.append(rows(4))
    lake.open().refresh_index("bloom", builder="local")
    lake.remove(1)
    table = lake.open()
    table.refresh_index("bloom", builder="local")
    table.erase_index("bloom")
    assert kept(lake, "name = 'n-1-7'") == 0
    for file in (0, 2, 3, 4):
        assert kept(lake, f"name = 'n-{file}-7'") == 1


def test_a_damaged_part_is_told_and_the_table_is_read(tmp_path: Path) -> None:
    lake = FORMATS["delta"](tmp_path)
    for file in range(3):
        lake.append(rows(file))
    lake.open().create_index("bloom", KIND, builder="local")
    assert kept(lake, "name = 'n-1-7'") == 1
    (part,) = {p for p in Path(lake.path).rglob("bloom_filters/*/*.mix") if p.name.endswith("-10000000.mix")}
    whole = part.read_bytes()
    part.write_bytes(whole[:150] + bytes(300) + whole[450:])
    result = lake.open().prune("name = 'n-1-7'")
    assert result.kept_files == 1  # Delta's log has bounds
    assert "do not have their check" in _reason(result)
    assert lake.open().scan("id = 1007").to_arrow().num_rows == 1
    shutil.rmtree(part.parent)
    result = lake.open().prune("name = 'n-1-7'")
    assert "cannot be read" in _reason(result)
    assert result.dropped_files == result.total_files - result.kept_files
    assert lake.open().scan("name = 'n-1-7'").to_arrow().num_rows == 1


def _reason(result: mi.PruneResult) -> str:
    """Why the index was left out."""
    (report,) = [one for one in result.indexes if one.name == "bloom"]
    return str(report.reason)


def test_values_that_are_not_keyed_keep_their_file(tmp_path: Path) -> None:

    root = settled(
        tmp_path / "lake",
        {
            f"{file}.parquet": pa.table({"at": pa.array([nanos, None], pa.timestamp("ns"))})
            for file, nanos in enumerate([1_000, 1_001, 5_000])
        },
    )
    table = mi.open_table(str(root))
    table.create_index("bloom", mi.Bloom("at", fpp=0.001), builder="local")
    assert [Path(path).stem for path in table.prune("at = TIMESTAMP '1970-01-01 00:00:00.000005'").paths] == ["1", "2"]
