"""Queries are noted beside their table, by threads, processes and engines; and whatever becomes of the log, no query
feels it."""

import gc
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import active_count
from weakref import ref

import duckdb
import polars as pl
import pyarrow.compute as pc
import pytest

import metaindex as mi
from metaindex.query import TableQueryLog
from metaindex.query.query_log import writer
from metaindex.query.query_log.files import encoded, new_name
from metaindex.query.query_log.row import MOST_NODES
from metaindex.query.query_log.writer import MOST_WAITING, WRITER
from metaindex.table import handle_of
from tests.disks import read_only, small_disk
from tests.query.query_log.lake import flushed, folder_of, noted, row, storage_of, tree
from tests.racers import ROOT, raced
from tests.tables import FORMATS, Lake, delta_lake, parquet_lake, rows


@pytest.mark.parametrize("made", FORMATS.values(), ids=FORMATS)
def test_a_query_is_a_row(made: Callable[[Path], Lake], tmp_path: Path) -> None:
    table = noted(made(tmp_path))
    result = table.prune("id > 50 AND id != 7")
    table.scan("id = 2", columns=["id"]).to_arrow()
    first, second = table.query_log().to_pylist()
    assert first | {"at": None, "milliseconds": None} == {
        "at": None,
        "engine": "prune",
        "predicate": "((`id` > 50) AND (`id` != 7))",
        "columns": ["id"],
        "join_keys": [],
        "group_keys": [],
        "order": [],
        "limit": None,
        "files_read": 1,
        "files_left_out": 1,
        "bytes_read": result.kept_bytes,
        "bytes_left_out": result.total_bytes - result.kept_bytes,
        "indexes": ["stats"],
        "version": result.version.id,
        "milliseconds": None,
    }
    assert first["milliseconds"] == result.seconds * 1000
    assert (second["engine"], second["predicate"], second["files_read"]) == ("arrow", "(`id` = 2)", 1)


def test_each_reading_of_a_scan_is_a_row_of_its_engine(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    scan = table.scan("id >= 0")
    assert table.query_log().num_rows == 0  # nothing is read yet
    scan.to_arrow()
    scan.to_pandas()
    list(scan.to_batches())
    scan.to_deltalake()
    con = duckdb.connect()
    lake = scan.to_duckdb(con)
    con.sql("SELECT sum(id) FROM lake WHERE id < 3").fetchall()
    del lake
    scan.to_polars().filter(pl.col("id") == 104).collect()
    table.scan().to_dataset().to_table(columns=["id"])
    said = [(row["engine"], row["predicate"], row["files_read"]) for row in table.query_log().to_pylist()]
    assert said == [
        ("arrow", "(`id` >= 0)", 2),
        ("pandas", "(`id` >= 0)", 2),
        ("arrow", "(`id` >= 0)", 2),
        ("deltalake", "(`id` >= 0)", 2),
        ("duckdb", "((`id` >= 0) AND (`id` < 3))", 1),
        ("polars", "((`id` >= 0) AND (`id` = 104))", 1),
        ("dataset", None, 2),
    ]


def test_the_limit_of_a_scan_and_orders_are_noted(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    for scan in (
        table.scan("id >= 0", limit=3),
        table.scan(limit=4),
        table.scan("id >= 0", limit=1 << 70),
        table.scan(),
    ):
        scan.to_arrow()
    assert [row["limit"] for row in table.query_log().to_pylist()] == [3, 4, None, None]
    told = replace(row(5), order=("a", "b DESC", "\ud800"), limit=7)
    storage_of(table).put_if_absent(new_name(0), encoded([told], mi.QueryLog()))
    (other,) = table.query_log().filter(pc.field("files_read") == 5).to_pylist()
    assert (other["order"], other["limit"]) == (["a", "b DESC", "\\ud800"], 7)


def test_what_is_no_query_is_no_row(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    table.explain("id = 1")
    table.verify_index("stats", predicates=["id = 1"])
    table.what_if("id = 1")
    table.clustering()
    table.indexes()
    assert table.query_log().num_rows == 0


@pytest.mark.parametrize("made", FORMATS.values(), ids=FORMATS)
def test_without_a_log_nothing_is_written_and_no_thread_begins(made: Callable[[Path], Lake], tmp_path: Path) -> None:
    lake = made(tmp_path)
    lake.append(rows(0))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    before, threads = tree(tmp_path), active_count()
    table.prune("id = 3")
    table.scan("id = 3").to_arrow()
    lake.open(config=mi.Config(query_log=False)).prune("id = 3")
    assert table.query_log().num_rows == 0
    table.clean_query_log()
    assert tree(tmp_path) == before
    assert active_count() <= threads + 1  # another test's log may have begun it


@pytest.mark.slow
def test_where_it_is_off_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    code = (
        "import sys, metaindex as mi\n"
        f"table = mi.open_table({lake.path!r}); table.prune('id = 1'); table.scan('id = 1').to_arrow()\n"
        "print([name for name in sys.modules if name.startswith('metaindex.query.query_log')])"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("METAINDEX_QUERY")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, capture_output=True)
    assert done.stdout == b"[]\n"


@pytest.mark.slow
def test_the_environment_switches_it_on_and_the_end_of_a_process_writes(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    code = f"import metaindex as mi\nmi.open_table({lake.path!r}).prune('id = 4321')"
    for word, salt, seen in (("kept", "", True), ("hashed", "0123456789abcdef", False), ("left-out", "", False)):
        more = {"METAINDEX_QUERY_LOG": word, "METAINDEX_QUERY_LOG_SALT": salt}
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **more}, check=True)
        assert ("4321" in str(lake.open().query_log()["predicate"][-1])) == seen
    assert lake.open().query_log().num_rows == 3


@pytest.mark.parametrize(
    "given",
    [{"literals": "some"}, {"literals": "hashed"}, {"salt": "short"}, {"flush_rows": 0}, {"keep_days": -1.0}],
    ids=str,
)
def test_what_is_no_setting_is_refused(given: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("METAINDEX_QUERY_LOG_SALT", raising=False)
    with pytest.raises(mi.ArgumentError):
        mi.QueryLog(**given)  # type: ignore[arg-type]
    with pytest.raises(mi.ArgumentError):
        mi.Config(query_log="kept")  # type: ignore[arg-type]
    assert "0123456789abcdef" not in repr(mi.QueryLog(literals="hashed", salt="0123456789abcdef"))


def test_hashed_and_left_out_values_are_in_no_file(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    for setting in (mi.QueryLog(literals="hashed", salt=b"s" * 16), mi.QueryLog(literals="left out")):
        table = lake.open(config=mi.Config(query_log=setting))
        table.prune("id = 918273645 OR id IN (564738291, 5) OR upper(id) = '817263544'")
        table.query_log()
    written = "".join(str(lake.open().query_log().to_pylist()))
    assert not any(value in written for value in ("918273645", "564738291", "817263544"))
    assert "(`id` IN ('?1', '?2', '?3'))" in written


def test_indexes_elsewhere_and_namespaces_have_their_own_log(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path / "lake")
    lake.append(rows(0))
    before = tree(lake.path)
    for config in (
        mi.Config(index_location=tmp_path / "apart", query_log=True),
        mi.Config(index_location=tmp_path / "apart", namespace="team", query_log=True),
    ):
        table = lake.open(config=config)
        table.prune("id = 1")
        assert table.query_log().num_rows == 1
        assert folder_of(table).is_relative_to(tmp_path / "apart")
    assert tree(lake.path) == before
    assert lake.open(config=mi.Config(index_location=tmp_path / "apart")).namespaces() == ["team"]


def test_readers_of_indexes_pass_over_it(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    table = noted(lake)
    table.prune("id = 1")
    assert table.query_log().num_rows == 1
    assert [info.name for info in table.indexes()] == ["stats"]
    assert table.verify_index("stats", files=None).sound
    assert not table.repair_index("stats").changed
    table.optimize_index("stats")
    assert duckdb.sql(f"SELECT count(*) FROM read_parquet('{tmp_path}/**/*.parquet')").fetchall() == [(10,)]
    table.clean_index("stats", 0)
    assert table.query_log().num_rows == 1
    assert len(lake.open().snapshot().files) == 2


def test_every_verb_passes_over_folders_beside_the_indexes_that_are_none(tmp_path: Path) -> None:
    table = noted(parquet_lake(tmp_path))
    table.prune("id = 1")
    assert table.query_log().num_rows == 1
    filters = folder_of(table).parent / "_remembered" / "00001700000000000-0123456789abcdef.filters"
    filters.parent.mkdir()
    expected = folder_of(table) / "01234567-89ab-cdef-0123-456789abcdef.predicted"
    for file in (filters, expected):
        file.write_bytes(b"of another version")
    table = table.reopened()
    assert [info.name for info in table.indexes()] == ["stats"]
    assert table.prune("id = 1").kept_files == 1
    assert table.scan("id = 1").to_arrow().num_rows == 1
    table.create_index("more", mi.Values("id"), builder="local")
    table.refresh_index("stats", mode="full", builder="local")
    table.optimize_index("stats")
    assert "left" not in " ".join(table.clean_index("stats", 0).notes)
    assert table.clean_query_log().left == ()
    assert table.savings().notes == ()
    table.erase_index("stats", builder="local")
    table.drop_index("more")
    table.vacuum_index("more")
    assert [info.name for info in table.indexes()] == ["stats"]
    assert table.query_log().num_rows == 3
    assert filters.read_bytes() == expected.read_bytes() == b"of another version"


@pytest.mark.slow
def test_threads_lose_and_double_nothing(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = noted(lake, flush_rows=7)

    def ask(_: int) -> None:
        mine = table.reopened()
        for number in range(50):
            mine.prune(f"id = {number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))
    said = table.query_log().column("predicate").to_pylist()
    assert sorted(said) == sorted(f"(`id` = {number})" for number in range(50) for _ in range(4))


_ASKS = """
import sys
import metaindex as mi
from tests.racers import ready
table = mi.open_table(sys.argv[1], config=mi.Config(query_log=mi.QueryLog(flush_rows=5)))
table.prune("id = -1")
ready()
for number in range(100):
    table.prune(f"id = {number}")
"""


@pytest.mark.slow
def test_processes_lose_and_double_nothing(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    raced(_ASKS, [[table.path], [table.path]], lambda: [table.clean_query_log() for _ in range(20)])
    table.clean_query_log()
    assert sorted(table.query_log().column("predicate").to_pylist()) == sorted(
        f"(`id` = {number})" for number in range(-1, 100) for _ in range(2)
    )


def test_a_forked_process_writes_its_own_rows_only(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path), flush_rows=10_000, flush_seconds=1e9)
    table.prune("id = 1")
    child = os.fork()
    if not child:
        code = 1
        try:
            table.prune("id = 2")
            code = 0 if WRITER.flush(300) else 1
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert sorted(table.query_log().column("predicate").to_pylist()) == ["(`id` = 1)", "(`id` = 2)"]


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING, "metaindex")
    return lambda: [each.getMessage() for each in caplog.records if "noted" in each.getMessage()]


def _asks(table: mi.Table) -> None:
    for number in range(3):
        assert table.prune(f"id = {number}").kept_files == 1
        flushed()


def test_a_full_disk_fails_no_query(tmp_path: Path, said: Callable[[], list[str]]) -> None:
    lake = delta_lake(tmp_path)
    with small_disk(256) as disk:
        for number in range(2):
            lake.append(rows(number * 100))
        table = lake.open(config=mi.Config(index_location=disk, query_log=True))
        with suppress(OSError), (disk / "ballast").open("wb", buffering=0) as ballast:
            while ballast.write(b"0" * 4096):
                pass
        _asks(table)
        assert len(said()) == 1
        assert "full" in said()[0]


def test_a_read_only_store_fails_no_query(tmp_path: Path, said: Callable[[], list[str]]) -> None:
    lake = delta_lake(tmp_path)
    lake.append(rows(0))
    table = lake.open(config=mi.Config(query_log=True))
    before = tree(lake.path)
    with read_only(tmp_path):
        _asks(table)
        assert len(said()) == 1
        assert tree(lake.path) == before


@pytest.mark.parametrize("what", ["a file", "a link"])
def test_a_broken_folder_fails_no_query(what: str, tmp_path: Path, said: Callable[[], list[str]]) -> None:
    table = noted(delta_lake(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = folder_of(table)
    if what == "a file":
        folder.write_text("")
    else:
        folder.symlink_to(elsewhere)
    _asks(table)
    assert len(said()) == 1
    assert list(elsewhere.iterdir()) == []
    assert table.clean_index("stats").notes  # the index is clean, whatever became of the log


def test_logs_of_many_tables_are_let_go_when_they_are_written(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    place, setting = handle_of(table).made(TableQueryLog).place, mi.QueryLog(flush_seconds=1e9)
    idle = writer.Writer()
    idle.recorder(place, setting).note(row(0))
    first = ref(idle.recorder(place, setting))
    for number in range(1_500):
        idle.recorder(replace(place, table=f"{number}"), setting)
    assert first() is not None, "its row waits"
    assert idle.flush(300)
    gc.collect()
    assert first() is None
    assert table.query_log().num_rows == 1


@pytest.mark.slow
def test_too_many_rows_are_dropped_and_counted(tmp_path: Path, said: Callable[[], list[str]]) -> None:
    table = noted(delta_lake(tmp_path))
    place = handle_of(table).made(TableQueryLog).place
    idle = writer.Writer()
    recorder = idle.recorder(place, mi.QueryLog(flush_seconds=1e9, flush_rows=10**9))
    for number in range(MOST_WAITING + 5):
        recorder.note(row(number))
    assert (len(recorder.waiting), recorder.dropped) == (MOST_WAITING, 5)
    assert idle.flush(300)
    assert table.query_log().num_rows == MOST_WAITING
    assert len(said()) == 1
    assert "5 queries" in said()[0]


def test_a_condition_with_very_many_values_is_noted_by_its_columns(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    table.prune(f"id IN ({', '.join(map(str, range(2 * MOST_NODES)))})")
    assert table.query_log().column("predicate").to_pylist() == ["metaindex_unread(`id`)"]


@pytest.mark.slow
def test_a_killed_process_leaves_whole_files_only(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    code = (
        "import sys, itertools, metaindex as mi\n"
        "table = mi.open_table(sys.argv[1], config=mi.Config(query_log=mi.QueryLog(flush_rows=3)))\n"
        "for number in itertools.count():\n"
        "    table.prune(f'id = {number}')\n"
        "    if number == 300: print('far', flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, table.path], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"far\n"
        process.send_signal(signal.SIGKILL)
    said = [int(text.split()[2].rstrip(")")) for text in table.query_log().column("predicate").to_pylist()]
    assert sorted(said) == list(range(len(said)))
    assert len(said) > 100


def test_other_settings_of_one_table_do_not_mix(tmp_path: Path) -> None:
    table = noted(delta_lake(tmp_path))
    left = table.reopened(replace(table.config, query_log=mi.QueryLog(literals="left out")))
    table.prune("id = 1")
    left.prune("id = 1")
    assert sorted(table.query_log().column("predicate").to_pylist()) == ["(`id` = '?1')", "(`id` = 1)"]
    assert json.dumps(storage_of(table).root)
