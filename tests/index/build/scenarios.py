"""Tables that a builder must understand, each in a fresh folder: what both builders are compared over."""

import datetime as dt
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from metaindex.expressions import ColumnBounds
from metaindex.formats import Leaf
from metaindex.index.build.protocol import BuildRequest
from tests.index.build.lake import FolderDetails, fields_of, request_for, request_of, write

NAN = float("nan")


def every_type(root: Path) -> BuildRequest:
    """All types of columns, NULLs among them, in two files of a partition and one of another, names with % and
    spaces."""
    table = pa.table(
        {
            "b": pa.array([True, None, False]),
            "i8": pa.array([-128, None, 127], pa.int8()),
            "u32": pa.array([0, None, 2**32 - 1], pa.uint32()),
            "u64": pa.array([0, 2**64 - 1, None], pa.uint64()),
            "i64": pa.array([-(2**63), 0, 2**63 - 1]),
            "f32": pa.array([NAN, -0.0, 1.5], pa.float32()),
            "f64": pa.array([None, float("-inf"), float("inf")]),
            "zeros": pa.array([0.0, -0.0, NAN]),
            "d9": pa.array([Decimal("-1.23"), None, Decimal("9999999.99")], pa.decimal128(9, 2)),
            "d38": pa.array([Decimal("-1e27"), Decimal("1.5"), None], pa.decimal128(38, 10)),
            "day": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
            "ntz": pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None, None], pa.timestamp("us")),
            "utc": pa.array([1, 2, None], pa.timestamp("us", tz="UTC")),
            "ms": pa.array([1, 2, None], pa.timestamp("ms")),
            "ns": pa.array([1, 2_001, None], pa.timestamp("ns")),
            "clock": pa.array([dt.time(0), None, dt.time(23, 59, 59, 999999)], pa.time64("us")),
            "s": pa.array(["😀" * 40, "", None]),
            "bin": pa.array([b"\xff" * 70, b"\x00", None]),
            "fixed": pa.array([b"ab", b"\xff\xff", None], pa.binary(2)),
            "coded": pa.array(["x", "y", None]).dictionary_encode(),
            "st": pa.array([{"a": 1, "in": {"f": NAN}}, None, {"a": None, "in": None}]),
            "items": pa.array([[1], None, []], pa.list_(pa.int64())),
            "none": pa.nulls(3, pa.int32()),
        }
    )
    paths = [
        write(root, "p=a%20b/one %41.parquet", table),
        write(root, "p=a%20b/two+é.parquet", table.slice(1), row_group_size=1),
        write(root, "p=c/[x]{y}*?.parquet", table.slice(0, 0)),
    ]
    return request_for(root, fields_of(table.schema), paths, partitions=["p=a%20b", "p=a%20b", "p=c"])


def without_statistics(root: Path) -> BuildRequest:
    """Footers that say nothing: everything is scanned."""
    table = pa.table({"i": [3, None, 1], "s": ["b", "a", None], "f": [NAN, None, 2.0]})
    return request_of(root, {"a.parquet": table}, write_statistics=False)


def old_timestamps(root: Path) -> BuildRequest:
    """INT96, whose footer statistics are not believed."""
    table = pa.table({"t": pa.array([dt.datetime(1900, 1, 1), None, dt.datetime(2262, 1, 1)], pa.timestamp("us"))})
    return request_of(root, {"a.parquet": table}, use_deprecated_int96_timestamps=True)


def floats_of_one_kind(root: Path) -> BuildRequest:
    """Files that are all NaN, all NULL, mixed, and empty; in partitions so that some aggregates have no bounds."""
    f = pa.schema([("f", pa.float64())])
    files = {"a": [NAN, NAN], "b": [None, NAN], "c": [None], "d": [], "e": [1.0, NAN, None], "f": [-0.0]}
    paths = [write(root, f"{name}.parquet", pa.table({"f": pa.array(v, pa.float64())})) for name, v in files.items()]
    return request_for(root, fields_of(f), paths, partitions=["1", "1", "2", "2", "3", "3"])


def other_schemas(root: Path) -> BuildRequest:
    """Files written before a column was added, renamed in case, or widened; a column that none has."""
    now = pa.schema([("Id", pa.int64()), ("added", pa.int32()), ("wide", pa.float64()), ("given", pa.int32())])
    fields = list(fields_of(now))
    fields[3] = replace(fields[3], default=7)
    fields.append(replace(fields[1], name="lost", stable="lost", source="lost", default_known=False))
    first = pa.table({"id": pa.array([1, 2], pa.int32()), "wide": pa.array([1.5, NAN], pa.float32())})
    second = pa.table({"Id": [5], "added": pa.array([None], pa.int32()), "wide": [0.25], "given": ["text"]})
    paths = [write(root, "1.parquet", first), write(root, "2.parquet", second)]
    return request_for(root, fields, paths)


def damaged_files(root: Path) -> BuildRequest:
    """A file that is gone, one cut short, one of another size, one of another format, one with a damaged page."""
    table = pa.table({"i": list(range(1000)), "f": [float(i) for i in range(1000)]})
    for name in ("cut", "good", "page", "size"):
        write(root, f"{name}.parquet", table, compression="gzip")
    (root / "cut.parquet").write_bytes((root / "cut.parquet").read_bytes()[:100])
    page = bytearray((root / "page.parquet").read_bytes())
    page[10:-1200] = bytes(len(page) - 1210)
    (root / "page.parquet").write_bytes(page)
    (root / "other.orc").write_bytes(b"ORC" * 100)
    paths = ["cut.parquet", "gone.parquet", "good.parquet", "other.orc", "page.parquet", "size.parquet"]
    return request_for(root, fields_of(table.schema), paths, sizes={"gone.parquet": 10, "size.parquet": 99_999})


def partition_columns(root: Path) -> BuildRequest:
    """A partition column beside columns of the files; one partition is NULL."""
    table = pa.table({"i": [1, 2]})
    paths = [write(root, f"{name}.parquet", table) for name in "abc"]
    day = replace(fields_of(pa.schema([("day", pa.int32())]))[0], partition=True)
    value = pa.array([3, 3, None], pa.int64())
    exact = pa.array([True] * 3)
    bounds = ColumnBounds(day.type, value, value, pa.array([0, 0, None], pa.int64()), None, None, exact, exact)
    return request_for(
        root,
        [*fields_of(table.schema), day],
        paths,
        partitions=["day=3", "day=3", "day=__HIVE_DEFAULT_PARTITION__"],
        details=FolderDetails(partition_values={"day": bounds}),
        partition_leaves=[Leaf((day,))],
    )


def no_files(root: Path) -> BuildRequest:
    return request_for(root, fields_of(pa.schema([("i", pa.int64())])), [])


CSV_SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float64()),
        ("d", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("ntz", pa.timestamp("us")),
        ("ok", pa.bool_()),
        ("s", pa.string()),
    ]
)
_ROWS = [
    '1,-5,1.5,10.255,2020-01-02,2020-01-01 10:00:00,2020-01-01 10:00:00.000001,true,"a, b"',
    ",,,,,,,,",
    "-3,9223372036854775807,NaN,-0.01,1969-12-31,1969-12-31T23:59:59Z,1969-12-31 23:59:59,false,é😀",
]


def csv_files(root: Path) -> BuildRequest:
    """All types as text: good rows, no rows, a header alone, a value that does not parse, a file that is gone."""
    header = ",".join(CSV_SCHEMA.names)
    text = "\n".join([header, *_ROWS]) + "\n"
    bodies = {
        "a %20.csv": text.encode(),
        "b[1].csv": b"",
        "c.csv": header.encode(),
        "d.csv": (text + "five,1,-0.0,x,2020-01-05,,,,z\n").encode(),
        "e.csv.gz": gzip.compress(text.encode()),
    }
    (root / "t").mkdir()
    for name, body in bodies.items():
        (root / "t" / name).write_bytes(body)
    details = FolderDetails({"file_format": "csv", "header": "true"})
    return request_for(root, fields_of(CSV_SCHEMA), [f"t/{name}" for name in [*bodies, "gone.csv"]], details=details)


def json_files(root: Path) -> BuildRequest:
    """Lines of JSON with a struct, missing fields and a value of another type."""
    schema = pa.schema(
        [
            ("i", pa.int64()),
            ("f", pa.float64()),
            ("s", pa.string()),
            ("st", pa.struct([("day", pa.date32()), ("x", pa.int32())])),
        ]
    )
    good = [
        {"i": 1, "f": 1.5, "s": "a"},
        {"i": None, "st": {"day": "2020-01-02", "x": 7}},
        {"f": -2, "s": "é", "st": {"x": None}},
    ]
    bad = [{"i": "no number", "s": "b"}, {"i": 4, "s": None}]
    for name, rows in (("a.json", good), ("b%20.json", bad), ("c.json", [])):
        (root / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    details = FolderDetails({"file_format": "json"})
    return request_for(root, fields_of(schema), ["a.json", "b%20.json", "c.json"], details=details)


SCENARIOS: dict[str, Callable[[Path], BuildRequest]] = {
    one.__name__: one
    for one in (
        every_type,
        without_statistics,
        old_timestamps,
        floats_of_one_kind,
        other_schemas,
        damaged_files,
        partition_columns,
        no_files,
        csv_files,
        json_files,
    )
}


def scenario(name: str, folder: Path) -> BuildRequest:
    """Its table in a folder of this one."""
    (folder / "table").mkdir()
    return SCENARIOS[name](folder / "table")
