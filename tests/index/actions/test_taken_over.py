"""refresh by identity: files of a plain folder that chmod, a link, a copy or a backup made other ones are taken over by
a digest of what was indexed of them; other bytes of the same size and time are not."""

import dataclasses
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.index.actions import create
from metaindex.index.build.local import LocalBuilder
from metaindex.table import handle_of
from tests.examples import few

from .faults import MemoryStorage
from .faults import opened as with_index_in

CONFIG = mi.Config(builder="local")
OLD = 1_600_000_000
KINDS: dict[str, Callable[[], list[Any]]] = {
    "statistics": lambda: [mi.ColumnStats()],
    "values": lambda: [mi.Values("a")],
    "values of several": lambda: [mi.Values(("a", "s"))],
    "lists": lambda: [mi.ValueList("s")],
    "blooms": lambda: [mi.Bloom("a")],
    "sums": lambda: [mi.Sums("a")],
    "sketches": lambda: [mi.Sketches("a")],
    "several": lambda: [mi.ColumnStats("f", "s"), mi.Values("a"), mi.Bloom("s")],
}
FORMATS = ("parquet", "csv", "json")


def write(folder: Path, number: int, file_format: str = "parquet", *, second: int = 500) -> Path:
    """Three rows, with the least and greatest value at the ends; as many bytes whatever `second` is."""
    folder.mkdir(parents=True, exist_ok=True)
    a = [1000 * number, 1000 * number + second, 1000 * number + 999]
    rows = pa.table({"a": a, "f": [value / 2 + 0.25 for value in a], "s": [f"x{value:06}" for value in a]})
    path = folder / f"part-{number}.{file_format}"
    with path.open("r+b" if path.exists() else "wb") as file:  # the same inode
        if file_format == "parquet":
            pq.write_table(rows, file, compression=None, use_dictionary=False)
        elif file_format == "csv":
            pyarrow.csv.write_csv(rows, file)
        else:
            file.write("".join(f"{json.dumps(row)}\n" for row in rows.to_pylist()).encode())
    os.utime(path, (OLD + number, OLD + number))
    return path


def made(root: Path, file_format: str = "parquet", kinds: str = "several", files: int = 4) -> Path:
    folder = root / "t"
    for number in range(1, files + 1):
        write(folder, number, file_format)
    opened(folder).create_index("ix", *KINDS[kinds]())
    return folder


def opened(folder: Path) -> mi.Table:
    options = {"header": True} if any(folder.glob("*.csv")) else {}
    return mi.open_table(str(folder), config=CONFIG, **options)


def values(folder: Path) -> list[int]:
    """All values of `a`, without an index."""
    table = mi.open_table(str(folder), config=CONFIG, **({"header": True} if any(folder.glob("*.csv")) else {}))
    return sorted(table.scan(indexes=[]).to_arrow().column("a").to_pylist())


def right(folder: Path) -> None:
    """Each value is found as without an index, and others are not; the index is proved right."""
    table, known = opened(folder), values(folder)
    asked = {1000 * number + second for number in range(1, 6) for second in (500, 501, 502)}
    for value in asked:
        assert table.count(f"a = {value}") == known.count(value)
    assert sorted(table.scan(f"a IN {(*asked,)}").to_arrow().column("a").to_pylist()) == [
        value for value in known if value in asked
    ]
    report = table.verify_index("ix", files=None)
    # Where all files of the index are gone, or others by now, there is nothing to compare.
    assert report.sound or (not report.findings and report.unread <= report.gone_files), str(report)


class Reads(LocalBuilder):
    """Notes which files are read."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "read", [])

    def facts(self, request: Any, *more: Any) -> Any:
        self.read.extend(request.files.paths.to_pylist())  # type: ignore[attr-defined]
        return super().facts(request, *more)

    def keys(self, request: Any, *more: Any) -> Any:
        self.read.extend(request.files.paths.to_pylist())  # type: ignore[attr-defined]
        return super().keys(request, *more)


def identity(folder: Path) -> tuple[Any, set[str]]:
    """Refresh by identity; which files were read anew."""
    builder = Reads()
    outcome = opened(folder).refresh_index("ix", "identity", builder=builder)
    return outcome, set(builder.read)  # type: ignore[attr-defined]


def shell(command: str, folder: Path) -> None:
    subprocess.run(command.format(t=folder, u=folder.parent / "u"), shell=True, check=True)


CHANGES = {
    "chmod": "chmod 640 {t}/*",
    "cp -a": "cp -a {t} {u} && rm -r {t} && mv {u} {t}",
    "cp -rl": "cp -rl {t} {u}",
    "backup": "tar -C {t} -cf {u}.tar . && rm {t}/* && tar -C {t} -xpf {u}.tar",
    "touch": "touch -d 2020-02-02 {t}/*",
}


@pytest.mark.exhaustive(but=("chmod", "parquet"))
@pytest.mark.slow(but="chmod")
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("change", CHANGES)
def test_files_are_taken_over_unread(tmp_path: Path, change: str, file_format: str) -> None:
    folder = made(tmp_path, file_format)
    before = opened(folder).indexes()[0]
    shell(CHANGES[change], folder)
    (report,) = (report for report in opened(folder).prune("a = 1500").indexes if report.name == "ix")
    assert report.lacks is not None
    touched = 0 if change == "touch" else 4
    assert (report.lacks.code, report.lacks.files, report.lacks.of, report.lacks.touched) == (
        "TOUCHED" if touched else "BEHIND",
        4,
        4,
        touched,
    )
    assert str(report.lacks) in report.reason
    info = opened(folder).indexes()[0]
    assert (info.new_files, info.touched_files) == (4, touched)
    outcome, read = identity(folder)
    assert read == set()
    assert "4 files taken over" in outcome.notes[0]
    after = opened(folder).indexes()[0]
    assert (after.fresh, after.new_files, after.runs, after.files) == (True, 0, 1, 4)
    assert after.size_bytes < 1.2 * before.size_bytes  # the old run is not live
    assert len(opened(folder).prune("a = 1500").files) == 1
    right(folder)
    assert not opened(folder).refresh_index("ix").changed


@pytest.mark.exhaustive(but=("several", "parquet"))
@pytest.mark.slow(but="several")
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("kinds", KINDS)
def test_every_kind_is_what_it_was(tmp_path: Path, kinds: str, file_format: str) -> None:
    folder = made(tmp_path, file_format, kinds)
    shell(CHANGES["chmod"], folder)
    outcome, read = identity(folder)
    assert (outcome.changed, read) == (True, set())
    right(folder)
    opened(folder).optimize_index("ix", "full")
    shell(CHANGES["cp -a"], folder)
    write(folder, 5, file_format)
    assert identity(folder)[1] == {f"part-5.{file_format}"}
    opened(folder).optimize_index("ix", "full")
    shell(CHANGES["chmod"], folder)
    assert identity(folder)[1] == set()  # of a merged run
    right(folder)


@pytest.mark.exhaustive(but=("several", "parquet"))
@pytest.mark.slow(but="several")
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("kinds", KINDS)
def test_other_bytes_of_the_same_size_time_and_footer_are_read(tmp_path: Path, kinds: str, file_format: str) -> None:
    folder = made(tmp_path, file_format, kinds)
    path = folder / f"part-2.{file_format}"
    before, size, inode = path.read_bytes(), path.stat().st_size, path.stat().st_ino
    write(folder, 2, file_format, second=501)
    after = path.read_bytes()
    assert (path.stat().st_size, path.stat().st_ino, path.stat().st_mtime) == (size, inode, OLD + 2)
    assert after != before
    if file_format == "parquet":
        footer = int.from_bytes(after[-8:-4], "little") + 8
        assert before[-footer:] == after[-footer:]
    shell(CHANGES["chmod"], folder)
    outcome, read = identity(folder)
    assert read == {path.name}
    assert "1 file read anew: other bytes than were indexed" in outcome.notes
    right(folder)


def test_what_rests_on_footers_needs_no_values(tmp_path: Path) -> None:
    """Statistics that a footer told are as true of other values below the same footer."""
    folder = tmp_path / "t"
    for number in range(1, 5):
        write(folder, number)
    opened(folder).create_index("ix", mi.ColumnStats("a", "s"))
    write(folder, 2, second=501)
    shell(CHANGES["chmod"], folder)
    assert identity(folder)[1] == set()
    assert len(opened(folder).prune("a = 2501").files) == 1
    right(folder)


def test_some_files_are_taken_over_and_the_others_read(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (folder / "part-1.parquet").unlink()
    write(folder, 2, second=502)
    write(folder, 5)
    shell("chmod 640 {t}/part-3* {t}/part-5*", folder)
    outcome, read = identity(folder)
    assert read == {"part-2.parquet", "part-5.parquet"}
    assert outcome.notes[:2] == (
        "1 file taken over: the bytes that were indexed, as other files",
        "1 file read anew: other bytes than were indexed",
    )
    info = opened(folder).indexes()[0]
    assert (info.fresh, info.files, info.new_files, info.gone_files) == (True, 4, 0, 0)
    right(folder)


def test_older_versions_with_such_files_are_forgotten(tmp_path: Path) -> None:
    folder = made(tmp_path)
    write(folder, 5)
    opened(folder).refresh_index("ix")
    versions = opened(folder).indexes()[0].versions
    shell(CHANGES["chmod"], folder)
    identity(folder)
    kept = opened(folder).indexes()[0].versions
    assert len(kept) == 1
    assert kept[0] not in versions
    right(folder)


def test_without_digests_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an index of an older metaindex: its runs have none."""
    with monkeypatch.context() as patched:
        patched.setattr(create, "are_kept", lambda *_: False)
        folder = made(tmp_path)
    shell(CHANGES["chmod"], folder)
    outcome, read = identity(folder)
    assert len(read) == 4
    assert outcome.notes[0] == "4 files read anew: the index keeps no digest of what it read before"
    right(folder)
    shell(CHANGES["chmod"], folder)
    assert identity(folder)[1] == set()


def test_a_digest_of_a_file_that_changed_while_it_was_indexed_is_not_kept(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    for number in range(1, 5):
        write(folder, number)

    class Late(LocalBuilder):
        def keys(self, *request: Any) -> Any:
            report = super().keys(*request)
            write(folder, 2, second=501)
            return report

    mi.open_table(str(folder), config=CONFIG).create_index("ix", mi.Values("a"), builder=Late())
    assert identity(folder)[1] == {"part-2.parquet"}
    right(folder)


def test_a_log_tells_files_apart_without_digests(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    table = str(tmp_path / "t")
    write_deltalake(table, pa.table({"a": [1, 2]}))
    opened_ = mi.open_table(table, config=CONFIG)
    opened_.create_index("ix", mi.Values("a"))
    write_deltalake(table, pa.table({"a": [3]}), mode="append")
    shell("chmod 640 {t}/*.parquet", tmp_path / "t")
    assert opened_.refresh_index("ix", "identity").changed
    assert (opened_.count("a = 1"), len(opened_.prune("a = 3").files)) == (1, 1)
    assert opened_.verify_index("ix").sound


# Races ----------------------------------------------------------------------------------------------------------------


def during(folder: Path, what: Callable[[mi.Table], object]) -> None:
    """Refresh by identity, while another writer does this, between its reading and its commit."""
    waits = [what]

    def progress(_: str, done: int, total: int) -> None:
        if done == total and waits:
            waits.pop()(opened(folder))

    opened(folder).refresh_index("ix", "identity", progress=progress)
    assert not waits


@pytest.mark.parametrize(
    "what",
    [
        lambda t: t.refresh_index("ix"),
        lambda t: t.refresh_index("ix", "identity"),
        lambda t: t.refresh_index("ix", "full"),
        lambda t: t.optimize_index("ix", "full"),
        lambda t: t.refresh_index("ix", "quick"),
    ],
    ids=["incremental", "identity", "full", "optimize", "quick"],
)
def test_another_writer_comes_between(tmp_path: Path, what: Callable[[mi.Table], object]) -> None:
    folder = made(tmp_path)
    write(folder, 5)
    opened(folder).refresh_index("ix")
    shell(CHANGES["chmod"], folder)
    during(folder, what)
    assert opened(folder).indexes()[0].new_files == 0
    assert len(opened(folder).prune("a = 1500").files) == 1
    right(folder)


def test_many_writers_at_once(tmp_path: Path) -> None:
    folder = made(tmp_path)
    failed = []

    def run(mode: str) -> None:
        try:
            opened(folder).refresh_index("ix", mode)  # type: ignore[arg-type]
        except mi.ConcurrentWriteError:
            pass  # an outcome
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    for number in range(3):
        shell(CHANGES["chmod"], folder)
        write(folder, 2, second=500 + number)
        threads = [Thread(target=run, args=(mode,)) for mode in ("identity", "identity", "incremental", "quick")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        right(folder)


OPERATIONS = st.sampled_from(["chmod", "touch", "copy", "other", "new", "gone", "identity", "incremental", "optimize"])


@pytest.mark.slow
@settings(max_examples=few(4, 20))
@given(
    st.lists(st.tuples(OPERATIONS, st.integers(1, 4), st.integers(500, 502)), min_size=3, max_size=9),
    st.sampled_from(FORMATS),
    st.sampled_from(["several", "values", "statistics"]),
)
def test_no_sequence_loses_a_row(steps: list[tuple[str, int, int]], file_format: str, kinds: str) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        folder = made(root, file_format, kinds)
        for what, number, second in steps:
            path = folder / f"part-{number}.{file_format}"
            match what:
                case "other":
                    write(folder, number, file_format, second=second)
                case "new":
                    write(folder, 5, file_format, second=second)
                case "identity" | "incremental":
                    opened(folder).refresh_index("ix", what)  # type: ignore[arg-type]
                case "optimize":
                    opened(folder).optimize_index("ix", "full")
                case _ if not path.exists():
                    pass
                case "chmod":
                    path.chmod(0o600)
                case "touch":
                    os.utime(path, (OLD + second, OLD + second))
                case "copy":
                    shell(f"cp -a {path} {path}.tmp && mv {path}.tmp {path}", folder)
                case "gone" if len(list(folder.iterdir())) > 1:
                    path.unlink()
        right(folder)
        identity(folder)
        right(folder)
        assert opened(folder).indexes()[0].new_files == 0
    finally:
        shutil.rmtree(root)


# What is said ---------------------------------------------------------------------------------------------------------


def test_what_happened_is_said_with_the_cure(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (folder / "part-1.parquet").chmod(0o600)
    write(folder, 5)
    (report,) = opened(folder).prune("a = 1500").indexes
    assert report.reason == (
        "it lacks 2 of 5 files, of which 1 has another inode or change time (same path, size and time); refresh it with"
        " mode='identity', which compares the bytes of such files, and takes over those that are the same"
    )
    assert dataclasses.asdict(report.lacks)["touched"] == 1  # type: ignore[arg-type]
    assert "1 has another inode or change time" in str(opened(folder).indexes())
    assert "1 has another inode or change time" in str(opened(folder).indexes()[0])
    (row,) = mi.sql(f"SHOW INDEXES ON parquet.`{folder}`").to_json()
    assert f"REFRESH INDEX ix ON parquet.`{folder}` IDENTITY" in row["note"]
    outcome = opened(folder).refresh_index("ix")
    assert any("mode='identity' compares the bytes of such files" in note for note in outcome.notes)
    shell(CHANGES["chmod"], folder)
    mi.sql(f"REFRESH INDEX ix ON parquet.`{folder}` IDENTITY")
    assert handle_of(opened(folder)).entries()[0].content.record(opened(folder).snapshot().version) is not None
    right(folder)


def test_an_index_on_a_store_tells_the_digests_that_it_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryStorage, "root", "s3://in-memory")
    folder = tmp_path / "t"
    path = write(folder, 1)
    table = with_index_in(str(folder), MemoryStorage())
    table.create_index("stats", mi.ColumnStats(), builder="local")
    shutil.copy2(path, tmp_path / "copy")
    os.replace(tmp_path / "copy", path)
    outcome = table.refresh_index("stats", mode="identity", builder="local")
    assert outcome.changed
    assert len(outcome.entry.content.runs) == 1
    assert table.prune("a = 1000").kept_files == 1
