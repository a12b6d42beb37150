"""What one row takes to read by the row groups of a file, as `locate`, `what_if` and `recommend` estimate it.

First the constants of `metaindex/formats/parquet/costs.py`, fitted to columns in memory beside those in use. Then the
files of `shapes`, by two writers: estimate and measured CPU of a look-up of one row, without its planning, and of Arrow
reading the row group whole, as Spark does. Least of interleaved rounds, warm.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.formats.parquet import costs

from .bench_shapes import ROW_BYTES, written
from .shape import SHAPES


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    return [*_constants(quick), *_estimates(folder, quick)]


def _least_ms(ask: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        ask()
        taken.append(1000 * (time.process_time() - started))
    return min(taken)


def _constants(quick: bool) -> list[dict[str, object]]:
    """Fit them so that the relative errors are least."""
    told, measured = [], []
    for rows in (2_500,) if quick else (2_500, 122_880, 1_000_000):
        ids = np.random.default_rng(1).permutation(10 * rows)[:rows]
        texts = np.char.add("https://example.org/item/", ids.astype(str))
        kinds = np.array(["a", "b", "c", "d"])[ids % 4]
        for column in (ids, ids % 100, ids / 7, pa.array(texts), pa.array(ids.astype(str)), pa.array(kinds)):
            for codec in ("snappy", "zstd"):
                out = io.BytesIO()
                pq.write_table(pa.table({"c": column}), out, row_group_size=rows, compression=codec)
                file = pq.ParquetFile(pa.py_buffer(out.getvalue()))
                chunk = file.metadata.row_group(0).column(0)
                packed, unpacked = chunk.total_compressed_size, chunk.total_uncompressed_size
                text = rows if chunk.physical_type == "BYTE_ARRAY" else 0
                told.append((1, packed if packed < costs.UNPACKED * unpacked else 0, unpacked, rows, text))
                measured.append(_least_ms(lambda file=file: file.read(use_threads=False), 3 if quick else 9))
    weight = 1 / (np.array(measured) + 0.5)
    fitted = np.linalg.lstsq(np.array(told) * weight[:, None], np.array(measured) * weight, rcond=None)[0]
    names = ("CHUNK_MS", "PACKED_MS", "UNPACKED_MS", "VALUE_MS", "TEXT_MS")
    return [
        {"constant": name, "fitted, of a million": 1e6 * float(value), "in use": 1e6 * float(getattr(costs, name))}
        for name, value in zip(names, fitted, strict=True)
    ]


def _estimates(folder: Path, quick: bool) -> list[dict[str, object]]:
    figures: list[dict[str, object]] = []
    for shape in SHAPES.values():
        files, rows = shape.files_of(0, ROW_BYTES, quick)
        lake = folder / f"shapes-{shape.group_rows}-{rows}-{files}"
        for writer in ("parquet", "duckdb"):
            name = f"{writer}, row groups of {min(shape.group_rows, rows):,}"
            root = Path(written(lake, writer, shape.group_rows, rows, files))
            figures += [{"file": name} | one for one in _of_shape(root, rows, quick)]
    return figures


def _of_shape(root: Path, rows: int, quick: bool) -> list[dict[str, object]]:
    table, seen = mi.open_table(str(root)), [0]

    def asked() -> str:
        seen[0] = (seen[0] + 7919) % rows
        return f"id = {seen[0]}"

    reading = table.locate(asked()).reading
    assert reading is not None
    rounds = 3 if quick else 15
    file = pq.ParquetFile(root / "0.parquet")
    planned = _least_ms(lambda: table.prune(asked()), rounds)
    one = _least_ms(lambda: table.scan(asked()).to_arrow(), rounds) - planned
    whole = _least_ms(lambda: file.read_row_group(0, use_threads=False), rounds)
    return [
        {"reads": what, "estimate, ms": estimate, "measured, ms": measured, "ratio": estimate / max(measured, 0.01)}
        for what, estimate, measured in (
            (f"one row by {reading.reader}", reading.expected_ms, one),
            ("the row group", reading.whole_ms, whole),
        )
    ]
