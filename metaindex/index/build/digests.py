"""Digests of the bytes of data files on which the facts of a run rest. By them a refresh takes over files that are
another to the file system and have the bytes that were indexed: after chmod, a hard link, a copy, a restored backup
(docs/decisions/0048).

    CSV, JSON   the whole file
    Parquet     the footer; the column chunks of every key; those of columns whose statistics were computed from rows in
                this file. Other statistics rest on the footer, which has no checksum of values.

What was digested is worked out of the stored facts whenever it is asked, and is part of the digest: equal digests say
that everything the facts rest on now is what it was when the run was built. A digest is of a file as it was listed:
size, time, inode and time of change are still those of the listing once it is read, and what changed shortly before a
listing is not indexed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import xxhash

from metaindex.core import CorruptTableError, Mask, Progress, Vector, dataclass
from metaindex.formats import Field, FileTable, Footer, Format, Snapshot, Trust
from metaindex.index.build.collect import UNREADABLE
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.log.entry import CoveredColumn, CoveredKey, RunRef
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.layout import PartInfo, manifest_path
from metaindex.index.store.reader import ReadCount, RunReader
from metaindex.index.store.rows import LATER
from metaindex.index.store.writer import RunSink
from metaindex.storage import Storage

_SEED = 8
"""Bytes that a digest begins with, random in each run: which files have equal digests is not known before it is
written. Behind them xxh3 of 128 bits, as fast as bytes are read: it tells bytes that changed, not who forges some."""
_PIECE = 4 << 20
_BEHIND = 128
"""Bytes behind a column chunk that count as its own: some old writers left a header out of its size, as readers
know."""
_TOLD_EVERY = 256


def are_kept(snapshot: Snapshot, storage: Storage) -> bool:
    """Return whether digests tell something of these files: of a log's files and of objects of a store no chmod makes
    other ones."""
    return not Format.named(snapshot.format).has_log and "://" not in storage.root


@dataclass(frozen=True, slots=True)
class Basis:
    """The bytes that the facts of the files of a run rest on. `keyed`: names of columns that are read of every file;
    `computed`: of those with statistics, the files in which they were computed from rows."""

    whole: bool
    keyed: frozenset[str]
    computed: Mapping[str, Mask]

    @classmethod
    def of(cls, reader: RunReader, snapshot: Snapshot) -> Basis:
        """Raises DamagedIndexError."""
        run = reader.run
        if snapshot.details.read_options()["file_format"] != "parquet":
            return cls(True, frozenset(), {})
        keyed = frozenset(_named(column) for key in run.keys for column in key.columns if not column.partition)
        computed = {}
        for column in run.columns:
            if not column.partition and _named(column) not in keyed:
                rows = FACT_ROWS.of_column(reader, column, None)
                own = Vector(rows.column("trust")).numbers == int(Trust.COMPUTED)
                mask = np.zeros(run.files, np.bool_)
                mask[Vector(rows.column("ordinal")).numbers[own]] = True
                computed[_named(column)] = mask
        return cls(False, keyed, computed)

    @classmethod
    def of_parts(
        cls,
        sink: RunSink,
        columns: tuple[CoveredColumn, ...],
        keys: tuple[CoveredKey, ...],
        files: int,
        parts: Sequence[PartInfo],
        snapshot: Snapshot,
    ) -> Basis:
        """The basis of a run whose parts are written, and which has no manifest yet."""
        run = RunRef(sink.run, files, 0, 0, 0, "", "", columns, 0, "", keys=keys)
        cache = StoreCache()
        cache.manifests[manifest_path(run.run)] = tuple(parts)
        return cls.of(RunReader(sink.storage, run, cache, ReadCount()), snapshot)

    def columns(self, ordinal: int) -> frozenset[str] | None:
        """Return the columns whose chunks a file's facts rest on, beside its footer; None for the whole file."""
        if self.whole:
            return None
        return self.keyed | {name for name, mask in self.computed.items() if mask[ordinal]}


def digests(basis: Basis, storage: Storage, files: FileTable, progress: Progress | None = None) -> pa.Array:
    """Return the digest of each file of a run, by ordinal; null where it cannot be told."""
    out: list[bytes | None] = []
    seed = secrets.token_bytes(_SEED)
    for ordinal, file in enumerate(files.table.select(FileTable.IDENTITY).to_pylist()):
        out.append(digest(storage, file, basis.columns(ordinal), seed))
        if progress is not None and len(out) % _TOLD_EVERY == 0:
            progress("files digested", len(out), len(files))
    return pa.array(out, LATER["digest"])


def digest(storage: Storage, file: Mapping[str, object], columns: frozenset[str] | None, like: bytes) -> bytes | None:
    """Return the digest of a listed file (`FileTable.IDENTITY`), None if it cannot be read or is another file by now.
    `like`: a digest, or the seed of some, to compare it with."""
    path, size, seed = str(file["path"]), int(str(file["size_bytes"])), like[:_SEED]
    hashed = xxhash.xxh3_128(seed=int.from_bytes(seed))
    try:
        with storage.open_input(path) as source:
            if source.size() != size:
                return None
            spans = [(0, size)] if columns is None else _spans(source, size, columns)
            for start, end in spans:
                hashed.update(f"{start} {end}\n".encode())
                for at in range(start, end, _PIECE):
                    hashed.update(source.read_at(min(_PIECE, end - at), at))
        now = storage.head(path)
    except UNREADABLE:
        return None
    listed = (file["size_bytes"], file["modified_ms"], file["etag"])
    is_listed = now.etag is not None and listed == (now.size_bytes, now.modified_ns // 1_000_000, now.etag)
    return seed + hashed.digest() if is_listed else None


def _spans(source: pa.NativeFile, size: int, columns: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield where the footer is, and then the column chunks in their order."""
    end = bytes(source.read_at(8, max(size - 8, 0)))
    start = size - 8 - int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or start < 0:
        raise CorruptTableError("a Parquet file ends with its footer")
    yield start, size
    if columns:
        for first, last in Footer.of(source).chunk_spans(partial(_is_of, columns)):
            yield first, min(last + _BEHIND, start)


def _is_of(columns: frozenset[str], path: str) -> bool:
    """Return whether a leaf of a file is one of the columns, or inside one."""
    parts = Field.alike(path).split(".")
    return any(".".join(parts[:depth]) in columns for depth in range(1, len(parts) + 1))


def _named(column: CoveredColumn) -> str:
    """A column as it is found in files: by its name, in any case of letters."""
    return Field.alike(column.name)
