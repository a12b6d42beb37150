"""The rows of a key read back whole, as `StoredKind.check` does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, compute
from metaindex.index.log.entry import CoveredKey

from .checks import Mismatch

if TYPE_CHECKING:
    from metaindex.index.store.reader import RunReader

_GROUPS_AT_ONCE = 16


def named(key: CoveredKey) -> str:
    return f"key ({', '.join(column.name for column in key.columns)})"


def stored_rows(reader: RunReader, key: CoveredKey) -> Iterator[pa.Table]:
    """Yield all rows of a key, in order, some row groups at a time."""
    for part in reader.parts(key.kind):
        if part.first_key is not None and part.first_key != key.key_id:
            continue
        footer = reader.footer(part)
        names = list(footer.columns)
        for start in range(0, len(footer.rows), _GROUPS_AT_ONCE):
            groups = range(start, min(start + _GROUPS_AT_ONCE, len(footer.rows)))
            table = reader.read(part, groups, names, keep=False)
            mine = table.filter(compute("equal", table.column("key_id"), key.key_id))
            if mine.num_rows < table.num_rows:
                raise Mismatch(f"part {part.path} has rows of another key", key.kind)
            yield mine.combine_chunks()


def check_ordinals(ordinals: np.typing.NDArray[np.int64], key: CoveredKey, unkeyed: Mask) -> None:
    """Raises Mismatch where rows are of files that the run does not have, or of which the key knows nothing."""
    if len(ordinals) and not 0 <= ordinals.min() <= ordinals.max() < len(unkeyed):
        raise Mismatch(f"rows of {named(key)} are of files that the run does not have", key.kind)
    if unkeyed[ordinals].any():
        raise Mismatch(f"rows of {named(key)} are of files of which it is said to know nothing", key.kind)
