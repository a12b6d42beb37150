"""Entries survive the trip through JSON, and damage never passes for an entry."""

import dataclasses
import datetime as dt
import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import DamagedIndexError
from metaindex.formats import Field, Schema, Version
from metaindex.index.log import codec
from metaindex.index.log.entry import (
    MAX_NUMBER,
    Content,
    CoveredColumn,
    CoveredKey,
    IndexLogEntry,
    KindSpec,
    ObjectRef,
    RunRef,
    SegmentRef,
    TableInfo,
    UnderWay,
    VersionRecord,
)
from metaindex.index.log.fields import MAX_FILES
from metaindex.index.log.schema_codec import schema_from_json, schema_to_json, type_from_text
from metaindex.index.log.sealed import MAX_BYTES, from_text, seal
from metaindex.index.log.states import STABLE, Operation, State
from tests.hostile.changes import ABSENT, inside, places, replaced

text = st.text(max_size=12)
number = st.integers(0, 2**60)
files = st.integers(0, MAX_FILES)
versions = st.builds(Version, text, text, text)
objects = st.builds(ObjectRef, text, st.integers(0, MAX_BYTES), text)
records = st.builds(
    VersionRecord,
    version=versions,
    timestamp_ms=number,
    schema=st.just(0),
    parent=st.none() | versions,
    added=st.lists(text, max_size=3).map(tuple),
    removed=st.dictionaries(text, text, max_size=2),
    restored=st.dictionaries(text, text, max_size=2),
    with_deletes=st.dictionaries(text, text, max_size=2),
    without_deletes=st.dictionaries(text, text, max_size=2),
    unknown=number,
    partition_columns=st.lists(text, max_size=2).map(tuple),
    bits=st.none() | objects,
    files=number,
    size_bytes=number,
)
columns = st.builds(CoveredColumn, text, st.integers(-(2**63), 2**63 - 1), text, text, st.booleans())
keys = st.builds(
    CoveredKey,
    text,
    st.integers(-(2**63), 2**63 - 1),
    st.lists(columns, min_size=1, max_size=2, unique_by=lambda column: column.stable).map(tuple),
    st.dictionaries(text, st.integers(0, 64) | text, max_size=3),
    st.integers(0, 9),
)
runs = st.builds(
    RunRef,
    text,
    files,
    files,
    number,
    number,
    text,
    text,
    st.lists(columns, max_size=3).map(tuple),
    number,
    text,
    number,
    st.lists(keys, max_size=2).map(tuple),
    text,
    st.lists(text, max_size=2).map(tuple),
)
schema = Schema(
    (
        Field("a", pa.int64(), nullable=False, stable="id:1", source="col-1", field_id=1, default=7),
        Field(
            "s",
            pa.struct([("x", pa.decimal128(38, 10)), ("t", pa.timestamp("us", "UTC"))]),
            children=(
                Field("x", pa.decimal128(38, 10), default=Decimal("1.5000000000")),
                Field("t", pa.timestamp("us", "UTC"), default_known=False),
            ),
        ),
        Field("l", pa.list_(pa.string())),
        Field("d", pa.date32(), partition=True, default=dt.date(2020, 2, 29)),
        Field("f", pa.float64(), default=float("inf")),
        Field("b", pa.binary(), default=b"\x00\xff", comment="bytes"),
    )
)
entries = st.builds(
    IndexLogEntry,
    id=st.integers(1, MAX_NUMBER),
    name=text,
    index_uuid=text,
    nonce=text,
    stable=st.sampled_from(sorted(STABLE, key=lambda s: s.value)),
    table=st.builds(
        TableInfo, text, text, text, st.dictionaries(text, text | st.booleans() | st.integers(), max_size=2)
    ),
    kinds=st.lists(st.builds(KindSpec, text, st.integers(1, 9), st.just({"columns": ["a"]})), max_size=2).map(tuple),
    content=st.builds(
        Content,
        st.lists(runs, max_size=2).map(tuple),
        st.lists(records, max_size=2).map(tuple),
        st.just((schema,)),
        st.lists(st.builds(SegmentRef, objects, text, st.lists(text, max_size=2).map(tuple)), max_size=2).map(tuple),
    ),
    under_way=st.lists(
        st.builds(
            UnderWay, st.sampled_from(Operation), number, text, text, number, st.lists(text, max_size=2).map(tuple)
        ),
        max_size=2,
    ).map(tuple),
    enabled=st.booleans(),
    timestamp_ms=number,
    written_by=text,
    properties=st.dictionaries(text, text, max_size=2),
)
ENTRY = IndexLogEntry(3, "stats", "u", "n", State.ACTIVE, TableInfo("/lake/t", "delta"), (KindSpec("column_stats", 1),))


@given(entries)
def test_an_entry_survives_the_round_trip(entry: IndexLogEntry) -> None:
    assert codec.decode(codec.encode(entry), "here") == entry


@given(st.integers(0, 10**6), st.integers(1, 255))
def test_any_changed_byte_is_noticed(at: int, by: int) -> None:
    data = bytearray(codec.encode(ENTRY))
    data[at % len(data)] ^= by
    with pytest.raises(DamagedIndexError, match="here"):
        codec.decode(bytes(data), "here")


@given(st.integers(0, 10**6))
def test_a_truncated_entry_is_noticed(length: int) -> None:
    data = codec.encode(ENTRY)
    with pytest.raises(DamagedIndexError):
        codec.decode(data[: length % len(data)], "here")


@pytest.mark.parametrize(("written", "cure"), [(4, "upgrade metaindex"), (2, "create the index anew")])
def test_another_format_is_refused_with_advice(written: int, cure: str) -> None:
    data = crafted(lambda value: value.update(format_version=written))
    with pytest.raises(DamagedIndexError, match=f"format {written}; .*{cure}"):
        codec.decode(data, "here")


def crafted(change: Callable[[dict[str, Any]], object]) -> bytes:
    """An entry that was changed, sealed as it should be."""
    value = whole()
    change(value)
    return seal(value, None)


def whole() -> dict[str, Any]:
    """The JSON of an entry with everything in it."""
    column = CoveredColumn("a", 7, "a", "int64")
    run = RunRef(
        "r", 3, 1, 90, 20, "d", "f", (column,), 1, "local", 0, (CoveredKey("values", -5, (column,), {"b": 1}),)
    )
    record = VersionRecord(Version("u", "1", "f"), 1, 0, Version("u", "0", "f"), ("r",), {"r": "AA=="}, unknown=1)
    entry = dataclasses.replace(
        ENTRY,
        table=TableInfo("/lake/t", "files", "u", {"header": "true"}),
        content=Content(
            (run,),
            (record, dataclasses.replace(record, bits=ObjectRef("_versions/r/b.json", 9, "d"))),
            (schema,),
            (SegmentRef(ObjectRef("_versions/r/s.json", 9, "d"), "AAAAAAAA", ("r",)),),
        ),
        under_way=(UnderWay(Operation.REFRESH, 3, "n", "me", 1, ("q",)),),
    )
    value = from_text(codec.encode(entry).partition(b"\n")[0])
    assert isinstance(value, dict)
    return value


PLACES = places(whole())[1:]
PLAIN = ("properties", "options", "layout", "removed", "arrow")
"""Fields whose insides are of the user, or are looked at by who uses them."""


@pytest.mark.parametrize("path", [p for p in PLACES if not set(PLAIN) & set(p)], ids=lambda p: ".".join(map(str, p)))
def test_a_field_of_another_type_is_refused(path: tuple[Any, ...]) -> None:
    value = whole()
    at = inside(value, path)
    for new in (None, True, 7, -1, 1.5, "x", [], [1], {}, {"x": 1}, 2**63, 10**400):
        if type(new) is type(at) and not (isinstance(new, int) and not -1 <= new <= 2**60):
            continue
        if path[-1] == "parent" and new is None:
            continue
        with pytest.raises(DamagedIndexError, match="here"):
            codec.decode(seal(replaced(value, path, new), None), "here")


OPTIONAL = {
    "keys",
    "unknown",
    "partition_columns",
    "bits",
    "parent",
    "nullable",
    "stable",
    "source",
    "field_id",
    "comment",
}
OPTIONAL |= {"partition", "bucketed", "default", "default_known", "children", "removed"}


@pytest.mark.parametrize("path", PLACES, ids=lambda p: ".".join(map(str, p)))
def test_a_field_that_is_missing_or_not_known_is_refused(path: tuple[Any, ...]) -> None:
    value = whole()
    at = inside(value, path)
    named = isinstance(path[-1], str) and not set(PLAIN) & set(path)
    if named and (path[-1] not in OPTIONAL or path[-2:] == ("columns", "partition")):
        with pytest.raises(DamagedIndexError, match="missing"):
            codec.decode(seal(replaced(value, path, ABSENT), None), "here")
    if isinstance(at, dict) and not set(PLAIN) & set(path):
        with pytest.raises(DamagedIndexError, match="'surprise' is not known"):
            codec.decode(seal(replaced(whole(), (*path, "surprise"), 1), None), "here")


@pytest.mark.parametrize(
    "text_",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"NaN",
        b'{"id": 1, "id": 1}',
        b"\xff\xfe",
        b"1" * 10_000,
        b"",
    ],
    ids=["deep", "deep_objects", "nan", "twice", "no_text", "huge", "empty"],
)
def test_what_is_no_entry_is_refused_though_its_digest_is_right(text_: bytes) -> None:
    data = text_ + b'\n{"sha256": "' + hashlib.sha256(text_).hexdigest().encode() + b'"}\n'
    with pytest.raises(DamagedIndexError, match="here"):
        codec.decode(data, "here")


def test_an_entry_is_a_line_of_json_and_a_line_with_the_digest_of_the_first() -> None:
    data = codec.encode(dataclasses.replace(ENTRY, under_way=(UnderWay(Operation.REFRESH, 3, "n", "me", 1),)))
    first, second, rest = data.split(b"\n")
    value = json.loads(first)
    assert rest == b""
    assert value["state"] == "REFRESHING"
    assert value["stable_state"] == "ACTIVE"
    assert json.loads(second) == {"sha256": hashlib.sha256(first).hexdigest()}


def test_names_that_are_no_unicode_survive_as_utf_8() -> None:
    entry = dataclasses.replace(ENTRY, written_by="caf\udce9 ü")
    data = codec.encode(entry)
    assert data.decode("utf-8")
    assert codec.decode(data, "here") == entry


def test_schemas_survive_the_round_trip() -> None:
    assert schema_from_json(schema_to_json(schema)) == schema


@pytest.mark.parametrize(
    "type_",
    [
        pa.bool_(),
        pa.int8(),
        pa.uint64(),
        pa.float16(),
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.binary(16),
        pa.date32(),
        pa.date64(),
        pa.time32("ms"),
        pa.time64("ns"),
        pa.timestamp("ns"),
        pa.timestamp("us", "Europe/Berlin"),
        pa.decimal128(38, 0),
        pa.decimal128(10, -2),
        pa.decimal256(60, 3),
    ],
)
def test_types_survive_as_text(type_: pa.DataType) -> None:
    assert type_from_text(str(type_)) == type_


def test_a_type_that_is_not_known_is_none() -> None:
    assert type_from_text("list<item: int64>") is None
    assert type_from_text("timestamp[fortnight]") is None


def test_a_changed_digit_is_damage_though_the_json_is_as_good() -> None:
    first, second, _ = codec.encode(ENTRY).split(b"\n")
    digits = [at for at, byte in enumerate(first) if 48 <= byte < 58]
    assert len(digits) >= 4
    for at in digits:
        turned = first[:at] + bytes([first[at] ^ 1]) + first[at + 1 :]
        with pytest.raises(DamagedIndexError, match="matches its digest"):
            codec.decode(turned + b"\n" + second + b"\n", "here")


def test_an_entry_that_says_a_field_twice_is_refused() -> None:
    first = codec.encode(ENTRY).split(b"\n")[0]
    twice = b'{"id": 77, ' + first[1:]
    assert json.loads(twice) == json.loads(first)  # other readers take the first, or the last
    with pytest.raises(DamagedIndexError, match="each field once"):
        codec.decode(twice + b'\n{"sha256": "' + hashlib.sha256(twice).hexdigest().encode() + b'"}\n', "here")
