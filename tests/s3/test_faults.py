"""Networks and stores that fail for a while, for good, or after they acted."""

import random
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import MetaIndexError, ObjectExistsError, StorageError
from metaindex.storage import Storage, storage_for
from metaindex.table import handle_of
from tests.index.actions.mishaps import WRONG_HOURS, a_life_under_wrong_clocks, a_reader_holds_what_is_cleaned_away

from .lakes import S3Lake
from .proxy import CUT_SHORT, SLOW_DOWN, TRANSIENT, Fault, Proxy, Request
from .server import S3Server
from .test_tables import MAKERS, ids, rows, uses

pytestmark = pytest.mark.slow

DATA = bytes(range(256)) * 40


@pytest.fixture
def storage(proxy: Proxy, bucket: str) -> Storage:
    """Three objects, and a proxy that has forgotten how they came."""
    one, _ = storage_for(f"s3://{bucket}/t")
    for name in ("a", "b", "gone"):
        one.put_if_absent(name, DATA)
    proxy.reset()
    return one


CALLS: dict[str, Callable[[Storage], object]] = {
    "list": lambda s: [o.path for o in s.list("")],
    "folders": lambda s: s.folders(""),
    "head": lambda s: s.head("a").size_bytes,
    "read": lambda s: s.read("a"),
    "range": lambda s: s.read("a", 100, 3000),
    "open": lambda s: s.open_input("a").read(),
    "put": lambda s: s.put("b", DATA),
    "delete": lambda s: s.delete("gone"),
}


@pytest.mark.parametrize("fault", TRANSIENT)
def test_every_call_gets_over_a_fault(storage: Storage, proxy: Proxy, fault: str) -> None:
    expected = {name: call(storage) for name, call in CALLS.items() if name != "delete"} | {"delete": None}
    for name, call in CALLS.items():
        proxy.reset()
        proxy.fail_next(TRANSIENT[fault])
        assert call(storage) == expected[name], name
        assert len(proxy.requests) == 2, name
    assert storage.read("b") == DATA


@pytest.mark.parametrize("call", [name for name in CALLS if name not in ("head", "put")])
def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(storage: Storage, proxy: Proxy, call: str) -> None:
    expected = CALLS[call](storage)
    proxy.fail_next(CUT_SHORT)
    assert CALLS[call](storage) == expected


def test_a_slow_answer_is_asked_again(proxy: Proxy, bucket: str) -> None:
    storage, _ = storage_for(f"s3://{bucket}", {"timeout": "500ms"})
    storage.put("a", DATA)
    proxy.fail_next(Fault(acts=True, wait_seconds=1.0))
    assert storage.read("a") == DATA


@pytest.mark.parametrize("fault", ["closed", "answer lost", "503"])
def test_tries_are_bounded_and_the_error_says_so(proxy: Proxy, bucket: str, fault: str) -> None:
    storage, _ = storage_for(f"s3://{bucket}", {"max_retries": "2", "retry_timeout": "20"})
    proxy.fail_always(TRANSIENT[fault])
    for call in CALLS.values():
        proxy.requests.clear()
        with pytest.raises(StorageError, match=r"after 3 attempts.*(try again later|check)") as caught:
            call(storage)
        assert len(proxy.requests) == 3
        assert "\n" not in str(caught.value)


def test_a_time_limit_bounds_the_tries_too(proxy: Proxy, bucket: str) -> None:
    storage, _ = storage_for(f"s3://{bucket}", {"max_retries": "1000", "retry_timeout": "0.5"})
    proxy.fail_always(SLOW_DOWN)
    started = time.monotonic()
    with pytest.raises(StorageError, match="try again later"):
        storage.read("a")
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("fault", TRANSIENT)
def test_put_if_absent_never_replaces_and_never_loses(storage: Storage, proxy: Proxy, fault: str) -> None:
    """Where the answer was lost, it says that the object is there: it is ours."""
    proxy.fail_next(TRANSIENT[fault])
    try:
        storage.put_if_absent("new", b"mine")
    except ObjectExistsError:
        assert TRANSIENT[fault].acts
    assert storage.read("new") == b"mine"
    proxy.fail_next(TRANSIENT[fault])
    with pytest.raises(ObjectExistsError):
        storage.put_if_absent("a", b"other")
    assert storage.read("a") == DATA


@pytest.mark.parametrize("code", ["NoSuchKey", "InternalError", "SlowDown"])
def test_a_delete_that_fails_for_its_key_alone_is_made_again_where_that_helps(
    storage: Storage, proxy: Proxy, code: str
) -> None:
    """Objects are deleted in requests for many at once, whose answer is 200 and names those that failed."""
    proxy.fail_next(_not_deleted("a", code))
    storage.delete("a")
    assert len(proxy.requests) == (1 if code == "NoSuchKey" else 2)
    proxy.fail_always(_not_deleted("b", "SlowDown"))
    with pytest.raises(StorageError, match="try again later"):
        storage.delete("b")
    proxy.fail_always(_not_deleted("b", "AccessDenied"))
    with pytest.raises(StorageError, match="permission denied"):
        storage.delete("b")


def _not_deleted(name: str, code: str) -> Fault:
    error = f"<Error><Key>t/{name}</Key><Code>{code}</Code><Message>made by the test</Message></Error>"
    return Fault(acts=False, status=200, body=f"<DeleteResult>{error}</DeleteResult>")


def test_an_object_may_be_deleted_by_many_at_once(storage: Storage) -> None:
    for _ in range(4):
        names = [f"folder/{number}/x" for number in range(20)]
        for name in names:
            storage.put(name, DATA)
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(storage.delete, sorted(names * 8)))
        assert list(storage.list("folder")) == []


def test_a_conflict_that_nobody_won_is_put_again(storage: Storage, proxy: Proxy) -> None:
    conflict = Fault(acts=False, status=409, code="ConditionalRequestConflict")
    proxy.fail_next(conflict, conflict)
    storage.put_if_absent("new", b"mine")
    assert storage.read("new") == b"mine"
    proxy.fail_always(conflict)
    with pytest.raises(ObjectExistsError):
        storage.put_if_absent("newer", b"mine")


@pytest.mark.parametrize("entry", ["begin", "commit"])
@pytest.mark.parametrize("fault", TRANSIENT)
def test_the_operation_log_knows_its_own_entry_again(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path, fault: str, entry: str
) -> None:
    """The put of a log entry goes wrong: the verb succeeds, and the entry stands once."""
    lake = _lake(s3, bucket, tmp_path)
    table = lake.open()
    table.create_index("main", mi.ColumnStats())
    log = handle_of(lake.open()).indexes().log("main")
    before = len(log.numbers())
    for verb in (table.drop_index, table.restore_index):
        number = log.numbers()[-1] + (1 if entry == "begin" else 2)
        proxy.fail_next(TRANSIENT[fault], TRANSIENT[fault], where=partial(_is_entry, number))
        assert verb("main").changed
    numbers = log.numbers()
    assert len(numbers) == before + 4
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert uses(lake.open())


def _is_entry(number: int, request: Request) -> bool:
    return request.method == "PUT" and request.path.endswith(f"/_log/{number:020}.json")


def _lake(s3: S3Server, bucket: str, folder: Path, kind: str = "parquet") -> S3Lake:
    lake = next(MAKERS[kind](s3, bucket, folder))
    for first in (0, 10):
        lake.append(rows(first))
    return lake


@pytest.mark.parametrize("seed", range(4))
def test_a_life_under_random_faults_loses_nothing(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path, seed: int
) -> None:
    lake = _lake(s3, bucket, tmp_path, ["parquet", "delta", "csv", "parquet"][seed])
    dice = random.Random(seed)
    faults = [*TRANSIENT.values(), CUT_SHORT]
    proxy.fault = lambda request: dice.choice(faults) if dice.random() < 0.15 else None
    lake.open().create_index("main", mi.ColumnStats())
    quiet, proxy.fault = proxy.fault, lambda request: None
    lake.append(rows(20))
    proxy.fault = quiet
    for _ in range(2):
        lake.open().refresh_index("main")
        assert ids(lake.open(), "id >= 18") == list(range(18, 30))
        lake.open().drop_index("main")
        lake.open().restore_index("main")
    proxy.reset()
    fresh = lake.open()
    assert uses(fresh)
    assert len(fresh.prune("id = 25").files) == 1
    (info,) = fresh.indexes()
    assert info.state == "ACTIVE"


def test_an_index_out_of_reach_never_stops_a_query(s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path) -> None:
    lake = _lake(s3, bucket, tmp_path)
    lake.open().create_index("main", mi.ColumnStats())
    lake.options["storage_options"] = {"max_retries": "1"}
    for fault in (
        SLOW_DOWN,
        Fault(acts=False, status=403, code="AccessDenied"),
        Fault(acts=False, status=400, code="X"),
    ):
        proxy.fail_always(fault, where=lambda request: request.is_index)
        table = lake.open()
        assert ids(table, "id = 15") == [15]
        assert not uses(table)


def test_a_table_out_of_reach_is_an_error_and_never_an_empty_answer(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path
) -> None:
    lake = _lake(s3, bucket, tmp_path)
    lake.options["storage_options"] = {"max_retries": "1"}
    table = lake.open()
    table.create_index("main", mi.ColumnStats())
    proxy.fail_always(SLOW_DOWN, where=lambda request: request.method == "GET" and not request.is_index)
    for failing in (lake.open, table.snapshot, lambda: table.scan("id = 15")):
        with pytest.raises(MetaIndexError, match="try again later"):
            failing()


def test_a_data_file_out_of_reach_is_said_and_is_no_damage(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path
) -> None:
    lake = _lake(s3, bucket, tmp_path)
    lake.options["storage_options"] = {"max_retries": "1"}
    scan = lake.open().scan("id = 15")
    proxy.fail_always(SLOW_DOWN, where=lambda request: ".parquet" in request.path)
    with pytest.raises(StorageError, match="try again later"):
        scan.to_arrow()


@pytest.mark.parametrize("kind", ["parquet", "csv", "json", "delta", "checkpoint"])
def test_a_store_that_falls_silent_within_a_file_is_no_damage(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path, kind: str
) -> None:
    """Nobody should restore or remove a file because the network was down."""
    lake = next(MAKERS["delta" if kind == "checkpoint" else kind](s3, bucket, tmp_path))
    ids_ = pa.array(random.Random(1).sample(range(10**12), 120_000), pa.int64())
    names = pa.array([f"{one:x}" for one in ids_.to_pylist()])
    lake.append(pa.table([ids_, names, pa.nulls(len(ids_), pa.float64())], schema=rows(0).schema))
    lake.options["storage_options"] = {"max_retries": "1"}
    if kind == "checkpoint":
        _checkpoint(lake.path)
        proxy.fail_always(SLOW_DOWN, where=lambda r: "checkpoint.parquet" in r.path)
        with pytest.raises(StorageError, match="try again later"):
            lake.open().snapshot()
        return
    scan = lake.open().scan()
    proxy.fail_always(SLOW_DOWN, where=lambda r: re.match(r"bytes=\d", r.headers.get("range", "")) is not None)
    with pytest.raises(StorageError, match="try again later"):
        scan.to_arrow()


@pytest.mark.parametrize("kind", ["parquet", "csv", "delta"])
def test_a_file_that_could_not_be_asked_for_is_not_left_uncovered_for_good(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path, kind: str
) -> None:
    """The build fails and can be run again; an index that silently knows less would stay so."""
    lake = _lake(s3, bucket, tmp_path, kind)
    lake.append(rows(20))  # of some files the table's columns are told, and so their ends known
    table = lake.open()
    table.snapshot()
    lake.options["storage_options"] = {"max_retries": "1"}
    failing = lake.open()
    proxy.fail_always(SLOW_DOWN, where=partial(_after_begin, [False]))
    with pytest.raises(MetaIndexError, match="try again later"):
        failing.create_index("main", mi.ColumnStats())
    proxy.reset()
    table.create_index("main", mi.ColumnStats())
    assert uses(table)
    assert len(lake.open().prune("id = 15").files) == 1


def _after_begin(begun: list[bool], request: Request) -> bool:
    """Data files are out of reach from the moment the index is begun."""
    begun[0] = begun[0] or _is_entry(1, request)
    return begun[0] and request.method == "GET" and not request.is_index and "_delta_log" not in request.path


def _checkpoint(path: str) -> None:
    import deltalake

    deltalake.DeltaTable(path).create_checkpoint()


@pytest.mark.parametrize("verb", ["create", "refresh"])
def test_a_store_that_fails_for_good_leaves_the_index_as_it_was(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path, verb: str
) -> None:
    lake = _lake(s3, bucket, tmp_path)
    if verb == "refresh":
        lake.open().create_index("main", mi.ColumnStats())
        lake.append(rows(20))
    lake.options["storage_options"] = {"max_retries": "1"}
    proxy.fail_always(SLOW_DOWN, where=lambda r: r.method == "PUT" and "column_stats" in r.path)
    failing = lake.open()
    with pytest.raises(MetaIndexError, match="try again later"):
        _do(failing, verb)
    proxy.reset()
    table = lake.open()
    assert uses(table) == (verb == "refresh")
    assert ids(table, "id >= 0") == list(range(30 if verb == "refresh" else 20))
    _do(table, verb)
    assert len(lake.open().prune("id = 15").files) == 1


def _do(table: mi.Table, verb: str) -> None:
    if verb == "create":
        table.create_index("main", mi.ColumnStats())
    else:
        table.refresh_index("main")


# Mishaps --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ahead", "behind"), WRONG_HOURS[:1])
def test_clocks_that_are_wrong_by_hours_decide_nothing(
    s3: S3Server, bucket: str, tmp_path: Path, ahead: float, behind: float
) -> None:
    a_life_under_wrong_clocks(tmp_path, f"s3://{bucket}/indexes", ahead, behind)


def test_a_reader_that_holds_an_entry_reads_right_while_everything_is_optimized_and_cleaned(
    s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    a_reader_holds_what_is_cleaned_away(tmp_path, f"s3://{bucket}/indexes")
