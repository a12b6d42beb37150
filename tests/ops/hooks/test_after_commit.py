"""Hooks: indexes follow commits, in the background or before the call returns; nothing that goes wrong with them
reaches the writer."""

import threading
from pathlib import Path
from typing import Any

import pytest

import metaindex as mi
from metaindex.ops import hooks
from metaindex.ops.hooks.keep import Kept
from metaindex.ops.hooks.worker import Worker
from tests.tables import FORMATS, catalog_in, delta_lake, indexed, parquet_lake, rows, settled


def fresh(table: mi.Table) -> dict[str, bool | None]:
    return {info.name: info.fresh for info in table.indexes()}


@pytest.mark.exhaustive(but="delta")
@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n == "parquet" else pytest.mark.slow) for n in FORMATS])
def test_a_synchronous_hook_leaves_the_index_at_the_version(tmp_path: Path, name: str) -> None:
    lake = FORMATS[name](tmp_path)
    table = indexed(lake)
    lake.append(rows(100))
    assert fresh(table) == {"stats": False}
    (kept,) = hooks.after_commit(lake.open(), mode="synchronous")
    assert (kept.index, kept.changed, kept.error) == ("stats", True, "")
    assert fresh(table) == {"stats": True}
    (again,) = hooks.after_commit(lake.open(), mode="synchronous")
    assert not again.changed


@pytest.mark.slow
def test_a_path_is_enough_for_text_files_that_were_indexed_with_options(tmp_path: Path) -> None:
    root = settled(tmp_path / "lake", {"a.csv": "id;v\n1;x\n"})
    table = mi.open_table(str(root), format="csv", header=True, delimiter=";")
    table.create_index("stats", mi.ColumnStats(), builder="local")
    settled(root, {"b.csv": "id;v\n2;y\n"})
    (kept,) = hooks.after_commit(str(root), mode="synchronous")
    assert kept.changed
    assert fresh(table) == {"stats": True}


def test_a_background_hook_follows_all_commits(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    before = hooks.counts()
    for number in range(5):
        hooks.deltalake.write_deltalake(lake.path, rows(number * 10), mode="append")
    assert hooks.flush(30)
    assert fresh(table) == {"stats": True}
    after = hooks.counts()
    assert after.told - before.told == 5
    assert after.failed == before.failed
    assert 1 <= after.refreshed - before.refreshed <= 5


@pytest.mark.slow
def test_the_wrappers_of_pyiceberg_are_followed(tmp_path: Path) -> None:
    catalog = catalog_in(tmp_path)
    table = catalog.create_table("db.lake", rows(0).schema)
    table.append(rows(0))
    ours = mi.open_table("db.lake", catalog=catalog)
    ours.create_index("stats", mi.ColumnStats(), builder="local")
    writes: list[Any] = [
        lambda: hooks.pyiceberg.append(table, rows(10), hook="synchronous"),
        lambda: hooks.pyiceberg.delete(table, "id = 11", hook="synchronous"),
        lambda: hooks.pyiceberg.overwrite(table, rows(20), hook="synchronous"),
    ]
    for write in writes:
        write()
        assert fresh(ours) == {"stats": True}
    with hooks.pyiceberg.transaction(table, hook="synchronous") as transaction:
        transaction.append(rows(30))
        transaction.append(rows(40))
    assert fresh(ours) == {"stats": True}


def test_a_block_of_writes_is_followed_even_when_it_raises(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)

    def work() -> None:
        with hooks.commits(lake.path, mode="synchronous"):
            lake.append(rows(10))
            raise KeyError("later")

    with pytest.raises(KeyError):
        work()
    assert fresh(table) == {"stats": True}


def test_nothing_that_goes_wrong_is_raised_and_everything_is_counted(tmp_path: Path) -> None:
    before = hooks.counts().failed
    assert hooks.after_commit(tmp_path / "nowhere", mode="synchronous") == []
    hooks.after_commit(tmp_path / "nowhere")
    assert hooks.flush(10)
    assert hooks.counts().failed == before + 2
    assert "nowhere" in hooks.counts().last_error


@pytest.mark.slow
def test_an_index_that_fails_does_not_keep_the_others_from_being_refreshed(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    table = indexed(lake)
    table.create_index("broken", mi.ColumnStats(), builder="local")
    table.create_index("later", mi.ColumnStats(), builder="local")
    for manifest in (Path(table.indexes()[0].location) / "_manifests").iterdir():
        manifest.write_bytes(b"{}")
    for part in Path(table.indexes()[0].location).rglob("*.mix"):
        part.unlink()
    lake.append(rows(50))
    kept = {one.index: one for one in hooks.after_commit(lake.path, mode="synchronous")}
    assert kept["later"].changed
    assert kept["stats"].changed
    assert kept["broken"].error
    assert set(table.prune("id = 52").files.paths.to_pylist()) == {"f001.parquet"}


@pytest.mark.slow
def test_a_deleted_index_is_left_alone_and_a_disabled_one_follows(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    table.create_index("gone", mi.ColumnStats(), builder="local")
    table.drop_index("gone")
    table.disable_index("stats")
    lake.append(rows(10))
    assert [one.index for one in hooks.after_commit(lake.path, mode="synchronous")] == ["stats"]


@pytest.mark.parametrize("what", [3, None, object()])
def test_a_wrong_call_is_told(what: object) -> None:
    with pytest.raises(TypeError, match="a table is named by its path"):
        hooks.after_commit(what)
    with pytest.raises(ValueError, match="not 'later'"):
        hooks.after_commit("/x", mode="later")


def test_of_one_table_one_refresh_runs_and_at_most_one_waits() -> None:
    worker = Worker()
    started, go_on = threading.Event(), threading.Event()
    done: list[int] = []

    def job(number: int) -> list[Kept]:
        started.set()
        assert go_on.wait(10)
        done.append(number)
        return []

    worker.submit("t", lambda: job(0))
    assert started.wait(10)
    for number in range(1, 6):
        worker.submit("t", lambda number=number: job(number))
    worker.submit("u", lambda: job(100))
    assert not worker.flush(0.05)
    go_on.set()
    assert worker.flush(10)
    assert done == [0, 5, 100]
    assert (worker.counts.told, worker.counts.coalesced) == (7, 4)


def test_a_job_that_fails_is_not_the_end_of_the_worker() -> None:
    worker = Worker()

    def fails() -> list[Kept]:
        raise RuntimeError("boom")

    worker.submit("t", fails)
    assert worker.flush(10)
    worker.submit("t", lambda: [Kept("t", "i", "1", True)])
    assert worker.flush(10)
    assert (worker.counts.failed, worker.counts.refreshed, worker.counts.last_error) == (1, 1, "boom")


def test_a_name_that_no_index_has_is_told_and_may_come_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    for _ in range(2):
        stats, none = hooks.after_commit(lake.path, mode="synchronous", indexes=["stats", "late"])
        assert (stats.index, stats.error) == ("stats", "")
        assert (none.index, none.error) == ("late", "there is no index named late; there are: stats")
    assert [record.getMessage() for record in caplog.records if "'late'" in record.getMessage()] == [
        f"no index 'late' of {lake.path} is kept fresh: {none.error}"
    ]
    table.create_index("late", mi.ColumnStats(), builder="local")
    assert [kept.error for kept in hooks.after_commit(lake.path, mode="synchronous", indexes=["late"])] == [""]
