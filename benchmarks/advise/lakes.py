"""Tables of the benchmark, as folders of Parquet files: rows as they were generated, or those of a month together."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.needle.lake import Lake as NeedleLake
from metaindex.cli.flights.data import days, flights

from . import tpcds

_JULIAN = 2_440_588
"""TPC-DS numbers days as Julian days: this one is 1970-01-01."""

_DAYS = {
    "store_sales": "ss_sold_date_sk",
    "store_returns": "sr_returned_date_sk",
    "catalog_sales": "cs_sold_date_sk",
    "catalog_returns": "cr_returned_date_sk",
    "web_sales": "ws_sold_date_sk",
    "web_returns": "wr_returned_date_sk",
    "inventory": "inv_date_sk",
}
"""By which TPC-DS's tables of events are told apart."""

Months = npt.NDArray[np.int64]


def lineitem(folder: Path, scale: float, files: int, *, by_month: bool) -> Path:
    """TPC-H's, in the order of tpchgen-cli (by order), or by month of l_shipdate."""

    def rows() -> pa.Table:
        home = folder / f"tpch-{scale:g}"
        program = Path(sys.executable).parent / "tpchgen-cli"
        options = [f"--scale-factor={scale:g}", "--tables=lineitem", "--parts=1", f"--output-dir={home}/made"]
        subprocess.run([program, "parquet", *options], check=True, stdout=subprocess.DEVNULL)
        return _plain(pq.read_table(home / "made" / "lineitem"))

    name = "by-month" if by_month else "as-made"
    return _written(folder / f"tpch-{scale:g}" / name / "lineitem", rows, files, "l_shipdate" if by_month else "")


def sales(folder: Path, scale: float, files: int, *, by_month: bool, channel: str = "store") -> Path:
    """TPC-DS's sales of a channel, in the order of dsdgen, or by month of the day that they were sold on."""

    def rows() -> pa.Table:
        return pq.read_table(tpcds.made(folder, scale) / f"{channel}_sales.parquet")

    name = "by-month" if by_month else "as-made"
    sold = f"{channel}_sales"
    return _written(folder / f"tpcds-{scale:g}" / name / sold, rows, files, _DAYS[sold] if by_month else "")


def every(folder: Path, scale: float, *, by_month: bool = False) -> Path:
    """All tables of TPC-DS, each a folder of files of some 400,000 bytes, in the order of dsdgen; or those that have a
    day by its month, in files of some 2,000,000 bytes."""
    root = folder / f"tpcds-{scale:g}" / ("every-by-month" if by_month else "every")
    for path in sorted(tpcds.made(folder, scale).glob("*.parquet")):
        files = max(1, path.stat().st_size // (2_000_000 if by_month else 400_000))
        day = _DAYS.get(path.stem, "") if by_month else ""
        _written(root / path.stem, partial(pq.read_table, path), files, day)
    return root


def flown(folder: Path) -> Path:
    """A file a day of 2013."""
    root = folder / "flights"
    if not root.exists():
        table = flights()
        number = days(table).to_numpy(zero_copy_only=False)
        table, number = table.take(pa.array(np.argsort(number, kind="stable"))), np.sort(number)
        ends = np.searchsorted(number, np.arange(int(number.max()) + 2))
        _write(root, (table.slice(a, b - a) for a, b in pairwise(ends)))
    return root


def needles(folder: Path, files: int, rows: int) -> Path:
    """The table of the benchmark `needle`."""
    lake = NeedleLake(folder / f"needle-{files}-{rows}", files, rows)
    lake.prepare_parquet()
    return lake.parquet


def copied(root: Path, other: Path) -> None:
    """The files in another folder, without indexes, if they are not there yet."""
    if not other.exists():
        shutil.copytree(root, other, ignore=shutil.ignore_patterns("_metaindex"))


def _written(root: Path, rows: Callable[[], pa.Table], files: int, month_of: str) -> Path:
    if not root.exists():
        print(f"advise: {root.parent.name} {root.name}", file=sys.stderr)
        table = rows()
        if month_of:
            table = table.take(pa.array(np.argsort(_months(table.column(month_of)), kind="stable")))
        ends = np.linspace(0, table.num_rows, files + 1).astype(int)
        _write(root, (table.slice(a, b - a) for a, b in pairwise(ends)))
    return root


def _plain(table: pa.Table) -> pa.Table:
    """Texts as all readers have them: Arrow's own views of texts cannot be taken by rows."""
    fields = [pa.field(f.name, pa.string() if f.type == pa.string_view() else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))


def _months(days_: pa.ChunkedArray) -> Months:
    """Of each day a number for its month; rows without a day come last."""
    dates = days_ if pa.types.is_date32(days_.type) else pc.subtract(days_, _JULIAN).cast(pa.int32()).cast(pa.date32())
    months = pc.add(pc.multiply(pc.year(dates), 12), pc.month(dates))
    found: Months = pc.fill_null(months, 1 << 30).combine_chunks().to_numpy(zero_copy_only=False)
    return found


def _write(root: Path, tables: Iterable[pa.Table]) -> None:
    """Two row groups a file. Files are ten minutes old: a plain file younger than its listing is not relied on."""
    draft = root.with_name(root.name + ".draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    then = time.time_ns() - 600 * 10**9
    for number, table in enumerate(tables):
        path = draft / f"part-{number:05d}.parquet"
        pq.write_table(table, path, row_group_size=max(1, -(-table.num_rows // 2)), compression="zstd")
        os.utime(path, ns=(then, then))
    draft.rename(root)
