"""The files of a query log: `_queries/<ms>-<random>.queries` beside the indexes of a table, Parquet, never changed.

Each row has an id of its own, which stays with it when files are merged: two files that hold the same rows, as a merge
that was cut short leaves them, count once. They lie in a lake that others write, so nothing in them is believed before
it is checked.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.core import DamagedIndexError, ForeignIndexError, FormatError, QueryLog, dataclass, first_line
from metaindex.formats import Footer
from metaindex.storage import ObjectInfo, Storage, SupportsIdentity, is_remote, own_folder

from .pages import page_sizes
from .row import SCHEMA, SUMMED, QueryRow
from .texts import MOST_TEXT, sayable, text_of

FOLDER: Final = "_queries"
"""No index may be called so, and engines pass over it."""

ID: Final = "row_id"
_STORED: Final = pa.schema([pa.field(ID, pa.binary(16)), *SCHEMA])
_FORMAT: Final = b"1"
_NAME: Final = re.compile(r"(\d{14})-[0-9a-f]{16}\.queries\Z")

MOST_BYTES: Final = 32 << 20
"""Of a file."""
MOST_MEMORY: Final = 256 << 20
"""Of its rows in memory."""
MOST_ROWS: Final = 1_000_000
_MOST_ITEMS: Final = 10_000_000
_MOST_TIME: Final = 253_402_300_799_999_999
"""The last microsecond of the year 9999."""
_MOST_NUMBER: Final = 1 << 53
_BOUNDS: Final = tuple((name, 0, _MOST_NUMBER) for name in (*SUMMED, "limit"))
_TEXTS: Final = tuple(
    f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name
    for field in SCHEMA
    if pa.types.is_list(field.type) or pa.types.is_string(field.type)
)


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The place of a table's query log: below `folder`, that of its indexes. `home`: where links begin to be refused;
    `table`: whose permissions it gets."""

    folder: str
    home: str
    table: str
    options: tuple[tuple[str, str], ...] = ()

    def storage(self) -> Storage:
        options = dict(self.options) if is_remote(self.folder) else None
        return own_folder(f"{self.folder}/{FOLDER}", self.home, self.table, options)


def listed(storage: Storage) -> tuple[list[ObjectInfo], dict[str, str]]:
    """The files of the log by their names, and so by time; and of what is called so and is no file, why it is none."""
    if isinstance(storage, SupportsIdentity):
        infos, odd = storage.apart("")
    else:
        infos, odd = list(storage.list("", recursive=False)), {}
    named = {path: why for path, why in odd.items() if _NAME.match(path)}
    return [info for info in infos if _NAME.match(info.path)], named


def time_ms(path: str) -> int:
    """Return the time of the newest row of a file, which its name holds."""
    named = _NAME.match(path)
    assert named is not None, "only such names are listed"
    return int(named[1])


def new_name(ms: int) -> str:
    return f"{ms:014d}-{secrets.token_hex(8)}.queries"


def encoded(rows: Sequence[QueryRow], setting: QueryLog) -> bytes:
    """A new file of these rows."""
    key = setting.key()
    writer = secrets.token_bytes(8)
    table = pa.Table.from_pylist(
        [
            {
                ID: writer + number.to_bytes(8, "big"),
                "at": row.at_us,
                "engine": row.engine,
                "predicate": None if row.predicate is None else text_of(row.predicate, setting.literals, key),
                "columns": [sayable(name) for name in row.columns],
                "join_keys": [sayable(name) for name in row.join_keys],
                "group_keys": [sayable(name) for name in row.group_keys],
                "order": [sayable(name) for name in row.order],
                "limit": row.limit if row.limit is None or row.limit <= _MOST_NUMBER else None,
                "files_read": row.files_read,
                "files_left_out": row.files_left_out,
                "bytes_read": row.bytes_read,
                "bytes_left_out": row.bytes_left_out,
                "indexes": list(row.indexes),
                "version": row.version,
                "milliseconds": row.milliseconds,
            }
            for number, row in enumerate(rows)
        ],
        schema=_STORED,
    )
    return written(table)


def written(table: pa.Table) -> bytes:
    """The bytes of a file with these rows, ids included."""
    sink = pa.BufferOutputStream()
    about = {b"metaindex.query_log": _FORMAT}
    pq.write_table(table.replace_schema_metadata(about), sink, compression="zstd")
    return bytes(sink.getvalue())


def read(storage: Storage, info: ObjectInfo) -> pa.Table:
    """Read the rows of a file with their ids, texts as dictionaries. Raises DamagedIndexError for another or oversized
    file; ForeignIndexError for one of a newer metaindex; StorageError if it cannot be read, ObjectNotFoundError if it
    is gone."""
    if info.size_bytes > MOST_BYTES:
        raise _refused(info.path, f"has {info.size_bytes:,} bytes, and at most {MOST_BYTES:,} are written")
    data = storage.read(info.path)
    try:
        if Footer.unasked(pa.BufferReader(data))[0]:
            raise _refused(info.path, "has encrypted columns")
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=_TEXTS)
        about = file.metadata.metadata or {}
        stored = about.get(b"metaindex.query_log")
        if stored != _FORMAT and stored is not None and stored.isdigit():
            raise ForeignIndexError(
                f"a file of the query log is of format {_FORMAT.decode()}; {info.path!r} is of"
                f" {stored.decode()}; use a newer metaindex"
            )
        if stored != _FORMAT or not _plain(file.schema_arrow).equals(_STORED):
            raise _refused(info.path, "has other columns")
        _check_claims(info.path, data, file.metadata)
        table = file.read(use_threads=False).replace_schema_metadata(None)
        _check_rows(info.path, table)
    except (FormatError, pa.ArrowException, OSError, ValueError, TypeError, LookupError, ArithmeticError) as error:
        if isinstance(error, DamagedIndexError | ForeignIndexError):
            raise
        raise _refused(info.path, f"is damaged ({first_line(error)})") from error
    return table


def plain(table: pa.Table) -> pa.Table:
    """Decode dictionaries to texts."""
    return table.cast(pa.schema([_STORED.field(name) for name in table.column_names]))


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return the schema without dictionaries."""

    def of(type_: pa.DataType) -> pa.DataType:
        if pa.types.is_list(type_):
            return pa.list_(of(type_.value_type))
        return type_.value_type if pa.types.is_dictionary(type_) else type_

    return pa.schema([pa.field(field.name, of(field.type)) for field in schema])


def _check_claims(path: str, data: bytes, metadata: pq.FileMetaData) -> None:
    """Check the sizes that footer and pages claim, before any page is unpacked."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    items = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
    pages = page_sizes(data, metadata)
    if metadata.num_rows > MOST_ROWS or max(items, pages.values) > _MOST_ITEMS or pages.size_bytes > MOST_MEMORY:
        raise _refused(path, f"holds more than {MOST_ROWS:,} rows, or {MOST_MEMORY:,} bytes of them")


def _check_rows(path: str, table: pa.Table) -> None:
    """Check the unpacked sizes: dictionaries make small what is large as texts."""
    table.validate(full=True)
    size = 0
    for name in SCHEMA.names:
        for chunk in table.column(name).chunks:
            texts = chunk.flatten() if pa.types.is_list(chunk.type) else chunk
            if not pa.types.is_dictionary(texts.type):
                continue
            lengths = pc.binary_length(texts.dictionary)
            if (pc.max(lengths).as_py() or 0) > 2 * MOST_TEXT:
                raise _refused(path, "has texts longer than any that is written")
            size += pc.sum(pc.cast(pc.take(lengths, texts.indices), pa.int64())).as_py() or 0
    if size > MOST_MEMORY:
        raise _refused(path, f"holds more than {MOST_MEMORY:,} bytes of texts")
    if table.column(ID).null_count or table.column("at").null_count:
        raise _refused(path, "has rows without an id, or a time")
    for name, least, most in (("at", 0, _MOST_TIME), ("milliseconds", 0, _MOST_NUMBER), *_BOUNDS):
        values = table.column(name)
        numbers = values.cast(pa.int64()) if name == "at" else values
        inside = pc.and_(pc.greater_equal(numbers, least), pc.less_equal(numbers, most))  # neither of NaN
        if pc.all(inside).as_py() is False:
            raise _refused(path, f"has a row whose {name} no query has")


def _refused(path: str, why: str) -> DamagedIndexError:
    return DamagedIndexError(f"a file of the query log is as it was written; {path!r} {why}; remove it")
