"""`hoodie.properties`: what a table says of itself, and which of it is read.

A table is read if its file list follows from its timeline and its rows are those of its Parquet files. Whatever makes
that untrue (merge-on-read, bootstrap, other base files, a version that is not known) is refused here, by name.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from metaindex.core import CorruptTableError, NotATableError, ObjectNotFoundError, UnsupportedFeatureError
from metaindex.storage import Storage

FOLDER = ".hoodie"
PROPERTIES = f"{FOLDER}/hoodie.properties"
_BACKUP = f"{FOLDER}/hoodie.properties.backup"
_MOST_BYTES = 4 << 20
_LAYOUTS = {6: "1", 8: "2"}
"""The table versions that are read, and the layout of the timeline that each has."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_GENERATORS = re.compile(r"(?:SIMPLE|COMPLEX)(?:_?AVRO)?\Z")
"""Key generators that name a partition by the values of its columns, as table version 8 calls them and, without
KeyGenerator, as their classes are called. Others make a path of a part of a value or of a time: then releases of Hudi
do not agree whether the column shows the path or what is in the file."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class TableConfig:
    """Properties of a table."""

    version: int
    values: Mapping[str, str]

    @property
    def timeline(self) -> str:
        """The folder of the instants."""
        return FOLDER if self.version < 8 else f"{FOLDER}/timeline"

    @property
    def log_archive(self) -> str:
        """The folder of the instants that were moved out of the timeline before table version 8."""
        return f"{FOLDER}/{self.values.get('hoodie.archivelog.folder') or 'archived'}"

    @property
    def history(self) -> str:
        """The folder of those that were moved since."""
        return f"{self.timeline}/history"

    @property
    def meta_fields(self) -> bool:
        """Return whether every row has Hudi's own columns."""
        return not self.is_("hoodie.populate.meta.fields", "false")

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """The columns that partition paths are made of."""
        said = self.values.get("hoodie.table.partition.fields", "")
        return tuple(name.strip() for name in said.split(",") if name.strip())

    @property
    def dropped(self) -> bool:
        """Return whether files lack the partition columns."""
        return self.is_("hoodie.datasource.write.drop.partition.columns", "true")

    @property
    def generator(self) -> str:
        """The key generator, as `_GENERATORS` has it; "" where the table does not say."""
        kind = self.values.get("hoodie.table.keygenerator.type", "").strip()
        of = self.values.get("hoodie.table.keygenerator.class", "").strip().rpartition(".")[2]
        return (kind or of.removesuffix("KeyGenerator")).upper()

    @property
    def hive_style(self) -> bool:
        """Return whether folders of partitions are named `column=value`."""
        return self.is_("hoodie.datasource.write.hive_style_partitioning", "true")

    @property
    def encoded(self) -> bool:
        """Return whether values in partition paths are percent-encoded."""
        return self.is_("hoodie.datasource.write.partitionpath.urlencode", "true")

    @property
    def utc(self) -> bool:
        """Return whether instants are times of UTC; else they are of the writers' zone, which nobody wrote down."""
        return self.is_("hoodie.table.timeline.timezone", "utc")

    def is_(self, key: str, value: str) -> bool:
        """Return whether the table says this, in any case."""
        return self.values.get(key, "").strip().lower() == value


def read_config(storage: Storage, table: str) -> TableConfig:
    """Return what the table says of itself. Raises NotATableError, CorruptTableError, UnsupportedFeatureError."""
    values = parse_properties(_read(storage, table), table)
    _check_whole(values, table)
    said = values.get("hoodie.table.version", "").strip()
    if said not in map(str, _LAYOUTS):
        raise UnsupportedFeatureError(
            f"Hudi tables of the versions {' and '.join(map(str, _LAYOUTS))} are read; {table} is of version"
            f" {said[:20]!r}; upgrade or downgrade it with Hudi"
        )
    config = TableConfig(int(said), values)
    _check_supported(config, table)
    return config


def _read(storage: Storage, table: str) -> str:
    """Return the text of the properties; while they are written anew, that of their backup."""
    for path in (PROPERTIES, _BACKUP):
        try:
            data = storage.read(path, 0, _MOST_BYTES + 1)
        except ObjectNotFoundError:
            continue
        if len(data) > _MOST_BYTES:
            raise CorruptTableError(f"{PROPERTIES} has at most {_MOST_BYTES:,} bytes; that of {table} has more")
        return data.decode("latin-1")  # as Java stores them; what is beyond is escaped
    raise NotATableError(f"a Hudi table has {PROPERTIES}; {table} has none; check the path, or restore the file")


def parse_properties(text: str, table: str) -> dict[str, str]:
    """Return keys and values of a text in the form of Java's properties."""
    try:
        return _parsed(text, table)
    except UnicodeError as damage:
        raise CorruptTableError(f"{PROPERTIES} is text; that of {table} holds halves of characters") from damage


def _parsed(text: str, table: str) -> dict[str, str]:
    out: dict[str, str] = {}
    for line in _lines(text):
        match = _KEY.match(line)
        end = match.end() if match is not None else 0
        rest = line[end:].lstrip(" \t\f")
        rest = rest[1:].lstrip(" \t\f") if rest[:1] in ("=", ":") else rest
        key = _unescaped(line[:end])
        if out.setdefault(key, value := _unescaped(rest)) != value:
            raise CorruptTableError(f"{PROPERTIES} names each key once; that of {table} has {key[:200]!r} twice")
    return out


def _lines(text: str) -> Iterator[str]:
    """Yield logical lines: without comments, those that end in a backslash joined with the next."""
    joined: list[str] = []
    for natural in re.split(r"\r\n|[\r\n]", text):
        line = natural.lstrip(" \t\f")
        if not joined and line[:1] in ("", "#", "!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            joined.append(line[:-1])
            continue
        yield "".join([*joined, line])
        joined = []
    if joined:
        yield "".join(joined)


def _unescaped(text: str) -> str:
    """Return the text meant; UnicodeError for halves of characters."""
    plain = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPED.get(m[2], m[2]), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16")


def _check_whole(values: Mapping[str, str], table: str) -> None:
    """Compare Hudi's checksum, the CRC-32 of the table's names, without which a file is half written."""
    name, database = values.get("hoodie.table.name", ""), values.get("hoodie.database.name", "")
    checksum = zlib.crc32(f"{database}.{name}".encode())
    if not name or values.get("hoodie.table.checksum", "").strip() != str(checksum):
        raise CorruptTableError(
            f"{PROPERTIES} ends with a checksum of the table's name; that of {table} has none or another: it is"
            f" damaged, or written right now; restore it from {_BACKUP}"
        )


def _check_supported(config: TableConfig, table: str) -> None:
    values, version = config.values, config.version

    def said(key: str, default: str) -> str:
        return (values.get(key) or default).strip()

    wrong: str | None = None
    cure = "read it with Hudi"
    if (kind := said("hoodie.table.type", "COPY_ON_WRITE").upper()) != "COPY_ON_WRITE":
        wrong = f"it is {kind}, whose rows are merged from log files"
    elif (base := said("hoodie.table.base.file.format", "PARQUET").upper()) != "PARQUET":
        wrong = f"its base files are {base}"
    elif config.is_("hoodie.table.multiple.base.file.formats.enable", "true"):
        wrong = "its base files are of several formats"
    elif values.get("hoodie.bootstrap.base.path"):
        wrong = "it is a bootstrap table, whose rows are partly in files of another table"
    elif config.partition_fields and not _GENERATORS.match(config.generator):
        wrong = f"its partitions are named by the key generator {config.generator[:80]!r}, and not by values of columns"
    elif said("hoodie.table.format", "native").lower() != "native":
        wrong = f"its log is kept by another format ({said('hoodie.table.format', '')[:40]!r})"
    elif (layout := said("hoodie.timeline.layout.version", _LAYOUTS[version])) != _LAYOUTS[version]:
        wrong = f"its timeline has layout {layout[:20]!r}, that of version {version} has layout {_LAYOUTS[version]}"
    elif said("hoodie.timeline.path", "timeline") != "timeline" or (
        said("hoodie.timeline.history.path", "history") != "history"
    ):
        wrong = "its timeline is not in the usual folder"
    elif not _NAME.match(said("hoodie.archivelog.folder", "archived")):
        wrong = "its archived instants are not in a folder beside its timeline"
    if wrong is not None:
        raise UnsupportedFeatureError(
            f"Hudi tables are read if they are copy-on-write tables of whole Parquet files; of {table}: {wrong}; {cure}"
        )
