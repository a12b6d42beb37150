"""The keys of a run read back: every row, and that rows, parts and log entry fit each other, as each kind knows it
(`StoredKind.check`). `unkeyed` has as many files as the entry says, and no row is of such a file."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from metaindex.index.build.merging.keys import unkeyed_of
from metaindex.index.kinds.checks import Mismatch
from metaindex.index.kinds.registry import asked, rows_of
from metaindex.index.log.entry import RunRef
from metaindex.index.open_index import OpenIndex


def check_keys(index: OpenIndex, run: RunRef, named: set[int], records: pa.ChunkedArray) -> None:
    """Check the keys of a run. `named`: ids of all its keys, unknown ones too. `records`: by ordinal, the rows that the
    table's log counts. Raises Mismatch, or what reading raises."""
    reader = index.reader(run)
    unkeyed = unkeyed_of(reader)
    if strange := unkeyed.keys() - named:
        raise Mismatch(f"it names files of keys that the entry does not know ({len(strange)})", "unkeyed")
    for kind in sorted({key.kind for key in run.keys}):
        if any(not part_is_of(part.first_key, part.last_key, named) for part in reader.parts(kind)):
            raise Mismatch("a part has rows of no key of the run", kind)
    for key in run.keys:
        mask = np.zeros(run.files, np.bool_)
        without = unkeyed.get(key.key_id, np.zeros(0, np.int64))
        if len(without) and not 0 <= without[0] <= without[-1] < run.files:
            raise Mismatch("it names files that the run does not have", "unkeyed")
        mask[without] = True
        asked(key.kind, partial(rows_of(key).check, reader, key, mask, records))


def part_is_of(first: int | None, last: int | None, named: set[int]) -> bool:
    return first is None or (first == last and first in named)
