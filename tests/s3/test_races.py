"""Writers that race for one index on a real S3 server: some serial order explains what is left, and nobody's work is
lost without a sign."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.core import ConcurrentWriteError, IndexExistsError, IndexStateError, MetaIndexError
from metaindex.index import OperationLog
from metaindex.storage import storage_for
from tests.racers import raced

from .lakes import S3Lake
from .server import S3Server
from .test_tables import MAKERS, ids, rows

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(s3: S3Server, bucket: str, tmp_path: Path) -> S3Lake:
    one = next(MAKERS["delta"](s3, bucket, tmp_path))
    for first in (0, 10):
        one.append(rows(first))
    return one


def log_of(lake: S3Lake) -> OperationLog:
    return OperationLog(storage_for(f"{lake.path}/_metaindex/main")[0])


def _whole(log: OperationLog) -> str:
    """The log has no gap and nothing is under way any more; its state."""
    numbers = log.numbers()
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    entry = log.latest()
    assert entry.under_way == ()
    return entry.state.value


def test_one_of_many_creates_wins(lake: S3Lake) -> None:
    def create(_: int) -> type[Exception] | None:
        try:
            lake.open().create_index("main", mi.ColumnStats())
        except (IndexExistsError, IndexStateError, ConcurrentWriteError) as error:
            return type(error)
        return None

    with ThreadPoolExecutor(12) as pool:
        outcomes = list(pool.map(create, range(12)))
    assert outcomes.count(None) == 1
    _whole(log_of(lake))
    assert len(lake.open().prune("id = 15").files) == 1


def test_refreshes_merge_and_what_cannot_be_is_refused(lake: S3Lake) -> None:
    lake.open().create_index("main", mi.ColumnStats())
    lake.append(rows(20))

    def verb(number: int) -> str:
        table = lake.open()
        try:
            match number % 4:
                case 0 | 1:
                    return str(table.refresh_index("main").changed)
                case 2:
                    table.drop_index("main")
                    return "deleted"
                case _:
                    table.restore_index("main")
                    return "restored"
        except MetaIndexError as error:
            return type(error).__name__

    with ThreadPoolExecutor(12) as pool:
        outcomes = list(pool.map(verb, range(24)))
    assert set(outcomes) <= {"True", "False", "deleted", "restored", "IndexStateError", "ConcurrentWriteError"}
    assert "deleted" in outcomes
    if _whole(log_of(lake)) == "DELETED":
        lake.open().restore_index("main")
    lake.open().refresh_index("main")
    assert len(lake.open().prune("id = 25").files) == 1
    assert ids(lake.open(), "id >= 0") == list(range(30))


_HAMMER = """
import sys
import metaindex as mi
from metaindex.core.expression_errors import MetaIndexError
from tests.racers import ready
ready()
done = 0
for n in range(4):
    try:
        table = mi.open_table(sys.argv[1], config=mi.Config(builder="local"))
        table.refresh_index("main", mode="full" if n % 2 else "incremental")
        done += 1
    except MetaIndexError as error:
        assert type(error).__name__ in ("IndexStateError", "ConcurrentWriteError", "DamagedIndexError"), repr(error)
print(done)
"""


def test_processes_that_refresh_at_once_leave_one_truth(lake: S3Lake) -> None:
    lake.open().create_index("main", mi.ColumnStats())
    done = [int(said) for said in raced(_HAMMER, [[lake.path]] * 4, lambda: lake.append(rows(20)))]
    assert sum(done) > 0
    _whole(log_of(lake))
    lake.open().refresh_index("main")
    table = lake.open()
    assert len(table.prune("id = 25").files) == 1
    assert ids(table, "id >= 5") == list(range(5, 30))
