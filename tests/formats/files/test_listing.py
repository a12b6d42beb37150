"""Listings of random folders: the files are those that a plain walk finds and Spark does not hide, in path order, under
any change told from before."""

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from metaindex.formats.files.listing import Listing, starts_of
from metaindex.formats.files.walk import list_files
from metaindex.storage import LocalStorage, storage_for

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
