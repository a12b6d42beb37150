"""Changes from the commits alone: with the base's files they make the target's, and a base that is not on the target's
line is refused."""

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.formats.delta.log_segment import commit_path
from metaindex.formats.diff import Changes
from metaindex.formats.format import At
from metaindex.formats.model import FILE_SCHEMA, Base, FileTable
from tests.formats.delta.hand import (
    DELTA,
    add,
    checkpoint,
    column,
    commit,
    dv,
    metadata,
    protocol,
    ref,
    remove,
    snapshot,
)

FILES = ["a", "b", "c", "d"]


def base(table: Path, version: int) -> Base:
    found = snapshot(table, version)
    return Base(found.version, found.schema, found.partition_columns)


def changes(table: Path, *versions: int, to: int | None = None) -> Changes | None:
    return DELTA.changes(ref(table), [base(table, v) for v in versions], At(version=to))


def names(found: Changes | None) -> tuple[list[str], list[str]]:
    return sorted(found.touched.files.paths.to_pylist()), sorted(found.gone.paths.to_pylist())


def test_the_nearest_base_below_is_taken(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    for version in range(1, 5):
        commit(tmp_path, version, add(f"f{version}"))
    found = changes(tmp_path, 0, 2, 4, to=3)
    assert found.base == snapshot(tmp_path, 2).version
    assert names(found) == (["f3"], [])
    assert changes(tmp_path, 4, to=3) is None


def test_another_table_at_the_place_is_no_base(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    old = base(tmp_path, 0)
    commit(tmp_path, 0, protocol(), metadata(table_id="two"), add("a"))
    commit(tmp_path, 1, add("b"))
    assert DELTA.changes(ref(tmp_path), [old], At()) is None


def test_what_cannot_be_served_is_left_to_snapshots(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"), add("b"))
    commit(tmp_path, 1, remove("a"))
    commit(tmp_path, 2, add("c"))
    assert changes(tmp_path, 0) is None  # a remove that does not say how large the file was
    assert changes(tmp_path, 1) is not None
    bases = [base(tmp_path, 1)]
    checkpoint(tmp_path, 2, protocol(), metadata(), add("b"), add("c"))
    (tmp_path / commit_path(1)).unlink()
    assert DELTA.changes(ref(tmp_path), bases, At()) is None


def test_a_schema_that_changes_is_the_targets(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(partitions=[]), add("a"))
    commit(tmp_path, 1, metadata(column("id"), column("p"), partitions=["p"]), add("p=1/b", partitionValues={"p": "1"}))
    commit(tmp_path, 2, add("p=2/c", partitionValues={"p": "2"}))
    for first in (0, 1):
        found = changes(tmp_path, first)
        assert found.touched.schema == snapshot(tmp_path).schema
        assert found.touched.partition_columns == ("p",)
        texts = dict(
            zip(*(found.touched.files.table.column(n).to_pylist() for n in ("path", "partition")), strict=True)
        )
        assert texts["p=2/c"] == "p=2"


def test_a_checksum_beside_the_commit_counts_the_files(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    commit(tmp_path, 1, add("b"))
    assert (found := changes(tmp_path, 0)) is not None
    assert found.files is None
    (tmp_path / "_delta_log" / f"{1:020d}.crc").write_text('{"numFiles": 2}')
    assert (found := changes(tmp_path, 0)) is not None
    assert found.files == 2


ACTIONS = st.lists(
    st.tuples(st.sampled_from(FILES), st.sampled_from(["add", "remove", "dv"])), max_size=4, unique_by=lambda a: a[0]
)


@settings(max_examples=30)
@given(st.lists(ACTIONS, min_size=2, max_size=6), st.data())
def test_the_files_of_the_base_and_the_changes_make_those_of_the_target(
    commits: list[list[tuple[str, str]]], data: st.DataObject
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder)
        live: dict[str, int | None] = {}
        commit(table, 0, protocol(3, ["deletionVectors"]), metadata())
        for version, actions in enumerate(commits, 1):
            said = []
            for name, what in actions:
                if name in live and (what != "add" or live[name] is not None):
                    before = live.pop(name)
                    said.append(remove(name, size=10, **({"deletionVector": dv(before)} if before is not None else {})))
                if what != "remove":
                    live[name] = version if what == "dv" else None
                    said.append(add(name, **({"deletionVector": dv(version)} if what == "dv" else {})))
            commit(table, version, *data.draw(st.permutations(said)))
        first = data.draw(st.integers(0, len(commits) - 1))
        found = changes(table, first)

        def shown(rows: list[dict[str, object]]) -> dict[object, object]:
            return {(r["path"], r["size_bytes"]): r["deletes"] for r in rows}

        files = shown(snapshot(table, first).files.table.to_pylist())
        for key in shown(found.gone.table.to_pylist()):
            files.pop(key, None)
        files |= shown(found.touched.files.table.to_pylist())
        assert files == shown(snapshot(table).files.table.to_pylist())


@pytest.mark.parametrize("partitioned", [False, True])
def test_any_two_versions_of_a_table_that_deltalake_wrote(tmp_path: Path, partitioned: bool) -> None:
    root = str(tmp_path / "t")

    def rows(start: int) -> pa.Table:
        return pa.table({"id": range(start, start + 6), "p": ["a", "b c", None] * 2})

    options: dict[str, Any] = {"partition_by": ["p"]} if partitioned else {}
    deltalake.write_deltalake(root, rows(0), **options)
    steps = [
        lambda t: deltalake.write_deltalake(t, rows(10), mode="append"),
        lambda t: t.delete("id = 3"),
        lambda t: t.update(updates={"id": "id + 100"}, predicate="id = 11"),
        lambda t: t.optimize.compact(),
        lambda t: deltalake.write_deltalake(t, rows(20), mode="append"),
        lambda t: t.restore(1),
        lambda t: t.create_checkpoint(),
        lambda t: deltalake.write_deltalake(
            t, rows(30).append_column("new", rows(30)["id"]), mode="append", schema_mode="merge"
        ),
        lambda t: deltalake.write_deltalake(t, rows(40), mode="overwrite", schema_mode="overwrite"),
    ]
    for step in steps:
        step(deltalake.DeltaTable(root))
    newest = int(DELTA.resolve(ref(root), At()).id)
    snapshots = [snapshot(root, version) for version in range(newest + 1)]
    for first, before in enumerate(snapshots):
        for last in range(first, newest + 1):
            after = snapshots[last]
            found = DELTA.changes(
                ref(root), [Base(before.version, before.schema, before.partition_columns)], At(version=last)
            )
            assert found.touched.version == after.version
            assert found.touched.schema == after.schema
            assert found.touched.partition_columns == after.partition_columns

            def keys(files: FileTable) -> set[tuple[object, ...]]:
                return {(r["path"], r["size_bytes"]) for r in files.table.to_pylist()}

            assert (keys(before.files) - keys(found.gone)) | keys(found.touched.files) == keys(after.files)
            whole = {r["path"]: {n: r[n] for n in FILE_SCHEMA.names} for r in after.files.table.to_pylist()}
            for row in found.touched.files.table.to_pylist():
                assert {n: row[n] for n in FILE_SCHEMA.names} == whole[row["path"]]
