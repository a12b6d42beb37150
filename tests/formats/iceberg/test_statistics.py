"""Bounds of manifests: what is decoded, and above all what is not believed."""

import datetime as dt
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.expressions import ColumnBounds, Family, to_physical
from metaindex.formats.iceberg.statistics import decode, scatter
from metaindex.formats.model import Snapshot
from tests.formats.iceberg.handmade import HandManifest, HandTable, entry


def snapshot_of(root: Path, kind: Any, *files: dict[str, Any], properties: dict[str, str] | None = None) -> Snapshot:
    schema = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "c", "required": False, "type": kind}]}
    table = HandTable(root / "t", schemas=[schema])
    table.commit([HandManifest([entry(table.path(f"f{n}"), **one) for n, one in enumerate(files)])])
    return table.snapshot(properties=properties or {})


def bounds_of(root: Path, kind: Any, *files: dict[str, Any], **more: Any) -> ColumnBounds | None:
    snapshot = snapshot_of(root, kind, *files, **more)
    return snapshot.details.log_bounds(snapshot.schema.leaves()[0])


def between(lower: bytes, upper: bytes, **more: Any) -> dict[str, Any]:
    return {"lower_bounds": {1: lower}, "upper_bounds": {1: upper}, **more}


def packed(code: str, lower: float, upper: float, **more: Any) -> dict[str, Any]:
    """In few bytes, the low ones first, as `struct` calls them."""
    return between(struct.pack(f"<{code}", lower), struct.pack(f"<{code}", upper), **more)


NAN = float("nan")


def both(bounds: ColumnBounds | None) -> list[Any]:
    return list(zip(bounds.lower.to_pylist(), bounds.upper.to_pylist(), strict=True))


NONE = (None, None)
BOUNDS: dict[str, tuple[str, list[dict[str, Any]], list[tuple[Any, Any]]]] = {
    "before a widening, by their width": ("long", [packed("i", -5, 7), packed("q", -(2**40), 2**40)],
        [(-5, 7), (-(2**40), 2**40)]),
    "floats in a double column": ("double", [packed("f", 1.5, 2.5), packed("d", 0.1, 0.2)], [(1.5, 2.5), (0.1, 0.2)]),
    "dates in a timestamp column": ("timestamp", [packed("i", 1, 4_000)], [(86_341_000_000, 345_600_000_000_999)]),
    "nanoseconds are rounded outwards": ("timestamp_ns", [packed("q", -1, 1)], [(-1, 2)]),
    "times in whole milliseconds may be cut ones": ("timestamp", [packed("q", 10**15, 2 * 10**15)],
        [(10**15, 2 * 10**15 + 999)]),
    "finer times are whole": ("timestamp", [packed("q", 10**15 + 1, 2 * 10**15 + 1)], [(10**15 + 1, 2 * 10**15 + 1)]),
    "a nan below": ("double", [packed("d", NAN, 1.0)], [NONE]),
    "a nan above": ("double", [packed("d", 1.0, NAN)], [NONE]),
    "crossed": ("double", [packed("d", 2.0, 1.0)], [NONE]),
    "crossed strings": ("string", [between(b"b", b"a")], [NONE]),
    # U+D7FF raised by one is no character; Java writes a question mark for it.
    "lost in the surrogates": ("string", [between(b"abc", b"abcdefghijklmno?"), between(b"a", b"b")],
        [(b"abc", None), (b"a", b"b")]),
    "strings that are no utf8 are bytes": ("string", [between(b"\xff\xfe", b"\xff\xff")], [(b"\xff\xfe", b"\xff\xff")]),
    "of another width": ("int", [between(b"\x01\x02", b"\x01\x02\x03"), packed("i", 1, 2)], [NONE, (1, 2)]),
    "four bytes of a time are milliseconds": ("time", [packed("i", 5, 6), packed("q", 5, 6)], [NONE, (5, 6)]),
    "files without statistics": ("long", [{}, packed("q", 1, 2), {}], [NONE, (1, 2), NONE]),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "files", "expected"), BOUNDS.values(), ids=BOUNDS)
def test_bounds_are_read_or_unknown(
    tmp_path: Path, kind: str, files: list[dict[str, Any]], expected: list[tuple[Any, Any]]
) -> None:
    assert both(bounds_of(tmp_path, kind, *files)) == expected


def test_a_zero_has_both_signs(tmp_path: Path) -> None:
    ((low, high),) = both(bounds_of(tmp_path, "double", packed("d", 0.0, -0.0)))
    assert (np.signbit(low), np.signbit(high)) == (True, False)


def test_a_single_nan_bound_is_unknown(tmp_path: Path) -> None:
    bounds = bounds_of(tmp_path, "float", {"upper_bounds": {1: struct.pack("<f", float("nan"))}})
    assert bounds.upper.to_pylist() == [None]


def test_no_bound_of_a_string_is_exact(tmp_path: Path) -> None:
    bounds = bounds_of(tmp_path, "string", between(b"a", b"b"))
    assert bounds.lower_exact is None
    assert bounds.upper_exact is None


def test_uuid_bounds_are_unknown(tmp_path: Path) -> None:
    bounds = bounds_of(tmp_path, "uuid", between(b"\x00" * 16, b"\xff" * 16, null_value_counts={1: 0}))
    assert bounds.lower is None
    assert bounds.upper is None


def test_timestamps_of_a_table_with_imported_files_are_not_believed(tmp_path: Path) -> None:
    imported = {"schema.name-mapping.default": "[]"}
    millis = packed("q", 1577836800123, 1577836800123, null_value_counts={1: 0}, value_counts={1: 10})
    bounds = bounds_of(tmp_path, "timestamptz", millis, properties=imported)
    assert (bounds.lower, bounds.upper) == (None, None)
    assert bounds.null_count.to_pylist() == [0]


@given(st.sampled_from([("timestamp", 1000), ("timestamp_ns", 10**6)]), st.integers(-(2**60), 2**60), st.booleans())
def test_a_bound_that_was_cut_to_milliseconds_still_encloses(kind: tuple[str, int], at: int, down: bool) -> None:
    """Delta's UniForm writes what Delta's log keeps of them."""
    (name, parts), (micros, rest) = kind, divmod(at, kind[1] // 1000)
    cut = at // parts * parts if down else (abs(at) // parts * parts) * (1 if at > 0 else -1)
    with tempfile.TemporaryDirectory() as root:
        ((low, high),) = both(bounds_of(Path(root), name, packed("q", cut, cut)))
    assert low <= micros
    assert micros + (rest > 0) <= high


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ({"null_value_counts": {1: 3}, "value_counts": {1: 10}}, 3),
        ({"null_value_counts": {1: 3}}, 3),
        ({"null_value_counts": {1: 10}, "value_counts": {1: 10}}, 10),
        ({"null_value_counts": {1: 11}, "value_counts": {1: 10}}, None),  # more than rows
        ({"null_value_counts": {1: -1}, "value_counts": {1: 10}}, None),
        ({"null_value_counts": {1: 3}, "value_counts": {1: 30}}, None),  # counted something else than rows
        (
            {"null_value_counts": {1: 10}, **packed("q", 1, 2)},
            None,
        ),  # all NULL, and yet bounds
        ({"value_counts": {1: 10}}, None),
    ],
)
def test_null_counts_must_agree_with_the_rest(tmp_path: Path, file: dict[str, Any], expected: int | None) -> None:
    bounds = bounds_of(tmp_path, "long", file, packed("q", 1, 2))
    got = None if bounds.null_count is None else bounds.null_count[0].as_py()
    assert got == expected


def test_columns_without_metrics_say_nothing(tmp_path: Path) -> None:
    assert bounds_of(tmp_path, "long", {}, {"lower_bounds": {2: b"12345678"}}) is None
    counts_only = bounds_of(tmp_path / "b", "long", {"value_counts": {1: 10}, "null_value_counts": {1: 0}})
    assert (counts_only.lower, counts_only.upper) == (None, None)


def test_nan_counts_are_of_float_columns_only(tmp_path: Path) -> None:
    assert bounds_of(tmp_path, "float", {"nan_value_counts": {1: 2}}).nan_count.to_pylist() == [2]
    assert bounds_of(tmp_path / "b", "long", {"nan_value_counts": {1: 2}}) is None


@settings(max_examples=settings.default.max_examples * 200 // 100, deadline=None)
@given(st.lists(st.integers(-(10**38) + 1, 10**38 - 1), min_size=1), st.integers(0, 16))
def test_decimals_of_any_length_are_decoded(values: list[int], padding: int) -> None:
    def written(value: int) -> bytes:
        least = (value.bit_length() + 8) // 8
        return value.to_bytes(min(16, least + padding), "big", signed=True)

    kind = pa.decimal128(38, 4)
    wide, known = decode(pa.array([written(v) for v in values], pa.large_binary()), kind, upper=False)
    assert known.all()
    physical = scatter(np.arange(len(values)), wide, len(values), kind)
    assert [Family.whole(one) for one in physical.to_pylist()] == values


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1))
def test_narrow_decimals_are_their_unscaled_numbers(values: list[int]) -> None:
    raw = pa.array([v.to_bytes(9, "big", signed=True) for v in values], pa.large_binary())
    kind = pa.decimal128(18, 2)
    wide, _ = decode(raw, kind, upper=True)
    assert scatter(np.arange(len(values)), wide, len(values), kind).to_pylist() == values


TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "boolean": (pa.bool_(), st.booleans()),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us"), st.datetimes()),
    "timestamptz": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(dt.UTC))),
    "string": (pa.string(), st.text()),
    "binary": (pa.binary(), st.binary()),
    "decimal(12, 3)": (pa.decimal128(12, 3), st.decimals(places=3, min_value=-(10**8), max_value=10**8)),
    "decimal(30, 5)": (pa.decimal128(30, 5), st.decimals(places=5, min_value=-(10**20), max_value=10**20)),
}


@settings(max_examples=settings.default.max_examples * 150 // 100, deadline=None)
@given(st.data())
def test_bounds_in_the_specifications_encoding_become_the_physical_values(data: st.DataObject) -> None:
    from pyiceberg.conversions import to_bytes
    from pyiceberg.types import IcebergType

    name = data.draw(st.sampled_from(sorted(TYPES)))
    arrow, strategy = TYPES[name]
    value = data.draw(strategy)
    if name == "string" and value.endswith("?"):
        return
    from pydantic import TypeAdapter

    raw = to_bytes(TypeAdapter(IcebergType).validate_python(name), value)
    for upper in (False, True):
        wanted = to_physical(pa.array([value], arrow), arrow, upper=upper)
        if name in ("string", "binary"):
            assert wanted.to_pylist() == [raw]
            continue
        values, known = decode(pa.array([raw], pa.large_binary()), arrow, upper=upper)
        assert known.all()
        assert scatter(np.arange(1), values, 1, arrow).to_pylist() == wanted.to_pylist()
