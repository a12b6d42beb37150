"""An index of an older version: built from that version's files, recorded for it, and brought up to date by the next
refresh."""

from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import VersionNotFoundError
from tests.tables import FORMATS, Lake, delta_lake


def rows(first: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + 5), pa.int64())})


def ids(table: mi.Table, predicate: str, version: str | None) -> list[int]:
    return sorted(table.scan(predicate, version=version, indexes=["old"]).to_arrow().column("id").to_pylist())


def kept(table: mi.Table, predicate: str, version: str | None = None) -> int:
    return len(table.prune(predicate, version=version, indexes=["old"]).files)


def grown(tmp_path: Path, name: str) -> tuple[Lake, mi.Table, list[str]]:
    """A table of three versions, each with a file more; and their ids. A plain folder's are those that an index
    remembers."""
    lake = FORMATS[name](tmp_path)
    for number in range(3):
        lake.append(rows(number * 100))
        table = lake.open()
        if number == 0:
            table.create_index("remembers", mi.ColumnStats(), builder="local")
        else:
            table.refresh_index("remembers", builder="local")
    return lake, table, [version.id for version in table.versions()]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.slow
def test_an_index_of_an_older_version_answers_there_and_is_right_everywhere(tmp_path: Path, name: str, at: int) -> None:
    _, table, versions = grown(tmp_path, name)
    content = table.create_index("old", mi.ColumnStats(), builder="local", version=versions[at]).entry.content
    assert [record.version.id for record in content.versions] == [versions[at]]
    assert [run.files for run in content.runs] == [at + 1]
    assert kept(table, "id = 3", versions[at]) == 1
    assert kept(table, "id = 50", versions[at]) == 0
    for _ in range(2):
        for number, version in enumerate([*versions, None]):
            known = min(number, 2) + 1
            for first in (0, 100, 200):
                assert ids(table, f"id = {first + 2}", version) == ([first + 2] if first < known * 100 else [])
        table.refresh_index("old", builder="local")
        assert kept(table, "id = 3") == 1
    assert table.verify_index("old", files=None, versions="all").sound


@pytest.mark.parametrize("name", ["delta", "iceberg", "parquet"])
def test_a_time_names_the_version_that_was_current(tmp_path: Path, name: str) -> None:
    _, table, versions = grown(tmp_path, name)
    moment = table.snapshot(version=versions[1]).timestamp_ms
    import datetime as dt

    when = dt.datetime.fromtimestamp(moment / 1000, dt.UTC)
    expected = table.snapshot(timestamp=when).version
    outcome = table.create_index("old", mi.ColumnStats(), builder="local", timestamp=when)
    assert [record.version for record in outcome.entry.content.versions] == [expected]


def test_columns_are_those_of_the_version(tmp_path: Path) -> None:
    import deltalake

    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    more = rows(100).append_column("late", pa.array(["x"] * 5))
    deltalake.write_deltalake(lake.path, more, mode="append", schema_mode="merge")
    table = lake.open()
    outcome = table.create_index("old", mi.ColumnStats(), builder="local", version=0)
    assert [column.name for column in outcome.entry.content.runs[0].columns] == ["id"]
    with pytest.raises(mi.MetaIndexError, match="late"):
        table.create_index("none", mi.ColumnStats("late"), builder="local", version=0)
    assert table.scan("late = 'x'", indexes=["old"]).to_arrow().num_rows == 5
    table.refresh_index("old", builder="local")
    assert kept(table, "late = 'y'") <= 1
    assert table.scan("late IS NULL", indexes=["old"]).to_arrow().num_rows == 5


def test_a_version_that_is_not_there_leaves_no_trace(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    table = lake.open()
    with pytest.raises(VersionNotFoundError):
        table.create_index("old", mi.ColumnStats(), builder="local", version=7)
    assert table.indexes(all=True) == []
