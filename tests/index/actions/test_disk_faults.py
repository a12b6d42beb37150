"""Verbs on disks that fill up, become read-only or are taken away half way: readers see what was stable, and the verb
can be run again."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import MetaIndexError
from metaindex.table import handle_of
from tests.disks import files_up_to, read_only, small_disk, someone_elses_folder
from tests.figures import count
from tests.index.actions.scenes import Disturbed
from tests.tables import settled

pytestmark = pytest.mark.slow

NAMES = [f"column_{i}" for i in range(12)]


def rows(first: int) -> pa.Table:
    return pa.table({name: [f"{name} {first + i:06}" for i in range(10)] for name in NAMES})


def append(folder: Path, number: int) -> None:
    settled(folder, {f"f{number:03}.parquet": rows(10 * number)})


def opened(folder: Path, location: Path) -> mi.Table:
    return mi.open_table(str(folder), config=mi.Config(builder="local", index_location=str(location)))


def check(folder: Path, location: Path, files: int) -> None:
    """Every query gives its rows, with an index or without."""
    table = opened(folder, location)
    for number in range(files):
        wanted = f"column_3 {10 * number + 5:06}"
        found = table.scan(f"column_3 = '{wanted}'", columns=["column_3"]).to_arrow()
        assert found.column(0).to_pylist() == [wanted]


def objects(location: Path) -> list[str]:
    return sorted(
        os.path.relpath(os.path.join(base, name), location) for base, _, names in os.walk(location) for name in names
    )


def finish(folder: Path, location: Path, verb: str) -> None:
    """The verb again, after what stood in its way is gone; a dead operation is cancelled first."""
    table = opened(folder, location)
    if any(info.state.endswith("ING") for info in table.indexes()):
        table.cancel_index("main")
    _do(table, verb)
    check(folder, location, 4)
    assert len(opened(folder, location).prune("column_7 = 'column_7 000015'").files) == 1


def _do(table: mi.Table, verb: str) -> None:
    if verb == "create":
        table.create_index("main", mi.ColumnStats())
    else:
        table.refresh_index("main")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    for number in range(3):
        append(folder, number)
    return folder


@pytest.mark.parametrize("verb", ["create", "refresh"])
def test_a_limit_met_at_any_write_leaves_what_was_stable(lake: Path, tmp_path: Path, verb: str) -> None:
    location = tmp_path / "indexes"
    if verb == "refresh":
        opened(lake, location).create_index("main", mi.ColumnStats())
    append(lake, 3)
    failures = 0
    for limit in (0, 300, 700, 1000, 1500, 2500, 4000, 6000, 1 << 20):
        try:
            with files_up_to(limit):
                _do(opened(lake, location), verb)
        except MetaIndexError:
            failures += 1
            count("failing disks")
            check(lake, location, 4)
            assert not [path for path in objects(tmp_path) if "._put_" in path]
            if any(info.state.endswith("ING") for info in opened(lake, location).indexes()):
                opened(lake, location).cancel_index("main")
        else:
            break
    assert failures > 2
    check(lake, location, 4)
    assert len(opened(lake, location).prune("column_7 = 'column_7 000035'").files) == 1


@pytest.mark.parametrize("verb", ["create", "refresh"])
def test_a_disk_that_fills_up_leaves_what_was_stable(lake: Path, verb: str) -> None:
    with small_disk(128) as location:
        if verb == "refresh":
            opened(lake, location).create_index("main", mi.ColumnStats())
        append(lake, 3)
        filler = location / "filler"
        free = shutil.disk_usage(location).free
        filler.write_bytes(b"x" * (free - 12_288))
        failing = opened(lake, location)
        with pytest.raises(MetaIndexError, match="the disk is full"):
            _do(failing, verb)
        count("failing disks")
        check(lake, location, 4)
        filler.unlink()
        finish(lake, location, verb)


@pytest.mark.parametrize("verb", ["create", "refresh"])
def test_a_read_only_place_is_read_and_not_written(lake: Path, verb: str) -> None:
    with small_disk(1024) as location:
        if verb == "refresh":
            opened(lake, location).create_index("main", mi.ColumnStats())
        append(lake, 3)
        with read_only(location):
            failing = opened(lake, location)
            with pytest.raises(MetaIndexError, match="mounted read-only"):
                _do(failing, verb)
            count("failing disks")
            check(lake, location, 4)
            if verb == "refresh":  # the file that came since is in doubt
                assert len(opened(lake, location).prune("column_7 = 'column_7 000015'").files) in (1, 2)
        finish(lake, location, verb)


@pytest.mark.parametrize(
    ("verb", "taken"),
    [
        ("create", "_log"),
        ("create", "main"),
        ("refresh", "_log"),
        ("refresh", "_manifests"),
        ("refresh", "column_stats"),
    ],
)
def test_permission_that_is_lost_half_way_leaves_what_was_stable(verb: str, taken: str) -> None:
    with someone_elses_folder() as folder:
        lake, location = folder / "lake", folder / "indexes"
        for number in range(3):
            append(lake, number)
        if verb == "refresh":
            opened(lake, location).create_index("main", mi.ColumnStats())
        append(lake, 3)
        table = opened(lake, location)
        closed: list[str] = []

        def lose() -> None:
            """Called when files are read: the verb has begun and must still write."""
            closed.extend(os.path.join(base, taken) for base, folders, _ in os.walk(location) if taken in folders)
            os.chmod(closed[0], 0o500)

        _lose_while_building(table, lose)
        with pytest.raises(MetaIndexError, match="permission denied"):
            _do(table, verb)
        count("failing disks")
        check(lake, location, 4)
        os.chmod(closed[0], 0o700)
        finish(lake, location, verb)


def _lose_while_building(table: mi.Table, lose: Callable[..., None]) -> None:
    handle_of(table).indexes().builders.builder = lambda chosen, kinds: Disturbed(first=lose)  # type: ignore[method-assign]
