"""Listings of random folders: the files are those that a plain walk finds and Spark does not hide, in path order, under
any change told from before."""

import os
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex import open_table
from metaindex.core import StorageError, StoragePermissionError, UnsupportedFeatureError
from metaindex.formats.files.listing import Listing, starts_of
from metaindex.formats.files.walk import list_files
from metaindex.formats.format import At
from metaindex.storage import LocalStorage, storage_for
from tests.disks import someone_elses_folder

from .folders import FORMAT, ONE, now, put, ref

PARTS = st.sampled_from(
    ["a", "b", "a-b", "a.b", "_h", ".h", "_p=1", "p=1", "_metadata", "_common_metadata_x", "x._COPYING_", "é", "a b",
        "%41"]
)  # fmt: skip
TREES = st.dictionaries(st.lists(PARTS, min_size=1, max_size=4).map("/".join), st.integers(0, 3), max_size=12)


def made(root: Path, tree: dict[str, int]) -> dict[str, int]:
    """The files that could be written: not where a folder of that name is."""
    out = {}
    for path, size in sorted(tree.items()):
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(b"x" * size)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
        out[path] = size
    return out


def hidden(name: str, folder: bool) -> bool:
    """Spark's rule (HadoopFSUtils.shouldFilterOutPathName), which looks at `_metadata` as at any name for files of a
    table."""
    if folder and name.startswith(("_metadata", "_common_metadata")):
        return False
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


def shown(files: dict[str, int]) -> list[str]:
    def visible(path: str) -> bool:
        *folders, name = path.split("/")
        return not hidden(name, False) and not any(hidden(one, True) for one in folders)

    return sorted(path for path, size in files.items() if size and visible(path))


def listed(root: Path, *patterns: str) -> Listing:
    return list_files(storage_for(root)[0], patterns=patterns)


@given(TREES)
def test_a_listing_is_what_a_walk_finds(tree: dict[str, int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = made(root, tree)
        found = listed(root)
        assert found.paths == shown(files)
        assert found.sizes == [files[path] for path in found.paths]
        assert [f"{found.folders[f]}" for f in found.folder] == [p[: p.rfind("/") + 1] for p in found.paths]
        assert len(set(found.folders)) == len(found.folders)
        assert found.fingerprint() == listed(root).fingerprint()
        # The same through the storage that object stores share.
        assert [one.path for one in LocalStorage(folder).list("") if one.path in set(found.paths)] == found.paths


@given(TREES, st.sampled_from(["*", "a*", "?", "[ab]", "{a,p=1}", "*/*", "p=*"]))
def test_a_pattern_of_folders_finds_what_lies_below_those_that_fit(tree: dict[str, int], pattern: str) -> None:
    from metaindex.formats.files.globs import matcher

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = made(root, tree)
        parts = pattern.split("/")

        def fits(path: str) -> bool:
            names = path.split("/")
            return len(names) >= len(parts) and all(
                matcher(part).fullmatch(name) for part, name in zip(parts, names, strict=False)
            )

        below = {path: size for path, size in files.items() if fits(path)}
        # Roots are looked into whatever they are called; what lies below them is hidden as ever.
        expected = sorted(
            path
            for path, size in below.items()
            if size
            and (
                shown({"/".join(path.split("/")[len(parts) :]): size})
                if path.count("/") >= len(parts)
                else not hidden(path.rpartition("/")[2], False)
            )
        )
        if any(True for _ in root.glob(pattern.replace("{a,p=1}", "*"))) and below:
            assert listed(root, pattern).paths == expected


@given(TREES.filter(bool), st.randoms(use_true_random=False))
def test_every_change_of_a_file_is_told(tree: dict[str, int], random: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made(root, tree)
        before = listed(root)
        if len(before) < 2:
            return
        one, other = (root / path for path in random.sample(before.paths, 2))
        # Two files of the same size and time change places.
        other.write_bytes(one.read_bytes())
        for file in (one, other):
            os.utime(file, ns=(10**18, 10**18))
        before = listed(root)
        one.rename(root / ".held")
        other.rename(one)
        (root / ".held").rename(other)
        after = listed(root)
        assert (after.paths, after.sizes, after.modified_ns) == (before.paths, before.sizes, before.modified_ns)
        assert after.fingerprint() != before.fingerprint()


@given(
    st.lists(st.lists(PARTS, max_size=3).map(lambda parts: "".join(f"{one}/" for one in parts)), max_size=6), st.data()
)
def test_partitions_begin_behind_the_deepest_base(folders: list[str], data: st.DataObject) -> None:
    bases = data.draw(st.sets(st.sampled_from([*folders, ""]), min_size=1))
    for folder, start in zip(folders, starts_of(folders, bases), strict=True):
        above = [base for base in bases if folder.startswith(base)]
        assert start == (max(map(len, above)) if above else 0)


# Odd folders ----------------------------------------------------------------------------------------------------------


def test_a_folder_that_may_not_be_read_is_an_error_that_names_it() -> None:
    with someone_elses_folder() as folder:
        put(folder / "t" / "0.parquet", ONE)
        (folder / "t" / "locked").mkdir(mode=0)
        with pytest.raises(StoragePermissionError, match="locked"):
            now(folder / "t")


@pytest.mark.parametrize("target", [".", "..", "loop"])
def test_links_in_a_circle_are_errors_that_name_them(tmp_path: Path, target: str) -> None:
    put(tmp_path / "t" / "sub" / "0.parquet", ONE)
    (tmp_path / "t" / "sub" / "loop").symlink_to(target)
    with pytest.raises(StorageError, match="sub/loop"):
        now(tmp_path / "t")


def test_a_link_to_a_folder_beside_is_followed_and_one_to_nothing_is_not(tmp_path: Path) -> None:
    put(tmp_path / "other" / "1.parquet", ONE)
    put(tmp_path / "t" / "0.parquet", ONE)
    (tmp_path / "t" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "t" / "nothing.parquet").symlink_to(tmp_path / "missing.parquet")
    assert now(tmp_path / "t").files.paths.to_pylist() == ["0.parquet", "link/1.parquet"]


ODD = ["new\nline", "quo'te\"s", "ünï😀", "100%41", "a b", "[x]", "back\\slash", "#?;&", "*"]


def test_odd_names_are_names(tmp_path: Path) -> None:
    for name in ODD:
        put(tmp_path / name / f"{name}.parquet", ONE)
    snapshot = now(tmp_path)
    assert sorted(snapshot.files.paths.to_pylist()) == sorted(f"{name}/{name}.parquet" for name in ODD)
    for path in snapshot.files.paths.to_pylist():
        with open(snapshot.uri(path), "rb") as file:
            assert pq.read_table(file).num_rows == 2


def test_a_name_that_is_no_text_is_an_error_that_shows_it(tmp_path: Path) -> None:
    put(tmp_path / "0.csv", b"a\n1\n")
    with open(os.fsencode(tmp_path) + b"/\xff.csv", "wb") as file:
        file.write(b"a\n1\n")
    with pytest.raises(StorageError, match=r"xff\.csv"):
        now(tmp_path)


def test_a_file_that_vanishes_before_its_schema_is_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = put(tmp_path / "0.parquet", ONE)
    resolved = FORMAT.resolved(ref(tmp_path), At())
    file.unlink()
    with pytest.raises(StorageError, match=r"0\.parquet"):
        resolved.load()


def test_many_names_of_no_known_kind_are_refused_at_once(tmp_path: Path) -> None:
    for number in range(50):
        put(tmp_path / f"log.{number}", b"x")
    with pytest.raises(UnsupportedFeatureError, match=r"log\.0"):
        now(tmp_path)


@pytest.mark.parametrize("name", ["events.json", "2024.csv", "t.parquet"])
def test_a_folder_may_be_called_as_a_file_is(tmp_path: Path, name: str) -> None:
    """Spark's writers name folders so. One that ends in .json was taken for a metadata file of Iceberg's."""
    path, form = tmp_path / name, name.rpartition(".")[2]
    rows = {"json": b'{"a": 1}\n', "csv": b"a\n1\n", "parquet": ONE}[form]
    put(path / f"0.{form}", rows)
    for options in ({}, {"format": form}):
        assert open_table(path, **options).scan().to_arrow().num_rows > 0
    if form == "json":
        (tmp_path / "one.json").write_bytes(rows)
        assert open_table(tmp_path / "one.json").scan().to_arrow().num_rows == 1
