"""What is named is no table: a folder of tables, or one where a file stands in the way of its indexes."""

from pathlib import Path

import pytest

import metaindex as mi
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.tables import Lake, delta_lake, parquet_lake, rows, settle, settled


def test_a_folder_of_tables_is_said_to_be_one(tmp_path: Path, call: Call) -> None:
    root = tmp_path / "a lake"
    for name, made in (("one", delta_lake), ("two", parquet_lake)):
        (root / name).mkdir(parents=True)
        made(root / name).append(rows(0))
    said = f"it looks like a folder of tables (one/lake, two/lake): `metaindex lake '{root}'` tells of them"
    assert said in call("indexes", root).out
    assert str(mi.sql(f"SHOW INDEXES ON '{root}'")) == f"no index; {said}"
    assert f"no index; {said}" in call("sql", f"SHOW INDEXES ON '{root}'").out
    assert str(mi.sql(f"SHOW INDEXES ON '{root}/one/lake'")) == "no index"
    settled(root / "three", {"0.csv": "a\n1\n"})
    for command in (["prune", root, "id = 1"], ["create", root, "s"]):
        told = call(*command)
        assert told.code == 1
        assert "it looks like a folder of tables (one/lake, three, two/lake): `metaindex lake" in told.err
        assert "Traceback" not in told.err


def test_a_table_of_several_folders_is_not(tmp_path: Path, call: Call) -> None:
    for day in (1, 2):
        settled(tmp_path / f"day={day}", {"0.csv": "a\n1\n"})
    settle(tmp_path)
    assert "build one: metaindex create" in call("indexes", tmp_path).out
    assert "folder of tables" not in call("prune", tmp_path / "nope", "a = 1").err


@pytest.mark.parametrize("made", [parquet_lake, delta_lake])
@pytest.mark.parametrize("of_index", [False, True])
def test_a_file_in_the_way_of_an_index_is_told(tmp_path: Path, call: Call, made: object, of_index: bool) -> None:
    lake: Lake = made(tmp_path)
    lake.append(rows(0))
    folder = Path(lake.path) / "_metaindex" if made is delta_lake else tmp_path / "_metaindex" / "lake"
    in_the_way = folder / "s" if of_index else folder.parent if folder.name == "lake" else folder
    in_the_way.parent.mkdir(parents=True, exist_ok=True)
    in_the_way.write_text("x")
    told = call("create", lake.path, "s")
    assert told.code == 1
    fact = f"{str(in_the_way)!r} is a file, where a folder is made; move that file away, or choose another place with"
    assert f"{fact} --index-location" in told.err
    assert len(told.err.splitlines()) == 1
    assert call("count", lake.path, "id >= 0", "--json").code == 0
    assert call("indexes", lake.path).code == 0
    if not of_index:
        found = call("doctor", lake.path, "--json").json
        assert ("lacking", True) in [(one["state"], str(in_the_way) in one["fact"]) for one in found]
