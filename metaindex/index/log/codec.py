"""Entries as JSON bytes, and back: `sealed` has the form of the object, here are its fields. docs/storage describes
them.

A newer format version is refused; so is a field that this version does not know, or one of another type: ignoring it
could lie.
"""

from __future__ import annotations

import json
from typing import Any

from metaindex.core import DamagedIndexError, ForeignIndexError

from .entry import (
    FORMAT_VERSION,
    MAX_NUMBER,
    Content,
    CoveredColumn,
    CoveredKey,
    IndexLogEntry,
    KindSpec,
    RunRef,
    SegmentRef,
    TableInfo,
    UnderWay,
)
from .fields import (
    COUNT,
    FLAG,
    ID,
    MAX_FILES,
    PLAIN,
    TEXT,
    TEXTS,
    TEXTS_BY_NAME,
    WHOLE,
    Fields,
    Form,
    Member,
    Repeated,
)
from .record_codec import OBJECT, RECORD
from .schema_codec import schema_from_json, schema_to_json
from .sealed import CURE, one_line, seal, unseal
from .states import STABLE, Operation, State


def encode(entry: IndexLogEntry, key: bytes | None = None) -> bytes:
    """The bytes of an entry's object."""
    return seal(_to_json(entry), key)


def check_readable(data: bytes, where: str) -> None:
    """Raise DamagedIndexError unless bytes of `encode` are an entry as this format has it, so that no reader gets an
    unreadable one. They were sealed a moment ago, and no field is in them twice: that is not checked again."""
    _entry(json.loads(data[: data.index(b"\n")]), where)


def decode(data: bytes, where: str, key: bytes | None = None) -> IndexLogEntry:
    """The entry in an object's bytes. DamagedIndexError where the digest is off or the entry is not as this format has
    it, whatever is wrong with it; ForeignIndexError where the format or the seal is not ours to read."""
    value = unseal(data, where, key)
    written = value.get("format_version") if isinstance(value, dict) else None
    has = f"this metaindex reads index format {FORMAT_VERSION}; {where} has format {str(written)[:40]}"
    if type(written) is int and written > FORMAT_VERSION:
        raise ForeignIndexError(f"{has}; upgrade metaindex to use the index")
    if type(written) is int and written < FORMAT_VERSION:
        raise DamagedIndexError(f"{has}; remove the index's folder and create the index anew to use the index")
    return _entry(value, where)


def _entry(value: object, where: str) -> IndexLogEntry:
    try:
        return _from_json(value)
    except Exception as error:
        raise DamagedIndexError(
            f"a log entry has the fields of format {FORMAT_VERSION}; {where} has not ({one_line(error)}); {CURE}"
        ) from error


_COLUMN = Form(
    CoveredColumn, "a column", stable=TEXT, column_id=ID, name=TEXT, type_text=TEXT.named("type"), partition=FLAG
)
_KEY = Form(CoveredKey, "a key", kind=TEXT, key_id=ID, columns=_COLUMN.each, layout=PLAIN, unkeyed_files=COUNT)
_FILES = Member(lambda v, name: v.count(name, MAX_FILES))
_RUN = Form(
    RunRef,
    "one of 'runs'",
    run=TEXT,
    files=_FILES,
    partitions=_FILES,
    size_bytes=COUNT,
    manifest_bytes=COUNT,
    manifest_digest=TEXT,
    files_digest=TEXT,
    table_uuid=TEXT,
    created_ms=WHOLE,
    builder=TEXT,
    uncovered_files=COUNT,
    columns=COUNT,  # position in the content's "columns": runs of one index cover mostly the same
    reader_needs=TEXTS.unless(()),
    trusted=COUNT.unless(0),
    keys=Member(
        lambda v, name: tuple(_key_from_json(key) for key in v.many(name)),
        lambda keys: [_KEY.to_json(key) for key in keys],
        default=(),
    ),
)
_SEGMENT = Form(SegmentRef, "one of 'segments'", object=OBJECT.one, tags=TEXT, runs=TEXTS)
_MARK = Form(
    UnderWay,
    "one of 'under_way'",
    operation=Member(lambda v, name: Operation(v.text(name)), lambda operation: operation.value),
    began=WHOLE,
    nonce=TEXT,
    who=TEXT,
    since_ms=WHOLE,
    runs=TEXTS,
)
_SOURCE = Form(TableInfo, "source", path=TEXT, format=TEXT, table_uuid=TEXT, options=PLAIN)
_STATE = Member(lambda v, name: State(v.text(name)), lambda state: state.value)


def _content_to_json(content: Content) -> dict[str, Any]:
    column_sets = list(dict.fromkeys(run.columns for run in content.runs))
    return {
        "columns": [[_COLUMN.to_json(column) for column in columns] for columns in column_sets],
        "runs": [_RUN.to_json(run, columns=column_sets.index(run.columns)) for run in content.runs],
        "versions": [RECORD.to_json(record) for record in content.versions],
        "schemas": [schema_to_json(schema) for schema in content.schemas],
        "segments": [_SEGMENT.to_json(segment) for segment in content.segments],
    }


def _content_from_json(v: Fields) -> Content:
    sets = [_columns(columns) for columns in v.many("columns")]
    content = Content(
        tuple(_RUN.taken(r, columns=sets[r.count("columns", len(sets) - 1)]) for r in v.each("runs")),
        tuple(_version(record) for record in v.many("versions")),
        tuple(schema_from_json(s) for s in v.many("schemas")),
        _SEGMENT.each.read(v, "segments"),
    )
    v.done()
    if any(record.schema >= len(content.schemas) for record in content.versions):
        raise ValueError("one of 'versions': it names a schema that is not there")
    return content


_ENTRY = Form(
    IndexLogEntry,
    "the entry",
    format_version=WHOLE._replace(derived=True),
    id=Member(lambda v, name: v.whole(name, 1, MAX_NUMBER)),
    name=TEXT,
    index_uuid=TEXT,
    nonce=TEXT,
    previous=TEXT,
    state=_STATE._replace(derived=True),
    stable=_STATE.named("stable_state"),
    enabled=FLAG,
    timestamp_ms=WHOLE,
    written_by=TEXT,
    table=_SOURCE.one.named("source"),
    kinds=Form(KindSpec, "one of 'kinds'", name=TEXT, version=COUNT, properties=PLAIN).each,
    under_way=_MARK.each,
    content=Member(lambda v, name: _content_from_json(v.inside(name)), _content_to_json),
    properties=TEXTS_BY_NAME,
)


def _to_json(e: IndexLogEntry) -> dict[str, Any]:
    return _ENTRY.to_json(e, format_version=FORMAT_VERSION)


def _from_json(value: object) -> IndexLogEntry:
    v = Fields(value, "the entry")
    v.whole("format_version")
    state = v.text("state")
    entry = _ENTRY.taken(v)
    if entry.stable not in STABLE or entry.state.value != state:
        raise ValueError(f"the entry: its state follows from what is stable and under way, and is not {state[:40]!r}")
    return entry


def _key_from_json(value: object) -> CoveredKey:
    key = _KEY.read(value)
    if not key.columns or len({column.stable for column in key.columns}) < len(key.columns):
        raise ValueError("a key: 'columns' names at least one column, and each once")
    if not all(type(setting) in (int, str) for setting in key.layout.values()):
        raise ValueError("a key: 'layout' has plain numbers and texts")
    return key


def _columns_from_json(value: object) -> tuple[CoveredColumn, ...]:
    if not isinstance(value, list):
        raise ValueError("the entry: a set of columns is a JSON array")
    return tuple(_COLUMN.read(column) for column in value)


_columns = Repeated(_columns_from_json)
_version = Repeated(RECORD.read, held=256, longest=4096)
