"""An index that is refreshed again and again stays small: few runs, a short log, and clean still knows what went out of
use when."""

from pathlib import Path

import pytest

from metaindex.index.actions import clean
from metaindex.index.actions import optimize as upkeep
from metaindex.index.log.operation_log import OperationLog

from .faults import SECOND, FaultStorage, opened
from .scenes import VERBS, check_log, latest, runs_on, tended
from .scenes import no_waiting as no_waiting


@pytest.mark.slow
def test_many_refreshes_leave_few_runs_and_a_short_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "KEPT_ENTRIES", 16)
    lake = tended(tmp_path)
    storage = lake.storage
    for number in range(1, 22):
        lake.grow(number)
        assert len(latest(storage).content.runs) <= 4
    log = OperationLog(storage)
    assert len(log.numbers()) <= 24
    assert log.listing().lowest > 20
    check_log(storage)
    table = lake.open()
    assert [table.prune(f"id = {n * 10}").kept_files for n in (0, 7, 21)] == [1, 1, 1]
    versions = table.indexes()[0].versions
    assert len(versions) == 22
    assert table.prune("id = 35", version=versions[3]).total_files == 4
    held = runs_on(storage)
    clean.clean(log, "stats")
    assert runs_on(storage) == held
    storage.now_ns += 8 * 86400 * SECOND
    clean.clean(log, "stats")
    entry = latest(storage)
    assert runs_on(storage) == {run.run for run in entry.content.runs}
    assert lake.open().prune("id = 35", version=versions[3]).total_files == 4


@pytest.mark.usefixtures("no_waiting")
def test_a_merge_that_fails_is_left_to_the_next_refresh(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lake = tended(tmp_path)
    lake.grow(1, 2)
    lake.append(3)
    counting = FaultStorage(lake.storage.copy())
    VERBS["refresh"](opened(lake.path, counting))
    commits = [i for i, (name, _) in enumerate(counting.calls) if name == "put_if_absent"]
    VERBS["refresh"](opened(lake.path, FaultStorage(lake.storage, commits[2] + 1, "read-only")))
    assert "left to the next refresh" in caplog.text
    assert lake.open().indexes()[0].fresh
    assert lake.open().prune("id = 35").kept_files == 1
    lake.do("cancel")
    lake.grow(4)
    assert lake.open().indexes()[0].runs == 1


def test_what_is_no_part_of_a_live_run_is_cleaned(tmp_path: Path) -> None:
    lake = tended(tmp_path)
    storage = lake.storage
    (run,) = runs_on(storage)
    objects = set(storage.objects)
    storage.put(f"files/run={run}/part-00007.mix", b"left behind")
    clean.clean(OperationLog(storage), "stats")
    assert set(storage.objects) == objects
    assert lake.open().prune("id = 5").kept_files == 1
