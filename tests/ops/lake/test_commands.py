"""`metaindex lake` for people and for programs: what it says is said once, and a long name leaves the others in
sight."""

import shlex
from pathlib import Path

import pyarrow as pa

import metaindex as mi
from metaindex.table import handle_of
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.tables import delta_lake, indexed, parquet_lake, rows, settled


def test_what_a_lake_says_to_do_can_be_pasted(tmp_path: Path, call: Call) -> None:
    for name in ("a b", "c"):
        (tmp_path / name).mkdir()
    behind, bare = parquet_lake(tmp_path / "a b"), delta_lake(tmp_path / "c")
    indexed(behind)
    behind.append(rows(10))
    bare.append(rows(0))
    bare.append(rows(10))
    plain = call("lake", tmp_path)
    refresh, create = f"metaindex refresh '{behind.path}' stats", f"metaindex create {bare.path} stats"
    assert f"\nwhat to do:\n  {refresh}\n  {create}\n" in plain.out
    assert "no index\n" in plain.out, "the command stands below the table"
    told = {row["name"]: row for row in call("lake", tmp_path, "--json").json["tables"]}
    assert told["a b/lake"]["commands"] == [refresh]
    assert told["a b/lake"]["advice"][0].endswith(f": {refresh}")
    call("lake", tmp_path, "--html", tmp_path / "lake.html")
    assert create in (tmp_path / "lake.html").read_text()
    for line in (refresh, create):
        assert call(*shlex.split(line)[1:]).code == 0
    assert "what to do" not in call("lake", tmp_path).out


def test_many_commands_are_not_all_printed(tmp_path: Path) -> None:
    for number in range(23):
        (tmp_path / f"t{number:02}").mkdir()
        table = parquet_lake(tmp_path / f"t{number:02}")
        table.append(rows(0))
        table.append(rows(10))
    told = mi.open_lake(tmp_path, layout=False)
    assert "and 3 more, in to_json() and --json" in str(told)


def test_how_the_table_was_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("1;2\n")
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    config = mi.Config(index_location=tmp_path.parent / "some indexes", namespace="team")
    for said in (schema, "a BIGINT, b BIGINT"):
        table = mi.open_table(tmp_path, format="csv", header=False, delimiter=";", schema=said, config=config)
        assert shlex.split(handle_of(table).command("refresh", "it's")) == [
            *("metaindex", "refresh", str(tmp_path), "it's", "--format", "csv"),
            *("--option", "header=false", "--option", "delimiter=;", "--option", "schema=`a` bigint, `b` bigint"),
            *("--index-location", str(tmp_path.parent / "some indexes"), "--namespace", "team"),
        ]


def test_a_warning_is_said_once_though_each_table_has_a_page(tmp_path: Path, call: Call) -> None:
    for name in ("a", "b"):
        settled(tmp_path / "lake" / name, {"0.parquet": pa.table({"id": [1]})})
        table = mi.open_table(tmp_path / "lake" / name)
        table.create_index("stats", mi.ColumnStats(), builder="local")
        for part in Path(table.indexes()[0].location).rglob("file_ids/*/*.mix"):
            part.write_bytes(b"no part")
    told = call("lake", tmp_path / "lake", "--html", tmp_path / "l.html", "--reports", tmp_path / "reports")
    warnings = [line for line in told.err.splitlines() if "warning" in line]
    assert len(warnings) >= 2
    assert sorted(warnings) == sorted(set(warnings))
    assert (tmp_path / "reports").is_dir()


def test_a_long_name_is_cut_in_the_middle_for_people_alone(tmp_path: Path, call: Call) -> None:
    name = "n" * 120 + "m" * 130
    for folder in (name, "short"):
        settled(tmp_path / folder, {"0.parquet": pa.table({"id": [1]})})
    told = call("lake", tmp_path).out
    assert max(map(len, told.splitlines())) < 250
    assert "nnn...mmm" in told
    assert [table["name"] for table in call("lake", tmp_path, "--json").json["tables"]] == [name, "short"]
