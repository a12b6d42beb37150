"""Writes sorted runs: immutable Parquet parts, and a manifest that names them with key range, rows, bytes and the
digest of each footer.

A part is written whole, then named by the manifest, then the manifest by a log entry: what no entry names is garbage,
never data.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.index.log.sealed import digest
from metaindex.storage import Storage

from .layout import PartInfo, run_folder
from .manifest import manifest_bytes as manifest_bytes
from .rows import COLUMNS, PART_ROWS, ROW_GROUP_ROWS, Columns

_RUN = re.compile(r"r[0-9a-f]{16}\Z")
SUFFIX = ".mix"
"""Parts are plain Parquet under another suffix, so that a glob for `*.parquet` over the lake never takes index rows for
table data."""

_SAMPLE_ROWS = 8192
"""Of sorted texts, by which their encoding is chosen."""

SMALL_GROUPS = {"files": 1024, "file_ids": 4096}
"""`files` and `file_ids` are read a few rows here and there, what kinds keep in long stretches. The files that a
predicate keeps are scattered over all row groups, and what is decoded in vain is paths: hence the smallest. Still
smaller ones make a footer that takes longer than they save."""


@dataclass(frozen=True, slots=True)
class RunSink:
    """Writes the parts of a run. Plain data except for the storage, so that a Spark task can write parts too."""

    storage: Storage  # rooted at the index folder
    run: str

    def write(self, kind: str, table: pa.Table, number: int, columns: Columns = COLUMNS) -> PartInfo:
        """Writes one sorted part durably and says what it is. The caller has sorted `table` and kept it below
        PART_ROWS."""
        return write_part(self.storage, self._path(f"{kind}{columns.folder}", number), kind, table, columns)

    def copy(self, part: PartInfo, data: bytes, number: int) -> PartInfo:
        """Puts the bytes of a part of another run, durably, as one of this run, and says what it is."""
        path = self._path(part.path.partition("/")[0], number)
        self.storage.put(path, data)
        return replace(part, path=path)

    def _path(self, folder: str, number: int) -> str:
        return f"{run_folder(folder, self.run)}/part-{number:05d}{SUFFIX}"


def new_run_id() -> str:
    """A run's name: random, so that no two writers share a folder. It begins with a letter that no number has, as
    engines guess the type of what folders are called (`12e4` is one)."""
    return f"r{secrets.token_hex(8)}"


def is_run(name: str) -> bool:
    """Return whether `new_run_id` could have made the name."""
    return _RUN.match(name) is not None


def write_part(storage: Storage, path: str, kind: str, table: pa.Table, columns: Columns = COLUMNS) -> PartInfo:
    """Write one Parquet file as a whole, with a digest of its footer."""
    names = table.schema.names
    delta = {n: "DELTA_BINARY_PACKED" for n in names if n in columns.ascending}
    plain = {n: "PLAIN" for n in names if n in columns.plain}
    plain |= {n: _smallest(table.column(n)) for n in names if n in columns.texts}
    out = pa.BufferOutputStream()
    pq.write_table(
        table,
        out,
        row_group_size=SMALL_GROUPS.get(kind, ROW_GROUP_ROWS),
        compression="zstd",
        use_dictionary=[n for n in names if n not in delta and n not in plain],
        column_encoding=delta | plain,
        write_page_checksum=True,
        write_statistics=[n for n in names if n in columns.ranged],
        store_schema=False,
    )
    buffer = out.getvalue()
    storage.put(path, buffer.to_pybytes())
    leading = table.column(0)
    keyed = table.num_rows > 0 and pa.types.is_integer(leading.type)
    return PartInfo(
        kind,
        path,
        table.num_rows,
        buffer.size,
        *digested_end(buffer),
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


def write_sorted(sink: RunSink, kind: str, table: pa.Table) -> list[PartInfo]:
    """Write a sorted table, and return its parts."""
    return [sink.write(kind, piece, number) for number, piece in enumerate(cut(table))]
