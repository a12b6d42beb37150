"""Reads sorted runs: manifest, footer, row groups, in that order, each checked, each counted.

    manifest      one read, digest in the log entry
    footer        one exact read a part, digest in the manifest; a small part of a store comes whole
    row groups    one read for neighbouring groups, the asked columns only, page checksums verified

What does not match raises DamagedIndexError; the caller then does without the index. Manifests, footers and decoded row
groups are kept in a `StoreCache`: they are immutable, so a cache can never be stale.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from mmap import mmap
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

# What pq.ParquetFile is made of; that module loads every file system of Arrow, which a look-up does not need.
from pyarrow._parquet import FileMetaData, ParquetReader

from metaindex.core import (
    DamagedIndexError,
    ForeignIndexError,
    MetaIndexError,
    StoragePermissionError,
    StorageUnavailableError,
    TooLate,
    dataclass,
    first_line,
)
from metaindex.index.log.entry import RunRef
from metaindex.index.log.sealed import digest
from metaindex.storage import ObjectInfo, Storage, each_at, is_remote

from .cache import Decoded, Footer
from .cache import StoreCache as StoreCache
from .layout import MAX_BYTES as MAX_MANIFEST
from .layout import PartInfo, manifest_path, parts_from_manifest, run_folder
from .rows import LATER, PART_ROWS, PLACED

_GROUPS_AT_ONCE = 32  # decoded together
_GAP_BYTES = 1 << 18  # unread bytes between two ranges that cost less than another read
_NEAR_BYTES = 1 << 16  # the same, where all reads are under way at once
_FAR_BYTES = 1 << 20  # the same, of pages on a store: those of a row group are one request
_DISK_BYTES = 1 << 13  # the same, of a file on a disk that is open
_SMALL_PART = 1 << 15  # of a store: it takes no longer to come whole than its footer
_OFTEN = 32  # reads of a part by pages: they cost as much as to read it whole, once
_UNPACKED = 5  # times the bytes of a part
_PARTS_APART = 4  # fewer parts are read sooner than threads are started
_COUNTING = threading.Lock()
_Ints = npt.NDArray[np.int64]
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(slots=True)
class ReadCount:
    """Counts reads from storage: calls and bytes; cached data costs nothing."""

    reads: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        with _COUNTING:
            self.reads += 1
            self.bytes += size


class RunReader:
    """The parts of one run."""

    def __init__(self, storage: Storage, run: RunRef, cache: StoreCache, count: ReadCount) -> None:
        self._storage = storage
        self.run = run
        self._cache = cache
        self._count = count

    def parts(self, kind: str) -> list[PartInfo]:
        """The parts of a metadata partition, in order."""
        return [part for part in self._manifest() if part.kind == kind]

    def every_part(self) -> Sequence[PartInfo]:
        """The parts of all metadata partitions."""
        return self._manifest()

    def paths(self) -> frozenset[str]:
        """The objects that are the run: its manifest and its parts."""
        return frozenset({manifest_path(self.run.run), *(part.path for part in self._manifest())})

    def listed(self, kind: str) -> dict[str, ObjectInfo]:
        """Return what lies in the folder of a metadata partition, by path. One listing."""
        return {info.path: info for info in self._storage.list(run_folder(kind, self.run.run))}

    def kinds(self) -> frozenset[str]:
        """The metadata partitions that the run has parts of."""
        return frozenset(part.kind for part in self._manifest())

    @property
    def far(self) -> bool:
        """Return whether each read of the run waits for a store."""
        return is_remote(self._storage.root)

    def each(self, items: Sequence[_T], work: Callable[[_T], _R]) -> list[_R]:
        """Apply the work to each item, and return the results in order. Items that read parts of their own run in
        parallel: reading a store is waiting, and decoding releases the lock."""
        TooLate.check()
        if len(items) < _PARTS_APART:
            return [work(item) for item in items]
        return each_at(self._storage.root, items, work, of_disk=min(os.cpu_count() or 1, 4))

    def derived(self, name: str, compute: Callable[[], Any]) -> Any:
        """Something small that follows from the run's parts, computed once."""
        return self._cache.once(self._cache.derived, (self.run.run, name), compute)

    def footer(self, part: PartInfo) -> Footer:
        return self._cache.once(self._cache.footers, part.path, partial(self._read_footer, part))

    def vouch(self, part: PartInfo) -> None:
        """Reads a part's footer, which is not kept: DamagedIndexError where it is not the one that the manifest
        names."""
        self._footer_bytes(part)

    def read(self, part: PartInfo, groups: Sequence[int], columns: Sequence[str], *, keep: bool = True) -> pa.Table:
        """The asked columns of the asked row groups, in order. One storage read for neighbours; what is cached is not
        read again. `keep=False` leaves the cache to others. What `rows.LATER` names is NULL where the part has none."""
        if lacking := {name for name in LATER.keys() & {*columns} if name not in self.footer(part).columns}:
            table = self.read(part, groups, [name for name in columns if name not in lacking], keep=keep)
            for name in lacking:
                table = table.append_column(name, pa.nulls(table.num_rows, LATER[name]))
            return table.select(columns)
        held = self._cache.find(part.path, groups, columns)
        first = next(iter(held.values()), None)
        if first is not None and list(first.places) == list(groups) and all(c in first.columns for c in columns):
            return pa.table([first.columns[c] for c in columns], names=list(columns))  # kept as it is asked for
        missing = [g for g in groups if any((c, g) not in held for c in columns)] if held else list(groups)
        fresh = self._decoded(part, missing, columns) if missing else []
        for decoded in fresh if keep else ():
            self._cache.keep(decoded)
        if len(missing) == len(groups):  # as they were decoded
            chunks = {column: [c for decoded in fresh for c in decoded.columns[column].chunks] for column in columns}
        else:
            held |= {(column, group): decoded for decoded in fresh for group in decoded.places for column in columns}
            chunks = {c: [chunk for g in groups for chunk in held[(c, g)].rows(g, c).chunks] for c in columns}
        footer = self.footer(part)
        arrays = [pa.chunked_array(chunks[c]) if chunks[c] else _empty(footer, c) for c in columns]
        return pa.table(arrays, names=list(columns))

    def _decoded(self, part: PartInfo, groups: Sequence[int], columns: Sequence[str]) -> list[Decoded]:
        """Fetched together, decoded some at a time."""
        footer = self.footer(part)
        try:
            if (total := footer.rows[groups].sum()) > max(PART_ROWS, part.size_bytes):
                raise ValueError(f"it cannot have {total:,} rows")
            data = self._fetch(part, footer, groups, columns)
            for stated in map(footer.column, columns):
                for group in groups:
                    stated.hold(group, data)
            opened = _opened(pa.BufferReader(pa.py_buffer(data)), footer.metadata)
            at = [footer.columns[column] for column in columns]
            out = []
            for start in range(0, len(groups), _GROUPS_AT_ONCE):
                some = groups[start : start + _GROUPS_AT_ONCE]
                table = opened.read_row_groups(some, column_indices=at, use_threads=False)
                counts = footer.rows[some]
                if table.num_rows != counts.sum():
                    raise OSError(f"{table.num_rows} rows are there, {counts.sum()} are expected")
                places = zip((np.cumsum(counts) - counts).tolist(), counts.tolist(), strict=True)
                decoded = {column: table.column(column) for column in columns}
                out.append(Decoded(part.path, decoded, dict(zip(some, places, strict=True))))
            return out
        except MetaIndexError:
            raise
        except Exception as error:
            raise self.damaged(part.path, f"row groups cannot be decoded ({first_line(error)})") from error

    def rows_at(self, part: PartInfo, rows: _Ints, columns: Sequence[str]) -> pa.Table | None:
        """The asked columns of some rows of a part, by their positions (ascending). Only the pages that hold them are
        read, and none is kept; None where the part does not tell them, they are most of it, or it is asked so often
        that its row groups are better kept, and small enough."""
        footer = self.footer(part)
        pages = footer.pages(part.size_bytes)
        if pages is None or not set(columns) <= pages.columns.keys():
            return None
        times = footer.derived["times"] = footer.derived.get("times", 0) + 1
        if times > _OFTEN and part.size_bytes * _UNPACKED <= self._cache.limit_bytes // 4:
            return None

        def copy(starts: _Ints, ends: _Ints, out: memoryview) -> None:
            read, within = _gathered(starts, ends, _FAR_BYTES if self.far else _DISK_BYTES)
            held = [memoryview(data) for data in self._spans(part.path, read)]
            at = 0
            for number, first, size in zip(
                within.tolist(), (starts - read[within, 0]).tolist(), (ends - starts).tolist(), strict=True
            ):
                out[at : at + size] = held[number][first : first + size]
                at += size

        try:
            return pages.read(rows, columns, copy)
        except MetaIndexError:
            raise
        except Exception as error:
            raise self.damaged(part.path, f"pages cannot be decoded ({first_line(error)})") from error

    def open(self, part: PartInfo) -> ParquetReader:
        """A part, to be read row group by row group: its footer is checked here, its pages when they are read. What
        Arrow reads of it is not counted."""
        footer = self.footer(part)
        try:
            return _opened(self._storage.open_input(part.path), footer.metadata)
        except Exception as error:
            raise self.damaged(part.path, f"it cannot be opened ({first_line(error)})") from error

    def whole(self, part: PartInfo) -> bytes:
        """A part, byte for byte. DamagedIndexError where its size or its footer is not as the manifest says; its pages
        have checksums of their own."""
        data = self._read(part.path, 0, part.size_bytes)
        if digest(data[part.size_bytes - part.footer_bytes :]) != part.footer_digest:
            raise self.damaged(part.path, "the footer does not match its digest")
        return data

    def stretches(self, wanted: Sequence[tuple[PartInfo, int, int]]) -> list[memoryview]:
        """Return bytes of parts: `length` from `start` on, for each requested one, in their order. Neighbours share one
        storage read; on an object store all reads run at once. The bytes are unchecked: callers must have a check of
        their own."""
        spans: dict[str, list[tuple[int, int]]] = {}
        for part, start, length in wanted:
            spans.setdefault(part.path, []).append((start, start + length))
        reads = [(path, start, end) for path, some in spans.items() for start, end in _merged(some, _NEAR_BYTES)]
        held: dict[str, list[tuple[int, bytes]]] = {path: [] for path in spans}
        for (path, start, end), data in zip(reads, each_at(self._storage.root, reads, self._stretch), strict=True):
            self._counted(path, start, end - start, data)
            held[path].append((start, data))
        slices = []
        for part, start, length in wanted:
            here = held[part.path]
            first, data = here[bisect_right(here, start, key=itemgetter(0)) - 1]
            slices.append(memoryview(data)[start - first : start - first + length])
        return slices

    def _stretch(self, of: tuple[str, int, int]) -> bytes:
        path, start, end = of
        whole = self._cache.whole.find(path)
        return self._uncounted(path, start, end - start) if whole is None else whole[start:end]

    def _spans(self, path: str, spans: _Ints) -> list[bytes]:
        """Read stretches of a part, a row (start, end) each: of a store all at once, of a file that is opened once."""
        asked = spans.tolist()
        if self.far or len(asked) == 1:
            out = each_at(self._storage.root, [(path, start, end) for start, end in asked], self._stretch)
        else:
            TooLate.check()
            with self._readable(path), self._storage.open_input(path) as file:
                out = [file.read_at(end - start, start) for start, end in asked]
        for (start, end), data in zip(asked, out, strict=True):
            self._counted(path, start, end - start, data)
        return out

    def _manifest(self) -> tuple[PartInfo, ...]:
        path = manifest_path(self.run.run)
        return self._cache.once(self._cache.manifests, path, partial(self._read_manifest, path))

    def _read_manifest(self, path: str) -> tuple[PartInfo, ...]:
        if self.run.manifest_bytes > MAX_MANIFEST:
            raise self.damaged(path, f"a manifest has at most {MAX_MANIFEST:,} bytes")
        data = self._cache.whole.take(path)
        if data is not None and digest(data) == self.run.manifest_digest:
            self._counted(path, 0, self.run.manifest_bytes, data)
        else:
            data = self._read(path, 0, self.run.manifest_bytes)
        if digest(data) != self.run.manifest_digest:
            raise self.damaged(path, "the manifest does not match its digest")
        try:
            return parts_from_manifest(data, self.run.run)
        except ForeignIndexError:
            raise
        except Exception as error:
            raise self.damaged(path, f"the manifest cannot be understood ({first_line(error)})") from error

    def _read_footer(self, part: PartInfo) -> Footer:
        if self.far and part.size_bytes <= _SMALL_PART:  # its rows are mostly asked for next
            whole = self._cache.whole.keep(part.path, self.whole(part), part.size_bytes)
            data = whole[part.size_bytes - part.footer_bytes :]
        else:
            data = self._footer_bytes(part)
        try:
            metadata = _opened(pa.BufferReader(data), None).metadata
        except Exception as error:
            raise self.damaged(part.path, f"the footer cannot be parsed ({first_line(error)})") from error
        names = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
        rows = np.fromiter((metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)), np.int64)
        if not metadata.num_rows == part.rows == rows.sum() or (rows < 0).any():
            raise self.damaged(part.path, f"the footer counts {metadata.num_rows} rows, the manifest {part.rows}")
        if rows.max(initial=0) > PART_ROWS:
            raise self.damaged(part.path, f"a row group has more than {PART_ROWS:,} rows")
        end = data if part.kind in PLACED else data[-8 - metadata.serialized_size :]
        return Footer(part.path, metadata, names, rows, end)

    def _footer_bytes(self, part: PartInfo) -> bytes:
        data = self._read(part.path, part.size_bytes - part.footer_bytes, part.footer_bytes)
        if digest(data) != part.footer_digest:
            raise self.damaged(part.path, "the footer does not match its digest")
        return data

    def _fetch(self, part: PartInfo, footer: Footer, groups: Sequence[int], columns: Sequence[str]) -> bytes | mmap:
        """The bytes of the column chunks, fetched by few range reads, in a part that has nothing else: what was not
        fetched is zeros, which no page is."""
        if (whole := self._cache.whole.find(part.path)) is not None:
            return whole
        stated = [footer.column(column) for column in sorted(columns, key=footer.columns.__getitem__)]
        gap = _GAP_BYTES if self.far else _DISK_BYTES
        spans: list[tuple[int, int]] = []
        for group in groups:
            first, last = stated[0].span(group), stated[-1].span(group)
            if last[1] - first[0] <= gap:  # what lies between them is read anyway
                spans.append((first[0], last[1]))
            else:
                spans += [column.span(group) for column in stated]
        if any(not 0 <= start <= end <= part.size_bytes for start, end in spans):
            raise ValueError("pages outside the part")
        held = mmap(-1, part.size_bytes)  # memory that is taken where it is written
        read = np.array(_merged(spans, gap), np.int64)
        for (start, end), data in zip(read.tolist(), self._spans(part.path, read), strict=True):
            held[start:end] = data
        return held

    def _read(self, path: str, start: int, length: int) -> bytes:
        data = self._uncounted(path, start, length)
        self._counted(path, start, length, data)
        return data

    def _uncounted(self, path: str, start: int, length: int) -> bytes:
        TooLate.check()
        with self._readable(path):
            return self._storage.read(path, start, length)

    @contextmanager
    def _readable(self, path: str) -> Iterator[None]:
        try:
            yield
        except (StoragePermissionError, StorageUnavailableError) as error:  # has its own cure: nothing is to be rebuilt
            raise DamagedIndexError(
                f"a part of an index is as its manifest says; {self._storage.uri(path)}: it cannot be read"
                f" ({first_line(error)})"
            ) from error
        except (MetaIndexError, OSError) as error:
            raise self.damaged(path, f"it cannot be read ({first_line(error)})") from error

    def _counted(self, path: str, start: int, length: int, data: bytes) -> None:
        self._count.add(len(data))
        if len(data) != length:
            raise self.damaged(path, f"{length} bytes are expected at {start}, {len(data)} are there")

    def damaged(self, path: str, what: str) -> DamagedIndexError:
        """The error of a part that is not what it should be. Whoever asks again reads it again."""
        self._cache.whole.take(path)
        return DamagedIndexError.for_repair(
            f"a part of an index is as its manifest says; {self._storage.uri(path)}: {what}"
        )


def _opened(source: pa.NativeFile, metadata: FileMetaData | None) -> ParquetReader:
    reader = ParquetReader()
    reader.open(source, metadata=metadata, page_checksum_verification=True)
    return reader


def _gathered(starts: _Ints, ends: _Ints, gap: int) -> tuple[_Ints, _Ints]:
    """Return what to read of so many stretches, a row (start, end) each, and in which of these each stretch is."""
    order = np.argsort(starts, kind="stable")
    reach = np.maximum.accumulate(ends[order])
    begins = np.append(True, starts[order][1:] - reach[:-1] > gap)
    heads = np.flatnonzero(begins)
    within = np.empty(len(starts), np.int64)
    within[order] = np.cumsum(begins) - 1
    return np.stack([starts[order][heads], reach[np.append(heads[1:], len(starts)) - 1]], axis=1), within


def _merged(spans: list[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """Stretches (start, end) in order, neighbours as one."""
    spans = sorted(spans)
    merged = [spans[0]]
    for start, end in spans[1:]:
        last = merged[-1]
        if start - last[1] <= gap:
            merged[-1] = (last[0], max(last[1], end))
        else:
            merged.append((start, end))
    return merged


def _empty(footer: Footer, column: str) -> pa.ChunkedArray:
    return pa.chunked_array([], type=footer.metadata.schema.to_arrow_schema().field(column).type)
