"""Writes sorted runs: immutable Parquet parts, and a manifest that names them with key range, rows, bytes and the
digest of each footer.

Parts and manifest are written whole, and then the manifest is named by a log entry: what no entry names is garbage,
never data.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.formats import FileTable, Footer
from metaindex.index.keys import id_words, partition_id
from metaindex.index.log.entry import CoveredColumn, CoveredKey, RunRef
from metaindex.index.log.sealed import digest
from metaindex.index.store.layout import PartInfo, manifest_path, run_folder
from metaindex.index.store.layout import manifest_bytes as manifest_bytes
from metaindex.index.store.rows import (
    COLUMNS,
    FILE_IDS,
    HASHES,
    PART_ROWS,
    PARTITIONS,
    PLACED,
    ROW_GROUP_ROWS,
    Columns,
)
from metaindex.storage import Storage, is_remote

SUFFIX = ".mix"
"""Parts are plain Parquet under another suffix, so that a glob for `*.parquet` over the lake never takes index rows for
table data."""

_SAMPLE_ROWS = 8192
"""Of sorted texts, by which their encoding is chosen."""

_GROUP_ROWS = {"file_ids": 4096, "files": 1 << 15}
"""`file_ids` are read a few rows here and there, what kinds keep in long stretches. `files` are read by pages: in large
row groups, for a small footer, and not in larger ones, as a store gives the pages of one in one request."""

_PLACED_ROWS = 4_096
"""A part of no more rows is read whole sooner than by its pages."""

_PAGE_BYTES, _PAGE_ROWS, _MOST_PAGE_ROWS = 1 << 12, 128, 512
"""A page has so many bytes or rows, whichever are more, and at most so many rows. Smaller ones are unpacked no faster:
it is beginning to that takes the time."""


THREADS = 4
_OF_STORE = 16
_LARGE = 4 << 20
"""Bytes from which on an object is put at once, as what waits is held in memory: making it took longer than the put."""


@dataclass(frozen=True, slots=True)
class _Puts:
    """The puts that are under way. Another process has none of them."""

    storage: Storage
    slots: threading.BoundedSemaphore
    under_way: list[Future[None]]
    threads: int

    def put(self, path: str, data: bytes) -> None:
        self.check()
        if len(data) >= _LARGE or getattr(_here, "puts", False):
            self.storage.put(path, data)
            return
        self.slots.acquire()
        try:
            put = _pool(self.threads).submit(self.storage.put, path, data)
        except RuntimeError:  # no thread can be started: too many, or the process is ending
            self.slots.release()
            self.storage.put(path, data)
            return
        put.add_done_callback(lambda _: self.slots.release())
        self.under_way.append(put)

    def check(self) -> None:
        """Raises what a put raised that is over."""
        for put in self.under_way:
            if put.done():
                put.result()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


@dataclass(frozen=True, slots=True)
class RunSink:
    """Writes the parts of a run. Plain data except for the storage, so that a Spark task can write parts too."""

    storage: Storage  # rooted at the index folder
    run: str
    puts: _Puts | None = None

    def put(self, path: str, data: bytes) -> None:
        """Put an object durably; inside `side_by_side`, by the end of it."""
        (self.puts or self.storage).put(path, data)

    def write(self, kind: str, table: pa.Table, number: int, columns: Columns = COLUMNS) -> PartInfo:
        """Writes one sorted part durably and says what it is. The caller has sorted `table` and kept it below
        PART_ROWS."""
        return write_part(self, self._path(f"{kind}{columns.folder}", number), kind, table, columns)

    def copy(self, part: PartInfo, data: bytes, number: int | None = None) -> PartInfo:
        """Puts the bytes of a part of another run, durably, as one of this run, and says what it is. `number`: None for
        the name that it has there."""
        folder, _, inside = part.path.partition("/")
        name = inside.partition("/")[2]
        path = self._path(folder, number) if number is not None else f"{run_folder(folder, self.run)}/{name}"
        self.put(path, data)
        return replace(part, path=path)

    def sealed(
        self,
        parts: Sequence[PartInfo],
        *,
        files: int,
        partitions: int,
        files_digest: str,
        columns: tuple[CoveredColumn, ...],
        builder: str,
        uncovered_files: int,
        keys: tuple[CoveredKey, ...],
        table_uuid: str,
        trusted: int = Footer.REVISION,
    ) -> RunRef:
        """Put the manifest of these parts, and return the run as a log entry names it."""
        manifest = manifest_bytes(parts)
        self.put(manifest_path(self.run), manifest)
        return RunRef(
            run=self.run,
            files=files,
            partitions=partitions,
            size_bytes=sum(part.size_bytes for part in parts) + len(manifest),
            manifest_bytes=len(manifest),
            manifest_digest=digest(manifest),
            files_digest=files_digest,
            columns=columns,
            created_ms=int(time.time() * 1000),
            builder=builder,
            uncovered_files=uncovered_files,
            keys=keys,
            table_uuid=table_uuid,
            trusted=trusted,
        )

    def _path(self, folder: str, number: int) -> str:
        return f"{run_folder(folder, self.run)}/part-{number:05d}{SUFFIX}"


@contextmanager
def side_by_side(sink: RunSink) -> Iterator[RunSink]:
    """Yield a sink whose puts return before they are done: a put waits for its disk or its store, and the parts of a
    run need no order among themselves. All are durable when the block ends; it raises what the first that
    failed raised. An error in the block waits for them too, so that a clean-up then finds all objects."""
    threads = _OF_STORE if is_remote(sink.storage.root) else THREADS
    puts = _Puts(sink.storage, threading.BoundedSemaphore(2 * threads), [], threads)
    try:
        yield replace(sink, puts=puts)
    finally:
        wait(puts.under_way)
    puts.check()


_shared: dict[int, ThreadPoolExecutor] = {}
_here = threading.local()
"""`puts` is set in the pool's own threads: what a storage does inside of a put is done there, as waiting for threads
that wait for it would never end."""


def _pool(threads: int) -> ThreadPoolExecutor:
    """Return this process's pool of so many threads: starting threads for every small run would be slow."""
    if threads not in _shared:
        _shared[threads] = ThreadPoolExecutor(threads, "metaindex puts", lambda: setattr(_here, "puts", True))
    return _shared[threads]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.clear)  # a child has none of its parent's threads


def write_part(sink: RunSink, path: str, kind: str, table: pa.Table, columns: Columns = COLUMNS) -> PartInfo:
    """Write one Parquet file as a whole, with a digest of its footer."""
    names = table.schema.names
    columns = PLACED.get(kind, columns)
    few, placed = kind in _GROUP_ROWS, kind in PLACED and table.num_rows > _PLACED_ROWS
    delta = {n: "DELTA_BINARY_PACKED" for n in names if n in columns.ascending}
    plain = {n: "PLAIN" for n in names if n in columns.plain}
    plain |= {n: _smallest(table.column(n)) for n in names if n in columns.texts}
    out = pa.BufferOutputStream()
    by_pages = {
        "write_page_index": True,
        "write_batch_size": _PAGE_ROWS,
        "data_page_size": _PAGE_BYTES,
        "max_rows_per_page": _MOST_PAGE_ROWS,
    }
    pq.write_table(
        table,
        out,
        row_group_size=_GROUP_ROWS.get(kind, ROW_GROUP_ROWS),
        compression={n: _codec(table.column(n), n, {**delta, **plain}[n]) for n in names} if few else "zstd",
        use_dictionary=[n for n in names if n not in delta and n not in plain],
        column_encoding=delta | plain,
        write_page_checksum=True,
        write_statistics=[n for n in names if n in columns.ranged],
        store_schema=False,
        **(by_pages if placed else {}),
    )
    buffer = out.getvalue()
    sink.put(path, buffer.to_pybytes())
    leading = table.column(0)
    keyed = table.num_rows > 0 and pa.types.is_integer(leading.type)
    return PartInfo(
        kind,
        path,
        table.num_rows,
        buffer.size,
        *digested_end(buffer, end_of_pages(pq.read_metadata(pa.BufferReader(buffer))) if placed else None),
        leading[0].as_py() if keyed else None,
        leading[-1].as_py() if keyed else None,
        *_second_range(table, columns.found_by),
    )


def digested_end(buffer: pa.Buffer, start: int | None = None) -> tuple[int, str]:
    """Return how many bytes of a part its `footer_digest` covers, and the digest: from `start` to the end; None: from
    the footer on."""
    length = 8 + int.from_bytes(buffer.slice(buffer.size - 8, 4).to_pybytes(), "little")
    if start is not None:
        length = buffer.size - start
    return length, digest(buffer.slice(buffer.size - length, length))


def _codec(column: pa.ChunkedArray, name: str, encoding: str) -> str:
    """Return how the pages of a column are packed, where few are read: to begin to unpack one takes longer than the
    rest, and differences, hashes and NULLs hardly become smaller."""
    small = encoding in ("DELTA_BINARY_PACKED", "DELTA_BYTE_ARRAY") or name in HASHES
    return "none" if small or column.null_count == len(column) else "zstd"


def end_of_pages(metadata: pq.FileMetaData) -> int:
    """Return the start of the page index, by which pages are found: no checksum of a page covers it, so the digest of
    the footer does."""
    last = metadata.row_group(metadata.num_row_groups - 1)

    def end(chunk: pq.ColumnChunkMetaData) -> int:
        start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
        return int(start + chunk.total_compressed_size)

    return max(end(last.column(leaf)) for leaf in range(metadata.num_columns))


def _smallest(keys: pa.ChunkedArray) -> str:
    """The encoding of sorted keys that comes out smaller."""
    some = pa.table({"text": keys.slice(max(0, len(keys) - _SAMPLE_ROWS) // 2, _SAMPLE_ROWS)})

    def size(encoding: str) -> int:
        out = pa.BufferOutputStream()
        pq.write_table(
            some, out, compression="zstd", use_dictionary=False, column_encoding=encoding, write_statistics=False
        )
        return int(out.getvalue().size)

    return min("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", key=size)


def _second_range(table: pa.Table, name: str | None) -> tuple[str | None, str | None]:
    """The least and greatest value of the column by which the parts of a key are found, as text; NULL, which comes
    first, is the empty text."""
    if name is None or not table.num_rows:
        return None, None
    first, last = (table.column(name)[at].as_py() for at in (0, -1))
    return _text(first), _text(last)


def _text(value: int | bytes | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else value.hex()


def cut(table: pa.Table) -> Iterator[pa.Table]:
    """A sorted table in pieces of at most PART_ROWS rows; at least one piece."""
    for start in range(0, max(table.num_rows, 1), PART_ROWS):
        yield table.slice(start, PART_ROWS)


def write_sorted(sink: RunSink, kind: str, table: pa.Table, first: int = 0) -> list[PartInfo]:
    """Write a sorted table, and return its parts, which are numbered from `first` on."""
    return [sink.write(kind, piece, number) for number, piece in enumerate(cut(table), first)]


@dataclass(slots=True)
class PartStream:
    """Takes tables in the order of their rows and writes a part whenever PART_ROWS have come together. `close` writes
    what is left (an empty part when nothing came and one is `needed`). `first_number` and every `step`-th from it on
    are the numbers of its parts: several streams that write into one folder take turns."""

    sink: RunSink
    kind: str
    schema: pa.Schema
    columns: Columns = COLUMNS
    first_number: int = 0
    step: int = 1
    parts: list[PartInfo] = field(default_factory=list)
    waiting: list[pa.Table] = field(default_factory=list)
    waiting_rows: int = 0

    def add(self, table: pa.Table) -> None:
        """The next rows."""
        while table.num_rows:
            if self.waiting_rows and self._ends(table):
                self._write()
            taken = table.slice(0, self._fitting(table))
            table = table.slice(taken.num_rows)
            self.waiting.append(taken)
            self.waiting_rows += taken.num_rows
            if self.waiting_rows == PART_ROWS:
                self._write()

    def _ends(self, table: pa.Table) -> bool:
        """Return whether the rows that wait are the part that comes before these."""
        half = self.columns.apart and 2 * self.waiting_rows >= PART_ROWS
        return half and self.waiting[-1].column(0)[-1] != table.column(0)[0]

    def _fitting(self, table: pa.Table) -> int:
        """Return how many of the rows belong to the part that is being made (`Columns.apart`)."""
        most: int = min(PART_ROWS - self.waiting_rows, table.num_rows)
        least = PART_ROWS // 2 - self.waiting_rows
        if not self.columns.apart or least >= most:
            return most
        ids = table.column(0).slice(0, most).to_numpy()
        at = max(least, 1)
        return at + int(np.searchsorted(ids[at:], ids[at - 1], side="right"))

    def close(self, *, needed: bool = True) -> list[PartInfo]:
        """Return all parts, in order."""
        if self.waiting or (needed and not self.parts):
            self._write()
        return self.parts

    def _write(self) -> None:
        table = pa.concat_tables(self.waiting).combine_chunks() if self.waiting else self.schema.empty_table()
        if table.schema != self.schema:
            table = table.cast(self.schema)
        self.waiting, self.waiting_rows = [], 0
        number = self.first_number + len(self.parts) * self.step
        self.parts.append(self.sink.write(self.kind, table, number, self.columns))


def id_rows(ids: pa.FixedSizeBinaryArray) -> pa.Table:
    """Return FILE_IDS of files whose ids are in the order of their ordinals."""
    words = id_words(ids)
    order = np.lexsort((words[:, 1], words[:, 0]))
    return pa.table([ids, pa.array(np.arange(len(ids), dtype=np.int32))], schema=FILE_IDS).take(pa.array(order))


def partition_rows(names: Sequence[str], counts: npt.NDArray[np.integer], sizes: npt.NDArray[np.int64]) -> pa.Table:
    """Return PARTITIONS in the order of their numbers, with how many files each has, and their bytes."""
    return pa.table(
        [
            pa.array([partition_id(name) for name in names], pa.int64()),
            pa.array(np.arange(len(names), dtype=np.int32)),
            pa.array(names, pa.string()),
            pa.array((np.cumsum(counts) - counts).astype(np.int32)),
            pa.array(counts.astype(np.int32)),
            pa.array(sizes, pa.int64()),
        ],
        schema=PARTITIONS,
    )


def number_partitions(files: FileTable) -> tuple[npt.NDArray[np.int32], pa.Table]:
    """The number of each file's partition, and the partitions by number. The files are sorted by partition."""
    text = files.table.column("partition").combine_chunks()
    if not len(text):
        return np.zeros(0, np.int32), PARTITIONS.empty_table()
    changes = pc.not_equal(text.slice(1), text.slice(0, len(text) - 1))
    starts = np.concatenate(([0], np.flatnonzero(changes.to_numpy(zero_copy_only=False)) + 1))
    counts = np.diff(np.append(starts, len(text)))
    sizes = np.add.reduceat(files.table.column("size_bytes").to_numpy(), starts)
    numbers = np.repeat(np.arange(len(starts), dtype=np.int32), counts)
    return numbers, partition_rows(text.take(pa.array(starts)).to_pylist(), counts, sizes)
