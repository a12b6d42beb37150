"""Runs of nothing but bloom filters, and a filter written down as the Parquet specification says it, bit by bit."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.formats import Field, Leaf
from metaindex.index.kinds.bloom.collector import BloomCollector
from metaindex.index.kinds.bloom.reader import BloomReader
from metaindex.index.kinds.bloom.spec import Bloom
from metaindex.index.kinds.canonical import hash_values
from metaindex.index.kinds.keyed import KeyPlan, Spill
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import RunSink
from metaindex.storage import storage_for
from tests.index.contract.built_keys import Built, on_disk

KEY = 42
SALT = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


def plan() -> KeyPlan:
    return KeyPlan(Bloom.name, KEY, (Leaf((Field("a", pa.int64(), True, "a"),)),), 0)


def holding(run: Built, hashes: npt.NDArray[np.uint64], reader: RunReader | None = None) -> list[int]:
    """The files that may hold one of the hashes."""
    found = BloomReader(reader or run.run_reader(), run.key, [pa.int64()]).holding(np.unique(hashes))
    return np.flatnonzero(found).tolist()


def write(folder: Path | str, files: Mapping[int, pa.Array | None], limit: int = 256 << 20) -> Built:
    """A run of the files, by ordinal in any order, in a folder or bucket. None: a file that ends too soon."""
    storage, _ = storage_for(str(folder))
    sink = RunSink(storage, new_run_id())
    collector = BloomCollector(plan(), sink, Spill(storage, "_spill", limit), len(files), 0.01)
    for ordinal, values in files.items():
        collector.begin(ordinal, 1)
        if values is None:
            collector.add(0, [pa.array([1, 2, 3], pa.int64())])
            collector.fail()
        else:
            for start in range(0, len(values), 5000):
                collector.add(0, [values.slice(start, 5000)])
            collector.end()
    key, parts, unkeyed = collector.close()
    return on_disk(storage, sink.run, key, parts, unkeyed.tolist(), len(files))


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
