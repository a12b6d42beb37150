"""Archived instants: what was moved out of the timeline, to know the files that it wrote and nobody has written since.

Before table version 8 they are Avro records in blocks of Hudi's log format, in files beside the timeline; from then on
rows of Parquet files that a manifest names. An instant may be in several files, and still in the timeline: it says the
same everywhere, or the archive is not read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from metaindex.formats.damage import as_damage, parse_json
from metaindex.formats.iceberg.avro import container
from metaindex.formats.unpacked import hold
from metaindex.storage import Storage

from .commits import AVRO, Commit, avro_rows, commit_of, commit_said
from .properties import TableConfig
from .timeline import LOGS, WRITES, Instant

_MAGIC = b"#HUDI#"
_FILE = re.compile(r"\.commits_\.archive\.\d+(?:_\d+-\d+-\d+)?\Z", re.ASCII)
_MOST_BYTES = 512 << 20  # of a file
_SCHEMA, _AVRO_BLOCK, _BLOCK_VERSION, _LOG_VERSION = 2, 3, 3, 1
_RECORDS = ["commitTime", "actionType", "actionState", "hoodieCommitMetadata", "hoodieReplaceCommitMetadata"]
_COLUMNS = ["instantTime", "completionTime", "action", "metadata"]
_ROW_BYTES = 4 * len(_COLUMNS)  # of a row whose texts are held elsewhere


def read_archive(storage: Storage, table: str, config: TableConfig) -> dict[str, Commit]:
    """Return the archived instants that wrote or replaced files, by id. Raises CorruptTableError,
    UnsupportedFeatureError."""
    out: dict[str, Commit] = {}
    for commit in _blocks_of(storage, table, config):  # an upgrade leaves them where they are
        _add(commit, out, table)
    if config.version >= 8:
        for instant, data in _rows_of(storage, table, config):
            if data.startswith(AVRO):
                _add(commit_of(data, table, instant), out, table)
            elif instant.begun not in out:  # an upgrade also writes the last ones again, without their schema
                raise UnsupportedFeatureError(
                    f"archived instants are read with the schema beside them; {table} has the {instant.action}"
                    f" {instant.begun} without one, as upgrades write it; read it with Hudi"
                )
    return out


def _add(commit: Commit, out: dict[str, Commit], table: str) -> None:
    if out.setdefault(commit.instant.begun, commit) != commit:
        raise CorruptTableError(
            f"an instant is archived as it was; {commit.described(table)} is archived twice, with other files"
        )


def _checked(table: str, path: str, size: int) -> None:
    if size > _MOST_BYTES:
        raise UnsupportedFeatureError(
            f"files of archived instants of up to {_MOST_BYTES:,} B are read; {path!r} of {table} has {size:,} B; read"
            " it with Hudi"
        )


# -- before version 8: blocks of a log ---------------------------------------------------------------------------------


def _blocks_of(storage: Storage, table: str, config: TableConfig) -> Iterator[Commit]:
    for info in storage.list(config.log_archive, recursive=False):
        if _FILE.match(info.path.rpartition("/")[2]) is None:
            continue
        _checked(table, info.path, info.size_bytes)
        where = f"archive {info.path!r} of Hudi table {table}"
        with _whole(where):
            for schema, count, records in _blocks(storage.read(info.path)):
                for record in avro_rows(container(schema, [(count, records)]), where, only=_RECORDS):
                    yield from _commit_of_record(record, table)


def _blocks(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield of each block the schema, how many records there are, and their bytes."""
    at = 0
    while at < len(data):
        size, version, kind, entries = struct.unpack_from(">QIII", data, at + 6)
        end = at + 14 + size
        if data[at : at + 6] != _MAGIC or (version, kind) != (_LOG_VERSION, _AVRO_BLOCK) or end > len(data):
            raise ValueError(f"no whole block of records at byte {at}")
        at += 26
        header: dict[int, bytes] = {}
        for _ in range(entries):
            key, length = struct.unpack_from(">II", data, at)
            header[key] = data[at + 8 : at + 8 + length]
            at += 8 + length
            if at > end:
                raise ValueError("a header beyond its block")
        (length,) = struct.unpack_from(">Q", data, at)
        body, rest = data[at + 8 : at + 8 + length], at + 8 + length
        if rest + 12 != end or struct.unpack_from(">IQ", data, rest) != (0, end - 8 - (end - 14 - size)):
            raise ValueError("a block whose lengths do not agree")
        yield header[_SCHEMA], *_records(body)
        at = end


def _records(body: bytes) -> tuple[int, bytes]:
    """The records of a block, each behind its length, without the lengths."""
    version, count = struct.unpack_from(">II", body)
    if version != _BLOCK_VERSION:
        raise ValueError(f"a block of version {version}")
    at, out = 8, []
    for _ in range(count):
        (length,) = struct.unpack_from(">I", body, at)
        out.append(body[at + 4 : at + 4 + length])
        at += 4 + length
        if at > len(body):
            raise ValueError("records beyond their block")
    if at != len(body):
        raise ValueError("bytes behind the last record")
    return count, b"".join(out)


def _commit_of_record(record: dict[str, Any], table: str) -> Iterator[Commit]:
    action, begun = record["actionType"], record["commitTime"]
    _check_action(table, action, begun)
    if action in WRITES and record["actionState"] == "COMPLETED":
        said = record["hoodieReplaceCommitMetadata" if action == "replacecommit" else "hoodieCommitMetadata"]
        if said is None:
            raise ValueError(f"nothing said of {action} {begun}")
        yield commit_said(said, table, Instant(begun, "", action))


# -- from version 8 on: rows of Parquet files --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Named:
    path: str
    size_bytes: int


def _rows_of(storage: Storage, table: str, config: TableConfig) -> Iterator[tuple[Instant, bytes]]:
    for file in _manifest(storage, table, config):
        where = f"archive {file.path!r} of Hudi table {table}"
        with _whole(where):
            for row in _rows(storage, file):
                begun, done, action = row["instantTime"], row["completionTime"], row["action"]
                _check_action(table, action, begun)
                if action in WRITES:
                    if not isinstance(done, str) or not isinstance(row["metadata"], bytes):
                        raise ValueError(f"nothing said of {action} {begun}")
                    yield Instant(begun, done, action), row["metadata"]


def _manifest(storage: Storage, table: str, config: TableConfig) -> list[_Named]:
    """Return the files that hold the archive now. None where nothing was archived."""
    names = {info.path.rpartition("/")[2]: info for info in storage.list(config.history, recursive=False)}
    if "_version_" not in names:
        return []
    with _whole(f"archive of Hudi table {table}"):
        number = int(storage.read(names["_version_"].path, 0, 32))
        path = names[f"manifest_{number}"].path
        _checked(table, path, names[f"manifest_{number}"].size_bytes)
        out = []
        for said in parse_json(storage.read(path))["files"]:
            name, size = said["fileName"], said["fileLen"]
            if name not in names or names[name].size_bytes != size:
                raise ValueError(f"{name!r} of {size!r} B is not there")
            _checked(table, name, size)
            out.append(_Named(names[name].path, size))
    return out


def _rows(storage: Storage, file: _Named) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    # A text that comes a thousand times in some bytes of a file is held once, and handed out row by row.
    data = pa.BufferReader(storage.read(file.path))
    part = pq.ParquetFile(data, read_dictionary=_COLUMNS, page_checksum_verification=True)
    groups = [part.metadata.row_group(number) for number in range(part.num_row_groups)]
    hold(sum(group.total_byte_size + group.num_rows * _ROW_BYTES for group in groups), file.size_bytes)
    for number in range(part.num_row_groups):
        rows = part.read_row_group(number, columns=_COLUMNS)
        for at in range(rows.num_rows):
            yield {name: rows[name][at].as_py() for name in _COLUMNS}


def _check_action(table: str, action: object, begun: object) -> None:
    if not isinstance(action, str) or not isinstance(begun, str) or not begun.isascii() or not begun.isdigit():
        raise ValueError(f"no instant: {begun!r}, {action!r}")
    if action in LOGS:
        raise UnsupportedFeatureError(
            f"Hudi tables are read if no row is merged from log files; {table} has the archived {action} {begun}, so it"
            " is or was a merge-on-read table; read it with Hudi"
        )


def _whole(where: str) -> AbstractContextManager[None]:
    return as_damage(
        f"archived instants are whole, as they tell which files are live; {where} is not (", "); restore it"
    )
