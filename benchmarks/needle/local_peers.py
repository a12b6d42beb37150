"""Who finds needles without a JVM: DuckDB, Polars, the pyarrow oracle that is told the row groups, and metaindex."""

from __future__ import annotations

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import metaindex as mi

from .lake import Lake, Needle
from .timing import Find, Peer

ENGINE = "no JVM"


def local_peers(lake: Lake) -> list[Peer]:
    """All rows of all columns, as Arrow. DuckDB keeps footers in memory between queries; two threads each."""
    pa.set_cpu_count(2)
    return [
        Peer("oracle: right row groups, pyarrow", ENGINE, _oracle(lake), 5, oracle=True),
        Peer("DuckDB scan", ENGINE, _duckdb(lake.paths(lake.parquet)), 2),
        Peer("DuckDB, native bloom filters", ENGINE, _duckdb(lake.paths(lake.with_bloom)), 5),
        Peer("Polars scan", ENGINE, _polars(lake)),
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


def _duckdb(paths: list[str]) -> Find:
    con = duckdb.connect()
    con.execute("SET threads = 2")
    con.execute("SET parquet_metadata_cache = true")
    con.from_parquet(paths).create_view("lake")
    return lambda needle: con.sql(f"SELECT * FROM lake WHERE {needle.sql}").to_arrow_table().num_rows


def _polars(lake: Lake) -> Find:
    frame = pl.scan_parquet(lake.paths(lake.parquet))
    return lambda needle: frame.filter(pl.col(needle.column) == needle.value).collect().height
