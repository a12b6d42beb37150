"""Gates, damaged lines and hostile paths: refused by name, never half read."""

from pathlib import Path

import pytest

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from tests.formats.delta.hand import add, checkpoint, column, commit, metadata, paths, protocol, remove, snapshot

DV = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 6}


def test_a_newer_reader_version_is_refused(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(4, []), metadata())
    with pytest.raises(UnsupportedFeatureError, match="4"):
        snapshot(tmp_path)


def test_an_unknown_reader_feature_is_refused_by_name(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(3, ["deletionVectors", "timeMachine"]), metadata())
    with pytest.raises(UnsupportedFeatureError, match="timeMachine"):
        snapshot(tmp_path)


def test_a_feature_that_came_later_does_not_hide_older_versions(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    commit(tmp_path, 1, protocol(3, ["timeMachine"]))
    assert paths(snapshot(tmp_path, 0)) == ["a"]
    with pytest.raises(UnsupportedFeatureError):
        snapshot(tmp_path)


@pytest.mark.parametrize("feature", ["catalogManaged", "catalogOwned-preview"])
def test_catalog_managed_tables_are_refused_with_the_reason(tmp_path: Path, feature: str) -> None:
    commit(tmp_path, 0, protocol(3, [feature]), metadata())
    with pytest.raises(UnsupportedFeatureError, match=r"its catalog, not the folder"):
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


def test_missing_protocol_or_metadata_is_an_error(tmp_path: Path) -> None:
    commit(tmp_path / "p", 0, metadata(), add("a"))
    commit(tmp_path / "m", 0, protocol(), add("a"))
    with pytest.raises(CorruptTableError, match="protocol"):
        snapshot(tmp_path / "p")
    with pytest.raises(CorruptTableError, match="metaData"):
        snapshot(tmp_path / "m")


def test_data_files_other_than_parquet_are_refused(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(provider="orc"))
    with pytest.raises(UnsupportedFeatureError, match="orc"):
        snapshot(tmp_path)


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


def test_a_schema_that_is_none_is_an_error(tmp_path: Path) -> None:
    broken = metadata()
    broken["metaData"]["schemaString"] = "{"
    commit(tmp_path, 0, protocol(), broken)
    with pytest.raises(CorruptTableError, match="schema"):
        snapshot(tmp_path)


@pytest.mark.parametrize("path", ["../other/f", "a/../../f", "a/..", "%2e%2e/f", "a/%2E%2E/f"])
@pytest.mark.parametrize("where", ["commit", "checkpoint"])
def test_a_path_that_climbs_out_of_the_table_is_refused(tmp_path: Path, path: str, where: str) -> None:
    if where == "commit":
        commit(tmp_path, 0, protocol(), metadata(), add(path))
    else:
        checkpoint(tmp_path, f"{0:020d}.checkpoint.parquet", protocol(), metadata(), add(path))
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
    if where == "commit":
        commit(tmp_path, 0, protocol(), metadata(), *adds)
    else:
        checkpoint(tmp_path, f"{0:020d}.checkpoint.parquet", protocol(), metadata(), *adds)
    assert paths(snapshot(tmp_path)) == sorted(PATHS.values())


def test_a_remove_finds_its_file_under_another_spelling(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("/abs/a%20b"), add("keep"))
    commit(tmp_path, 1, remove("file:/abs/a%20b"))
    assert paths(snapshot(tmp_path)) == ["keep"]


def test_a_remove_finds_its_file_with_needless_parts(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("./a/b"), add("c//d"), add("keep"))
    commit(tmp_path, 1, remove("a/b"), remove("c/d"))
    assert paths(snapshot(tmp_path)) == ["keep"]


def test_a_file_may_change_its_deletion_vector_in_one_commit(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(3, ["deletionVectors"]), metadata(), add("a"), add("b"))
    commit(tmp_path, 1, add("a", deletionVector=DV), remove("a"))
    commit(tmp_path, 2, remove("a", deletionVector=DV), add("a", deletionVector=dict(DV, offset=90)))
    found = snapshot(tmp_path)
    assert paths(found) == ["a", "b"]
    row = found.files.paths.to_pylist().index("a")
    assert found.files.entry(row).deletes == "u" + DV["pathOrInlineDv"] + "@90"


def test_two_live_deletion_vectors_of_one_file_are_refused(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(3, ["deletionVectors"]), metadata(), add("a"))
    commit(tmp_path, 1, add("a", deletionVector=DV))
    with pytest.raises(CorruptTableError, match="two deletion vectors"):
        snapshot(tmp_path)


def test_partition_columns_that_the_schema_lacks_are_an_error(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(column("id"), partitions=["p"]))
    with pytest.raises(CorruptTableError, match="'p'"):
        snapshot(tmp_path)


def test_an_empty_table_has_no_files(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata())
    assert len(snapshot(tmp_path).files) == 0
