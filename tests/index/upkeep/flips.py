"""Bits of an index that are turned over, one at a time."""

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.hostile.changes import turned
from tests.tables import Lake


def found_by_verify(lake: Lake, index: str, objects: Sequence[Path], tries: int) -> int:
    """How many of so many flipped bits are found; the others lie where they change nothing that is read (in a page's
    header), which is checked."""
    chance, found = random.Random(5), 0
    for _ in range(tries):
        path = chance.choice(objects)
        sound = path.read_bytes()
        at = chance.randrange(len(sound))
        path.write_bytes(turned(sound, at, 1 << chance.randrange(8)))
        if lake.open().verify_index(index, files=0).sound:
            assert pq.read_table(path).equals(pq.read_table(pa.BufferReader(sound)))
        else:
            found += 1
        path.write_bytes(sound)
    return found
