"""A repeated filter without an index: processor time, and files opened, of a scan that nothing is remembered of, of one
that remembers, and of the same filter again, in this process and in a handle that finds it beside the indexes.

    python -m benchmarks.bench_remembered [files] [rows a file]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.querylog.writer import WRITER

FILTERS = {
    "texts by LIKE '%...%'": "note LIKE '%needle-7%'",
    "arithmetic": "amount * 3 + hour = 299999",
    "one value": "device = 424242",
}


def made(root: Path, files: int, rows: int) -> None:
    """Devices, amounts and notes without an order; what each filter finds lies in few files."""
    random = np.random.default_rng(7)
    for number in range(files):
        notes = [f"visit {n % 97} of {number}" for n in range(rows)]
        amount = random.integers(0, 1000, rows)
        device = random.integers(0, 1_000_000, rows) * 2 + 1
        if number % 100 == 7:
            notes[rows // 2] = "a needle-7 in it"
            device[rows // 3], amount[rows // 4] = 424242, 99_999
        table = {"device": device, "amount": amount, "hour": np.full(rows, 2), "note": notes}
        pq.write_table(pa.table(table), root / f"{number:04d}.parquet", row_group_size=rows // 8)


def seconds(ask: Callable[[], object], times: int = 3) -> float:
    """Processor time of this process, the median."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        ask()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def main(files: int = 200, rows: int = 80_000) -> None:
    with tempfile.TemporaryDirectory(prefix="metaindex-remembered") as folder:
        root = Path(folder) / "t"
        root.mkdir()
        made(root, files, rows)
        time.sleep(2.1)  # a plain file is believed when it is two seconds old
        print(f"{files} files of {rows:,} rows in 8 row groups; CPU ms")
        print(f"{'filter':<24}{'plain':>9}{'remembers':>11}{'again':>9}{'other handle':>14}  files opened")
        later = mi.RememberFilters(flush_seconds=1e6)  # nothing is written before it is asked for
        for what, where in FILTERS.items():
            plain = mi.open_table(str(root))
            once = [mi.open_table(str(root), config=mi.Config(remember_filters=later)) for _ in range(5)]
            pairs = [
                (mi.open_table(str(root)), table) for table in once
            ]  # by turns, as the machine has other work, too
            turns = [
                [
                    seconds(lambda asked=asked, where=where: asked.scan(where).to_arrow(), 1)  # type: ignore[misc]
                    for asked in pair
                ]
                for pair in pairs
            ]
            without, first = map(statistics.median, zip(*turns, strict=True))
            table = once[0]
            expected = plain.scan(where).to_arrow().num_rows
            again = seconds(lambda table=table, where=where: table.scan(where).to_arrow())  # type: ignore[misc]
            opened = len(table.scan(where).file_rows)
            assert table.scan(where).to_arrow().num_rows == expected
            WRITER.flush(60)
            other = seconds(
                lambda where=where: (  # type: ignore[misc]
                    mi.open_table(str(root), config=mi.Config(remember_filters=True)).scan(where).to_arrow()
                )
            )
            print(
                f"{what:<24}{without * 1000:>9.0f}{first * 1000:>11.0f}{again * 1000:>9.1f}{other * 1000:>14.1f}"
                f"  {opened} instead of {files}"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
