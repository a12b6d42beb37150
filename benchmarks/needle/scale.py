"""The model beside measurements at three sizes: built here, without a JVM, one key at a time; looked up by a handle
that has nothing in memory."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.index.kinds.kind import KeyKind
from metaindex.index.store.writer import SUFFIX

from .lake import Lake
from .model import HashedKey, filter_bits

SIZES = ((50, 500_000), (500, 5_000_000), (500, 20_000_000))
QUICK_SIZES = ((10, 10_000), (20, 40_000))


def scale(folder: Path, quick: bool) -> list[dict[str, object]]:
    """A row for each size and quantity. `x of model`: measured over predicted."""
    out: list[dict[str, object]] = []
    for files, rows in QUICK_SIZES if quick else SIZES:
        lake = Lake.of(folder, files, rows)
        lake.prepare_parquet()
        out += _hashed(lake, "record_id", rows)
        out += _hashed(lake, "event_id", int(lake.events.max()) + 1)
        out += _filters(lake)
    return out


def _hashed(lake: Lake, column: str, values: int) -> Iterator[dict[str, object]]:
    index = _Index(lake, mi.Values(column))
    entries = index.rows("values")
    model = HashedKey(lake.files, lake.groups, entries, min(values, entries))
    say = _Row(lake, column)
    yield say("bytes an entry", model.entry_bytes, index.bytes("values") / entries)
    yield say("CPU us an entry, build", None, index.cpu * 1e6 / entries)
    kilobytes, reads, seconds = index.look_up(column)
    yield say("KB of a cold look-up", (model.manifest_bytes + model.footer_bytes + model.group_bytes) / 1000, kilobytes)
    yield say("reads of a cold look-up", 3, reads)
    yield say("ms of a warm look-up", None, seconds * 1000)


def _filters(lake: Lake) -> Iterator[dict[str, object]]:
    say = _Row(lake, "event_id")
    distinct = len(np.unique(lake.events[: lake.file_rows]))
    for fpp in (0.01, 0.001):
        index = _Index(lake, mi.Bloom("event_id", fpp=fpp))
        keys = len(np.unique(np.arange(lake.rows) // lake.file_rows * lake.rows + lake.events))
        yield say(f"filter bits a key at {fpp:g}", filter_bits(distinct, fpp), index.bytes("bloom_filters") * 8 / keys)
        yield say(f"CPU us a key, filters at {fpp:g}", None, index.cpu * 1e6 / keys)


@dataclass(frozen=True, slots=True)
class _Row:
    lake: Lake
    column: str

    def __call__(self, what: str, model: float | None, measured: float) -> dict[str, object]:
        return {
            "scale": f"{self.lake.rows:,} rows, {self.lake.files:,} files",
            "key": self.column,
            "what": what,
            "model": model if model is not None else "",
            "measured": measured,
            "x of model": measured / model if model else "",
        }


class _Index:
    """One key's index, built anew."""

    def __init__(self, lake: Lake, kind: KeyKind) -> None:
        self._lake = lake
        self._folder = lake.folder / "_metaindex" / lake.parquet.name / "scale"
        shutil.rmtree(self._folder, ignore_errors=True)
        started = time.process_time()
        mi.open_table(str(lake.parquet)).create_index("scale", kind, builder="local")
        self.cpu = time.process_time() - started

    def _parts(self, partition: str) -> list[Path]:
        return list((self._folder / partition).rglob(f"*{SUFFIX}"))

    def rows(self, partition: str) -> int:
        return sum(pq.ParquetFile(path).metadata.num_rows for path in self._parts(partition))

    def bytes(self, partition: str) -> int:
        return sum(path.stat().st_size for path in self._parts(partition))

    def look_up(self, column: str) -> tuple[float, float, float]:
        """KB and reads of a handle's first look-up, of values that are not there, so that no file's row is read
        besides; and seconds of later ones: medians."""
        read, calls, seconds = [], [], []
        (values,) = (some for _, name, some in self._lake.absent(9) if name == column)
        for value in values:
            table = mi.open_table(str(self._lake.parquet))
            kilobytes, reads, _ = self._costs(table, f"{column} = {value!r}")
            read.append(kilobytes)
            calls.append(reads)
            seconds.append(self._costs(table, f"{column} = {value!r}")[2])
        return statistics.median(read), statistics.median(calls), statistics.median(seconds)

    def _costs(self, table: mi.Table, sql: str) -> tuple[float, float, float]:
        (found,) = (one for one in table.prune(sql, indexes=["scale"]).indexes if one.name == "scale")
        return found.bytes_read / 1000, found.reads, found.seconds
