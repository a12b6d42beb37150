"""Agents see the tables below their roots, by the names of a walk, and nothing else."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.core import Config
from metaindex.serve import AgentPlaces
from tests.tables import settled

TABLE = pa.table({"a": [1, 2, 3]})


def places(*roots: Path) -> AgentPlaces:
    return AgentPlaces.of([str(root) for root in roots], {}, Config())


def names(*roots: Path) -> list[str]:
    return [place.name for place in places(*roots).find()[0]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two tables, of which one is partitioned, beside a secret one outside."""
    write_deltalake(str(tmp_path / "lake" / "sales" / "orders"), TABLE)
    write_deltalake(str(tmp_path / "lake" / "days"), TABLE.append_column("b", [[4, 5, 6]]), partition_by=["a"])
    write_deltalake(str(tmp_path / "secret"), TABLE)
    return tmp_path / "lake"


def test_tables_are_named_below_their_root(root: Path) -> None:
    assert names(root) == ["days", "sales/orders"]
    assert names(root / "days") == ["days"]
    assert names(root / "days", root / "sales") == ["days", "sales/orders"]
    assert places(root).open("sales/orders", None).count() == 3


def test_two_roots_of_one_name_are_refused(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "days", tmp_path / "other" / "days")
    with pytest.raises(mi.ArgumentError, match="'days' is that of two"):
        places(root / "days", tmp_path / "other" / "days")


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mi.NotATableError, match="check the path"):
        places(tmp_path / "nothing")


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "sales/../../secret",
        "sales/./orders",
        "days/a=1",  # files of a table, whose log says which of them are live
        "sales",
        "sales//orders",
        "/etc",
        "file:///etc",
        "s3://bucket/table",
        "day*",
        "",
        ".",
        "x" * 5000,
        "days\n",
    ],
)
def test_other_names_open_nothing(root: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(root / "days", root / "_hidden")
    for given in (name, str(tmp_path / "secret"), "_hidden", "link"):
        (root / "link").unlink(missing_ok=True)
        (root / "link").symlink_to(tmp_path / "secret")
        with pytest.raises(mi.ArgumentError, match="list them with tables") as refused:
            places(root).open(given, None)
        assert len(str(refused.value)) < 400


def test_a_table_that_became_a_link_is_refused(root: Path, tmp_path: Path) -> None:
    seen = places(root)
    assert seen.open("days", None).count() == 3
    shutil.rmtree(root / "days")
    (root / "days").symlink_to(tmp_path / "secret")
    with pytest.raises(mi.OutsideTableError, match="leads elsewhere now"):
        seen.open("days", None)


def test_a_file_that_leads_out_of_its_table_is_refused(root: Path, tmp_path: Path) -> None:
    settled(root / "plain", {"a.parquet": TABLE})
    secret = next((tmp_path / "secret").glob("*.parquet"))
    (root / "plain" / "b.parquet").symlink_to(secret)
    with pytest.raises(mi.OutsideTableError):
        places(root).open("plain", None).count("a = 1")


def test_a_new_table_is_found_when_it_is_asked(root: Path) -> None:
    seen = places(root)
    seen.find()
    write_deltalake(str(root / "new"), TABLE)
    assert seen.open("new", None).count() == 3
