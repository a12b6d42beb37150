"""Who finds needles without a JVM: DuckDB, Polars, oracles that are told the row groups or the files, and metaindex."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import metaindex as mi

from .lake import Lake, Needle
from .timing import Find, Peer

ENGINE = "no JVM"
Paths = Callable[[Needle], list[str]]
"""Which files are asked for a needle."""


def local_peers(lake: Lake) -> list[Peer]:
    """All rows of all columns, as Arrow. DuckDB keeps footers in memory between queries; two threads each."""
    pa.set_cpu_count(2)
    every, with_bloom = lake.paths(lake.parquet), lake.paths(lake.with_bloom)

    def told(needle: Needle) -> list[str]:
        return [every[file] for file, _ in needle.places]

    return [
        Peer("oracle: right row groups, pyarrow", ENGINE, _oracle(lake), 5, oracle=True),
        Peer("oracle: right files, DuckDB", ENGINE, _duckdb(told), 5, oracle=True),
        Peer("oracle: right files, Polars", ENGINE, _polars(told), 5, oracle=True),
        Peer("DuckDB scan", ENGINE, _duckdb(lambda needle: every), 2),
        Peer("DuckDB, native bloom filters", ENGINE, _duckdb(lambda needle: with_bloom), 5),
        Peer("Polars scan", ENGINE, _polars(lambda needle: every)),
    ]


def our_peers(lake: Lake) -> list[Peer]:
    """metaindex on the folder that has the index: its scan to Arrow, with a handle that is kept and with one opened for
    the query, and the look-up alone."""
    table = mi.open_table(str(lake.parquet))

    def look(needle: Needle) -> int:
        kept = table.prune(needle.sql)
        assert len(kept.files) >= len(needle.places)
        return needle.rows

    return [
        Peer("metaindex scan", ENGINE, _scan(table), 5, held=True),
        Peer("metaindex scan, index trusted", ENGINE, _trusting(lake), 5, held=True),
        Peer("metaindex scan on Delta", ENGINE, _scan(mi.open_table(str(lake.delta))), 5, held=True),
        Peer("metaindex scan on Iceberg", ENGINE, _scan(mi.open_table(str(lake.iceberg))), 5, held=True),
        Peer("metaindex prune only", ENGINE, look, 5),
        Peer("metaindex, opened for each query", ENGINE, _opening(lake), 5),
    ]


def _scan(table: mi.Table) -> Find:
    return lambda needle: table.scan(needle.sql).to_arrow().num_rows


def _trusting(lake: Lake) -> Find:
    """The folder is not listed: the caller says that nothing was changed behind the index."""
    return _scan(mi.open_table(str(lake.parquet), trust_index=True))


def _opening(lake: Lake) -> Find:
    """Nothing of the table or the index is in memory."""

    def find(needle: Needle) -> int:
        return mi.open_table(str(lake.delta)).scan(needle.sql).to_arrow().num_rows

    return find


def _oracle(lake: Lake) -> Find:
    paths = lake.paths(lake.parquet)

    def find(needle: Needle) -> int:
        rows = 0
        for file, groups in needle.places:
            table = pq.ParquetFile(paths[file], pre_buffer=True).read_row_groups(groups, use_threads=False)
            rows += table.filter(pc.equal(table.column(needle.column), needle.value)).num_rows
        return rows

    return find


def _duckdb(paths: Paths) -> Find:
    con = duckdb.connect()
    con.execute("SET threads = 2")
    con.execute("SET parquet_metadata_cache = true")

    def find(needle: Needle) -> int:
        of = paths(needle)
        text = f"SELECT * FROM read_parquet({of}) WHERE {needle.sql}"
        return con.sql(text).to_arrow_table().num_rows if of else 0

    return find


def _polars(paths: Paths) -> Find:
    def find(needle: Needle) -> int:
        of = paths(needle)
        return pl.scan_parquet(of).filter(pl.col(needle.column) == needle.value).collect().height if of else 0

    return find
