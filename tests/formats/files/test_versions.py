"""Listings are versions: any change of a file makes another, and those that are kept are read again."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import xxhash

from metaindex.core import CorruptTableError, VersionNotFoundError
from metaindex.formats.diff import Diff
from metaindex.formats.files.history import recall, remember, remembered
from metaindex.formats.files.walk import list_files
from metaindex.formats.format import At
from metaindex.formats.registry import open_ref

from .folders import FORMAT, ONE, age, now, put, ref


def test_a_fresh_file_is_racy_and_an_old_one_is_not(tmp_path: Path) -> None:
    age(put(tmp_path / "old.parquet", ONE))
    put(tmp_path / "young.parquet", ONE)
    assert now(tmp_path).files.table.column("files_racy").to_pylist() == [False, True]


def test_a_time_in_the_future_is_not_what_makes_a_file_racy(tmp_path: Path) -> None:
    age(put(tmp_path / "odd.parquet", ONE), -3600)
    listing = list_files(ref(tmp_path).storage)
    assert listing.racy().to_pylist() == [True]  # it was changed just now
    listing.changed_ns[0] -= 10_000_000_000
    assert listing.racy().to_pylist() == [False]


def test_the_id_of_a_listing_is_a_hash_of_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        put(tmp_path / f"p={number}" / "ü.csv", b"a\n1\n")
    listing = list_files(ref(tmp_path).storage)
    signs = listing.etag().to_pylist()
    lines = [
        f"{p}\0{s}\0{m}\0{e}"
        for p, s, m, e in zip(listing.paths, listing.sizes, listing.modified_ns, signs, strict=True)
    ]
    assert listing.fingerprint() == xxhash.xxh3_128_hexdigest("\n".join(lines).encode())
    for stretch in (1, 2, 3, 7, 8):
        for module in ("files.listing", "columns"):
            monkeypatch.setattr(f"metaindex.formats.{module}.STRETCH", stretch)
        assert listing.fingerprint() == now(tmp_path).version.id
        assert now(tmp_path).files.paths.to_pylist() == listing.paths
        assert listing.etag().to_pylist() == signs


@pytest.mark.parametrize(
    "change",
    [
        lambda f: os.utime(f, ns=(f.stat().st_atime_ns, f.stat().st_mtime_ns + 1)),
        lambda f: f.write_bytes(f.read_bytes()[:-5] + b"xxxxx"),
        lambda f: f.rename(f.with_name("other.parquet")),
        lambda f: f.unlink(),
    ],
    ids=["touched", "replaced in place", "moved", "gone"],
)
def test_any_change_of_a_file_is_another_version(tmp_path: Path, change: Callable[[Path], object]) -> None:
    put(tmp_path / "a.parquet", ONE)
    file = put(tmp_path / "b.parquet", ONE)
    before = now(tmp_path)
    assert now(tmp_path).version == before.version
    change(file)
    assert FORMAT.resolve(ref(tmp_path), At()) != before.version


def test_replaced_in_place_with_the_same_size_and_time_is_told_by_its_etag(tmp_path: Path) -> None:
    file = put(tmp_path / "b.csv", b"a\n1\n")
    put(tmp_path / "a.csv", b"a\n5\n")
    stat = file.stat()
    before = now(tmp_path)
    file.write_bytes(b"a\n2\n")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    diff = Diff.between(before, now(tmp_path))
    assert diff.appended.paths.to_pylist() == diff.deleted.paths.to_pylist() == ["b.csv"]


def test_remembered_listings_are_versions(tmp_path: Path) -> None:
    table = tmp_path / "lake" / "t"
    put(table / "p=1" / "0.parquet", ONE)
    first = now(table)
    remember(ref(table), first)
    remember(ref(table), first)  # nothing new
    assert len(remembered(ref(table))) == 1
    put(table / "p=2" / "1.parquet", ONE)
    second = now(table)
    assert [v.id for v in FORMAT.versions(ref(table))] == [first.version.id, second.version.id]
    remember(ref(table), second)
    (table / "p=1" / "0.parquet").unlink()

    again = FORMAT.snapshot(ref(table), At(version=first.version.id))
    assert again.version == first.version
    assert again.schema == first.schema
    assert again.files.table.equals(first.files.table)
    assert again.partition_columns == ("p",)
    assert FORMAT.snapshot(ref(table), At(timestamp_ms=second.timestamp_ms)).version == second.version
    assert FORMAT.resolve(ref(table), At(timestamp_ms=first.timestamp_ms)) == first.version
    third = now(table)
    later = third.timestamp_ms + 1000
    assert FORMAT.resolve(ref(table), At(timestamp_ms=later)) == third.version
    assert Diff.between(again, second).appended.paths.to_pylist() == ["p=2/1.parquet"]
    assert Diff.between(second, third).deleted.paths.to_pylist() == ["p=1/0.parquet"]
    with pytest.raises(VersionNotFoundError, match="2 are kept"):
        FORMAT.snapshot(ref(table), At(version="0" * 32))
    with pytest.raises(VersionNotFoundError):
        FORMAT.snapshot(ref(table), At(timestamp_ms=first.timestamp_ms - 1))


def test_an_emptied_folder_keeps_its_history(tmp_path: Path) -> None:
    file = put(tmp_path / "t" / "0.parquet", ONE)
    first = now(tmp_path / "t")
    remember(ref(tmp_path / "t"), first)
    file.unlink()
    assert FORMAT.versions(ref(tmp_path / "t")) == [first.version]
    assert FORMAT.snapshot(ref(tmp_path / "t"), At(version=first.version.id)).schema == first.schema


def test_a_version_that_came_back_is_two_moments_of_one_version(tmp_path: Path) -> None:
    table = tmp_path / "t"
    put(table / "0.parquet", ONE)
    first = now(table)
    remember(ref(table), first)
    extra = put(table / "1.parquet", ONE)
    remember(ref(table), now(table))
    extra.unlink()
    remember(ref(table), now(table))
    assert [k.id == first.version.id for k in remembered(ref(table))] == [True, False, True]


def test_a_kept_version_is_read_without_looking_into_the_folder(tmp_path: Path) -> None:
    put(tmp_path / "t" / "p=1" / "0.csv", b"a,b\n1,2\n")
    first = now(tmp_path / "t")
    remember(ref(tmp_path / "t"), first)
    (tmp_path / "t").rename(tmp_path / "gone")
    again = FORMAT.snapshot(ref(tmp_path / "t"), At(version=first.version.id))
    assert (again.schema, again.files.table) == (first.schema, first.files.table)


def test_a_kept_version_under_other_options_has_their_columns(tmp_path: Path) -> None:
    put(tmp_path / "t" / "0.csv", b"1,2\n3,4\n")
    first = now(tmp_path / "t", header=True)
    remember(ref(tmp_path / "t"), first)
    assert first.schema.names == ["1", "2"]
    other = FORMAT.snapshot(ref(tmp_path / "t", header=False), At(version=first.version.id))
    assert other.schema == now(tmp_path / "t", header=False).schema
    assert other.schema.names == ["_c0", "_c1"]


def test_versions_of_several_roots_are_kept_apart_from_their_folders(tmp_path: Path) -> None:
    for name in ("a/p=1/0.csv", "b/0.csv"):
        put(tmp_path / "t" / name, b"n\n1\n")
    one, several = ref(tmp_path / "t" / "a"), open_ref(f"{tmp_path}/t/[a]")[1]
    assert several.patterns == ("[a]",)
    snapshot = FORMAT.snapshot(several, At())
    assert snapshot.partition_columns == ("p",)
    remember(several, snapshot)
    assert remembered(one) == remembered(ref(tmp_path / "t")) == []
    again = FORMAT.snapshot(several, At(version=snapshot.version.id))
    assert (again.schema, again.files.table, again.partition_columns) == (snapshot.schema, snapshot.files.table, ("p",))
    assert again.details.read_options() == snapshot.details.read_options()


def test_a_damaged_listing_is_an_error_that_names_it(tmp_path: Path) -> None:
    put(tmp_path / "t" / "0.parquet", ONE)
    first = now(tmp_path / "t")
    remember(ref(tmp_path / "t"), first)
    put(tmp_path / "t" / "1.parquet", ONE)
    kept = Path(remembered(ref(tmp_path / "t"))[0].path)
    kept.write_bytes(kept.read_bytes()[:-100])
    with pytest.raises(CorruptTableError, match="listing"):
        FORMAT.snapshot(ref(tmp_path / "t"), At(version=first.version.id))


@pytest.mark.parametrize(
    "moment", ["\u00b2", "9" * 200, "-1", "1.5"], ids=["no_digit_of_ours", "digits", "signed", "fraction"]
)
def test_a_listing_whose_name_says_no_time_is_none(tmp_path: Path, moment: str) -> None:
    put(tmp_path / "a.parquet", ONE)
    remember(ref(tmp_path), now(tmp_path))
    (kept,) = remembered(ref(tmp_path))
    path = Path(ref(tmp_path).storage.root).parent / "_metaindex" / tmp_path.name / "_history" / Path(kept.path).name
    path.with_name(f"{moment}-{kept.id}.listing").write_bytes(path.read_bytes())
    assert remembered(ref(tmp_path)) == [kept]


@pytest.mark.parametrize(
    "bases", [b"7", b"9" * 5000, b"[" * 100_000, b"null"], ids=["number", "digits", "deep", "null"]
)
def test_a_listing_of_other_folders_than_texts_is_damaged(tmp_path: Path, bases: bytes) -> None:
    put(tmp_path / "a.parquet", ONE)
    remember(ref(tmp_path), now(tmp_path))
    (kept,) = remembered(ref(tmp_path))
    path = Path(ref(tmp_path).storage.root).parent / "_metaindex" / tmp_path.name / "_history" / Path(kept.path).name
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"metaindex.bases": bases}), path)
    with pytest.raises(CorruptTableError, match="is damaged"):
        recall(ref(tmp_path), kept)
