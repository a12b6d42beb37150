"""Bloom filters: look-ups across 1,000,000 files (made-up filters, as full as real ones) beside the same blocks
unsliced, and filters of 500 files x 10,000 values, built and looked up.

cold     nothing is cached: the manifest, the footer and what holds the hash are read
warm     manifest and footers are at hand, as after any other look-up: what holds the hash is read, from the page cache
         of the machine
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from metaindex import Bloom
from metaindex.core import dataclass
from metaindex.formats import Field, Leaf
from metaindex.index.kinds.bloom.blocks import BLOCK_BYTES, Bytes, Hashes, Ints, bits_of, block_of
from metaindex.index.kinds.bloom.collector import BloomCollector
from metaindex.index.kinds.bloom.reader import BloomReader
from metaindex.index.kinds.bloom.sizing import size_classes
from metaindex.index.kinds.bloom.writer import FilterWriter
from metaindex.index.kinds.keyed import KeyPlan, Spill
from metaindex.index.log import sealed
from metaindex.index.log.entry import CoveredKey, RunRef
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.layout import PartInfo, manifest_bytes, manifest_path, new_run_id
from metaindex.index.store.reader import ReadCount, RunReader
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage

KEY = 1
FILES, VALUES = 500, 10_000


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    return [*across_many(folder / "bloom", 20_000 if quick else 1_000_000, quick), *built(folder / "bloom", quick)]


# A million files ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HalfFull:
    """Filters of made-up bits, every other one set."""

    blocks: int
    ordinals: Ints

    def read(self, first: int, count: int) -> Bytes:
        random = np.random.default_rng(first + 1)
        return random.integers(0, 256, (count, len(self.ordinals), BLOCK_BYTES), np.uint8)


def across_many(root: Path, files: int, quick: bool) -> Iterator[dict[str, object]]:
    hashes = np.random.default_rng(0).integers(0, 2**64, 20 if quick else 200, dtype=np.uint64)
    for sizes in (1, 8):
        shutil.rmtree(root, ignore_errors=True)
        sink = RunSink(LocalStorage(str(root)), new_run_id())
        classes = size_classes()[8 : 8 + sizes].tolist()
        writer = FilterWriter(KEY, [HalfFull(one, np.arange(i, files, sizes)) for i, one in enumerate(classes)])
        parts = [writer.write(number, sink, number) for number in range(writer.parts)]
        ref = _sealed(sink, files, CoveredKey("bloom_filters", KEY, ()), parts)
        name = f"bit-sliced, filters of {sizes} size" + ("s" if sizes > 1 else "")
        yield {"files": files, "look-up": name, **_look_ups(sink, ref, hashes)}
    yield {"files": files, "look-up": "unsliced", **_unsliced(root / "unsliced", files, hashes)}
    shutil.rmtree(root, ignore_errors=True)


def _look_ups(sink: RunSink, ref: RunRef, hashes: Hashes) -> dict[str, object]:
    cold_count, count, cache = ReadCount(), ReadCount(), StoreCache()
    cold = _times(lambda one: _reader(sink, ref, StoreCache(), cold_count).holding(one), hashes[:10])
    _reader(sink, ref, cache, count).holding(hashes)  # footers of all parts
    count.reads = count.bytes = 0
    warm = _times(lambda one: _reader(sink, ref, cache, count).holding(one), hashes)
    return {
        "warm ms (median)": statistics.median(warm),
        "p95 ms": sorted(warm)[int(0.95 * len(warm))],
        "reads": count.reads / len(hashes),
        "KB read": count.bytes / len(hashes) / 1e3,
        "cold ms": statistics.median(cold),
        "cold reads": cold_count.reads / 10,
        "cold KB": cold_count.bytes / 10 / 1e3,
    }


def _reader(sink: RunSink, ref: RunRef, cache: StoreCache, count: ReadCount) -> BloomReader:
    return BloomReader(RunReader(sink.storage, ref, cache, count), ref.keys[0], [pa.int64()])


def _times(look_up: Callable[[Hashes], object], hashes: Hashes) -> list[float]:
    """Milliseconds of each."""
    found = []
    for at in range(len(hashes)):
        start = time.perf_counter()
        look_up(hashes[at : at + 1])
        found.append(1000 * (time.perf_counter() - start))
    return found


def _unsliced(path: Path, files: int, hashes: Hashes) -> dict[str, object]:
    """A block of all files, file by file: the 32 bytes of each are read."""
    storage, blocks = LocalStorage(str(path)), 9
    row = files * BLOCK_BYTES
    piece = HalfFull(blocks, np.arange(files))
    storage.put("rows", b"".join(piece.read(block, 1).tobytes() for block in range(blocks)))
    count = ReadCount()

    def look_up(one: Hashes) -> object:
        data = storage.read("rows", int(block_of(one, blocks)[0]) * row, row)
        count.add(len(data))
        mask = np.zeros(256, np.uint8)
        mask[bits_of(one)[0]] = 1
        wanted = np.packbits(mask, bitorder="little").view(np.uint64)
        words = np.frombuffer(data, np.uint64).reshape(files, 4)
        found = (words[:, 0] & wanted[0]) == wanted[0]
        for at in range(1, 4):
            found &= (words[:, at] & wanted[at]) == wanted[at]
        return found

    warm = _times(look_up, hashes[:50])
    return {
        "warm ms (median)": statistics.median(warm),
        "p95 ms": sorted(warm)[int(0.95 * len(warm))],
        "reads": count.reads / len(warm),
        "KB read": count.bytes / len(warm) / 1e3,
    }


# Built -------------------------------------------------------------------------------------------------------------


def built(root: Path, quick: bool) -> Iterator[dict[str, object]]:
    files = 50 if quick else FILES
    random = np.random.default_rng(1)
    for kind, fpp in (("int64", 0.01), ("int64", 0.001), ("text of 32 bytes", 0.01), ("text of 32 bytes", 0.001)):
        columns = [_column(random, kind) for _ in range(files)]
        shutil.rmtree(root, ignore_errors=True)
        sink = RunSink(LocalStorage(str(root)), new_run_id())
        start, wall = time.process_time(), time.perf_counter()
        ref = _build(sink, columns, fpp)
        cpu, wall = time.process_time() - start, time.perf_counter() - wall
        entries, count = files * VALUES, ReadCount()
        reader = _reader(sink, ref, StoreCache(), count)
        asked = random.integers(0, 2**64, 300 if quick else 3000, dtype=np.uint64)
        reader.holding(asked[:1])
        cold = count.reads
        times = _times(reader.holding, asked)
        rate = float(np.mean([reader.holding(asked[at : at + 1]).mean() for at in range(len(asked))]))
        yield {
            "values": f"{files} files x {VALUES:,} {kind}",
            "asked fpp": f"{fpp:g}",
            "found fpp": f"{rate:.5f}",
            "bits a value": ref.size_bytes * 8 / entries,
            "build CPU ns a value": cpu / entries * 1e9,
            "build s": wall,
            "look-up ms": statistics.median(times),
            "cold reads": cold,
        }
    shutil.rmtree(root, ignore_errors=True)


def _column(random: np.random.Generator, kind: str) -> pa.Array:
    if kind == "int64":
        return pa.array(random.integers(0, 2**62, VALUES))
    data = pa.py_buffer(random.integers(97, 123, VALUES * 32, np.uint8))
    offsets = pa.py_buffer(np.arange(VALUES + 1, dtype=np.int32) * 32)
    return pa.Array.from_buffers(pa.string(), VALUES, [None, offsets, data])


def _build(sink: RunSink, columns: list[pa.Array], fpp: float) -> RunRef:
    plan = KeyPlan(Bloom.name, KEY, (Leaf((Field("a", columns[0].type, True, "a"),)),), 0)
    collector = BloomCollector(plan, sink, Spill(sink.storage, "_spill"), len(columns), fpp)
    for ordinal, values in enumerate(columns):
        collector.begin(ordinal, 1)
        collector.add(0, [values])
        collector.end()
    key, parts, _ = collector.close()
    return _sealed(sink, len(columns), key, parts)


def _sealed(sink: RunSink, files: int, key: CoveredKey, parts: list[PartInfo]) -> RunRef:
    manifest = manifest_bytes(parts)
    sink.storage.put(manifest_path(sink.run), manifest)
    digest = sealed.digest(manifest)
    size = sum(part.size_bytes for part in parts) + len(manifest)
    return RunRef(sink.run, files, 1, size, len(manifest), digest, "", (), 0, "benchmark", 0, (key,))
