"""Rows that are read by pages are those of the row group read whole, whatever the types and however it was written."""

import io
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.formats.parquet.file import Layouts
from metaindex.formats.parquet.footers import Footer
from metaindex.formats.parquet.pages import FilePages, KnownPages, Rows

_ROWS = 400
_TYPES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [-128, 0, 127]),
    (pa.int32(), [-5, 0, 2**31 - 1]),
    (pa.int64(), [-(2**63), 7, 2**63 - 1]),
    (pa.uint64(), [0, 2**64 - 1]),
    (pa.float32(), [-0.0, 0.0, float("nan"), 1.5]),
    (pa.float64(), [-0.0, 0.0, float("nan"), float("-inf"), 0.1]),
    (pa.float16(), [np.float16(-0.0), np.float16(1.5)]),
    (pa.bool_(), [True, False]),
    (pa.string(), ["", "a", "ü" * 40, "b" * 300]),
    (pa.large_string(), ["", "x", "y" * 100]),
    (pa.binary(), [b"", b"\0", b"\xff" * 50]),
    (pa.binary(16), [b"\0" * 16, b"\xfe" * 16]),
    (pa.date32(), [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)]),
    (pa.timestamp("us"), [datetime(1, 1, 1), datetime(2024, 2, 29, 1, 2, 3, 4)]),
    (pa.timestamp("ms", "Europe/Berlin"), [datetime(2024, 2, 29, tzinfo=UTC)]),
    (pa.timestamp("ns"), [datetime(1970, 1, 1), datetime(2024, 2, 29, 1, 2, 3, 4)]),
    (pa.time64("us"), [time(0), time(23, 59, 59, 999999)]),
    (pa.decimal128(9, 2), [Decimal("-1.23"), Decimal("0.00")]),
    (pa.decimal128(38, 10), [Decimal("-12345678901234567890.0123456789")]),
    (pa.null(), []),
]


def _column(type_: pa.DataType, values: list[Any], seed: int) -> pa.Array:
    drawn = np.random.default_rng(seed)
    picks = drawn.integers(0, len(values) + 1, _ROWS)  # the last is NULL
    if pa.types.is_integer(type_) and type_.bit_width > 8:  # many values, so that dictionaries are given up
        return pa.array([int(v) if v % 9 else None for v in drawn.integers(0, 2**31 - 1, _ROWS)], type_)
    return pa.array([values[at] if at < len(values) else None for at in picks], type_)


@st.composite
def _written(draw: st.DrawFn) -> bytes:
    columns: dict[str, pa.Array] = {}
    for at, (type_, values) in enumerate(draw(st.lists(st.sampled_from(_TYPES), min_size=1, max_size=5))):
        columns[f"c{at}"] = _column(type_, values, draw(st.integers(0, 9)))
    if draw(st.booleans()):
        columns["inside"] = pa.array([{"a": at} if at % 3 else None for at in range(_ROWS)])
        columns["list"] = pa.array([[at] * (at % 3) for at in range(_ROWS)])
    out = io.BytesIO()
    pq.write_table(
        pa.table(columns),
        out,
        row_group_size=draw(st.sampled_from([_ROWS, 150])),
        data_page_size=draw(st.sampled_from([1, 200, 1 << 20])),
        write_batch_size=draw(st.sampled_from([7, 40])),
        max_rows_per_page=draw(st.sampled_from([30, 20_000])),
        dictionary_pagesize_limit=draw(st.sampled_from([100, 1 << 20])),
        use_dictionary=draw(st.booleans()),
        data_page_version=draw(st.sampled_from(["1.0", "2.0"])),
        compression=draw(st.sampled_from(["none", "snappy", "gzip", "brotli", "zstd", "lz4"])),
        version=draw(st.sampled_from(["1.0", "2.4", "2.6"])),
        write_statistics=draw(st.booleans()),
        write_page_index=draw(st.booleans()),
        write_page_checksum=draw(st.booleans()),
        store_schema=draw(st.booleans()),
        use_deprecated_int96_timestamps=draw(st.booleans()),
    )
    return out.getvalue()


def _read(data: bytes, group: int, rows: Rows) -> tuple[dict[int, pa.Array], pa.Table]:
    """By pages, and the row group read whole."""
    reader = pq.ParquetReader()
    reader.open(pa.BufferReader(data), coerce_int96_timestamp_unit="us")
    source = pa.BufferReader(data)
    raw = Footer.of(source).raw
    pages = FilePages(source, reader.metadata, raw, Layouts(()).schema_of(raw), KnownPages())
    some = pages.read(group, range(reader.metadata.num_columns), rows)
    whole = reader.read_row_groups([group], column_indices=range(reader.metadata.num_columns), use_threads=False)
    return {column: array.combine_chunks() for column, array in some.items()}, whole


def _same(one: pa.Array, other: pa.Array) -> bool:
    """To the bit: NaN is NaN, and -0.0 is not 0.0."""
    return one.type == other.type and repr(one.to_pylist()) == repr(other.to_pylist())


_BY_PAGES: list[pa.DataType] = []


@given(data=_written(), draw=st.data())
@settings(max_examples=150, deadline=None)
def test_rows_by_pages(data: bytes, draw: st.DataObject) -> None:
    metadata = pq.read_metadata(io.BytesIO(data))
    group = draw.draw(st.integers(0, metadata.num_row_groups - 1))
    count = metadata.row_group(group).num_rows
    rows = np.array(sorted(draw.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=12))), np.int64)
    some, whole = _read(data, group, rows)
    flat = [at for at, f in enumerate(whole.schema) if not pa.types.is_nested(f.type)]
    for column, array in some.items():
        if column < len(flat):  # those inside others are not asked for by readers
            assert _same(array, whole.column(column).combine_chunks().take(pa.array(rows)))
            _BY_PAGES.append(array.type)


def test_columns_were_read_by_pages() -> None:
    assert len(_BY_PAGES) > 50
    assert len(set(_BY_PAGES)) > 10


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_that_do_not_add_up_are_not_read(version: str) -> None:
    """A header that says another number of rows moves all rows behind it."""
    out = io.BytesIO()
    table = pa.table({"a": np.arange(_ROWS)})
    pq.write_table(
        table, out, max_rows_per_page=100, use_dictionary=False, compression="none", data_page_version=version
    )
    data = bytearray(out.getvalue())
    some, _ = _read(bytes(data), 0, np.array([5]))
    assert some[0].to_pylist() == [5]
    rows = b"\x15\xc8\x01"  # 100 of them
    assert data.count(rows) >= 4
    at = data.index(rows)
    data[at : at + 3] = b"\x15\xc6\x01"
    with pytest.raises(ValueError, match="rows"):
        _read(bytes(data), 0, np.array([5]))


_EMPTY = b"\x15\x00\x15\x00\x15\x00\x2c\x15\x00\x15\x00\x15\x06\x15\x06\x00\x00"


@pytest.mark.parametrize(("header", "why"), [(b"\x1c", "behind the end"), (_EMPTY, "more pages")])
def test_headers_without_an_end_are_not_read(header: bytes, why: str) -> None:
    """Structs in structs, and pages without rows."""
    out = io.BytesIO()
    pq.write_table(pa.table({"a": np.arange(100_000)}), out, use_dictionary=False, compression="none")
    data = bytearray(out.getvalue())
    data[4:300_000] = (header * 300_000)[: 300_000 - 4]
    with pytest.raises(ValueError, match=why):
        _read(bytes(data), 0, np.array([5]))
