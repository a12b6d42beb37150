"""Partition transforms: every source value lies inside the bounds that its partition value gives, and partitions read
as text without collision."""

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.expressions import to_physical
from metaindex.formats.model import Snapshot
from tests.formats.iceberg.handmade import HandManifest, HandTable, entry, optional

LONG_AGO, FAR = dt.date(1, 1, 1), dt.date(9999, 12, 31)
TIMES: Any = st.datetimes()
KINDS: dict[str, tuple[pa.DataType, Any, list[str]]] = {
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1), ["identity", "truncate[7]", "bucket[3]", "void"]),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1), ["identity", "truncate[10]"]),
    "string": (
        pa.string(),
        st.text(st.characters(exclude_categories=("Cs",)), max_size=6),
        ["identity", "truncate[2]"],
    ),
    "date": (pa.date32(), st.dates(), ["identity", "day", "month", "year"]),
    "timestamp": (pa.timestamp("us"), TIMES, ["identity", "hour", "day", "month", "year"]),
    "timestamptz": (
        pa.timestamp("us", "UTC"),
        st.datetimes(timezones=st.just(dt.UTC)),
        ["identity", "hour", "day", "month", "year"],
    ),
    "decimal(9, 2)": (pa.decimal128(9, 2), st.decimals(-9999, 9999, places=2), ["identity", "truncate[50]"]),
    "decimal(25, 2)": (pa.decimal128(25, 2), st.decimals(-9999, 9999, places=2), ["identity", "truncate[50]"]),
    "double": (pa.float64(), st.floats(allow_nan=False), ["identity"]),
    "boolean": (pa.bool_(), st.booleans(), ["identity"]),
    "binary": (pa.binary(), st.binary(max_size=5), ["identity", "truncate[2]"]),
}


def avro_type(kind: str, transform: str) -> Any:
    if transform.startswith("bucket") or transform in ("day", "month", "year", "hour"):
        return {"type": "int", "logicalType": "date"} if transform == "day" else "int"
    if kind.startswith("decimal"):
        precision = int(kind[8:].split(",")[0])
        return {
            "type": "fixed",
            "name": f"fixed_{precision}",
            "size": 16,
            "logicalType": "decimal",
            "precision": precision,
            "scale": 2,
        }
    plain = {
        "date": {"type": "int", "logicalType": "date"},
        "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
        "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
        "binary": "bytes",
    }
    return plain.get(kind, kind)


def as_written(kind: str, transform: str, value: Any) -> Any:
    """The partition value by pyiceberg's transform, in the terms fastavro writes."""
    from pydantic import TypeAdapter
    from pyiceberg.transforms import parse_transform
    from pyiceberg.types import IcebergType

    if value is None or transform == "void":
        return None
    source = TypeAdapter(IcebergType).validate_python(kind)
    internal = value
    if isinstance(value, dt.datetime):
        since = value.replace(tzinfo=None) - dt.datetime(1970, 1, 1)
        internal = since // dt.timedelta(microseconds=1)
    elif isinstance(value, dt.date):
        internal = (value - dt.date(1970, 1, 1)).days
    made = parse_transform(transform).transform(source)(internal)
    if transform == "identity":
        return value
    if kind in ("int", "long") and made < -(2 ** (31 if kind == "int" else 63)):
        made += 2 ** (32 if kind == "int" else 64)  # as Java's integers wrap
    return dt.date(1970, 1, 1) + dt.timedelta(days=made) if transform == "day" else made


def snapshot_of(root: Path, kind: str, transform: str, written: list[Any]) -> Snapshot:
    fields = [{"id": 1, "name": "c", "required": False, "type": kind}]
    spec = {"spec-id": 0, "fields": [{"name": "p q", "field-id": 1000, "source-id": 1, "transform": transform}]}
    table = HandTable(root / "t", schemas=[{"type": "struct", "schema-id": 0, "fields": fields}], specs=[spec])
    partition = [{"name": "p_x20q", "type": optional(avro_type(kind, transform)), "field-id": 1000}]
    entries = [entry(table.path(f"f{n}"), partition={"p_x20q": one}) for n, one in enumerate(written)]
    table.commit([HandManifest(entries, partition=partition)])
    return table.snapshot()


@given(st.data())
def test_source_values_lie_inside_the_bounds_of_their_partition(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    arrow, strategy, transforms = KINDS[kind]
    transform = data.draw(st.sampled_from(transforms))
    values = data.draw(st.lists(st.one_of(st.none(), strategy), min_size=1, max_size=5))
    written = [as_written(kind, transform, one) for one in values]
    with tempfile.TemporaryDirectory() as folder:
        snapshot = snapshot_of(Path(folder), kind, transform, written)
        (leaf,) = snapshot.schema.leaves()
        bounds = snapshot.details.partition_bounds(leaf)
        texts = snapshot.files.table.column("partition").to_pylist()
    # Different partitions read differently, equal ones equally.
    assert len({repr(w) for w in written}) >= len(set(texts))
    assert len(set(texts)) == len({(type(w), repr(w)) for w in written})  # -0.0 is a partition of its own
    if transform == "void":
        assert bounds is None
        return
    assert bounds.null_count is not None
    low = to_physical(pa.array(values, arrow), arrow, upper=False).to_pylist()
    high = to_physical(pa.array(values, arrow), arrow, upper=True).to_pylist()
    for n, value in enumerate(values):
        lower, upper = bounds.lower[n].as_py(), bounds.upper[n].as_py()
        assert bounds.null_count[n].as_py() == (value is None)
        if value is None:
            assert (lower, upper) == (None, None)
            continue
        assert lower is None or lower <= low[n]
        assert upper is None or upper >= high[n]
        if transform.startswith("bucket"):
            assert (lower, upper) == (None, None)
        if transform == "identity":
            assert (lower, upper) == (low[n], high[n])


def test_a_nan_partition_holds_only_nan(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, "double", "identity", [float("nan"), 1.0, None])
    bounds = snapshot.details.partition_bounds(snapshot.schema.leaves()[0])
    assert bounds.lower.to_pylist() == [None, 1.0, None]
    assert bounds.nan_count.to_pylist() == [1, 0, 0]
    assert bounds.null_count.to_pylist() == [0, 0, 1]


def test_a_period_before_1970_reaches_one_back_for_old_writers(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, "timestamp", "hour", [0, 1])
    bounds = snapshot.details.partition_bounds(snapshot.schema.leaves()[0])
    assert bounds.lower.to_pylist() == [-3_600_000_000, 3_600_000_000]
    assert bounds.upper.to_pylist() == [3_599_999_999, 7_199_999_999]


def test_truncated_text_is_exact_only_when_shorter_than_the_cut(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, "string", "truncate[2]", ["ab", "a", "😀é"])
    bounds = snapshot.details.partition_bounds(snapshot.schema.leaves()[0])
    assert bounds.upper.to_pylist() == [b"ab\xff", b"a", "😀é".encode() + b"\xff"]


@pytest.mark.parametrize(
    ("kind", "transform", "value", "text"),
    [
        ("date", "identity", dt.date(2020, 2, 3), "2020-02-03"),
        ("date", "month", -1, "1969-12"),
        ("date", "year", -1970, "0000"),
        ("timestamp", "hour", -1, "1969-12-31-23"),
        ("timestamp", "day", dt.date(2020, 2, 3), "2020-02-03"),
        ("timestamptz", "identity", dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "2020-01-01T00:00:00.000000+00:00"),
        ("string", "identity", "a/b=c %", "a/b=c %"),
        ("string", "identity", "", ""),
        ("boolean", "identity", True, "true"),
        ("int", "bucket[3]", 2, "2"),
        ("binary", "identity", b"\x00\xff", "00ff"),
    ],
)
def test_partitions_read_as_people_write_them(tmp_path: Path, kind: str, transform: str, value: Any, text: str) -> None:
    name, _, shown = snapshot_of(tmp_path, kind, transform, [value]).files.entry(0).partition.partition("=")
    assert (unquote(name), unquote(shown)) == ("p q", text)


def evolved(root: Path) -> Snapshot:
    """One file of each of three specs: none, identity of c, day of t."""
    fields = [
        {"id": 1, "name": "c", "required": False, "type": "string"},
        {"id": 2, "name": "t", "required": False, "type": "timestamp"},
    ]
    specs = [
        {"spec-id": 0, "fields": []},
        {"spec-id": 1, "fields": [{"name": "c", "field-id": 1000, "source-id": 1, "transform": "identity"}]},
        {"spec-id": 2, "fields": [{"name": "t_day", "field-id": 1001, "source-id": 2, "transform": "day"}]},
    ]
    table = HandTable(root / "t", schemas=[{"type": "struct", "schema-id": 0, "fields": fields}], specs=specs)
    by_c = [{"name": "c", "type": optional("string"), "field-id": 1000}]
    by_day = [{"name": "t_day", "type": optional("int"), "field-id": 1001}]
    table.commit(
        [
            HandManifest([entry(table.path("f0"))]),
            HandManifest([entry(table.path("f1"), partition={"c": "x"})], spec_id=1, partition=by_c),
            HandManifest([entry(table.path("f2"), partition={"t_day": 1})], spec_id=2, partition=by_day),
        ]
    )
    return table.snapshot()


def test_each_file_is_bounded_by_its_own_spec(tmp_path: Path) -> None:
    snapshot = evolved(tmp_path)
    c, t = (snapshot.details.partition_bounds(leaf) for leaf in snapshot.schema.leaves())
    assert c.lower.to_pylist() == [None, b"x", None]
    assert c.null_count.to_pylist() == [None, 0, None]
    assert t.lower.to_pylist() == [None, None, 86_400_000_000]
    assert [unquote(one.partition) for one in snapshot.files.entries()] == ["0", "1:c=x", "2:t_day=1970-01-02"]


def test_a_column_partitioned_in_some_files_only_is_not_a_partition_column(tmp_path: Path) -> None:
    snapshot = evolved(tmp_path)
    assert snapshot.partition_columns == ()
    assert [(f.partition, f.default_known) for f in snapshot.schema] == [(False, False), (False, True)]


def test_a_column_that_all_files_are_partitioned_by_is_one(tmp_path: Path) -> None:
    fields = [{"id": 1, "name": "c", "required": False, "type": "string"}]
    spec = {"spec-id": 0, "fields": [{"name": "c", "field-id": 1000, "source-id": 1, "transform": "identity"}]}
    table = HandTable(tmp_path / "t", schemas=[{"type": "struct", "schema-id": 0, "fields": fields}], specs=[spec])
    partition = [{"name": "c", "type": optional("string"), "field-id": 1000}]
    table.commit([HandManifest([entry(table.path("f"), partition={"c": "x"})], partition=partition)])
    snapshot = table.snapshot()
    assert snapshot.partition_columns == ("c",)
    assert snapshot.files.entry(0).partition == "c=x"


@pytest.mark.parametrize(
    ("kind", "values", "bounds"),
    [("int", [20, 24, 24], (24, 25)), ("string", ["ab", "abcd", "ab"], (b"abcd", b"abcd\xff"))],
)
def test_of_several_cuts_of_a_column_the_finest_bounds_it(
    tmp_path: Path, kind: str, values: list[Any], bounds: tuple[Any, Any]
) -> None:
    cuts = [10, 4, 2] if kind == "int" else [2, 4, 2]
    fields = [{"id": 1, "name": "c", "required": False, "type": kind}]
    made = [
        {"name": f"p{n}", "field-id": 1000 + n, "source-id": 1, "transform": f"truncate[{w}]"}
        for n, w in enumerate(cuts)
    ]
    table = HandTable(
        tmp_path / "t",
        schemas=[{"type": "struct", "schema-id": 0, "fields": fields}],
        specs=[{"spec-id": 0, "fields": made}],
    )
    partition = [{"name": f"p{n}", "type": optional(kind), "field-id": 1000 + n} for n in range(3)]
    table.commit(
        [HandManifest([entry("f", partition={f"p{n}": v for n, v in enumerate(values)})], partition=partition)]
    )
    snapshot = table.snapshot()
    found = snapshot.details.partition_bounds(snapshot.schema.leaves()[0])
    assert (found.lower[0].as_py(), found.upper[0].as_py()) == bounds
