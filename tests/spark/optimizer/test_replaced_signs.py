"""`replaced` tells of each file what looking at it, and at what was known of it, one by one tells."""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from metaindex.formats import FileTable
from metaindex.spark.optimizer.replaced import looked_at_once, replaced
from metaindex.storage import LocalStorage, ObjectInfo

THEN = 1_700_000_000_123_456_789


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(THEN, THEN))


def in_place(path: Path) -> None:
    """The same size, time and inode: but the time of change tells."""
    write(path, "b" * path.stat().st_size)


def in_its_place(path: Path) -> None:
    other = path.with_name("other")
    write(other, "b" * path.stat().st_size)
    other.rename(path)


def longer(path: Path) -> None:
    write(path, "c" * (path.stat().st_size + 1))


def a_folder_now(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nothing")


def nothing(path: Path) -> None:
    pass


CHANGES: list[Callable[[Path], None]] = [
    nothing,
    in_place,
    in_its_place,
    longer,
    os.utime,
    Path.unlink,
    a_folder_now,
    a_link_to_nothing,
]


def known(infos: list[ObjectInfo]) -> FileTable:
    rows = [
        {"path": one.path, "size_bytes": one.size_bytes, "modified_ms": one.modified_ns // 1_000_000, "etag": one.etag}
        for one in infos
    ]
    columns = {field.name: [row.get(field.name) for row in rows] for field in FileTable.SCHEMA}
    return FileTable(pa.table(columns, schema=FileTable.SCHEMA))


@given(st.lists(st.tuples(st.sampled_from(["", "p=1/", "ü d%20/"]), st.sampled_from(CHANGES)), max_size=12))
def test_each_file_that_is_another_is_told(files: list[tuple[str, Callable[[Path], None]]]) -> None:
    with TemporaryDirectory() as folder:
        for number, (below, _) in enumerate(files):
            write(Path(folder, f"{below}f{number}"), "a" * (number + 1))
        table = known(list(LocalStorage(folder).list("")))
        changes = {f"{below}f{number}": change for number, (below, change) in enumerate(files)}
        for path, change in changes.items():
            change(Path(folder, path))
        paths = table.paths.to_pylist()
        assert len(paths) == len(files)
        assert replaced(table, folder).tolist() == [changes[path] is not nothing for path in paths]
        assert replaced(table, f"{folder}/gone").all()


def test_of_what_is_known_in_part_and_of_a_store_as_its_list_says(tmp_path: Path) -> None:
    write(tmp_path / "f", "a")
    (info,) = LocalStorage(str(tmp_path)).list("")
    assert not replaced(known([info]), str(tmp_path)).any()
    assert replaced(known([ObjectInfo("f", info.size_bytes, info.modified_ns)]), str(tmp_path)).all()
    assert replaced(known([ObjectInfo("gone", 1, THEN)]), str(tmp_path)).all()
    assert not replaced(known([ObjectInfo("f", 7, 7, "other")]), "s3://bucket/folder").any()
    assert replaced(known([]), str(tmp_path)).tolist() == []


def test_a_query_looks_at_a_file_once(tmp_path: Path) -> None:
    write(tmp_path / "f", "a")
    table = known(list(LocalStorage(str(tmp_path)).list("")))
    with looked_at_once():
        assert not replaced(table, str(tmp_path)).any()
        in_place(tmp_path / "f")
        assert not replaced(table, str(tmp_path)).any()
    assert replaced(table, str(tmp_path)).all()
    with looked_at_once():
        assert replaced(table, str(tmp_path)).all()
