"""Erasure: what no retained version of the table holds is in no byte of the index, at once, and answers are what they
were."""

from collections.abc import Sequence
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import IndexStateError
from tests.formats.delta.hand import add, checkpoint, column, commit, metadata, protocol, remove
from tests.formats.framed import inline_vector
from tests.tables import parquet_lake, settled

from .index_bytes import everything
from .scenes import Scene
from .scenes import scene as scene

SECRETS = {"a": "alice", "b": "barbara", "c": "carlos", "e": "edith"}


def write(root: Path, name: str) -> dict[str, object]:
    """A file whose least and greatest name are its own."""
    secret = SECRETS[name]
    path = root / f"{name}.parquet"
    pq.write_table(pa.table({"id": range(3), "name": [f"{secret}-0", f"{secret}-5", f"{secret}-9"]}), path)
    return add(path.name, size=path.stat().st_size)


def deleting(file: dict[str, object], *rows: int) -> dict[str, object]:
    return {"add": dict(file["add"]) | {"deletionVector": inline_vector(rows)}}  # type: ignore[call-overload]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Version 0: a, b, c; 1: b is removed, e added; 2: the greatest row of c is deleted by a vector. An index of all
    three versions."""
    root = tmp_path / "lake"
    root.mkdir()
    files = {name: write(root, name) for name in SECRETS}
    schema = (column("id"), column("name", "string"))
    commit(root, 0, protocol(3, ["deletionVectors"]), metadata(*schema), *(files[n] for n in "abc"))
    mi.open_table(str(root)).create_index("stats", mi.ColumnStats(), builder="local")
    commit(root, 1, remove("b.parquet"), files["e"])
    mi.open_table(str(root)).refresh_index("stats", builder="local")
    commit(root, 2, remove("c.parquet"), deleting(files["c"], 2))
    mi.open_table(str(root)).refresh_index("stats", builder="local")
    return root


def expire(root: Path) -> None:
    """As the log's clean-up and VACUUM leave it: version 2 is all there is."""
    files = {name: add(f"{name}.parquet", size=(root / f"{name}.parquet").stat().st_size) for name in "aec"}
    schema = (column("id"), column("name", "string"))
    checkpoint(
        root, 2, protocol(3, ["deletionVectors"]), metadata(*schema), files["a"], files["e"], deleting(files["c"], 2)
    )
    for version in (0, 1):
        (root / "_delta_log" / f"{version:020d}.json").unlink()
    (root / "b.parquet").unlink()


def check_bytes(folder: Path, gone: Sequence[str], kept: Sequence[str]) -> None:
    left = everything(folder)
    assert [one for one in gone if one in left] == []
    assert [one for one in kept if one not in left] == []


def test_what_a_retained_version_holds_stays(root: Path) -> None:
    table = mi.open_table(str(root))
    before = everything(root / "_metaindex")
    outcome = table.erase_index("stats")
    assert "every value in it is of a retained version" in outcome.notes
    for secret in SECRETS.values():
        assert secret in before
        assert secret in everything(root / "_metaindex")
    assert table.prune("name = 'barbara-5'", version=0).kept_files == 1


def test_files_that_left_and_rows_under_vectors_are_erased(root: Path) -> None:
    expire(root)
    assert "barbara" in everything(root / "_metaindex")
    outcome = mi.open_table(str(root)).erase_index("stats")
    assert outcome.changed
    check_bytes(root / "_metaindex", ["barbara", "b.parquet", "carlos"], ["alice", "edith"])
    table = mi.open_table(str(root))
    assert table.prune("name = 'alice-5'").kept_files == 2  # carlos' file is read, as nothing is said of it
    assert table.prune("name = 'carlos-5'").kept_files == 1
    assert table.scan("name >= ''").to_arrow().num_rows == 8


def test_a_version_that_lost_a_file_holds_nothing(tmp_path: Path) -> None:
    """VACUUM took b; version 0 cannot be read any more, though its log and the other files are there: a, which left the
    table too, and all rows of c."""
    root = tmp_path / "lake"
    root.mkdir()
    files = {name: write(root, name) for name in "abce"}
    commit(root, 0, protocol(3, ["deletionVectors"]), metadata(column("id"), column("name", "string")), *files.values())
    mi.open_table(str(root)).create_index("stats", mi.ColumnStats(), builder="local")
    commit(root, 1, remove("a.parquet"), remove("b.parquet"), remove("c.parquet"), deleting(files["c"], 2))
    table = mi.open_table(str(root))
    table.refresh_index("stats", builder="local")
    (root / "b.parquet").unlink()
    assert table.erase_index("stats").changed
    check_bytes(root / "_metaindex", ["alice", "barbara", "carlos"], ["edith"])
    table = mi.open_table(str(root))
    assert table.indexes()[0].versions == ("1",)
    assert table.prune("name = 'edith-5'").kept_files == 2
    assert table.scan("name >= ''").to_arrow().num_rows == 5


def test_erased_files_may_come_back_with_a_refresh(root: Path) -> None:
    expire(root)
    table = mi.open_table(str(root))
    table.erase_index("stats")
    commit(root, 3, write(root, "b"))
    table = mi.open_table(str(root))
    assert table.prune("name = 'barbara-5'").kept_files == 2
    table.refresh_index("stats", builder="local")
    assert mi.open_table(str(root)).prune("name = 'edith-5'").kept_files == 2


def test_plain_files_that_were_replaced_are_erased_in_their_history_too(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    for name in ("alice", "barbara"):
        lake.append(pa.table({"name": [name] * 3}))
    lake.open().create_index("stats", mi.ColumnStats(), builder="local")
    settled(Path(lake.path), {"f001.parquet": pa.table({"name": ["zoe"] * 5})})
    table = lake.open()
    table.refresh_index("stats", builder="local")
    table.erase_index("stats")
    check_bytes(tmp_path / "_metaindex", ["barbara"], ["alice", "zoe"])
    assert lake.open().prune("name = 'zoe'").kept_files == 1


def test_partition_values_are_erased_from_kept_listings_too(tmp_path: Path) -> None:
    one = pa.table({"id": [1, 2]})
    root = settled(tmp_path / "lake", {f"name={name}/f.parquet": one for name in ("alice", "barbara")})
    mi.open_table(str(root)).create_index("stats", mi.ColumnStats(), builder="local")
    (root / "name=barbara" / "f.parquet").unlink()
    (root / "name=barbara").rmdir()
    table = mi.open_table(str(root))
    table.refresh_index("stats", builder="local")
    assert "barbara" in everything(tmp_path / "_metaindex")
    table.erase_index("stats")
    check_bytes(tmp_path / "_metaindex", ["barbara"], ["alice"])
    table = mi.open_table(str(root))
    assert table.prune("name = 'alice'").kept_files == 1
    assert len(table.indexes()[0].versions) == 1


def test_erase_waits_for_nobody(scene: Scene) -> None:
    with pytest.raises(IndexStateError, match=r"nothing is under way.*refresh by"):
        scene.open(scene.begin("refreshing")).erase_index("stats")


def test_every_kind_forgets_what_a_vacuum_took(tmp_path: Path) -> None:
    """Values and their hashes, bloom filters, value lists: one run that was merged of several, one that was not."""
    path = str(tmp_path / "lake")
    kinds = [mi.Values("name", by="value"), mi.Values("id"), mi.Bloom("name"), mi.ValueList("name")]
    people = [("alice", "bob"), ("carlos", "dora"), ("edith", "frank")]
    for number, some in enumerate(people):
        names = [f"{person}-{i}" for person in some for i in range(20)]
        rows = pa.table({"name": names, "id": range(40 * number, 40 * number + 40)})
        deltalake.write_deltalake(path, rows, mode="append")
        table = mi.open_table(path)
        if number == 0:
            table.create_index("all", mi.ColumnStats(), *kinds, builder="local")
        else:
            table.refresh_index("all", builder="local")
    folder = Path(table.indexes()[0].location)
    assert "carlos-7" in everything(folder)
    deltalake.DeltaTable(path).delete("name LIKE 'carlos%' OR name LIKE 'dora%'")
    deltalake.DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    table = mi.open_table(path)
    table.refresh_index("all", builder="local")
    table.erase_index("all")
    check_bytes(folder, ["carlos", "dora"], ["alice-7", "bob-0", "edith-19", "frank-3"])
    assert not table.verify_index("all").findings
    for _, person in people:
        assert table.scan(f"name = '{person}-3'").to_arrow().num_rows == (person != "dora")
    assert table.prune("id = 50").kept_files == 0
