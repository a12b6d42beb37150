"""Gates, damaged lines and hostile paths: refused by name, never half read."""

from pathlib import Path
from typing import Any

import pytest

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from tests.formats.delta.hand import add, column, commit, dv, log, metadata, paths, protocol, remove, snapshot

BROKEN = metadata()
BROKEN["metaData"]["schemaString"] = "{"
REFUSED: dict[str, tuple[list[Any], type[Exception], str]] = {
    "a newer reader version": ([protocol(4, []), metadata()], UnsupportedFeatureError, "4"),
    "an unknown feature": ([protocol(3, ["deletionVectors", "timeMachine"]), metadata()], UnsupportedFeatureError,
        "timeMachine"),
    "a catalog": ([protocol(3, ["catalogManaged"]), metadata()], UnsupportedFeatureError,
        "its catalog, not the folder"),
    "a catalog in preview": ([protocol(3, ["catalogOwned-preview"]), metadata()], UnsupportedFeatureError,
        "its catalog, not the folder"),
    "data files of ORC": ([protocol(), metadata(provider="orc")], UnsupportedFeatureError, "orc"),
    "no protocol": ([metadata(), add("a")], CorruptTableError, "protocol"),
    "no metadata": ([protocol(), add("a")], CorruptTableError, "metaData"),
    "a schema that is none": ([protocol(), BROKEN], CorruptTableError, "schema"),
    "partition columns that the schema lacks": ([protocol(), metadata(column("id"), partitions=["p"])],
        CorruptTableError, "'p'"),
}  # fmt: skip


@pytest.mark.parametrize(("actions", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named(tmp_path: Path, actions: list[Any], error: type[Exception], said: str) -> None:
    commit(tmp_path, 0, *actions)
    with pytest.raises(error, match=said):
        snapshot(tmp_path)


def test_a_feature_that_came_later_does_not_hide_older_versions(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    commit(tmp_path, 1, protocol(3, ["timeMachine"]))
    assert paths(snapshot(tmp_path, 0)) == ["a"]
    with pytest.raises(UnsupportedFeatureError):
        snapshot(tmp_path)


@pytest.mark.parametrize(
    "feature",
    [
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "v2Checkpoint",
        "typeWidening",
        "variantType",
        "vacuumProtocolCheck",
    ],
)
def test_known_reader_features_are_read(tmp_path: Path, feature: str) -> None:
    commit(tmp_path, 0, protocol(3, [feature]), metadata(), add("a"))
    assert paths(snapshot(tmp_path)) == ["a"]


@pytest.mark.parametrize(
    "line",
    [
        '{"add": {"path": "b", "size": 1',
        "[]",
        "7",
        '{"add": {"size": 1}}',
        '{"add": {"path": "b"}}',
        '{"add": {"path": 5, "size": 1}}',
        '{"add": "b"}',
        '{"add": {"path": "", "size": 1}}',
        "\x00\x01",
    ],
)
def test_a_damaged_line_names_version_file_and_line(tmp_path: Path, line: str) -> None:
    commit(tmp_path, 0, protocol(), metadata())
    commit(tmp_path, 1, add("a"), line)
    with pytest.raises(CorruptTableError, match=r"version 1, .*00001\.json, line 2"):
        snapshot(tmp_path)


@pytest.mark.parametrize("path", ["../other/f", "a/../../f", "a/..", "%2e%2e/f", "a/%2E%2E/f"])
@pytest.mark.parametrize("where", ["commit", "checkpoint"])
def test_a_path_that_climbs_out_of_the_table_is_refused(tmp_path: Path, path: str, where: str) -> None:
    log(tmp_path, where, protocol(), metadata(), add(path))
    with pytest.raises(CorruptTableError, match="climbs out"):
        snapshot(tmp_path)


PATHS = {
    "plain.parquet": "plain.parquet",
    "p=a%20b/f%23.parquet": "p=a b/f#.parquet",
    "ts=2020-01-01%2000%253A00%253A00/f": "ts=2020-01-01 00%3A00%3A00/f",
    "p=%C3%A9/%F0%9F%98%80": "p=é/😀",
    "a..b/f": "a..b/f",
    "/abs/f%20g": "/abs/f g",
    "file:/abs/f": "/abs/f",
    "file:///abs/h%20g": "/abs/h g",
    "s3://bucket/k%20ey/f": "s3://bucket/k ey/f",
    "./x//y/./z": "x/y/z",
    "./w": "w",
    "dot./%2E/f": "dot./f",
    "file:/top%20file": "/top file",
    "/abs//double/./f": "/abs/double/f",
}


@pytest.mark.parametrize("where", ["commit", "checkpoint"])
def test_paths_are_decoded_and_absolute_ones_normalised(tmp_path: Path, where: str) -> None:
    adds = [add(path) for path in PATHS]
    log(tmp_path, where, protocol(), metadata(), *adds)
    assert paths(snapshot(tmp_path)) == sorted(PATHS.values())


@pytest.mark.parametrize(
    ("added", "removed"), [("/abs/a%20b", "file:/abs/a%20b"), ("./a/b", "a/b"), ("c//d", "c/d"), ("e", "e")]
)
def test_a_remove_finds_its_file_under_another_spelling(tmp_path: Path, added: str, removed: str) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add(added), add("keep"))
    commit(tmp_path, 1, remove(removed))
    assert paths(snapshot(tmp_path)) == ["keep"]
    commit(tmp_path, 2, remove("keep"))
    assert len(snapshot(tmp_path).files) == 0


def test_a_file_may_change_its_deletion_vector_in_one_commit(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(3, ["deletionVectors"]), metadata(), add("a"), add("b"))
    commit(tmp_path, 1, add("a", deletionVector=dv()), remove("a"))
    commit(tmp_path, 2, remove("a", deletionVector=dv()), add("a", deletionVector=dv(90)))
    found = snapshot(tmp_path)
    assert paths(found) == ["a", "b"]
    row = found.files.paths.to_pylist().index("a")
    assert found.files.entry(row).deletes == "u" + dv()["pathOrInlineDv"] + "@90"


def test_two_live_deletion_vectors_of_one_file_are_refused(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(3, ["deletionVectors"]), metadata(), add("a"))
    commit(tmp_path, 1, add("a", deletionVector=dv()))
    with pytest.raises(CorruptTableError, match="two deletion vectors"):
        snapshot(tmp_path)
