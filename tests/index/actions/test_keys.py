"""Keys over the life of an index: created, refreshed, optimized, erased; what its verbs tell of them, and what a query
finds afterwards."""

import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.table import handle_of

KINDS = (
    mi.Values("user", ("user", "mail")),
    mi.Values("mail", by="value"),
    mi.ValueList("mail", "day", limit=30),
    mi.Bloom("user"),
)


def add(folder: Path, number: int, rows: int = 40, days: int = 3) -> None:
    folder.mkdir(exist_ok=True)
    table = pa.table(
        {
            "user": [number * 1000 + row for row in range(rows)],
            "mail": [None if row == 7 else f"u{number}-{row % 20}@x" for row in range(rows)],
            "day": [row % days for row in range(rows)],
        }
    )
    pq.write_table(table, folder / f"{number:03d}.parquet", row_group_size=10)
    then = time.time() - 60
    os.utime(folder / f"{number:03d}.parquet", (then, then))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(4):
        add(tmp_path / "t", number)
    add(tmp_path / "t", 4, days=40)
    return tmp_path / "t"


def found(table: mi.Table, predicate: str) -> list[int]:
    return sorted(int(Path(path).stem) for path in table.prune(predicate).paths)


def check(table: mi.Table, numbers: list[int]) -> None:
    for number in numbers:
        assert found(table, f"user = {number * 1000 + 11}") == [number]
        assert found(table, f"mail = 'u{number}-11@x'") == [number]
        assert found(table, f"mail like 'u{number}-1%'") == [number]
        assert found(table, f"user = {number * 1000 + 12} and mail = 'u{number}-12@x'") == [number]
    # No file holds this pair, though each half of it is somewhere.
    assert found(table, f"user = {numbers[0] * 1000 + 12} and mail = 'u{numbers[0]}-13@x'") == []
    assert found(table, "user = -5") == []
    assert found(table, f"user in ({numbers[0] * 1000}, {numbers[-1] * 1000})") == sorted({numbers[0], numbers[-1]})


def test_created_refreshed_optimized(folder: Path) -> None:
    table = mi.open_table(folder)
    outcome = table.create_index("find", *KINDS, builder="local")
    assert "5 files and 6 keys indexed" in str(outcome)
    assert "the value_lists of day leave out files with too many values: 1" in str(outcome)
    check(table, [0, 1, 2, 3, 4])
    for number in (5, 6):
        add(folder, number)
        table.refresh_index("find", builder="local")
    (folder / "002.parquet").unlink()
    table.refresh_index("find", builder="local")
    check(table, [0, 1, 3, 4, 5, 6])
    table.optimize_index("find", mode="full")
    runs = handle_of(table).open_indexes(None)[0][0].entry.content.runs
    assert len(runs) == 1
    assert len(runs[0].keys) == 6
    check(table, [0, 1, 3, 4, 5, 6])
    table.refresh_index("find", mode="full", builder="local")
    check(table, [0, 1, 3, 4, 5, 6])
    verified = table.verify_index("find")
    assert verified.sound
    assert verified.keyed_files


def test_an_index_of_keys_beside_statistics_reads_as_one(folder: Path) -> None:
    table = mi.open_table(folder)
    outcome = table.create_index("all", mi.ColumnStats("day"), mi.Values("user"), builder="local")
    assert "5 files, 1 column and 1 key indexed" in str(outcome)
    assert found(table, "user = 3005 or day > 30") == [3, 4]
    assert found(table, "user = 3005 and day > 30") == []


def test_a_build_that_breaks_off_leaves_nothing_that_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = mi.open_table(folder)
    from metaindex.index.kinds.values import by_hash

    def broken(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(by_hash, "write_entries", broken)
        with pytest.raises(MemoryError):
            table.create_index("find", mi.Values("user"), builder="local")
    assert not list(folder.parent.rglob("values/*/part-*.mix"))
    table.create_index("find", mi.Values("user"), builder="local")
    assert found(table, "user = 1011") == [1]
