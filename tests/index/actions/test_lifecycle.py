"""Verbs, refusals, failures and races: the stable content is what it was, or what was committed; nothing in between."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.core import Progress, UnknownColumnError
from metaindex.index.actions import action as actions
from metaindex.index.actions.action import Outcome
from metaindex.index.build.local import LocalBuilder
from metaindex.index.build.protocol import BuildReport, BuildRequest
from metaindex.index.log.entry import IndexLogEntry, TableInfo, UnderWay
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import COMPATIBLE, NEEDS, Operation, State
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage
from metaindex.table import Table
from tests.index.actions.scenes import VERBS, Disturbed, rows
from tests.tables import parquet_lake


@pytest.fixture
def table(tmp_path: Path) -> Table:
    lake = parquet_lake(tmp_path)
    for number in range(3):
        lake.append(rows(number))
    return lake.open()


def objects(table: Table) -> list[str]:
    folder = Path(table.path).parent / "_metaindex" / "lake"
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and "_log" not in str(p))


def test_the_life_of_an_index(table: Table) -> None:
    assert table.create_index("stats", mi.ColumnStats(), builder="local").entry.state is State.ACTIVE
    assert table.drop_index("stats").entry.state is State.DELETED
    assert not table.prune("id = 5").indexes[0].used
    assert table.restore_index("stats").entry.state is State.ACTIVE
    assert table.prune("id = 5").kept_files == 1
    table.drop_index("stats")
    vacuumed = table.vacuum_index("stats")
    assert vacuumed.entry.state is State.DOESNOTEXIST
    assert "done, the index is gone (entry" in str(vacuumed)
    assert table.indexes() == []
    assert [o for o in objects(table) if o.startswith("stats")] == []
    assert table.create_index("stats", mi.ColumnStats(), builder="local").entry.state is State.ACTIVE


@pytest.mark.parametrize(
    ("verb", "error", "says"),
    [
        (VERBS["create"], mi.IndexExistsError, "refresh it, choose another name"),
        (lambda t: t.restore_index("stats"), mi.IndexStateError, "needs state DELETED"),
        (lambda t: t.vacuum_index("stats"), mi.IndexStateError, "drop it first"),
        (lambda t: t.cancel_index("stats"), mi.IndexStateError, "nothing to cancel"),
        (lambda t: t.drop_index("nope"), mi.IndexNotFoundError, "none named 'nope'"),
        (lambda t: t.refresh_index("nope"), mi.IndexNotFoundError, "there are: stats"),
        (lambda t: t.refresh_index("stats", mode="partial"), ValueError, "full or identity"),
        (lambda t: t.create_index("../x", mi.ColumnStats()), ValueError, "index name"),
        (lambda t: t.create_index("x"), ValueError, "at least one kind"),
        (lambda t: t.create_index("x", mi.ColumnStats("idd"), builder="local"), UnknownColumnError, "near names: id"),
        (lambda t: t.prune("id = 1", indexes=["nope"]), mi.IndexNotFoundError, "there are: stats"),
    ],
)
def test_what_is_not_possible_is_refused_with_the_cure(
    table: Table, verb: Callable[[Table], object], error: type[Exception], says: str
) -> None:
    table.create_index("stats", mi.ColumnStats(), builder="local")
    before = objects(table)
    with pytest.raises(error, match=says):
        verb(table)
    assert objects(table) == before
    assert table.prune("id = 5").kept_files == 1


class Failing(LocalBuilder):
    """Writes everything, then breaks."""

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        super().facts(request, sink, progress)
        raise mi.BuildError("broken on purpose")


def test_names_that_differ_in_capital_letters_alone_are_one_too_many(table: Table) -> None:
    table.create_index("stats", mi.ColumnStats(), builder="local")
    with pytest.raises(mi.IndexExistsError, match="'Stats' is asked and 'stats' is there"):
        table.create_index("Stats", mi.ColumnStats(), builder="local")
    with pytest.raises(mi.IndexExistsError, match="'stats' has column_stats"):
        table.create_index("Stats", mi.Values("id"), builder="local", if_not_exists=True)
    found = table.create_index("Stats", mi.ColumnStats(), builder="local", if_not_exists=True)
    assert not found.changed
    assert [index.name for index in table.indexes(all=True)] == ["stats"]


def test_names_that_were_told_apart_before_are_as_they_were(table: Table) -> None:
    table.create_index("stats", mi.ColumnStats(), builder="local")
    kept = Path(table.indexes("stats")[0].location)
    shutil.copytree(kept, kept.parent / "STATS")
    table = mi.open_table(table.path)
    assert [index.name for index in table.indexes()] == ["STATS", "stats"]
    assert table.refresh_index("stats", "full", builder="local").changed
    table.drop_index("stats")
    table.vacuum_index("stats")
    assert table.create_index("stats", mi.ColumnStats(), builder="local").changed


def test_what_is_done_already_is_said_to_be(table: Table) -> None:
    table.create_index("stats", mi.ColumnStats(), builder="local")
    with pytest.raises(mi.IndexStateError, match=r"is ACTIVE already .* there is nothing to restore"):
        table.restore_index("stats")
    table.drop_index("stats")
    with pytest.raises(mi.IndexStateError, match=r"DELETED already .*; no query uses it; vacuum it .* or restore it"):
        table.drop_index("stats")


@pytest.mark.parametrize("verb", ["refresh", "optimize", "erase", "repair", "enable", "disable"])
def test_a_refusal_names_the_verb_that_was_asked(table: Table, verb: str) -> None:
    table.create_index("stats", mi.ColumnStats(), builder="local")
    table.drop_index("stats")
    with pytest.raises(mi.IndexStateError, match=rf"^{verb} needs state ACTIVE; .* restore it first"):
        getattr(table, f"{verb}_index")("stats")


def test_a_build_that_fails_leaves_nothing(table: Table) -> None:
    with pytest.raises(mi.BuildError, match="on purpose"):
        table.create_index("stats", mi.ColumnStats(), builder=Failing())
    assert table.indexes() == []
    assert [o for o in objects(table) if o.startswith("stats")] == []
    assert table.create_index("stats", mi.ColumnStats(), builder="local").changed


def test_a_refresh_that_fails_leaves_the_index_as_it_was(table: Table, tmp_path: Path) -> None:
    table.create_index("stats", mi.ColumnStats(), builder="local")
    before = objects(table)
    with pytest.raises(mi.BuildError, match="on purpose"):
        table.refresh_index("stats", mode="full", builder=Failing())
    assert [o for o in objects(table) if o.startswith("stats")] == [o for o in before if o.startswith("stats")]
    assert table.indexes()[0].state == "ACTIVE"
    assert table.prune("id = 5").kept_files == 1


def log_with(tmp_path: Path, stable: State, under_way: tuple[Operation, ...] = ()) -> OperationLog:
    log = OperationLog(LocalStorage(str(tmp_path)))
    marks = tuple(UnderWay(operation, 1, f"n{i}", "someone:1", 0) for i, operation in enumerate(under_way))
    log.append(IndexLogEntry(1, "stats", "u", "n", stable, TableInfo("/t", "delta"), (), under_way=marks))
    return log


@pytest.mark.parametrize("other", Operation)
@pytest.mark.parametrize("operation", [o for o in Operation if o is not Operation.CANCEL])
def test_compatibility_matrix_decides_who_may_begin(operation: Operation, other: Operation, tmp_path: Path) -> None:
    needs = NEEDS[operation]
    assert needs is not None
    base = log_with(tmp_path, needs, (other,)).latest()
    if operation in COMPATIBLE[other]:
        actions.validate(operation, base, "stats")
    else:
        with pytest.raises(mi.IndexStateError, match="someone:1"):
            actions.validate(operation, base, "stats")


def test_a_refresh_never_brings_back_a_deleted_index(table: Table) -> None:
    table.create_index("stats", mi.ColumnStats(), builder="local")
    deleting = Disturbed(first=lambda: mi.open_table(table.path).drop_index("stats"))
    table.refresh_index("stats", mode="full", builder=deleting)
    assert table.indexes()[0].state == "DELETED"
    assert table.restore_index("stats").entry.state is State.ACTIVE
    assert table.prune("id = 5").kept_files == 1


def test_two_creates_at_once_have_one_winner(table: Table) -> None:
    def create(builder: str | LocalBuilder) -> Outcome:
        return mi.open_table(table.path).create_index("stats", mi.ColumnStats(), builder=builder)

    with pytest.raises(mi.ConcurrentWriteError, match="left index 'stats' ACTIVE"):
        create(Disturbed(first=lambda: create("local")))
    assert table.prune("id = 5").kept_files == 1
    assert len([o for o in objects(table) if o.startswith("stats/_manifests")]) == 1


@pytest.mark.slow
def test_a_killed_writer_leaves_the_stable_content_and_cancel_ends_it(table: Table) -> None:
    table.create_index("stats", mi.ColumnStats(), builder="local")
    code = f"""
import os, metaindex as mi
from metaindex.index.build.local import LocalBuilder
class Dying(LocalBuilder):
    def facts(self, request, sink, progress=None):
        super().facts(request, sink, progress)
        os.kill(os.getpid(), 9)
mi.open_table({table.path!r}).refresh_index("stats", mode="full", builder=Dying())
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert table.indexes()[0].state == "REFRESHING"
    assert table.prune("id = 5").kept_files == 1
    table.cancel_index("stats")
    assert table.indexes()[0].state == "ACTIVE"
    assert len([o for o in objects(table) if o.startswith("stats/_manifests")]) == 1
    assert table.refresh_index("stats", mode="full", builder="local").changed


def test_an_index_that_was_vacuumed_or_deleted_is_told_to_who_names_it(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    lake.append(rows(10))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    table.create_index("byname", mi.ColumnStats(), builder="local")
    table.drop_index("byname")
    (told,) = table.prune("id = 1", indexes=["byname"]).indexes
    assert (told.name, told.used, told.reason) == ("byname", False, "it is DELETED")
    table.vacuum_index("byname")
    (told,) = table.prune("id = 1", indexes=["byname"]).indexes
    assert (told.used, told.reason) == (False, "there is no index of this name now: it was vacuumed, or not created")
    assert [told.name for told in table.prune("id = 1").indexes] == ["stats"]
    with pytest.raises(mi.IndexNotFoundError, match=r"there is no index named nope; there are: stats$"):
        table.prune("id = 1", indexes=["nope"])
