"""Runs of nothing but bloom filters, and a filter written down as the Parquet specification says it, bit by bit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.formats import Field, Leaf
from metaindex.index.kinds.bloom.collector import BloomCollector, BloomFinisher
from metaindex.index.kinds.bloom.reader import BloomReader
from metaindex.index.kinds.bloom.spec import Bloom
from metaindex.index.kinds.canonical import hash_values
from metaindex.index.kinds.keyed import Gathered, KeyPlan, Spill
from metaindex.index.log.entry import CoveredKey, RunRef
from metaindex.index.log.sealed import digest as sha256
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.layout import PartInfo, manifest_bytes, manifest_path, new_run_id
from metaindex.index.store.reader import ReadCount, RunReader
from metaindex.index.store.writer import RunSink
from metaindex.storage import Storage, storage_for

KEY = 42
SALT = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


def plan() -> KeyPlan:
    return KeyPlan(Bloom.name, KEY, (Leaf((Field("a", pa.int64(), True, "a"),)),), 0)


@dataclass
class Run:
    """A run of bloom filters that was written, and what a look-up of it needs."""

    storage: Storage
    ref: RunRef
    key: CoveredKey
    parts: list[PartInfo]
    unkeyed: list[int]
    count: ReadCount = field(default_factory=ReadCount)
    cache: StoreCache = field(default_factory=StoreCache)

    def run_reader(self) -> RunReader:
        return RunReader(self.storage, self.ref, self.cache, self.count)

    def reader(self, type_: pa.DataType = pa.int64()) -> BloomReader:  # noqa: B008 - a constant
        return BloomReader(self.run_reader(), self.key, [type_])

    def holding(self, hashes: npt.NDArray[np.uint64]) -> list[int]:
        """The files that may hold one of the hashes."""
        return np.flatnonzero(self.reader().holding(np.unique(hashes))).tolist()


def sealed(
    storage: Storage, sink: RunSink, files: int, key: CoveredKey, parts: list[PartInfo], unkeyed: Sequence[int]
) -> Run:
    manifest = manifest_bytes(parts)
    storage.put(manifest_path(sink.run), manifest)
    size = sum(part.size_bytes for part in parts) + len(manifest)
    digest = sha256(manifest)
    ref = RunRef(sink.run, files, 1, size, len(manifest), digest, "", (), 0, "local", len(unkeyed), (key,))
    return Run(storage, ref, key, parts, list(unkeyed))


def feed(collector: BloomCollector, files: Mapping[int, pa.Array | None]) -> None:
    """The values of each file; None: it cannot be read to its end."""
    for ordinal, values in files.items():
        collector.begin(ordinal, 1)
        if values is None:
            collector.add(0, [pa.array([1, 2, 3], pa.int64())])
            collector.fail()
        else:
            for start in range(0, len(values), 5000):
                collector.add(0, [values.slice(start, 5000)])
            collector.end()


def write(
    folder: Path,
    files: Mapping[int, pa.Array | None],
    count: int | None = None,
    fpp: float = 0.01,
    limit: int = 256 << 20,
) -> Run:
    """A run of the files, by ordinal in any order."""
    storage, _ = storage_for(folder)
    sink, spill = RunSink(storage, new_run_id()), Spill(storage, "_spill", limit)
    count = len(files) if count is None else count
    collector = BloomCollector(plan(), sink, spill, count, fpp)
    feed(collector, files)
    key, parts, unkeyed = collector.close()
    return sealed(storage, sink, count, key, parts, unkeyed.tolist())


def write_in_shares(folder: Path, shares: Sequence[Mapping[int, pa.Array | None]], fpp: float = 0.01) -> Run:
    """The same by several collectors, each of some of the files."""
    storage, _ = storage_for(folder)
    sink, spill = RunSink(storage, new_run_id()), Spill(storage, "_spill")
    count = sum(map(len, shares))
    gathered: list[Gathered] = []
    for share in shares:
        collector = BloomCollector(plan(), sink, spill, count, fpp)
        feed(collector, share)
        gathered.append(collector.hand_over())
    finisher = BloomFinisher.of(plan(), sink, spill, count, gathered)
    parts = [part for number in range(finisher.ranges) for part in finisher.write(number)]
    key, unkeyed = finisher.covered()
    return sealed(storage, sink, count, key, parts, unkeyed.tolist())


def integers(count: int, seed: int) -> pa.Array:
    """So many different integers (but for one in 2^40 or so)."""
    return pa.array(np.random.default_rng(seed).integers(-(2**62), 2**62, count))


def hashes_of(values: pa.Array) -> npt.NDArray[np.uint64]:
    hashes, valid = hash_values(values)
    return hashes if valid is None else hashes[valid]


def specified(hashes: Sequence[int], blocks: int) -> bytes:
    """BloomFilter.md, word by word."""
    words = [[0] * 8 for _ in range(blocks)]
    for one in hashes:
        block = words[((one >> 32) * blocks) >> 32]
        low = one & 0xFFFFFFFF
        for i in range(8):
            block[i] |= 1 << (((low * SALT[i]) & 0xFFFFFFFF) >> 27)
    return b"".join(word.to_bytes(4, "little") for block in words for word in block)
