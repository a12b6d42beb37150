"""Time travel: in-commit timestamps, and file times made strictly increasing."""

import os
from pathlib import Path
from typing import Any

import pytest

from metaindex.core import CorruptTableError, VersionNotFoundError
from metaindex.formats.format import At
from tests.formats.delta.hand import DELTA, add, checkpoint, commit, metadata, protocol, ref, snapshot


def at(table: Path, ms: int) -> str:
    return DELTA.resolve(ref(table), At(timestamp_ms=ms)).id


def touch(path: Path, ms: int) -> None:
    os.utime(path, ns=(ms * 1_000_000, ms * 1_000_000))


def test_file_times(tmp_path: Path) -> None:
    for version, ms in enumerate([1000, 2000, 3000]):
        touch(commit(tmp_path, version, *([protocol(), metadata()] if version == 0 else []), add(f"f{version}")), ms)
    assert [at(tmp_path, ms) for ms in (1000, 1999, 2000, 3000, 10**13)] == ["0", "0", "1", "2", "2"]
    assert snapshot(tmp_path, 1).timestamp_ms == 2000
    with pytest.raises(VersionNotFoundError, match="999"):
        at(tmp_path, 999)


def test_file_times_that_stand_still_or_go_back_are_made_to_increase(tmp_path: Path) -> None:
    for version, ms in enumerate([1000, 1000, 400, 5000]):
        touch(commit(tmp_path, version, *([protocol(), metadata()] if version == 0 else [])), ms)
    assert [at(tmp_path, ms) for ms in (1000, 1001, 1002, 4999, 5000)] == ["0", "1", "2", "2", "3"]
    for version in range(4):
        assert at(tmp_path, snapshot(tmp_path, version).timestamp_ms) == str(version)


def stamped(ms: int) -> dict[str, Any]:
    return {"commitInfo": {"inCommitTimestamp": ms, "timestamp": 1}}


def test_in_commit_timestamps_win_over_file_times(tmp_path: Path) -> None:
    on = {"delta.enableInCommitTimestamps": "true"}
    commit(tmp_path, 0, stamped(10), protocol(), metadata(configuration=on))
    for version in range(1, 9):
        commit(tmp_path, version, stamped(10 + 10 * version), add(f"f{version}"))
    assert [at(tmp_path, ms) for ms in (10, 19, 20, 55, 90, 10**13)] == ["0", "0", "1", "4", "8", "8"]
    assert snapshot(tmp_path, 4).timestamp_ms == 50
    with pytest.raises(VersionNotFoundError):
        at(tmp_path, 9)


def test_in_commit_timestamps_that_were_switched_on_later(tmp_path: Path) -> None:
    on = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": "5000",
    }
    touch(commit(tmp_path, 0, protocol(), metadata()), 1000)
    touch(commit(tmp_path, 1, add("a")), 2000)
    commit(tmp_path, 2, stamped(5000), metadata(configuration=on))
    commit(tmp_path, 3, stamped(6000), add("b"))
    assert [at(tmp_path, ms) for ms in (1000, 2500, 4999, 5000, 6000)] == ["0", "1", "1", "2", "3"]


def test_a_timestamp_from_a_version_under_a_checkpoint(tmp_path: Path) -> None:
    on = metadata(configuration={"delta.enableInCommitTimestamps": "true"})
    commit(tmp_path, 0, stamped(77), protocol(), on)
    checkpoint(tmp_path, 0, protocol(), on)
    assert snapshot(tmp_path).timestamp_ms == 77


def test_a_missing_in_commit_timestamp_is_an_error(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(configuration={"delta.enableInCommitTimestamps": "true"}))
    with pytest.raises(CorruptTableError, match="in-commit"):
        at(tmp_path, 5)


def test_a_version_and_a_time_together_are_refused(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata())
    with pytest.raises(ValueError, match="not for both"):
        DELTA.resolve(ref(tmp_path), At(version=0, timestamp_ms=1))
