"""Fixed-width hashes of what never changes (RFC-27).

    column_id     xxh64  of the column's stable name (`Leaf.stable`: the field id where the format has one, else the
                         dotted path)
    partition_id  xxh64  of the canonical partition text (`model.partition_text`)
    key_id        xxh64  of a kind and the stable names of the columns that it keys together
    file_id       of what makes the bytes the same inside one table: path, size, time and sign (docs/decisions/0017)

Ids are stored as signed int64 (the same bits), file ids as 16 bytes: the xxh3_128 of the path, with a hash of size,
`modified_ms` and `etag` laid (XOR) over its last six bytes. So ids that share ten bytes are of one path, and those that
share all are one file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from metaindex.core import Vector, compute, dataclass
from metaindex.formats import FileTable, Snapshot

_AT_ONCE = (
    1 << 17
)  # files whose ids are made together: ten million as Python's own bytes would take more memory than all else


def column_id(stable: str) -> int:
    """The id of a column, by its stable name."""
    return _signed(xxhash.xxh64_intdigest(stable.encode()))


def key_id(kind: str, stables: Sequence[str]) -> int:
    """The id of a key: of a kind's rows about one column, or about several columns as one."""
    return _signed(xxhash.xxh64_intdigest("\0".join((kind, *stables)).encode()))


def partition_id(text: str) -> int:
    """The id of a partition, by its canonical text."""
    return _signed(xxhash.xxh64_intdigest(text.encode()))


@dataclass(frozen=True, slots=True)
class FileIdentities:
    """Files by what makes their bytes the same: the table that they are of, and the id of each in it. `before`: the
    ids that they had before the table mapped columns by name. Statistics and keys under those say nothing of a file
    without field ids, and of others no mapping matters. A covering index copied what readers made of either."""

    table_uuid: str
    ids: pa.FixedSizeBinaryArray
    before: pa.FixedSizeBinaryArray | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> FileIdentities:
        """Return the identities of all live files, in their order."""
        ids = file_ids(snapshot.files)
        before = file_ids(_unmapped(snapshot)) if snapshot.mapping else None
        return cls(snapshot.table_uuid, ids, before)

    @property
    def told(self) -> tuple[pa.FixedSizeBinaryArray, ...]:
        """The ids by which the files are known."""
        return (self.ids,) if self.before is None else (self.ids, self.before)

    def places(self, ids: pa.Array) -> pa.Array:
        """Return for each id the row of its file; null if no file has it."""
        import pyarrow.compute as pc

        return pc.coalesce(*(pc.index_in(ids, value_set=mine) for mine in self.told))

    def __len__(self) -> int:
        return len(self.ids)


def _unmapped(snapshot: Snapshot) -> FileTable:
    """The files without what the table's name mapping adds to their signs."""
    import pyarrow.compute as pc

    table = snapshot.files.table.select(FileTable.IDENTITY)
    plain = pc.utf8_slice_codeunits(Vector(table.column("etag")).array, 0, stop=-len(snapshot.mapping))
    return FileTable(table.set_column(3, "etag", plain))


def file_ids(files: FileTable) -> pa.FixedSizeBinaryArray:
    """The ids of all files, 16 bytes each, in their order. One C call a file; no Python object outlives it."""
    table = files.table.select(FileTable.IDENTITY)
    pieces = [_ids(table.slice(start, _AT_ONCE)) for start in range(0, table.num_rows, _AT_ONCE)]
    return _binary(np.concatenate(pieces) if pieces else np.empty((0, 2), np.uint64))


def path_ids(paths: pa.ChunkedArray) -> pa.FixedSizeBinaryArray:
    """Ids of which only what they say of the path counts."""
    pieces = [_digests(Vector(paths.slice(start, _AT_ONCE)).array) for start in range(0, len(paths), _AT_ONCE)]
    return _binary(np.concatenate(pieces) if pieces else np.empty((0, 2), np.uint64))


def id_words(ids: pa.FixedSizeBinaryArray) -> npt.NDArray[np.uint64]:
    """Ids as two big-endian words each, so that the order of words is the order of bytes."""
    data = ids.buffers()[1]
    raw = np.empty(0, _WORD) if data is None else np.frombuffer(data, _WORD, (ids.offset + len(ids)) * 2)
    return raw[ids.offset * 2 :].astype(np.uint64).reshape(-1, 2)


def same_path(words: npt.NDArray[np.uint64], others: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Mask of the id pairs that belong to files of the same path."""
    first: npt.NDArray[np.bool_] = words[:, 0] == others[:, 0]
    rest: npt.NDArray[np.bool_] = words[:, 1] >> _SIGN_BITS == others[:, 1] >> _SIGN_BITS
    return first & rest


_WORD = ">u8"
_SIGN_BITS = np.uint64(48)
_UNKNOWN = -(1 << 63)


def _ids(files: pa.Table) -> npt.NDArray[np.uint64]:
    path, size, modified, etag = (Vector(column).array for column in files.columns)
    words = _digests(path)
    sign = _mixed(_mixed(_mixed(_numbers(size)) ^ _numbers(modified)) ^ _hashes(etag))
    words[:, 1] ^= sign & np.uint64((1 << 48) - 1)
    return words


def _digests(paths: pa.Array) -> npt.NDArray[np.uint64]:
    raw = b"".join(map(xxhash.xxh3_128_digest, paths.view(pa.binary()).to_pylist()))
    return np.frombuffer(raw, _WORD).astype(np.uint64).reshape(-1, 2)


def _numbers(values: pa.Array) -> npt.NDArray[np.uint64]:
    return np.where(Vector(values).present, Vector(values).items(np.int64), _UNKNOWN).view(np.uint64)


def _hashes(texts: pa.Array) -> npt.NDArray[np.uint64]:
    """Return xxh3_64 of each text, 0 for null. Few are distinct where a log numbers its commits."""
    if texts.null_count == len(texts):
        return np.zeros(len(texts), np.uint64)
    coded = compute("dictionary_encode", texts)
    each = [xxhash.xxh3_64_intdigest(text) for text in coded.dictionary.view(pa.binary()).to_pylist()]
    present = Vector(texts).present
    at = np.where(present, Vector(coded.indices).items(np.int32), 0)
    return np.where(present, np.array(each, np.uint64)[at], np.uint64(0))


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _binary(words: npt.NDArray[np.uint64]) -> pa.FixedSizeBinaryArray:
    data = pa.py_buffer(words.astype(_WORD).tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(words), [None, data])


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
