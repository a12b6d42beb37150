"""Which share of files is read, by how rows are put into them: sorted by the first column, in Z-order, along Hilbert's
curve; by ranks of so many bits. No file is written: bounds are worked out in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.telling import Figures
from metaindex.index.kinds.covering.cuts import Places, Words, cut_by, numbers_of, woven

Columns = Sequence[npt.NDArray[np.float64]]
Ranges = Mapping[int, tuple[float, float]]
"""By column: from, to."""

_Order = Callable[[], npt.NDArray[np.float64] | Words]
"""What rows are sorted by."""
SAMPLE = 1 << 16


def run(rows: int, files: int, queries: int) -> Figures:
    """A line for each workload, how the values are, and order."""
    figures: Figures = []
    for values, columns in _tables(rows).items():
        for workload, shapes in _WORKLOADS.items():
            some = columns[: max(max(shape) for shape, _ in shapes) + 1]
            asked = _asked(some, shapes, queries)
            for order, places in _orders(some).items():
                started = time.process_time()
                at = np.argsort(places(), kind="stable")
                seconds = time.process_time() - started
                figures.append(
                    {
                        "queries": workload,
                        "values": values,
                        "order": order,
                        "share of files read": round(_share([column[at] for column in some], asked, files), 4),
                        "CPU s to rank and sort": seconds,
                    }
                )
    return figures


_WORKLOADS: Mapping[str, Sequence[tuple[tuple[int, ...], float]]] = {
    "1% of either of two columns": (((0,), 0.01), ((1,), 0.01)),
    "1% of any of three": (((0,), 0.01), ((1,), 0.01), ((2,), 0.01)),
    "30% of each of four": (((0, 1, 2, 3), 0.3),),
    "mostly the first of three": (*([((0,), 0.01)] * 8), ((1,), 0.01), ((2,), 0.01)),
}
"""What is asked in turn: which columns, and of each such a share of the rows."""


def _tables(rows: int) -> dict[str, Columns]:
    rng = np.random.default_rng(17)
    even = [rng.random(rows) for _ in range(4)]
    skewed = [np.round(rng.lognormal(3, 1.5, rows)) for _ in range(4)]
    return {"even": even, "skewed, repeated": skewed}


def _asked(columns: Columns, shapes: Sequence[tuple[tuple[int, ...], float]], count: int) -> list[Ranges]:
    rng = np.random.default_rng(3)
    ordered = [np.sort(column) for column in columns]
    asked: list[Ranges] = []
    for number in range(count):
        shape, share = shapes[number % len(shapes)]
        ranges: dict[int, tuple[float, float]] = {}
        for place in shape:
            first = int(rng.integers(0, int(len(ordered[place]) * (1 - share))))
            last = first + int(len(ordered[place]) * share)
            ranges[place] = float(ordered[place][first]), float(ordered[place][last])
        asked.append(ranges)
    return asked


def _orders(columns: Columns) -> dict[str, _Order]:
    out: dict[str, _Order] = {"sorted by the first": lambda: columns[0]}
    for bits in (4, 6, 8, 10, 12):
        if bits * len(columns) <= 63:
            out[f"Z-order, {bits} bits"] = lambda bits=bits: woven(_ranks(columns, bits), bits)  # type: ignore[misc]
            out[f"Hilbert, {bits} bits"] = lambda bits=bits: numbers_of(_ranks(columns, bits), bits)  # type: ignore[misc]
    return out


def _ranks(columns: Columns, bits: int) -> list[Places]:
    step = max(1, len(columns[0]) // SAMPLE)
    return [cut_by(pa.array(column[::step]), bits).ranks(pa.array(column)) for column in columns]


def _share(columns: Columns, asked: Sequence[Ranges], files: int) -> float:
    starts = np.linspace(0, len(columns[0]), files, endpoint=False).astype(np.int64)
    bounds = [(np.minimum.reduceat(column, starts), np.maximum.reduceat(column, starts)) for column in columns]
    kept = [
        np.logical_and.reduce(
            [(bounds[place][0] <= high) & (bounds[place][1] >= low) for place, (low, high) in ranges.items()]
        ).mean()
        for ranges in asked
    ]
    return float(np.mean(kept))
