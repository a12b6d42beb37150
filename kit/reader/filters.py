"""Bloom filters."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pyarrow as pa
import xxhash

from .lies import Run, Unknown

SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


def block_of(hash_: int, blocks: int) -> int:
    return (hash_ >> 32) * blocks >> 32


def bits_of(hash_: int) -> list[int]:
    """The eight bits of a hash in its block."""
    return [32 * word + (((hash_ & 0xFFFFFFFF) * salt & 0xFFFFFFFF) >> 27) for word, salt in enumerate(SALTS)]


def by_filters(run: Run, key: dict[str, Any], hashes: list[int]) -> set[int]:
    """Ordinals in whose filter one of the hashes may be."""
    number = int(key["key_id"])
    parts = [p for p in run.parts if p["kind"] == "bloom_filters" and p["first_key"] == number]
    said = json.loads(run.file(parts[0]).metadata.metadata[b"metaindex.bloom_filters"])
    if said["version"] != 1:
        raise Unknown("directory")
    member = None
    if said["members"]:
        raw = pa.decompress(base64.b64decode(said["member"]), 2 * said["members"], codec="zstd", asbytes=True)
        member = struct.unpack(f"<{said['members']}H", raw)
    rows = run.of("bloom_filters", "key_id", number)
    found: set[int] = set()
    for place, (blocks, count) in enumerate(said["classes"]):
        files = list(range(count)) if member is None else [n for n, m in enumerate(member) if m == place + 1]
        listed = next(row["ordinals"] for row in rows if row["blocks"] == blocks and row["block"] == 0)
        if listed != files or len(files) != count:
            raise Unknown("the files of a class")
        vector = count if count < 256 else -(-count // 8) * 8  # bits
        block_bytes = 32 * vector
        if block_bytes > 512 << 10:
            raise Unknown("a frame a vector")
        for hash_ in hashes:
            block = block_of(hash_, blocks)
            row = max((r for r in rows if r["blocks"] == blocks and r["block"] <= block), key=lambda r: r["block"])
            payload = row["bits"][8:]
            seed = xxhash.xxh3_64_intdigest(struct.pack("<qiiii", number, blocks, count, row["block"], -1))
            if struct.unpack("<Q", row["bits"][:8])[0] != xxhash.xxh3_64_intdigest(payload, seed):
                raise Unknown("frame")
            start = (block - row["block"]) * block_bytes
            bits = int.from_bytes(payload[start : start + block_bytes], "little")
            all_set = (1 << count) - 1
            for bit in bits_of(hash_):
                all_set &= bits >> (bit * vector)
            found |= {ordinal for n, ordinal in enumerate(files) if all_set >> n & 1}
    return found
