"""What is missing or wrong is told with its cure, and looking leaves nothing behind."""

import os
import re
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from packaging.requirements import Requirement

import metaindex as mi
from metaindex.cli import diagnosis
from metaindex.cli.diagnosis import Health, look
from metaindex.storage import LocalStorage, ObjectInfo
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.tables import settled


@pytest.mark.parametrize(
    ("needs", "health", "fact"),
    [
        (["pyarrow>=1"], Health.RIGHT, "pyarrow "),
        (["pyarrow>=1", "numpy<1"], Health.WRONG, "numpy "),
        (["pyarrow>=1", "no-such-package"], Health.RIGHT, "pyarrow "),
    ],
)
def test_packages_of_another_version_are_wrong(needs: list[str], health: Health, fact: str) -> None:
    found = diagnosis.packages(needs)
    assert (found.health, fact in found.fact, "no-such" in found.fact) == (health, True, False)
    assert found.cure.endswith("'numpy<1'") == (health is Health.WRONG)


def test_every_package_that_is_declared_and_there_is_told() -> None:
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    found = diagnosis.packages()
    assert all(f"{Requirement(need).name} " in found.fact for need in declared["dependencies"])
    assert f"Python {sys.version.split()[0]}" in found.fact


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return settled(tmp_path / "lake", {"f.parquet": pa.table({"a": [1, 2, 3]})})


def _tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture(autouse=True)
def _variables_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those that our own tests are told by."""
    for name in [name for name in os.environ if name.startswith("METAINDEX_") and name not in diagnosis.VARIABLES]:
        monkeypatch.delenv(name)


def test_a_healthy_machine_and_table_have_nothing_wrong(lake: Path, tmp_path: Path) -> None:
    table = mi.open_table(lake)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    before = _tree(tmp_path)
    found = look(table)
    assert _tree(tmp_path) == before
    assert not [one for one in found if one.health is Health.WRONG]
    told = {one.about: one for one in found}
    assert told["put-if-absent"].health is Health.RIGHT
    assert told["clock"].health is Health.RIGHT
    assert "what to do" in str(diagnosis.table_of(found))


def test_nothing_is_written_where_that_is_said(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = mi.open_table(lake)
    table.create_index("stats", mi.ColumnStats(), builder="local")

    def refused(*_: object) -> None:
        raise AssertionError("written")

    monkeypatch.setattr(LocalStorage, "put_if_absent", refused)
    assert [one.about for one in look(table, write=False)][-1] == "folder of indexes"


def test_a_place_that_cannot_be_written(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    table = mi.open_table(lake, config=mi.Config(index_location=str(tmp_path / "file" / "below")))
    (one,) = [one for one in diagnosis.folder(table, write=True) if one.about == "folder of indexes"]
    assert one.health is Health.LACKING
    assert "--index-location" in one.cure


class _Replaces(LocalStorage):
    """A store whose put-if-absent does not keep its promise, and whose clock is an hour behind."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        self.put(path, data)

    def head(self, path: str) -> ObjectInfo:
        info = super().head(path)
        return replace(info, modified_ns=info.modified_ns - 3600 * 10**9)


def test_a_store_without_one_winner_and_another_clock(tmp_path: Path) -> None:
    told = {one.about: one for one in diagnosis.written(_Replaces(str(tmp_path)), str(tmp_path))}
    assert told["put-if-absent"].health is Health.WRONG
    assert told["clock"].health is Health.WRONG
    assert "ahead of the storage" in told["clock"].fact
    assert "3,600.0 seconds" in told["clock"].fact
    assert _tree(tmp_path) == []


def test_a_clock_that_is_behind() -> None:
    now = time.time_ns()
    assert "10.0 seconds behind" in diagnosis.clock(now, now + 10 * 10**9, now).fact
    assert diagnosis.clock(now, now + 10**9, now).health is Health.RIGHT


@pytest.mark.parametrize(
    ("environ", "fact", "cure"),
    [
        ({"METAINDEX_CASHE": "x"}, "METAINDEX_CASHE is set", "did you mean METAINDEX_CACHE?"),
        ({"METAINDEX_X\x1b[31m": "x"}, "is set", "unset it"),
    ],
)
def test_variables_that_nobody_reads(environ: dict[str, str], fact: str, cure: str) -> None:
    (one,) = diagnosis.variables(environ)
    assert one.health is Health.WRONG
    assert fact in one.fact
    assert cure in one.cure
    assert "\x1b" not in one.fact


def test_every_variable_that_is_read_is_known() -> None:
    sources = Path(mi.__file__).parent.rglob("*.py")
    read = {name for file in sources for name in re.findall(r"METAINDEX_[A-Z_]+", file.read_text())}
    assert read == set(diagnosis.VARIABLES)


def test_a_machine_by_itself(call: Call) -> None:
    told = call("doctor", "--json")
    assert {"packages"} <= {one["about"] for one in told.json}
    assert (told.code == 0) == all(one["state"] != "wrong" for one in told.json)


def test_files_that_an_index_lost_to_chmod(lake: Path, call: Call) -> None:
    mi.open_table(str(lake)).create_index("ix", mi.Values("a"), builder="local")
    assert not list(diagnosis.touched(mi.open_table(str(lake))))
    (lake / "f.parquet").chmod(0o600)
    (said,) = (line for line in call("doctor", str(lake)).out.splitlines() if "inode" in line)
    assert "index ix" in said
    assert "1 of 1 file has another inode or change time" in said
    assert "refresh it with --mode identity, which compares the bytes" in said


def test_cures_are_said_in_options(tmp_path: Path, call: Call) -> None:
    settled(tmp_path / "t", {"0.csv": "a\n1\n"})
    (tmp_path / "file").write_text("")
    told = call("doctor", tmp_path / "t", "--index-location", tmp_path / "file" / "below")
    assert "choose another place with --index-location" in told.out
