"""Random histories: of every version the files are those of the specification, or the version is refused."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.core import FormatError, VersionNotFoundError
from metaindex.formats import At, Diff
from tests.formats.hudi.written import HUDI, HudiTable, rows

DAYS = ("a", "b", "c")
STEPS = ("insert", "insert", "update", "update", "overwrite", "drop", "cluster", "fail", "roll back", "savepoint",
    "clean", "archive")  # fmt: skip


class _History:
    """A writer that does what it is told, by numbers."""

    def __init__(self, root: Path, version: int) -> None:
        self.table = HudiTable(root, version)
        self.pending: list[str] = []
        self.first = 0
        self.kept = ""
        self.failed: set[str] = set()

    def step(self, what: str, number: int) -> None:
        table, live = self.table, sorted(self.table.now)
        day = DAYS[number % len(DAYS)]
        self.first += 10
        new = rows(self.first, 1 + number % 3, day)
        match what:
            case "insert":
                table.commit([(f"day={day}", None, new) for _ in range(1 + number % 2)])
            case "update" if live:
                partition, group = live[number % len(live)]
                table.commit([(partition, group, new)])
            case "overwrite":
                gone = [key for key in live if key[0] == f"day={day}"]
                table.commit([(f"day={day}", None, new)], gone, operation="INSERT_OVERWRITE")
            case "drop" if live:
                gone = [key for key in live if key[0] == live[number % len(live)][0]]
                table.commit([], gone, operation="DELETE_PARTITION")
            case "cluster" if len(live) > 1:
                partition = live[number % len(live)][0]
                gone = [key for key in live if key[0] == partition]
                table.commit([(partition, None, new)], gone, operation="CLUSTER")
            case "fail":
                instant = table.begin("commit" if number % 2 else "replacecommit")
                table.base_file(f"day={day}", f"failed-{self.first}", instant, new)
                self.failed.add(instant)
            case "roll back" if self.failed:
                instant = self.failed.pop()
                for file in [*table.root.rglob(f"*_{instant}.parquet"), *table.timeline.glob(f"{instant}.*")]:
                    file.unlink()
                done = "" if table.version < 8 else f"_{table.tick()}"
                (table.timeline / f"{table.tick()}{done}.rollback").write_bytes(b"x")
            case "savepoint" if table.live:
                done = "" if table.version < 8 else f"_{table.tick()}"
                (table.timeline / f"{max(table.live)}{done}.savepoint").write_bytes(b"x")
            case "clean" if table.live:
                self.kept = sorted(table.live)[-1 - number % min(3, len(table.live))]
                table.clean(self.kept)
            case "archive":
                active = [i for i in sorted(table.live) if list(table.timeline.glob(f"{i}*commit"))]
                if len(active) > 1 and not any(failed < active[-1] for failed in self.failed):
                    table.archive(active[: 1 + number % (len(active) - 1)])
            case _:
                pass


@pytest.mark.parametrize("version", [6, 8])
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(STEPS),
            st.integers(0, 1000),
        ),
        max_size=14,
    )
)
@settings(max_examples=settings.default.max_examples * 60 // 100, deadline=None)
def test_a_history_is_read_as_it_was_written(version: int, steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = _History(Path(folder) / "t", version)
        for what, number in steps:
            history.step(what, number)
        table = history.table
        active = [i for i in sorted(table.live) if list(table.timeline.glob(f"{i}*commit"))]
        there = {p.relative_to(table.root).as_posix() for p in table.root.rglob("*.parquet")}
        readable = [i for i in active if set(table.live[i].values()) <= there]
        assert [v.id for v in HUDI.versions(table.ref)] == readable
        for instant in active:
            if instant in readable:
                snapshot = table.snapshot(instant)
                assert snapshot.files.paths.to_pylist() == sorted(table.live[instant].values())
                assert snapshot.version == HUDI.resolve(table.ref, At(version=instant))
            else:
                with pytest.raises(VersionNotFoundError):
                    table.snapshot(instant)
        if active:
            now = table.snapshot()
            assert now.version.id == active[-1]
            for instant in readable:
                diff = Diff.between(table.snapshot(instant), now)
                before, after = set(table.live[instant].values()), set(table.now.values())
                assert set(diff.appended.paths.to_pylist()) == after - before
                assert set(diff.deleted.paths.to_pylist()) == before - after


WRITES = st.lists(
    st.tuples(st.sampled_from(("insert", "update", "overwrite", "cluster")), st.integers(0, 99)), min_size=2, max_size=8
)


@pytest.mark.parametrize("version", [6, 8])
@given(steps=WRITES, lost=st.integers(0, 1000), archived=st.integers(0, 8))
@settings(max_examples=settings.default.max_examples * 60 // 100, deadline=None)
def test_a_lost_instant_is_noticed(version: int, steps: list[tuple[str, int]], lost: int, archived: int) -> None:
    """An instant whose files are there, and that the timeline or the archive has lost: what is live is not known."""
    with tempfile.TemporaryDirectory() as folder:
        history = _History(Path(folder) / "t", version)
        for what, number in [("insert", 0), *steps]:
            history.step(what, number)
        table = history.table
        ids = sorted(table.live)
        if len(ids) < 2:
            return
        gone = [ids[lost % (len(ids) - 1)]]  # without the last one, the one before is the newest
        if archived and len(ids) > 2:
            gone = ids[: min(archived, len(ids) - 2)]
            file = table.archive(gone)
            if version < 8:
                file.unlink()
            else:
                shutil.rmtree(file.parent)
        for instant in gone:
            for file in table.timeline.glob(f"{instant}*"):
                file.unlink()
        with pytest.raises(FormatError):
            table.snapshot()
