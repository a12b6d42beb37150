"""What `metaindex lake` says to people is said once, and a long name leaves the others in sight."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture


def test_a_warning_is_said_once_though_each_table_has_a_page(tmp_path: Path, call: Call) -> None:
    for name in ("a", "b"):
        (tmp_path / "lake" / name).mkdir(parents=True)
        pq.write_table(pa.table({"id": [1]}), tmp_path / "lake" / name / "0.parquet")
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
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table({"id": [1]}), tmp_path / folder / "0.parquet")
    told = call("lake", tmp_path).out
    assert max(map(len, told.splitlines())) < 250
    assert "nnn...mmm" in told
    assert [table["name"] for table in call("lake", tmp_path, "--json").json["tables"]] == [name, "short"]
