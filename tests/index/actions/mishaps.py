"""What happens to an index besides death, on a real disk or store: clocks that are wrong by hours, and readers that
hold on to what is cleaned away."""

from contextlib import ExitStack
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.index.actions.clean import clean
from metaindex.index.actions.removal import on_storage
from metaindex.table import handle_of
from tests.figures import count

from .hammer import append, opened
from .wrong_clock import clock

WRONG_HOURS = ((5.0, -5.0), (-30.0, 30.0))


def a_life_under_wrong_clocks(folder: Path, location: str, ahead: float, behind: float) -> None:
    """Two writers whose clocks are apart by hours, a process whose clock is right, and this one, whose clock is too."""
    count("lives under wrong clocks")
    root = folder / "lake"
    root.mkdir()
    with ExitStack() as stack:
        early, right, late = (stack.enter_context(clock(hours, root, location)) for hours in (ahead, 0.0, behind))
        for number in (1, 2):
            append(root, number)
        early.says("create")
        append(root, 3)
        late.says("refresh", "optimize full")
        log = handle_of(opened(str(root), location)).indexes().log("stats")
        append(root, 4)
        append(root, 5)
        # To a clock that is behind, all files are from the future, and not to be indexed yet.
        with clock(max(ahead, behind), root, location) as dead:
            assert dead.says("stall") == ["stalled"]
            dead.process.kill()
        # Who looks with another clock suspects wrongly, or trusts wrongly, and nothing follows from that.
        for each in (early, right, late):
            assert each.says("look") == ["REFRESHING"]
        late.says("refresh")
        for each in (early, right, late):
            assert each.says("find 45") == ["[45]"]
        held = set(on_storage(log.storage).runs)
        for each in (early, late):
            each.says("clean within the retention")
        assert set(on_storage(log.storage).runs) == held
        late.says("cancel")
        early.says("refresh full", "delete", "restore", "clean within the retention")
        for each in (early, right, late):
            assert each.says("find 15", "find 55") == ["[15]", "[55]"]
    table = opened(str(root), location)
    entries = [log.entry(number) for number in log.numbers()]
    assert [e.id for e in entries] == list(range(1, len(entries) + 1))
    assert [e.timestamp_ms for e in entries] == sorted(e.timestamp_ms for e in entries)
    told = table.history("stats")
    assert all(one.lag_ms is None or one.lag_ms >= 0 for one in told.entries)
    assert all(one.duration_ms is None or one.duration_ms >= 0 for one in told.entries)
    table.refresh_index("stats", mode="full", builder="local")
    table.clean_index("stats", retention=0)
    table = table.reopened()
    assert table.verify_index("stats", files=None).sound
    assert table.prune("id = 45").kept_files == 1


def a_reader_holds_what_is_cleaned_away(folder: Path, location: str) -> None:
    """Files of the entry that it took are gone: it reads what it must, and says so where it is asked for nothing
    else."""
    root = folder / "lake"
    root.mkdir()
    for number in range(1, 6):
        append(root, number)
        table = opened(str(root), location)
        if number == 1:
            table.create_index("stats", mi.ColumnStats(), builder="local")
        else:
            table.refresh_index("stats", builder="local")
    version = table.indexes()[0].versions[1]
    reader = opened(str(root), location)
    scan, result = reader.scan("id >= 25 AND id < 45"), reader.prune("id = 25")
    held = handle_of(reader).open_index("stats")
    other = opened(str(root), location)
    other.refresh_index("stats", mode="full", builder="local")
    other.optimize_index("stats", mode="full")
    log = handle_of(other).indexes().log("stats")
    clean(log, "stats", -3600, 1)  # an hour into the future, for stores that count in seconds
    count("readers that held a cleaned entry")
    assert sorted(scan.to_arrow().column("id").to_pylist()) == list(range(25, 45))
    assert reader.scan("id = 15", version=version).to_arrow().column("id").to_pylist() == [15]
    assert {path.rpartition("/")[2] for path in result.paths} == {"f000002.parquet"}
    assert reader.prune("id = 25").kept_files == 1
    with pytest.raises(mi.DamagedIndexError):  # what is gone is said, and never guessed
        _ = [len(held.identities(run)[0]) for run in held.entry.content.runs]
