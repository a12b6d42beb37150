"""Tables of Parquet, Delta and Iceberg in files of a shape (`Shape`): a look-up that finds one row, one that finds a
row in some of the files, a GROUP BY and the sum of a column of everything. By each way to read a scan, by pyarrow,
DuckDB and Polars told the right files, and by engines without any index. CPU of this process, medians of interleaved
rounds, warm; ratios to the best of those who are told the files and of those without an index.

Then the one row of the Delta table in a store that answers each request 30 ms late: wall time and requests.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import deltalake
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq

import metaindex as mi
from tests.s3.proxy import Proxy
from tests.s3.server import running
from tests.tables import catalog_in, settle

from .shape import Shape

FORMATS = ("parquet", "delta", "iceberg")
ROW_BYTES = 28
LATE = 0.03

Ask = Callable[[], float]
Ways = dict[tuple[str, str], Ask]
TOLD, WITHOUT, OURS = "told the files", "without an index", "metaindex"


def run(folder: Path, quick: bool, shape: Shape) -> list[dict[str, object]]:
    figures: list[dict[str, object]] = []
    files, rows = shape.files_of(0, ROW_BYTES, quick)
    rounds = 3 if quick else 9
    lake = folder / f"shapes-{shape.group_rows}-{rows}-{files}"
    for of in FORMATS:
        table = mi.open_table(written(lake, of, shape.group_rows, rows, files))
        paths = _paths(table.prune(True).paths)
        size = max(map(os.path.getsize, paths)) / 1e6
        name = f"{of}, {files} files of {size:.1f} MB, row groups of {min(shape.group_rows, rows):,}"
        with duckdb.connect() as con:
            con.execute("SET threads = 2")
            table.scan().to_duckdb(con).create_view("lake")
            for question, asked in _questions(con, table, paths, rows, rounds).items():
                figures += [{"files": name, "query": question} | one for one in _measured(asked, rounds)]
    return figures + _far(lake, [_some(rows, at) for at in range(rounds + 1)])


def written(lake: Path, of: str, group: int, rows: int, files: int) -> str:
    """The table of a format by its own writer, or a folder of files by DuckDB (`duckdb`)."""
    root = lake / ("warehouse/db/iceberg" if of == "iceberg" else of)
    if not root.exists():
        (lake if of == "iceberg" else root).mkdir(parents=True, exist_ok=True)
        append = _writer(lake, root, of, group)
        for file in range(files):
            append(_rows(file, rows))
        settle(root)
        kinds = (mi.Values("id"), mi.Values("seen"))
        mi.open_table(str(root)).create_index("find", *kinds, builder="local")
    return str(root)


def _writer(lake: Path, root: Path, of: str, group: int) -> Callable[[pa.Table], object]:
    if of == "delta":
        how = deltalake.WriterProperties(max_row_group_size=group)
        return lambda rows: deltalake.write_deltalake(
            str(root), rows, mode="append", writer_properties=how, target_file_size=1 << 40
        )
    if of == "iceberg":
        how_ = {"write.parquet.row-group-limit": str(group), "write.target-file-size-bytes": str(1 << 40)}
        table = catalog_in(lake).create_table("db.iceberg", _rows(0, 1).schema, properties=how_)
        append: Callable[[pa.Table], object] = table.append
        return append

    def write(rows: pa.Table) -> None:
        path = root / f"{len(os.listdir(root))}.parquet"
        if of == "parquet":
            pq.write_table(rows, path, row_group_size=group)
            return
        with duckdb.connect() as con:
            con.register("written", rows)
            con.execute(f"COPY written TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE {group})")

    return write


def _rows(file: int, rows: int) -> pa.Table:
    random = np.random.default_rng(file)
    ids = random.permutation(rows) + file * rows
    columns = {
        "id": ids,
        "seen": random.integers(0, 2 * rows, rows),  # two of five files have one of them
        "kind": np.array(["a", "b", "c", "d"])[random.integers(0, 4, rows)],
        "v": random.random(rows),
        "url": np.char.add("https://example.org/item/", ids.astype(str)),
    }
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def _questions(
    con: duckdb.DuckDBPyConnection, table: mi.Table, every: list[str], rows: int, rounds: int
) -> dict[str, list[Ways]]:
    """Each question with a value of its own for each round, as an answer that was given before is remembered."""
    frame, dataset = table.scan().to_polars(), table.scan().to_dataset()
    lake = pl.scan_parquet(every)

    def sql(text: str, of: str) -> Ask:
        return lambda: sum(con.sql(text.format(of)).to_arrow_table().column("n").to_pylist())

    def lazy(of: pl.LazyFrame) -> Ask:
        return lambda: float(of.collect().get_column("n").sum())

    def find(column: str, value: int) -> Ways:
        kept = _paths(table.prune(f"{column} = {value}").paths)
        text, is_it, one = f"SELECT *, 1 AS n FROM {{}} WHERE {column} = {value}", pl.col(column) == value, pl.lit(1)

        def of_polars(of: pl.LazyFrame) -> Ask:
            return lazy(of.filter(is_it).with_columns(one.alias("n")))

        condition = pc.field(column) == value
        return {
            (TOLD, "pyarrow"): lambda: ds.dataset(kept).to_table(filter=condition).num_rows,
            (TOLD, "DuckDB"): sql(text, f"read_parquet({kept})"),
            (TOLD, "Polars"): of_polars(pl.scan_parquet(kept)),
            (WITHOUT, "DuckDB"): sql(text, f"read_parquet({every})"),
            (WITHOUT, "Polars"): of_polars(lake),
            (OURS, "to_arrow"): lambda: table.scan(f"{column} = {value}").to_arrow().num_rows,
            (OURS, "to_duckdb"): sql(text, "lake"),
            (OURS, "to_polars"): of_polars(frame),
            (OURS, "to_dataset"): lambda: dataset.to_table(filter=condition).num_rows,
        }

    def whole(text: str, by_polars: Callable[[pl.LazyFrame], pl.LazyFrame]) -> list[Ways]:
        ways: Ways = {
            (WITHOUT, "DuckDB"): sql(text, f"read_parquet({every})"),
            (WITHOUT, "Polars"): lazy(by_polars(lake)),
            (OURS, "to_duckdb"): sql(text, "lake"),
            (OURS, "to_polars"): lazy(by_polars(frame)),
        }
        return [ways]

    seen = table.scan(columns=["seen"], limit=rounds + 1).to_arrow().column("seen").to_pylist()
    v = pl.col("v").sum().alias("n")
    return {
        "one row": [find("id", _some(rows, at)) for at in range(rounds + 1)],
        "a row in some of the files": [find("seen", value) for value in seen],
        "GROUP BY of everything": whole(
            "SELECT kind, sum(v) AS n FROM {} GROUP BY kind", lambda of: of.group_by("kind").agg(v)
        ),
        "sum of a column": whole("SELECT sum(v) AS n FROM {}", lambda of: of.select(v)),
    }


def _some(rows: int, number: int) -> int:
    """An id of the first file."""
    return (rows // 3 + 7919 * number) % rows


def _paths(found: Sequence[str]) -> list[str]:
    return [path.removeprefix("file://") for path in found]


def _measured(asked: list[Ways], rounds: int) -> list[dict[str, object]]:
    """The last ways are asked first, for what is loaded and compiled once."""
    *_, ways = asked
    cpu: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
    for turn in range(-1, rounds):
        answers = {}
        for way, ask in list(asked[turn % len(asked)].items())[:: 1 if turn % 2 else -1]:
            started = time.process_time()
            answers[way] = ask()
            if turn >= 0:
                cpu[way].append(1000 * (time.process_time() - started))
        assert len({round(answer, 3) for answer in answers.values()}) == 1, answers
    medians = {way: statistics.median(taken) for way, taken in cpu.items()}
    best = {who: min(ms for (of, _), ms in medians.items() if of == who) for who, _ in ways}
    return [
        {
            "by": ", ".join(way),
            "CPU ms (median)": ms,
            "min": min(cpu[way]),
            "max": max(cpu[way]),
            "of the best told": ms / best[TOLD] if TOLD in best else None,
            "of the best without": ms / best[WITHOUT],
        }
        for way, ms in medians.items()
    ]


def _far(lake: Path, asked: list[int]) -> list[dict[str, object]]:
    """One row of the Delta table, behind `LATE` seconds."""
    taken: dict[tuple[str, str], list[tuple[float, int]]] = {}
    with tempfile.TemporaryDirectory(dir=lake) as place, running(Path(place)) as s3:
        bucket = s3.make_bucket("lake")
        shutil.copytree(lake / "delta", bucket / "delta", copy_function=os.link)
        with Proxy(s3.port).running() as proxy:
            options = {**s3.options, "endpoint": proxy.endpoint}
            table = mi.open_table("s3://lake/delta", storage_options=options)
            assert [index.name for index in table.indexes()] == ["find"]
            every = [_ways_far(table, options, wanted) for wanted in asked]
            proxy.fault = lambda request: time.sleep(LATE)
            for turn in range(-1, len(asked) - 1):
                for way, ask in list(every[turn].items())[:: 1 if turn % 2 else -1]:
                    before, started = len(proxy.requests), time.perf_counter()
                    assert ask() == 1
                    took = (1000 * (time.perf_counter() - started), len(proxy.requests) - before)
                    taken.setdefault(way, []).append(took)
    return [
        {
            "in a store": f"{LATE * 1000:.0f} ms late, files as above",
            "by": ", ".join(way),
            "ms (median)": statistics.median(ms for ms, _ in some),
            "min": min(ms for ms, _ in some),
            "max": max(ms for ms, _ in some),
            "requests": int(statistics.median(requests for _, requests in some)),
        }
        for way, (_, *some) in taken.items()
    ]


def _ways_far(table: mi.Table, options: dict[str, str], wanted: int) -> Ways:
    (kept,) = table.prune(f"id = {wanted}").paths
    names = ("access_key_id", "secret_access_key", "endpoint_url", "region", "allow_http")
    aws = dict(zip((f"aws_{name}" for name in names), options.values(), strict=True))
    store = fs.S3FileSystem(
        access_key=options["aws_access_key_id"],
        secret_key=options["aws_secret_access_key"],
        endpoint_override=options["endpoint"],
        region=options["region"],
    )
    is_it, condition, told = pl.col("id") == wanted, pc.field("id") == wanted, kept.removeprefix("s3://")

    def scanned(of: mi.Table) -> float:
        return float(of.scan(f"id = {wanted}").to_arrow().num_rows)

    return {
        (TOLD, "pyarrow"): lambda: ds.dataset(told, filesystem=store).to_table(filter=condition).num_rows,
        (TOLD, "Polars"): lambda: pl.scan_parquet(kept, storage_options=aws).filter(is_it).collect().height,
        (WITHOUT, "Polars"): lambda: pl.scan_delta(table.path, storage_options=aws).filter(is_it).collect().height,
        (OURS, "to_arrow"): lambda: scanned(table),
        (OURS, "to_arrow, opened anew"): lambda: scanned(mi.open_table(table.path, storage_options=options)),
    }
