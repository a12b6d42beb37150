"""What a file shows of a column that it lacks: its identity partition's value, the schema's default, the name mapping's
column (specification, "Column Projection")."""

import datetime as dt
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import ScanError
from tests.formats.iceberg.handmade import HandManifest, HandTable, entry, optional

INT = pa.int32()


def with_id(name: str, kind: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(field_id)})


def column(field_id: int, name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"id": field_id, "name": name, "required": False, "type": kind, **more}


def identity(field_id: int, source: int, name: str, transform: str = "identity") -> dict[str, Any]:
    return {"name": name, "field-id": field_id, "source-id": source, "transform": transform}


def made(root: Path, fields: list[Any], *specs: list[Any], version: int = 2) -> HandTable:
    table = HandTable(
        root / "t",
        version,
        schemas=[{"type": "struct", "schema-id": 0, "fields": fields}],
        specs=[{"spec-id": n, "fields": spec} for n, spec in enumerate(specs or ([],))],
    )
    (table.root / "data").mkdir(parents=True)
    return table


def file(table: HandTable, name: str, data: pa.Table, **more: Any) -> dict[str, Any]:
    path = table.path(f"data/{name}.parquet")
    pq.write_table(data, path)
    return entry(path, record_count=data.num_rows, file_size_in_bytes=Path(path).stat().st_size, **more)


def rows(table: HandTable) -> list[dict[str, Any]]:
    table.write()
    found: list[dict[str, Any]] = mi.open_table(str(table.root)).scan().to_arrow().to_pylist()
    return found


IDS = pa.table([pa.array([1, 2], INT)], schema=pa.schema([with_id("id", INT, 1)]))


def test_two_fields_of_one_column_of_which_one_is_its_identity(tmp_path: Path) -> None:
    spec = [identity(1000, 2, "region"), identity(1001, 2, "region_bucket", "bucket[16]")]
    table = made(tmp_path, [column(1, "id", "int"), column(2, "region", "string")], spec)
    partition = [
        {"name": "region", "type": optional("string"), "field-id": 1000},
        {"name": "region_bucket", "type": optional("int"), "field-id": 1001},
    ]
    one = file(table, "f", IDS, partition={"region": "eu", "region_bucket": 3})
    table.commit([HandManifest([one], partition=partition)])
    assert rows(table) == [{"id": 1, "region": "eu"}, {"id": 2, "region": "eu"}]


@pytest.mark.parametrize("value", ["fr", None])
def test_a_partition_field_inside_a_struct(tmp_path: Path, value: str | None) -> None:
    struct = {"type": "struct", "fields": [column(3, "country", "string"), column(4, "city", "string")]}
    table = made(tmp_path, [column(1, "id", "int"), column(2, "address", struct)], [identity(1000, 3, "country")])
    inside = pa.struct([with_id("city", pa.string(), 4)])
    schema = pa.schema([with_id("id", INT, 1), with_id("address", inside, 2)])
    data = pa.table(
        [pa.array([1, 2, 3], INT), pa.array([{"city": "paris"}, {"city": None}, None], inside)], schema=schema
    )
    partition = [{"name": "country", "type": optional("string"), "field-id": 1000}]
    table.commit([HandManifest([file(table, "f", data, partition={"country": value})], partition=partition)])
    assert [row["address"] for row in rows(table)] == [
        {"country": value, "city": "paris"},
        {"country": value, "city": None},
        None,
    ]


TYPES: list[tuple[str, Any, Any, Any]] = [
    ("int", "int", 5, 5),
    ("long", "long", -5, -5),
    ("boolean", "boolean", True, True),
    ("double", "double", -0.0, -0.0),
    ("float", "float", 1.5, 1.5),
    ("date", {"type": "int", "logicalType": "date"}, dt.date(1969, 1, 1), dt.date(1969, 1, 1)),
    ("time", {"type": "long", "logicalType": "time-micros"}, dt.time(1, 2, 3, 4), dt.time(1, 2, 3, 4)),
    ("timestamp", {"type": "long", "logicalType": "timestamp-micros"}, 5, dt.datetime(1970, 1, 1, 0, 0, 0, 5)),
    ("binary", "bytes", b"\x00\xff", b"\x00\xff"),
    ("fixed[2]", {"type": "fixed", "name": "f2", "size": 2}, b"ab", b"ab"),
    (
        "decimal(38, 2)",
        {"type": "fixed", "name": "d", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 2},
        Decimal("-123456789012345678901234567890.12"),
        Decimal("-123456789012345678901234567890.12"),
    ),
    ("string", "string", "__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__"),
]


@pytest.mark.parametrize(("kind", "avro", "written", "shown"), TYPES, ids=[one[0] for one in TYPES])
def test_partition_values_of_every_type(tmp_path: Path, kind: str, avro: Any, written: Any, shown: Any) -> None:
    table = made(tmp_path, [column(1, "id", "int"), column(2, "p", kind)], [identity(1000, 2, "p")])
    partition = [{"name": "p", "type": optional(avro), "field-id": 1000}]
    entries = [file(table, f"f{n}", IDS, partition={"p": one}) for n, one in enumerate((written, None))]
    table.commit([HandManifest(entries, partition=partition)])
    assert [repr(row["p"]) for row in rows(table)] == [repr(shown)] * 2 + ["None"] * 2


def test_a_column_added_and_then_partitioned_by_has_its_default_in_older_files(tmp_path: Path) -> None:
    fields = [column(1, "id", "int"), column(2, "p", "string"), column(3, "q", "int", **{"initial-default": 7})]
    table = made(tmp_path, fields, [], [identity(1000, 2, "p"), identity(1001, 3, "q")], version=3)
    partition = [
        {"name": "p", "type": optional("string"), "field-id": 1000},
        {"name": "q", "type": optional("int"), "field-id": 1001},
    ]
    old, new = file(table, "old", IDS), file(table, "new", IDS, partition={"p": "x", "q": 9})
    table.commit([HandManifest([old]), HandManifest([new], spec_id=1, partition=partition)])
    assert [(row["p"], row["q"]) for row in rows(table)] == [(None, 7)] * 2 + [("x", 9)] * 2


def test_a_required_column_without_value_or_default_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path, [column(1, "id", "int"), {**column(2, "r", "int"), "required": True}])
    table.commit([HandManifest([file(table, "f", IDS)])])
    with pytest.raises(ScanError, match="not known"):
        rows(table)


@pytest.mark.parametrize(
    ("kind", "default", "shown"),
    [
        ("boolean", True, True),
        ("long", 2**40, 2**40),
        ("double", 0.5, 0.5),
        ("decimal(9, 2)", "1.50", Decimal("1.50")),
        ("date", "2020-02-29", dt.date(2020, 2, 29)),
        ("time", "10:00:00.000001", dt.time(10, 0, 0, 1)),
        ("timestamp", "2020-01-01T00:00:00.000001", dt.datetime(2020, 1, 1, 0, 0, 0, 1)),
        ("timestamptz", "2020-01-01T01:00:00+01:00", dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        ("timestamp_ns", "2020-01-01T00:00:00.000001002", 1577836800000001002),
        ("timestamptz_ns", "2020-01-01T00:00:00.000001002+00:00", 1577836800000001002),
        ("timestamp_ns", "1969-12-31T23:59:59.999999999", -1),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", bytes.fromhex("f79c3e09677c4bbda4793f349cb785e7")),
        ("fixed[2]", "00ff", b"\x00\xff"),
        ("binary", "00FF01", b"\x00\xff\x01"),
        ("string", "é", "é"),
    ],
)
def test_initial_defaults_of_every_type(tmp_path: Path, kind: str, default: Any, shown: Any) -> None:
    fields = [column(1, "id", "int"), column(2, "c", kind, **{"initial-default": default})]
    table = made(tmp_path, fields, version=3)
    table.commit([HandManifest([file(table, "f", IDS)])])
    table.write()
    found = mi.open_table(str(table.root)).scan().to_arrow().column("c")
    if kind.endswith("_ns"):
        found = found.cast(pa.int64())
    assert found.to_pylist() == [shown, shown]


def test_a_dropped_column_that_comes_back_under_its_name_is_another(tmp_path: Path) -> None:
    table = made(tmp_path, [column(1, "id", "int"), column(3, "s", "string")])
    data = IDS.append_column(with_id("s", pa.string(), 2), pa.array(["old", "older"]))
    fresh = IDS.append_column(with_id("s", pa.string(), 3), pa.array(["new", None]))
    table.commit([HandManifest([file(table, "a", data), file(table, "b", fresh)])])
    assert [row["s"] for row in rows(table)] == [None, None, "new", None]


def test_columns_are_found_by_id_whatever_their_order_and_names(tmp_path: Path) -> None:
    struct = {"type": "struct", "fields": [column(5, "b", "long"), column(4, "a", "double")]}
    items = {"type": "list", "element-id": 7, "element": struct_of(8, "x", "long"), "element-required": False}
    table = made(tmp_path, [column(3, "st", struct), column(1, "renamed", "long"), column(6, "l", items)])
    old = pa.struct([with_id("p", pa.float32(), 4), with_id("q", INT, 5)])
    inner = pa.list_(with_id("element", pa.struct([with_id("y", INT, 8)]), 7))
    schema = pa.schema([with_id("id", INT, 1), with_id("old", old, 3), with_id("m", inner, 6)])
    data = pa.table(
        [pa.array([1, 2], INT), pa.array([{"p": 0.5, "q": 3}, None], old), pa.array([[{"y": 9}, None], None], inner)],
        schema=schema,
    )
    table.commit([HandManifest([file(table, "f", data)])])
    assert rows(table) == [
        {"st": {"b": 3, "a": 0.5}, "renamed": 1, "l": [{"x": 9}, None]},
        {"st": None, "renamed": 2, "l": None},
    ]


@pytest.mark.parametrize("numbered", ["other", "struct", "list"])
def test_a_column_without_id_beside_one_with_is_null_and_nothing_is_claimed_of_it(
    tmp_path: Path, numbered: str
) -> None:
    """As Iceberg in Java has it, which asks whether any field has an id, and finds all by them. PyIceberg asks whether
    all have, and finds them by the name mapping."""
    inner = {
        "other": with_id("o", INT, 2),
        "struct": pa.field("o", pa.struct([with_id("x", INT, 3)])),
        "list": pa.field("o", pa.list_(with_id("element", INT, 3))),
    }[numbered]
    data = pa.table([pa.array([1, 2], INT), pa.nulls(2, inner.type)], schema=pa.schema([pa.field("id", INT), inner]))
    table = made(tmp_path, [column(1, "id", "int")])
    table.commit([HandManifest([file(table, "f", data)])])
    table.write(properties={"schema.name-mapping.default": '[{"field-id": 1, "names": ["id"]}]'})
    for indexed in (False, True):
        opened = mi.open_table(str(table.root))
        if indexed:
            opened.create_index("stats", mi.ColumnStats(), builder="local")
            assert opened.prune("id = 1").kept_files == 1
        assert [opened.count(asked) for asked in ("id = 1", "id IS NULL")] == [0, 2]
        assert opened.scan("id IS NULL").to_arrow().to_pylist() == [{"id": None}] * 2


def struct_of(field_id: int, name: str, kind: str) -> dict[str, Any]:
    return {"type": "struct", "fields": [column(field_id, name, kind)]}


def test_files_of_formats_that_we_do_not_read_are_pruned_and_refused_by_name(tmp_path: Path) -> None:
    table = made(tmp_path, [column(1, "id", "int"), column(2, "p", "int")], [identity(1000, 2, "p")])
    partition = [{"name": "p", "type": optional("int"), "field-id": 1000}]
    entries = [
        file(table, "f0", IDS, partition={"p": 1}),
        {**entry(table.path("data/f1.orc"), file_format="ORC", partition={"p": 2})},
        {**entry(table.path("data/f2.avro"), file_format="AVRO", partition={"p": 3})},
    ]
    table.commit([HandManifest(entries, partition=partition)])
    table.write()
    opened = mi.open_table(str(table.root))
    assert [Path(path).name for path in opened.prune("p = 2").paths] == ["f1.orc"]
    assert opened.scan("p = 1").to_arrow().num_rows == 2
    for predicate, name in (("p = 2", r"f1\.orc.*ORC"), ("p = 3", r"f2\.avro.*AVRO")):
        with pytest.raises(ScanError, match=name):
            opened.scan(predicate).to_arrow()


KEYS: list[tuple[str, pa.DataType, list[Any]]] = [
    ("boolean", pa.bool_(), [True, False]),
    ("int", pa.int32(), [1, -1]),
    ("long", pa.int64(), [2**40, -1]),
    ("float", pa.float32(), [float("nan"), 1.5]),
    ("double", pa.float64(), [0.0, -0.0]),
    ("double", pa.float64(), [float("nan"), float("inf")]),
    ("decimal(9, 2)", pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-1.50")]),
    ("decimal(38, 2)", pa.decimal128(38, 2), [Decimal("1.50"), Decimal("123456789012345678901234567890.50")]),
    ("date", pa.date32(), [dt.date(1969, 12, 31), dt.date(1970, 1, 1)]),
    ("time", pa.time64("us"), [dt.time(1), dt.time(2)]),
    ("timestamp", pa.timestamp("us"), [dt.datetime(1969, 1, 1), dt.datetime(2020, 1, 1)]),
    ("timestamptz", pa.timestamp("us", "UTC"), [dt.datetime(1969, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
    ("timestamp_ns", pa.timestamp("ns"), [1, 2]),
    ("string", pa.string(), ["a", "a "]),
    ("binary", pa.binary(), [b"", b"\x00"]),
    ("fixed[2]", pa.binary(2), [b"ab", b"\x00\x00"]),
    ("uuid", pa.binary(16), [bytes(range(16)), bytes(16)]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "arrow", "values"), KEYS, ids=[f"{k}-{v[0]}" for k, _, v in KEYS])
def test_equality_deletes_of_every_type(tmp_path: Path, kind: str, arrow: pa.DataType, values: list[Any]) -> None:
    table = made(tmp_path, [column(1, "id", "int"), column(2, "c", kind)], version=3)
    key = with_id("c", arrow, 2)
    data = pa.table(
        [pa.array([0, 1, 2], INT), pa.array([*values, None], arrow)], schema=pa.schema([with_id("id", INT, 1), key])
    )
    gone = pa.table([pa.array([values[0]], arrow)], schema=pa.schema([key]))
    none = pa.table([pa.nulls(1, arrow)], schema=pa.schema([key]))
    first = file(table, "f", data, sequence=1)
    deletes = [file(table, name, rows, content=2, equality_ids=[2]) for name, rows in (("d", gone), ("n", none))]
    table.commit([HandManifest([first])])
    table.commit([HandManifest([first]), HandManifest(deletes[:1], content=1, sequence=2)])
    table.commit([HandManifest([first]), HandManifest(deletes, content=1, sequence=3)])
    table.write()
    opened = mi.open_table(str(table.root))
    live = [opened.scan(columns=["id"], version=n).to_arrow().column("id").to_pylist() for n in (1, 2, 3)]
    assert live == [[0, 1, 2], [1, 2], [1]]


def test_buckets_still_count_beside_an_index(tmp_path: Path) -> None:
    """The bounds of a hashed column say nothing: of `=` and IN the table's partitions know more than an index of
    statistics."""
    from metaindex.formats.iceberg.buckets import murmur3

    buckets: dict[int, list[int]] = {}
    for value in range(400):
        buckets.setdefault((murmur3(struct.pack("<q", value)) & 0x7FFFFFFF) % 8, []).append(value)
    bucket = {"name": "id_bucket", "field-id": 1000, "source-id": 1, "transform": "bucket[8]"}
    table = made(tmp_path, [column(1, "id", "int"), column(2, "v", "int")], [bucket])
    schema = pa.schema([with_id("id", INT, 1), with_id("v", INT, 2)])
    entries = [
        file(table, f"f{n}", pa.table([pa.array(held, INT)] * 2, schema=schema), partition={"id_bucket": n})
        for n, held in buckets.items()
    ]
    table.commit([HandManifest(entries, partition=[{"name": "id_bucket", "type": optional("int"), "field-id": 1000}])])
    table.write()
    opened = mi.open_table(str(table.root))
    opened.create_index("stats", mi.ColumnStats(), builder="local")
    for predicate, kept, rows_ in (
        ("id = 57", 1, 1),
        ("id > 57", 8, 342),
        ("v = 57", 8, 1),
        ("id = 57 OR v = -1", 1, 1),
    ):
        assert len(opened.prune(predicate).paths) == kept
        assert opened.scan(predicate).to_arrow().num_rows == rows_
