"""Commit metadata: the files that an instant wrote, the file groups that it replaced, and the schema of what it wrote.

It is JSON before table version 8 and Avro from then on; both say the same. What it says of a file is compared with the
file's name, which holds the file group and the instant too: a commit that contradicts itself is not read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from metaindex.formats.damage import as_damage, parse_json
from metaindex.storage import Storage

from .timeline import Instant

AVRO = b"Obj\x01"
_MOST_BYTES = 128 << 20  # of JSON: a list of empty lists is held in twenty times its text
BASE_FILE = re.compile(
    r"(?P<group>[^/_\s][^/_]*)_(?P<token>\d+-\d+-\d+)_(?P<instant>\d{14}(?:\d{3})?)\.(?P<kind>[a-z]+)\Z", re.ASCII
)
"""The name of a base file: its file group, the task that wrote it, and the instant that it belongs to."""
_OTHER_ROWS = frozenset({"CLUSTER", "COMPACT", "LOG_COMPACT", "INDEX"})
"""Operations whose schema is not that of the table: they write rows that were there."""


@dataclass(frozen=True, slots=True)
class Write:
    """A base file, as the commit that wrote it says. `before`: the instant of the file that it takes the place of, ""
    where it begins a file group."""

    partition: str
    group: str
    path: str
    size_bytes: int | None  # None: not said
    instant: str
    before: str
    schema: str

    @property
    def key(self) -> tuple[str, str]:
        """The file group, which is found by its id within a partition."""
        return (self.partition, self.group)


@dataclass(frozen=True, slots=True)
class Commit:
    """Files that one instant wrote, and file groups that it replaced."""

    instant: Instant
    writes: tuple[Write, ...]
    replaced: tuple[tuple[str, str], ...]
    schema: str  # of the table, as Avro's JSON; "" where the instant does not say it

    def described(self, table: str) -> str:
        """Return the commit as errors name it."""
        return f"{self.instant.action} {self.instant.begun} of Hudi table {table}"


def read_commit(storage: Storage, table: str, instant: Instant) -> Commit:
    """Return a completed instant of the active timeline."""
    assert instant.info is not None
    if instant.info.size_bytes > _MOST_BYTES:
        raise UnsupportedFeatureError(
            f"commit metadata of up to {_MOST_BYTES:,} B is read; {instant.info.path} of {table} has"
            f" {instant.info.size_bytes:,} B; read it with Hudi"
        )
    return commit_of(storage.read(instant.info.path), table, instant)


def commit_of(data: bytes, table: str, instant: Instant) -> Commit:
    """Return the commit that these bytes describe. Raises CorruptTableError, UnsupportedFeatureError."""
    where = f"{instant.action} {instant.begun} of Hudi table {table}"
    return commit_said(_from_avro(data, where) if data.startswith(AVRO) else _from_json(data, where), table, instant)


def commit_said(said: Mapping[str, Any], table: str, instant: Instant) -> Commit:
    """Return the commit that this metadata describes. Raises CorruptTableError, UnsupportedFeatureError."""
    where = f"{instant.action} {instant.begun} of Hudi table {table}"
    rule = f"commit metadata says of each file its path and file group; that of {where} does not ("
    with as_damage(rule, "); restore it"):
        return _commit(said, where, instant)


def _from_json(data: bytes, where: str) -> dict[str, Any]:
    with as_damage(f"commit metadata is JSON or Avro; that of {where} is neither (", "); restore it"):
        said = parse_json(data)
    if not isinstance(said, dict):
        raise CorruptTableError(f"commit metadata is one JSON object; that of {where} is not; restore it")
    return said


def _from_avro(data: bytes, where: str) -> dict[str, Any]:
    rows = avro_rows(data, where)
    if len(rows) != 1:
        raise CorruptTableError(f"commit metadata is one Avro record; {where} has {len(rows)}; restore it")
    return rows[0]


def avro_rows(data: bytes, where: str, only: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the records of an Avro file, those of its fields that are in `only`; None: all."""
    from metaindex.formats.iceberg.avro import read_avro

    return [_mapped(row) for row in read_avro(data, where, only=only).rows.to_dicts()]


def _mapped(value: Any) -> Any:
    """Maps of Avro are lists of pairs here, which become maps again; a key that comes twice means two things."""
    if isinstance(value, dict):
        return {name: _mapped(inside) for name, inside in value.items()}
    if not isinstance(value, list):
        return value
    if not all(isinstance(pair, dict) and pair.keys() == {"key", "value"} for pair in value):
        return [_mapped(inside) for inside in value]
    out = {pair["key"]: _mapped(pair["value"]) for pair in value}
    if len(out) != len(value):
        raise CorruptTableError("a map of commit metadata has each key once; got one twice; restore the commit")
    return out


def _commit(said: Mapping[str, Any], where: str, instant: Instant) -> Commit:
    extra = said["extraMetadata"] or {}
    if extra.get("latest_schema"):
        raise UnsupportedFeatureError(
            f"columns of a Hudi table are found in files by name; {where} has a schema with ids (schema on read), by"
            " which columns are renamed; read it with Hudi"
        )
    schema = extra.get("schema") or ""
    if not isinstance(schema, str):
        raise TypeError("a schema that is no text")
    writes = tuple(_writes(said["partitionToWriteStats"] or {}, where, instant.begun, schema))
    of_rows = str(said.get("operationType") or "").upper() not in _OTHER_ROWS
    return Commit(instant, writes, tuple(_replaced(said, where, instant)), schema if of_rows else "")


def _writes(stats: Mapping[str, list[Mapping[str, Any]]], where: str, instant: str, schema: str) -> Iterator[Write]:
    seen: dict[tuple[str, str], Write] = {}
    for partition, written in stats.items():
        _check_partition(partition, where)
        for stat in written:
            write = _write(stat, partition, where, instant, schema)
            if (other := seen.setdefault(write.key, write)) != write:
                raise CorruptTableError(
                    f"a commit writes one file of a file group; {where} has {other.path!r} and {write.path!r}"
                )
            if other is write:
                yield write


def _write(stat: Mapping[str, Any], partition: str, where: str, instant: str, schema: str) -> Write:
    path, group, before = stat["path"], stat["fileId"], stat.get("prevCommit")
    folder, _, name = path.rpartition("/")
    match = BASE_FILE.match(name)
    if match is not None and match["kind"] != "parquet":
        raise UnsupportedFeatureError(
            f"base files of Hudi tables are read if they are Parquet; {where} wrote {path!r}; read it with Hudi"
        )
    if match is None or (match["group"], match["instant"], folder) != (group, instant, partition):
        raise CorruptTableError(
            f"a commit writes files that are named by their file group and by the commit, in their partition; {where}"
            f" names {path!r} as the one of {group!r} in {partition!r}"
        )
    size = stat.get("fileSizeInBytes")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 1 << 63):
        raise ValueError(f"{size!r} as a size")
    if before is not None and not isinstance(before, str):
        raise ValueError(f"{before!r} as an instant")
    began = before in (None, "", "null")
    return Write(partition, group, path, size or None, instant, "" if began else str(before), schema)


def _replaced(said: Mapping[str, Any], where: str, instant: Instant) -> Iterator[tuple[str, str]]:
    if instant.action != "replacecommit":
        if said.get("partitionToReplaceFileIds"):
            raise CorruptTableError(f"a replacecommit replaces file groups; {where} does, too; restore it")
        return
    for partition, groups in (said["partitionToReplaceFileIds"] or {}).items():
        _check_partition(partition, where)
        for group in groups:
            if not isinstance(group, str):
                raise ValueError(f"{group!r} as a file group")
            yield partition, group


def _check_partition(partition: str, where: str) -> None:
    parts = partition.split("/") if partition else []
    if any(part in ("", ".", "..") for part in parts) or parts[:1] == [".hoodie"] or "\0" in partition:
        raise CorruptTableError(f"a partition is a folder below the table; {where} names {partition[:200]!r}")
