"""Diffs of snapshots: applying what changed gives the target, in both directions, for identities of both kinds."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.formats.diff import Diff
from metaindex.formats.model import FILE_SCHEMA, Field, FileTable, Schema, Snapshot, Version

_PATHS = st.sampled_from(["a", "b", "c", "d", "e/f", "é😀"])
_FILE = st.fixed_dictionaries(
    {
        "path": _PATHS,
        "size_bytes": st.integers(0, 2),
        "modified_ms": st.none() | st.integers(0, 1),
        "deletes": st.none() | st.sampled_from(["dv1", "dv2"]),
        "etag": st.none() | st.sampled_from(["x", "y"]),
    }
)
_FILES = st.lists(_FILE, max_size=6, unique_by=lambda f: f["path"])


def snapshot(rows: list[dict[str, object]], format_: str, version: str = "1", names: str = "a") -> Snapshot:
    full = [{"record_count": None, "partition": "", "deleted_count": None, **row} for row in rows]
    table = pa.Table.from_pylist(full, FILE_SCHEMA)
    schema = Schema(tuple(Field(n, pa.int64()) for n in names))
    return Snapshot("/t", format_, Version("u", version, version), 0, schema, FileTable(table), None)


def rows(files: FileTable) -> dict[str, dict[str, object]]:
    return {row["path"]: row for row in files.table.to_pylist()}


def identity(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[k] for k in ("path", "size_bytes", "modified_ms", "etag"))


@pytest.mark.parametrize("format_", ["delta", "iceberg", "files"])
def test_base_with_its_diff_is_the_target(format_: str) -> None:
    @settings(deadline=None)
    @given(_FILES, _FILES)
    def check(before: list[dict[str, object]], after: list[dict[str, object]]) -> None:
        base, target = snapshot(before, format_), snapshot(after, format_, "2")
        diff = Diff.between(base, target)
        result = rows(base.files)
        for path in rows(diff.deleted):
            del result[path]
        for path, row in rows(diff.deletes_changed).items():
            assert identity(result[path]) == identity(row)
            assert result[path]["deletes"] != row["deletes"]
            result[path] = row
        for path, row in rows(diff.appended).items():
            assert path not in result
            result[path] = row
        keys = ("path", "size_bytes", "deletes", "modified_ms", "etag")
        assert {p: [r[k] for k in keys] for p, r in result.items()} == {
            p: [r[k] for k in keys] for p, r in rows(target.files).items()
        }
        back = Diff.between(target, base)
        assert rows(back.appended) == rows(diff.deleted)
        assert rows(back.deleted) == rows(diff.appended)
        assert set(rows(back.deletes_changed)) == set(rows(diff.deletes_changed))

    check()


def test_nothing_changed_is_an_empty_diff() -> None:
    base = snapshot([{"path": "a", "size_bytes": 1}], "files")
    diff = Diff.between(base, base)
    assert [len(x) for x in (diff.appended, diff.deleted, diff.deletes_changed)] == [0, 0, 0]
    assert not diff.schema_changed
    assert diff.source == "snapshots"


def test_a_file_rewritten_under_its_path_is_deleted_and_appended() -> None:
    base = snapshot([{"path": "a", "size_bytes": 1}], "delta")
    diff = Diff.between(base, snapshot([{"path": "a", "size_bytes": 2}], "delta", "2"))
    assert (rows(diff.deleted)["a"]["size_bytes"], rows(diff.appended)["a"]["size_bytes"]) == (1, 2)


def test_a_changed_schema_is_said() -> None:
    assert Diff.between(snapshot([], "delta"), snapshot([], "delta", "2", "ab")).schema_changed


def test_columns_of_the_format_stay() -> None:
    base, target = snapshot([], "files"), snapshot([{"path": "a", "size_bytes": 1}], "files", "2")
    table = target.files.table.append_column("files_racy", pa.array([True]))
    other = Snapshot("/t", "files", target.version, 0, target.schema, FileTable(table), target.details)
    assert Diff.between(base, other).appended.table.column_names == table.column_names
