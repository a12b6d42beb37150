"""One index answers for every version whose files it knows: by version and by time, older and newer ones, after
RESTORE, branches, changes of the schema, optimize, and for a table that was dropped and created again. Wherever a table
is read, the version can be said; explain says what was covered there."""

import json
import time
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.cli import main
from tests.tables import delta_lake, indexed


def rows(first: int, **more: Any) -> pa.Table:
    ids = pa.array(range(first, first + 5), pa.int64())
    return pa.table({"id": ids, **{name: pa.array([value] * 5) for name, value in more.items()}})


def at_each(table: mi.Table, expected: dict[str, set[int]], *, covered: bool = True) -> None:
    """At every version: a scan has the rows that match, few files are kept, also when asked by time; explain and
    indexes say so."""
    for version, ids in expected.items():
        snapshot = table.snapshot(version)
        for asked in ({"version": version}, {"timestamp": snapshot.timestamp_ms}):
            for low in (0, 10, 21, 33, 99):
                found = table.scan(f"id >= {low} AND id < {low + 3}", ["id"], **asked)  # type: ignore[arg-type]
                assert set(found.to_arrow().column("id").to_pylist()) == {i for i in ids if low <= i < low + 3}
                result = table.prune(f"id >= {low} AND id < {low + 3}", **asked)  # type: ignore[arg-type]
                assert result.version == snapshot.version
                assert set(result.files.paths.to_pylist()) <= set(snapshot.files.paths.to_pylist())
                assert result.total_files == len(snapshot.files)
                if covered:
                    assert result.kept_files <= 1
        explained = table.explain("id = 10", version=version)
        assert explained.result.version == snapshot.version
        (one,) = explained.coverage
        if covered:
            assert (one.files, one.total_files, one.columns["id"]) == (len(snapshot.files),) * 3
        (info,) = table.indexes(version=version)
        assert info.fresh == one.recorded
        assert info.new_files == len(snapshot.files) - one.files


@pytest.mark.slow
@pytest.mark.parametrize("refreshed", ["at the end", "at every version"])
def test_delta_with_restore_deletes_and_new_columns(tmp_path: Path, refreshed: str) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    delta = deltalake.DeltaTable(lake.path)
    expected = {"0": set(range(5))}

    def then(version: str, ids: set[int]) -> None:
        delta.update_incremental()
        expected[version] = ids
        time.sleep(0.002)  # a millisecond of its own
        if refreshed == "at every version":
            table.refresh_index("stats", builder="local")

    lake.append(rows(10))
    then("1", expected["0"] | set(range(10, 15)))
    lake.append(rows(20))
    then("2", expected["1"] | set(range(20, 25)))
    delta.delete("id >= 10 AND id < 15")
    then("3", expected["0"] | set(range(20, 25)))
    delta.restore(1)
    then("4", expected["1"])
    deltalake.write_deltalake(lake.path, rows(30, extra=7), mode="append", schema_mode="merge")
    then("5", expected["4"] | set(range(30, 35)))
    if refreshed == "at the end":
        table.refresh_index("stats", builder="local")
        first = table.explain("id = 10", version=1).coverage[0]
        assert (first.recorded, first.newest) == (False, "5")
        at_each(table, {v: expected[v] for v in ("0", "1", "4", "5")})
        at_each(table, expected, covered=False)
        table.refresh_index("stats", version=2, builder="local")
    at_each(table, expected)
    table.optimize_index("stats", "full")
    at_each(lake.open(), expected)
    diff = table.diff(1, 3)
    assert (len(diff.appended), len(diff.deleted)) == (1, 1)
    back = table.diff(3, 1)
    swapped = (diff.deleted.paths.to_pylist(), diff.appended.paths.to_pylist())
    assert (back.appended.paths.to_pylist(), back.deleted.paths.to_pylist()) == swapped
    by_time = table.diff(base_timestamp=table.snapshot(1).timestamp_ms, target_timestamp=table.snapshot(3).timestamp_ms)
    assert (by_time.base, by_time.target) == (diff.base, diff.target)
    with pytest.raises(mi.MetaIndexError, match="base_timestamp"):
        table.diff()
    column = table.explain("extra = 7 AND id > 0", version=5).coverage[0]
    assert column.columns["id"] == column.files


@pytest.mark.slow
def test_the_command_line_takes_a_version_wherever_a_table_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    time.sleep(0.002)
    lake.append(rows(10))
    stamp = table.snapshot(0).timestamp_ms

    def said(*words: str) -> Any:
        assert main([words[0], lake.path, *words[1:], "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(stamp / 1000)) + f".{stamp % 1000:03d}"
    for which in (["--version", "0"], ["--timestamp", moment]):
        assert said("prune", "id >= 0", *which)["total_files"] == 1
        assert len(said("scan", "id >= 0", *which)["rows"]) == 5
        assert said("explain", "id >= 0", *which)["coverage"][0]["recorded"] is True
        assert said("indexes", *which)[0]["new_files"] == 0
    assert said("indexes")[0]["new_files"] == 1
    diff = said("diff", "--since", "0")
    assert (diff["target"], len(diff["appended"]), diff["deleted"]) == ("1", 1, [])
    assert said("diff", "--since", "1", "--until-time", moment)["deleted"] == diff["appended"]
    assert main(["diff", lake.path, "--since", "0"]) == 0
    assert "appended: 1 file" in capsys.readouterr().out
    assert main(["explain", lake.path, "id = 12"]) == 0
    assert "stats: covers 1 of 2 files; the version is not recorded (newest: 0)" in capsys.readouterr().out
    assert main(["indexes", lake.path, "--version", "99"]) == 1
