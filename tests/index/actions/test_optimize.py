"""Every version of a table of any format gets the same answer before and after an optimize, wherever its record lies:
in the entry, in a segment, in an object of bitmaps."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

import metaindex as mi
from metaindex.core import ConcurrentWriteError
from metaindex.formats import Schema, Version
from metaindex.index.actions import index_actions, records
from metaindex.index.actions.action import Outcome, execute
from metaindex.index.actions.change import Change, Renumbering
from metaindex.index.actions.clean import clean
from metaindex.index.actions.optimize import Optimize
from metaindex.index.log import history
from metaindex.index.log.entry import Content, IndexLogEntry, ObjectRef, RunRef, VersionRecord
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.record_codec import BITS
from metaindex.index.log.versions import Versions, from_text, to_text
from metaindex.table import Table, handle_of
from tests.tables import FORMATS, Lake

from .faults import MemoryStorage
from .scenes import check_log, latest, rows, tended


def answers(table: Table, versions: tuple[str, ...], count: int) -> list[object]:
    asked = [f"id = {n * 10 + 3}" for n in range(count)]
    return [
        (sorted(found.paths), found.total_files, found.total_bytes)
        for version in versions
        for predicate in asked
        for found in [table.prune(predicate, version=version)]
    ]


def refreshed(lake: Lake, count: int) -> Table:
    lake.append(rows(0))
    lake.open().create_index("stats", mi.ColumnStats(), builder="local")
    for number in range(1, count):
        lake.append(rows(number))
        if lake.remove is not None and number % 3 == 2:
            lake.remove(number - 2)
        lake.open().refresh_index("stats", builder="local")
    return lake.open()


@pytest.fixture
def no_upkeep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_actions, "upkeep", lambda *_: ())


@pytest.mark.exhaustive(but="delta-full")
@pytest.mark.usefixtures("no_upkeep")
@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("delta", "quick"),
        *(pytest.param(name, "full", marks=pytest.mark.slow) for name in FORMATS),
    ],
)
def test_every_version_of_every_format_is_answered_as_before(name: str, mode: str, tmp_path: Path) -> None:
    table = refreshed(FORMATS[name](tmp_path), 5)
    versions = table.indexes()[0].versions
    assert table.indexes()[0].runs == 5
    before = answers(table, versions, 5)
    fresh = table.indexes()[0].fresh
    outcome = table.optimize_index("stats", mode=mode)  # type: ignore[arg-type]
    assert "5 runs merged into 1" in str(outcome)
    again = mi.open_table(table.path, **handle_of(table).ref.options)
    assert answers(again, versions, 5) == before
    info = again.indexes()[0]
    assert (info.runs, info.fresh, info.versions) == (1, fresh, versions)
    assert not again.optimize_index("stats", mode="full").changed


@pytest.mark.usefixtures("no_upkeep")
@pytest.mark.slow
def test_bitmaps_that_grow_too_large_for_the_entry_leave_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's files are neighbours; in the run that it is merged into they are scattered, and so are the bits that say
    which were there."""
    table = refreshed(FORMATS["delta"](tmp_path), 5)
    versions = table.indexes()[0].versions
    before = answers(table, versions, 5)
    monkeypatch.setattr(records, "MAX_BITS", 10)
    entry = table.optimize_index("stats", mode="full").entry
    assert not any(records.is_large(record) for record in entry.content.versions)
    assert any(record.bits is not None for record in entry.content.versions)
    assert answers(mi.open_table(table.path), versions, 5) == before


def _no_object(ref: ObjectRef) -> bytes:
    raise AssertionError(f"the records are inside the entry; {ref.path} was read")


@given(st.integers(1, 9), st.sets(st.integers(0, 8)), st.integers(0, 8))
def test_a_root_names_the_files_that_are_live_or_those_that_are_not(count: int, dead: set[int], others: int) -> None:
    run = RunRef("new", count + others, 1, 0, 0, "", "", (), 0, "")
    ordinals = np.arange(count, dtype=np.int32)[::-1] * (2 if others >= count else 1)
    removed = BitMap(row for row in dead if row < count)
    bits: dict[str, dict[str, str]] = {name: {} for name in BITS} | {"removed": {"old": to_text(removed)}}
    added, moved = Renumbering(run, {"old": ordinals}).bits(("old",), bits, is_root=True)
    record = VersionRecord(Version("", "1", ""), 0, 0, None, added, files=0, size_bytes=0, **moved)
    content = Content((run,), (record,), (Schema(()),))
    found = Versions(content, _no_object).resolve(record.version)
    live = found.live.mask(run)
    assert sorted(np.flatnonzero(live)) == sorted(ordinals[row] for row in range(count) if row not in removed)
    assert sum(len(from_text(text)) for texts in moved.values() for text in texts.values()) <= run.files / 2


@pytest.mark.slow
@pytest.mark.usefixtures("no_upkeep")
@pytest.mark.parametrize("bits", [0, 4096])
def test_records_in_segments_and_objects_are_renumbered_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    monkeypatch.setattr(history, "MAX_INLINE", 6)
    monkeypatch.setattr(history, "KEPT_INLINE", 3)
    monkeypatch.setattr(records, "MAX_BITS", bits)
    count = 16
    lake = tended(tmp_path)
    for number in range(1, count):
        lake.append(number)
        if number % 3 == 2:
            lake.lake.remove(number - 2)
        lake.do("refresh")
    entry = latest(lake.storage)
    assert len(entry.content.segments) > 1
    assert any(record.bits is not None for record in entry.content.versions) == (bits == 0)
    versions = lake.open().indexes()[0].versions
    assert len(versions) == count
    before = answers(lake.open(), versions, count)
    lake.do("optimize")
    assert answers(lake.open(), versions, count) == before
    clean(OperationLog(lake.storage), "stats", 0, 1)
    assert answers(lake.open(), versions, count) == before
    lake.grow(*range(count, count + 8))
    lake.do("optimize full")
    clean(OperationLog(lake.storage), "stats", 0, 1)
    after = lake.open()
    assert answers(after, versions, count) == before
    assert len(after.indexes()[0].versions) == count + 8
    entry = latest(lake.storage)
    assert len(entry.content.runs) == 1
    index = handle_of(after).open_index("stats")
    assert all(index.versions.resolve(record.version) is not None for record, _ in index.versions.all())
    check_log(lake.storage)


@pytest.mark.usefixtures("no_upkeep")
def test_files_that_are_only_named_stay_apart_and_are_indexed_later(tmp_path: Path) -> None:
    lake = tended(tmp_path)
    lake.grow(1)
    lake.grow(2, 3, verb="refresh quick")
    versions = lake.open().indexes()[0].versions
    before = answers(lake.open(), versions, 4)
    lake.do("optimize full")
    entry = latest(lake.storage)
    assert sorted(run.listed_only for run in entry.content.runs) == [False, True]
    assert answers(lake.open(), versions, 4) == before
    for verb in ("refresh", "optimize full"):
        lake.do(verb)
        table = lake.open()
        assert [table.prune(f"id = {n * 10}").kept_files for n in range(4)] == [1, 1, 1, 1]


class Chosen(Optimize):
    """Merges the runs at some places of the content; `meanwhile` is another writer's turn while it runs."""

    places: tuple[int, ...] = ()
    meanwhile: list[Callable[[], object]]

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        runs = tuple(base.content.runs[place] for place in self.places)
        super().first_entry(replace(base, content=replace(base.content, runs=runs)))
        return base.following()

    def run(self, begun: IndexLogEntry) -> Change:
        while self.meanwhile:
            self.meanwhile.pop()()
        return super().run(begun)


def chosen(storage: MemoryStorage, places: tuple[int, ...], *meanwhile: Callable[[], object]) -> Outcome:
    action = Chosen("stats", storage, "full")
    action.places, action.meanwhile = places, list(meanwhile)
    return execute(OperationLog(storage), action)


@pytest.mark.usefixtures("no_upkeep")
@pytest.mark.slow
def test_optimizes_of_different_runs_both_succeed_and_of_the_same_one_is_lost(tmp_path: Path) -> None:
    lake = tended(tmp_path)
    lake.grow(*range(1, 6))
    storage = lake.storage
    versions = lake.open().indexes()[0].versions
    before = answers(lake.open(), versions, 6)
    assert chosen(storage, (0, 1), lambda: chosen(storage, (3, 4, 5))).changed
    assert len(latest(storage).content.runs) == 3
    assert answers(lake.open(), versions, 6) == before
    with pytest.raises(ConcurrentWriteError, match="another writer took some of them"):
        chosen(storage, (0, 1), lambda: chosen(storage, (1, 2)))
    assert len(latest(storage).content.runs) == 2
    assert answers(lake.open(), versions, 6) == before
    check_log(storage)
