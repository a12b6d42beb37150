"""Entries survive the trip through JSON, and damage never passes for an entry."""

import dataclasses
import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.model import Field, Schema, Version
from metaindex.errors import DamagedIndexError
from metaindex.log import codec
from metaindex.log.entry import (
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
from metaindex.log.schema_codec import schema_from_json, schema_to_json
from metaindex.log.states import STABLE, Operation, State
from metaindex.log.types import type_from_text

text = st.text(max_size=12)
number = st.integers(0, 2**60)
versions = st.builds(Version, text, text, text)
objects = st.builds(ObjectRef, text, number, text)
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
    st.lists(columns, min_size=1, max_size=2).map(tuple),
    st.dictionaries(text, st.integers(0, 64) | text, max_size=3),
    st.integers(0, 9),
)
runs = st.builds(
    RunRef,
    text,
    number,
    number,
    number,
    number,
    text,
    text,
    st.lists(columns, max_size=3).map(tuple),
    number,
    text,
    number,
    st.lists(keys, max_size=2).map(tuple),
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
    id=number,
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


@pytest.mark.parametrize(("written", "cure"), [(3, "upgrade metaindex"), (1, "create the index anew")])
def test_another_format_is_refused_with_advice(written: int, cure: str) -> None:
    import xxhash

    body = codec.encode(ENTRY)
    start = body.index(b'"entry": ') + len(b'"entry": ')
    text_ = body[start:-2].replace(b'"format_version": 2', b'"format_version": %d' % written)
    data = b'{"digest": "' + xxhash.xxh3_128_hexdigest(text_).encode() + b'", "entry": ' + text_ + b"}\n"

    with pytest.raises(DamagedIndexError, match=f"format {written}; .*{cure}"):
        codec.decode(data, "here")


def test_an_entry_is_one_json_object_that_people_can_read() -> None:
    import json

    value = json.loads(
        codec.encode(dataclasses.replace(ENTRY, under_way=(UnderWay(Operation.REFRESH, 3, "n", "me", 1),)))
    )

    assert value["entry"]["state"] == "REFRESHING"
    assert value["entry"]["stable_state"] == "ACTIVE"


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
