"""Deletion vectors of Delta files: inline, beside the data, somewhere else."""

import pickle
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from metaindex.core import CorruptTableError
from metaindex.formats.diff import Diff
from metaindex.formats.format import At
from tests.formats.delta.hand import (
    DELTA,
    add,
    checkpoint,
    commit,
    log,
    metadata,
    paths,
    protocol,
    ref,
    remove,
    snapshot,
)
from tests.formats.framed import encode_framed, inline_vector, z85
from tests.hostile.changes import turn

DELETED = {0, 3, 5_000_000_000}


FRAME = encode_framed(BitMap64(DELETED))
BLOB = FRAME[4:-4]


def vector(kind: str, path: str, offset: int | None = None) -> dict[str, Any]:
    return {
        "storageType": kind,
        "pathOrInlineDv": path,
        "offset": offset,
        "sizeInBytes": len(BLOB),
        "cardinality": len(DELETED),
    }


def inline(table: Path) -> dict[str, Any]:
    return vector("i", z85(BLOB))


def relative(table: Path) -> dict[str, Any]:
    one = uuid.uuid4()
    (table / f"deletion_vector_{one}.bin").write_bytes(b"\x01" + FRAME)
    return vector("u", z85(one.bytes), 1)


def prefixed(table: Path) -> dict[str, Any]:
    one = uuid.uuid4()
    (table / "ab").mkdir()
    (table / "ab" / f"deletion_vector_{one}.bin").write_bytes(b"\x01junk" + FRAME + b"more")
    return vector("u", "ab" + z85(one.bytes), 5)


def absolute(table: Path) -> dict[str, Any]:
    other = table / "else where"
    other.mkdir()
    (other / "dv.bin").write_bytes(b"\x01" + FRAME)
    return vector("p", (other / "dv.bin").as_uri().replace("file://", "file:"), 1)


@pytest.mark.parametrize("where", ["commit", "checkpoint"])
@pytest.mark.parametrize("make", [inline, relative, prefixed, absolute])
def test_positions_of_every_kind(tmp_path: Path, make: Any, where: str) -> None:
    actions = [
        protocol(3, ["deletionVectors"]),
        metadata(),
        add("plain"),
        add("deleted", deletionVector=make(tmp_path)),
    ]
    log(tmp_path, where, *actions)
    found = snapshot(tmp_path)
    assert paths(found) == ["deleted", "plain"]
    row = found.files.paths.to_pylist().index("deleted")
    assert set(found.details.deletes(row).positions) == DELETED
    assert found.files.table.column("deleted_count")[row].as_py() == len(DELETED)
    stored = found.details.stored_vector(row)
    assert (FRAME if stored is None else ref(tmp_path).storage.read(*stored)) == FRAME
    assert (stored is None) == (make is inline)
    assert found.files.entry(1 - row).deletes is None


def test_ids_are_the_same_from_a_commit_and_from_a_checkpoint(tmp_path: Path) -> None:
    for name, one in (("a", inline(tmp_path)), ("b", relative(tmp_path))):
        actions = [protocol(3, ["deletionVectors"]), metadata(), add("f", deletionVector=one)]
        commit(tmp_path / name, 0, *actions)
        before = snapshot(tmp_path / name).files.entry(0).deletes
        checkpoint(tmp_path / name, 0, *actions)
        assert snapshot(tmp_path / name).files.entry(0).deletes == before


def damaged(tmp_path: Path, one: dict[str, Any]) -> None:
    commit(tmp_path, 0, protocol(3, ["deletionVectors"]), metadata(), add("f", deletionVector=one))
    with pytest.raises(CorruptTableError, match=r"version 0.*vector"):
        snapshot(tmp_path).details.deletes(0)


@pytest.mark.parametrize(
    "damage",
    [lambda file: turn(file, -6), lambda file: file.write_bytes(file.read_bytes()[:-3]), Path.unlink],
    ids=["a wrong checksum", "truncated", "missing"],
)
def test_a_damaged_file_is_an_error(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    one = relative(tmp_path)
    (file,) = tmp_path.glob("*.bin")
    damage(file)
    damaged(tmp_path, one)


@pytest.mark.parametrize(
    "change",
    [
        {"cardinality": 99},
        {"storageType": "x"},
        {"sizeInBytes": 10_000},
        {"pathOrInlineDv": "~~~"},
        {"pathOrInlineDv": ""},
    ],
)
def test_a_descriptor_that_makes_no_sense_is_an_error(tmp_path: Path, change: dict[str, Any]) -> None:
    damaged(tmp_path, inline(tmp_path) | change)


def test_a_prefix_that_climbs_out_of_the_table_is_an_error(tmp_path: Path) -> None:
    commit(
        tmp_path,
        0,
        protocol(3, ["deletionVectors"]),
        metadata(),
        add("f", deletionVector=vector("u", "../x" + z85(uuid.uuid4().bytes), 1)),
    )
    with pytest.raises(CorruptTableError, match="climbs out"):
        snapshot(tmp_path).details.deletes(0)


def changing(table: Path) -> dict[int, set[int]]:
    """A file whose deleted rows change beside one whose do not; gives the deleted rows of every version."""
    states: dict[int, set[int]] = {0: {1, 5}, 1: {5, 7}, 2: set(), 3: {2**33}}

    def of(rows: set[int]) -> dict[str, Any]:
        return {"deletionVector": inline_vector(rows)} if rows else {}

    for version, rows in states.items():
        head = [protocol(3, ["deletionVectors"]), metadata(), add("g", deletionVector=inline(table))]
        before = [remove("f", size=10, **of(states[version - 1]))] if version else head
        commit(table, version, *before, add("f", **of(rows)))
    return states


def test_a_diff_says_which_rows_were_deleted_and_restored(tmp_path: Path) -> None:
    states = changing(tmp_path)
    for base in states:
        for target in states:
            before, after = snapshot(tmp_path, base), snapshot(tmp_path, target)
            own = DELTA.diff(ref(tmp_path), before, At(version=target))
            assert (own is None) == (target < base)
            compared = Diff.between(before, after)
            for diff in filter(None, [compared, own, *pickle.loads(pickle.dumps((compared, own)))]):  # our own
                assert diff.deletes_changed.paths.to_pylist() == ([] if base == target else ["f"])
                if base != target:
                    assert diff.positions is not None
                    found = diff.positions(0)
                    assert set(found.deleted) == states[target] - states[base]
                    assert set(found.restored) == states[base] - states[target]
