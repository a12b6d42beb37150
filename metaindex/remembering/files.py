"""Which file is it, of those that are remembered?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from metaindex.expressions.vectors import compute, one_array, vector
from metaindex.formats.model import FileTable
from metaindex.keys import file_ids

from .stored import ID


def ids_of(files: FileTable) -> npt.NDArray[np.void]:
    """Of each file 16 bytes: its id, as indexes know it (path, size, time and sign), in the partition that gives it
    values."""
    if not len(files):
        return np.empty(0, ID)
    ids = file_ids(files)
    words = np.frombuffer(ids.buffers()[1], "<u8", 2 * (ids.offset + len(ids)))[2 * ids.offset :].reshape(-1, 2).copy()
    coded = compute("dictionary_encode", one_array(files.table.column("partition")))
    each = [xxhash.xxh3_64_intdigest(text) for text in coded.dictionary.view(pa.binary()).to_pylist()]
    words[:, 0] ^= np.array(each, np.uint64)[vector(coded.indices, np.int32)]
    return words.view(ID).reshape(-1)


def as_binary(ids: npt.NDArray[np.void]) -> pa.FixedSizeBinaryArray:
    """The same for Arrow."""
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(ids.tobytes())])
