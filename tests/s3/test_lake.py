"""A bucket as a lake: the same rows as of the same files on a disk, and one that is not there."""

import shutil
from pathlib import Path

import pytest

import metaindex as mi
from tests.tables import delta_lake, indexed, parquet_lake, rows


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name, make in (("a", delta_lake), ("b", parquet_lake), ("c/d", delta_lake)):
        (tmp_path / "lake" / name).mkdir(parents=True)
        table = make(tmp_path / "lake" / name)
        if name == "a":
            indexed(table)
        table.append(rows(100))
    (tmp_path / "lake" / "notes").mkdir()
    (tmp_path / "lake" / "notes" / "a.txt").touch()
    return tmp_path / "lake"


def test_a_bucket_has_the_rows_of_the_same_files_on_a_disk(lake: Path, bucket: str, bucket_folder: Path) -> None:
    shutil.copytree(lake, bucket_folder, dirs_exist_ok=True)
    for place in (f"s3://{bucket}", f"s3://{bucket}/c"):
        told = mi.open_lake(place)
        here = mi.open_lake(lake if place.endswith(bucket) else lake / "c")
        assert [table.name for table in told] == [table.name for table in here]
        for row, same in zip(told, here, strict=True):
            assert (row.format, row.files, row.size_bytes, row.behind_commits, row.behind_files, row.problem) == (
                same.format,
                same.files,
                same.size_bytes,
                same.behind_commits,
                same.behind_files,
                "",
            )
            assert [index.info.name for index in row.indexes] == [index.info.name for index in same.indexes]
    assert len(mi.open_lake(f"s3://{bucket}/nothing")) == 0


def test_a_bucket_that_is_not_there_is_an_error(bucket: str) -> None:
    options = {"max_retries": "0", "retry_timeout": "1"}
    with pytest.raises(mi.StorageError):
        mi.open_lake("s3://no-such-bucket-here", storage_options=options)
