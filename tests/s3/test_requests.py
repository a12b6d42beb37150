"""What a question costs in requests to the store: few, small, and independent of the table's size."""

import re
import threading
from pathlib import Path

import pytest

import metaindex as mi

from .proxy import Proxy, Request
from .rounds import Rounds
from .server import S3Server
from .test_tables import MAKERS, rows

pytestmark = pytest.mark.slow

KINDS = {
    r"list.*_metaindex%2F(lake%2F)?$": "list indexes",
    r"list.*_log%2F": "list log",
    r"_metaindex.*/_log/\d+\.json bytes=0-\d+$": "entry",  # never more than an entry may have
    r"_manifests/\w+\.json bytes=0-\d+$": "manifest",
    r"\.mix bytes=0-\d+$": "part",  # whole, as it is small
    r"\.mix bytes=4-\d+$": "rows",
    r"\.mix bytes=\d+-\d+$": "footer",
}
"""Requests of an index, told by their look; the others are the table's."""


def told(requests: list[Request]) -> list[str]:
    return [next((name for look, name in KINDS.items() if re.search(look, str(one))), "table") for one in requests]


INDEX = ["list indexes", "list log", "entry"]
PLAIN = INDEX[:2]
"""Of a folder that is opened without options the entry is read then, and the manifest beside it: it says how the files
are read."""
LOOK_UP = ["part", "part"]  # of column_stats, then of files
TABLE = {"delta": 1, "iceberg": 2, "parquet": 0, "csv": 0, "json": 0}
"""Requests that say which version is meant: a commit; listing and metadata; nothing, as the version names the
listing."""


@pytest.mark.parametrize("kind", MAKERS)
def test_a_cold_look_up_at_a_version_asks_little(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path, kind: str
) -> None:
    making = MAKERS[kind](s3, bucket, tmp_path)
    lake = next(making)
    for first in range(0, 60, 10):
        lake.append(rows(first))
    table = lake.open()
    table.create_index("main", mi.ColumnStats())
    version = table.snapshot().version.id
    table = lake.open()
    proxy.reset()
    assert len(table.prune("id = 15", version=version).files) == 1
    assert sorted(told(proxy.requests)) == sorted(
        [*(PLAIN if kind == "parquet" else [*INDEX, "manifest"]), *["table"] * TABLE[kind], *LOOK_UP]
    )
    proxy.reset()
    assert len(table.prune("id = 15", version=version).files) == 1
    assert told(proxy.requests).count("list log") == 1
    assert not {"entry", "manifest", "part", "footer"} & set(told(proxy.requests))
    for _ in making:
        raise AssertionError


@pytest.mark.parametrize("count", [2, 6])
def test_several_indexes_are_opened_side_by_side(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path, count: int
) -> None:
    lake = next(MAKERS["parquet"](s3, bucket, tmp_path))
    lake.append(rows(0))
    lake.append(rows(10))
    for number in range(count):
        lake.open().create_index(f"i{number}", mi.ColumnStats())
    table = lake.open()
    together = threading.Barrier(count, timeout=30)

    def wait(request: Request) -> None:
        if "/_log/" in request.path:
            together.wait()  # no entry is answered before all are asked for

    proxy.fault = wait
    result = table.prune("id = 15")
    assert len(result.files) == 1
    assert sum(report.used for report in result.indexes if report.name.startswith("i")) == count


def test_a_file_opens_with_one_request_and_reads_what_is_asked(proxy: Proxy, bucket: str) -> None:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    from metaindex.storage import storage_for

    out = io.BytesIO()
    columns = {f"c{i}": pa.array(range(200_000), pa.int64()) for i in range(8)}
    pq.write_table(pa.table(columns), out, compression="none", use_dictionary=False)
    storage, _ = storage_for(f"s3://{bucket}")
    storage.put("big", out.getvalue())
    proxy.reset()
    with storage.open_input("big") as source:
        file = pq.ParquetFile(source, pre_buffer=True)
        assert len(proxy.requests) == 1  # the footer lies in what was fetched with the size
        assert file.read(columns=["c3"]).num_rows == 200_000
    assert len(proxy.requests) <= 3
    first, *others = (re.fullmatch(r"bytes=(\d*)-(\d+)", r.headers["range"]) for r in proxy.requests)
    assert first is not None
    assert sum(int(r[2]) - int(r[1]) + 1 for r in others if r is not None) < len(out.getvalue()) // 6


def test_a_small_part_is_asked_for_once(s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path) -> None:
    making = MAKERS["parquet"](s3, bucket, tmp_path)
    lake = next(making)
    for first in range(0, 60, 10):
        lake.append(rows(first))
    table = lake.open()
    table.create_index("main", mi.Bloom("id", fpp=0.0001), builder="local")
    version = table.snapshot().version.id
    table = lake.open()
    proxy.reset()
    assert len(table.prune("id = 15", version=version).files) == 1
    assert len(proxy.requests) == len([*PLAIN, *LOOK_UP])
    assert sum("/bloom_filters/" in request.path for request in proxy.requests) == 1
    proxy.reset()
    assert table.prune("id = 999", version=version).kept_files == 0
    assert not any(".mix" in request.path for request in proxy.requests), "filters that were read whole"
    for _ in making:
        raise AssertionError


def test_filters_that_lie_apart_are_asked_for_at_once(s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path) -> None:
    import numpy as np

    from tests.index.kinds.bloom.filters import holding, integers, write

    run = write(f"s3://{bucket}/filters", {at: integers(60_000 << at % 3, at) for at in range(6)})
    reader = run.run_reader()
    one = np.array([1 << 63], np.uint64)
    holding(run, one, reader)
    together = threading.Barrier(3, timeout=30)

    def wait(request: Request) -> None:
        together.wait()  # none is answered before all are asked for

    proxy.reset()
    proxy.fault = wait
    holding(run, one, reader)
    assert len(proxy.requests) == 3


def test_few_small_files_come_whole(s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path) -> None:
    """No footer is waited for before the rows. Of many, or of large ones, the columns that are read are asked for."""
    import numpy as np
    import pyarrow as pa

    lake = next(MAKERS["parquet"](s3, bucket, tmp_path))
    for file in range(3):
        ids, random = np.arange(40_000) + 40_000 * file, np.random.default_rng(file)
        lake.append(pa.table([ids, [f"{at:x}" for at in ids], random.random(40_000)], schema=rows(0).schema))
    lake.open().create_index("find", mi.Values("id"))
    table = lake.open()
    sizes = table.snapshot().files.table.column("size_bytes").to_pylist()
    assert 1 << 16 < min(sizes) <= max(sizes) < 1 << 20
    assert len(table.prune("id in (50000, 100000)").files) == 2
    with Rounds.of(proxy) as rounds:
        assert table.scan("id in (50000, 100000)").to_arrow().num_rows == 2
    assert rounds.trips == 2, str(rounds)
    assert [request.headers["range"] for request in rounds.asked[1]] == ["bytes=-1048576"] * 2, str(rounds)


STEPS = ("cold prune", "cold scan", "warm prune", "warm scan", "stale prune", "stale scan", "refresh", "recorded")
BOUNDS = {
    "delta": ((3, 10), (4, 11), (1, 4), (2, 5), (7, 22), (2, 5), (7, 22), (2, 5)),
    "iceberg": ((3, 10), (4, 11), (1, 3), (2, 4), (8, 34), (2, 4), (8, 22), (2, 4)),
    "parquet": ((5, 32), (6, 33), (1, 4), (2, 5), (4, 8), (2, 6), (8, 20), (2, 6)),
}
"""Round trips and requests of each step."""


@pytest.mark.parametrize("kind", BOUNDS)
def test_what_depends_on_no_answer_is_asked_at_once(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path, kind: str
) -> None:
    lake = next(MAKERS[kind](s3, bucket, tmp_path))
    for first in range(0, 120, 10):
        lake.append(rows(first))
    lake.open().create_index("find", mi.Values("id"), mi.ColumnStats())
    table = lake.open()

    def pruned(of: mi.Table) -> bool:
        return len(of.prune("id = 15").files) == 1

    def scanned(of: mi.Table, value: int = 15) -> bool:
        return of.scan(f"id = {value}").to_arrow().column("id").to_pylist() == [value]

    steps = (
        lambda: pruned(lake.open()),
        lambda: scanned(lake.open()),
        lambda: pruned(table),
        lambda: scanned(table, 85),
        lambda: len(table.prune("id = 15").files) <= 2,
        lambda: scanned(table, 105),
        lambda: table.refresh_index("find").changed,
        lambda: not table.refresh_index("find").changed,
    )
    table.prune("id = 25")
    for name, (trips, requests), step in zip(STEPS, BOUNDS[kind], steps, strict=True):
        if name in ("stale prune", "refresh"):
            lake.append(rows(1000 + 10 * len(name)))
        with Rounds.of(proxy) as rounds:
            assert step()
        assert rounds.trips <= trips, f"{name}:\n{rounds}"
        assert rounds.requests <= requests, f"{name}:\n{rounds}"
