"""A confined table reads below its root, or below folders that are named, and nowhere else: builds and queries refuse,
and lose no row."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import OutsideTableError
from metaindex.storage import Confines, LocalStorage, Storage, confined, storage_for
from tests.contract.storage_contract import StorageContract
from tests.formats.delta.hand import add, column, commit, metadata, protocol
from tests.index.actions.index_bytes import everything
from tests.tables import settle, settled


class TestConfinedDisk(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        inner = LocalStorage(str(tmp_path / "store"))
        return confined(inner, Confines.of(inner))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere/secret.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"a": [7777], "s": ["SECRET-VALUE"]}), path)
    return path


def delta(root: Path, path: str, size: int) -> str:
    settled(root, {"own.parquet": pa.table({"a": range(5), "s": list("abcde")})})
    own = add("own.parquet", size=(root / "own.parquet").stat().st_size)
    commit(root, 0, protocol(), metadata(column("a"), column("s", "string")), own)
    commit(root, 1, add(path, size=size))
    return str(root)


def plain(root: Path, link: str, target: Path) -> str:
    settled(root, {"own.parquet": pa.table({"a": range(5), "s": list("abcde")})})
    (root / link).symlink_to(target)
    return str(root)


TABLES: dict[str, Callable[[Path, Path], str]] = {
    "delta, absolute": lambda root, secret: delta(root, str(secret), secret.stat().st_size),
    "delta, file: URI": lambda root, secret: delta(root, secret.as_uri(), secret.stat().st_size),
    "plain, linked file": lambda root, secret: plain(root, "link.parquet", secret),
    "plain, linked folder": lambda root, secret: plain(root, "sub", secret.parent),
}

READS: dict[str, Callable[[mi.Table], Any]] = {
    "prune": lambda t: t.prune("a = 7777").paths,
    "arrow": lambda t: t.scan("a = 7777").to_arrow(),
    "all": lambda t: t.scan().to_arrow(),
    "dataset": lambda t: t.scan("a = 7777").to_dataset().to_table(),
    "polars": lambda t: t.scan("a = 7777").to_polars().collect(),
    "snapshot": lambda t: t.snapshot(),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("table", TABLES)
def test_queries_refuse_a_file_outside(tmp_path: Path, secret: Path, table: str, read: str) -> None:
    path = TABLES[table](tmp_path / "lake", secret)
    with pytest.raises(OutsideTableError, match=r"below its root; .*lies outside; .*confine_to"):
        READS[read](mi.open_table(path, config=mi.Config(confine=True)))
    opened = mi.open_table(path, config=mi.Config(confine_to=(str(secret.parent),)))
    assert opened.scan("a = 7777").to_arrow().num_rows == 1


@pytest.mark.parametrize("table", TABLES)
def test_builds_refuse_a_file_outside_and_copy_nothing_of_it(tmp_path: Path, secret: Path, table: str) -> None:
    path = TABLES[table](tmp_path / "lake", secret)
    settle(secret.parent)
    opened = mi.open_table(path, config=mi.Config(confine=True, index_location=str(tmp_path / "ix")))
    with pytest.raises(OutsideTableError):
        opened.create_index("ix", mi.ColumnStats(), mi.Values("s"), builder="local")
    assert "SECRET" not in everything(tmp_path / "ix")
    named = mi.Config(confine_to=(str(secret.parent),), index_location=str(tmp_path / "ix"))
    mi.open_table(path, config=named).create_index("ix", mi.ColumnStats(), builder="local")
    assert "SECRET" in everything(tmp_path / "ix")


@pytest.mark.parametrize("trust_log", [False, True])
def test_a_refresh_refuses_a_file_outside(tmp_path: Path, secret: Path, trust_log: bool) -> None:
    root = tmp_path / "lake"
    delta(root, str(secret), secret.stat().st_size)
    (root / "_delta_log" / f"{1:020d}.json").rename(tmp_path / "later")
    config = mi.Config(confine=True)
    mi.open_table(str(root), config=config).create_index("ix", mi.ColumnStats(trust_log=trust_log), builder="local")
    (tmp_path / "later").rename(root / "_delta_log" / f"{1:020d}.json")
    table = mi.open_table(str(root), config=config)
    with pytest.raises(OutsideTableError):
        table.refresh_index("ix", builder="local")
    assert table.prune("a = 3", version=0).kept_files == 1


def test_a_file_that_only_an_index_names_is_refused(tmp_path: Path, secret: Path) -> None:
    """Built where it was allowed, asked where it is not: the answer is the index's, and the log is not read."""
    path = TABLES["delta, absolute"](tmp_path / "lake", secret)
    mi.open_table(path).create_index("ix", mi.ColumnStats(), builder="local")
    table = mi.open_table(path, config=mi.Config(confine=True))
    with pytest.raises(OutsideTableError):
        table.prune("a = 7777")
    with pytest.raises(OutsideTableError):
        mi.open_table(path).reopened(mi.Config(confine=True)).prune("a = 7777")


def test_the_log_may_be_no_link_to_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    delta(root, "own2.parquet", 1)
    (root / "_delta_log").rename(tmp_path / "log")
    (root / "_delta_log").symlink_to(tmp_path / "log")
    with pytest.raises(OutsideTableError):
        mi.open_table(str(root), config=mi.Config(confine=True)).snapshot()


def test_the_roots_own_path_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "mount").symlink_to(tmp_path / "disk")
    path = plain(tmp_path / "disk/lake", "other.parquet", tmp_path / "disk/lake/own.parquet")
    table = mi.open_table(str(tmp_path / "mount" / Path(path).name), config=mi.Config(confine=True))
    assert table.scan("a = 3").to_arrow().num_rows == 2


def test_what_lies_deeper_behind_a_link_is_refused(tmp_path: Path, secret: Path) -> None:
    (secret.parent / "deeper").mkdir()
    secret.rename(secret.parent / "deeper" / "secret.parquet")
    inner = LocalStorage(plain(tmp_path / "lake", "sub", secret.parent))
    with pytest.raises(OutsideTableError):
        list(confined(inner, Confines.of(inner)).list(""))


def test_links_are_not_looked_for_again_at_each_file_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each plan of an Iceberg table lists its metadata, which may be thousands of files."""
    real, resolved = os.path.realpath, list[str]()
    monkeypatch.setattr(os.path, "realpath", lambda path, **how: (resolved.append(path), real(path, **how))[1])
    counts = []
    for many in (1, 50):
        root = tmp_path / f"of-{many}"
        root.mkdir()
        for number in range(many):
            (root / f"{number:02d}.json").write_bytes(b"")
        inner = LocalStorage(str(root))
        store = confined(inner, Confines.of(inner))
        resolved.clear()
        assert len(list(store.list(""))) == many
        counts.append(len(resolved))
    assert counts[0] == counts[1]


def test_a_name_that_comes_to_lead_elsewhere_is_refused_when_it_is_opened(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "lake").mkdir()
    inner = LocalStorage(str(tmp_path / "lake"))
    storage = confined(inner, Confines.of(inner))
    storage.put("x", b"own")
    assert storage.read("x") == b"own"
    os.unlink(tmp_path / "lake/x")
    (tmp_path / "lake/x").symlink_to(secret)
    for call in (storage.read, storage.open_input, storage.head, storage.uri):
        with pytest.raises(OutsideTableError):
            call("x")


@pytest.mark.parametrize("call", ["read", "open_input"])
@pytest.mark.slow
def test_a_pipe_is_refused_and_waited_for_by_nobody(tmp_path: Path, call: str) -> None:
    """Who writes the table may make one where its log names a file."""
    code = f"""
from metaindex.storage.confinement import Confines, confined
from metaindex.storage.local import LocalStorage
inner = LocalStorage({str(tmp_path)!r})
try:
    confined(inner, Confines.of(inner)).{call}("pipe")
except Exception as error:
    print(type(error).__name__, error)
"""
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=600)
    assert done.stdout.startswith("StorageError cannot read"), done.stderr
    assert "no regular file" in done.stdout


def test_a_store_is_confined_by_names(tmp_path: Path) -> None:
    inner, _ = storage_for("memory:///lake/t")
    for key in ("lake/t/a", "lake/t2/a", "lake/other/a"):
        inner.put(f"memory:///{key}", json.dumps(key).encode())
    storage = confined(inner, Confines.of(inner, ["memory:///lake/other"]))
    assert storage.read("a") == b'"lake/t/a"'
    assert storage.read("memory:///lake/other/a") == b'"lake/other/a"'
    for call in (storage.read, storage.open_input, storage.head, storage.uri, lambda p: list(storage.list(p))):
        with pytest.raises(OutsideTableError):
            call("memory:///lake/t2/a")
