"""The indexes that are asked: each a table, an index and its questions."""

import datetime as dt
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import metaindex as mi

from . import tables
from .case import INDEX, Case, Columns, Question
from .covering import covering
from .tables import DeltaTable, Folder, IcebergTable, Kept


def _columns(schema: pa.Schema, **more: str) -> Columns:
    return {f.name: {"stable": f.name, "type": str(f.type)} for f in schema} | {
        name: {"stable": name, "type": type_} for name, type_ in more.items()
    }


def _all_about(column: str, values: Iterable[Any]) -> list[list[Question]]:
    """Every predicate of one column with these literals."""
    out: list[list[Question]] = [[("is null", [column], [])], [("is not null", [column], [])]]
    some = list(values)
    for value in some:
        ops = ("=", "<>", ">=") if value != value else ("=", "<>", "<", "<=", ">", ">=")
        out += [[(op, [column], [value])] for op in ops]
        if isinstance(value, str) and value:
            out.append([("prefix", [column], [value])])
    return [*out, [("in", [column], some[:2])]]


def types(folder: Path) -> Case:
    """Every type, bounds at their ends, NaN, files of nothing, of NULLs and of none; runs of a build, two refreshes and
    two quick ones, and a file that no run knows."""
    files = Folder(folder / "lake")
    root = str(files.root)
    parts = {"nans": ("y y", None), "nulls": ("ü", 7), "ends": (None, -1)}

    def add(name: str, rows: tables.Rows, **how: Any) -> None:
        p, q = parts.get(name, ("x", 3))
        files.add(name, rows, tables.TYPES, [("p", p), ("q", q)], **how)

    for name, rows in tables.FIRST.items():
        add(name, rows)
    add("silent", tables.SILENT, write_statistics=False)
    kinds = (
        mi.ColumnStats(),
        mi.Values("b", "i", "u", "f", "d", "day", "n", "t", "s", ("i", "s")),
        mi.Values("i", "u", "f", "w", "at", "t", "s", ("day", "s"), by="value"),
        mi.ValueList("l", "y", limit=2),
        mi.Bloom("i", "f", "s"),
    )
    mi.open_table(root).create_index(INDEX, *kinds, builder="local")
    for name, rows in tables.SECOND.items():
        add(name, rows)
    mi.open_table(root).refresh_index(INDEX, builder="local")
    add("quick", tables.QUICK)
    mi.open_table(root).refresh_index(INDEX, "quick")
    add("later", tables.LATER)
    mi.open_table(root).refresh_index(INDEX, builder="local")
    add("named", tables.NAMED)
    mi.open_table(root).refresh_index(INDEX, "quick")
    add("unknown", tables.UNKNOWN)

    table = mi.open_table(root)
    case = Case(Path(table.indexes()[0].location))
    day, at = dt.date(2024, 1, 3), dt.datetime(2024, 1, 1, 15)
    asked: dict[str, list[Any]] = {
        "b": [True],
        "i": [-5, 2, 2**15, 8, 41],
        "l": [-(2**63), 2**63 - 1, 3 * 2**31],
        "u": [0, 2**63 + 2, 2**64 - 1, 2**63],
        "g": [math.nan, 2.5, 0.0],
        "f": [math.nan, -math.inf, math.inf, 2.5, 7.0, 1e300, 100.0],
        "d": [Decimal("0.07"), Decimal("0.49"), Decimal("0.50"), Decimal("9.99")],
        "w": [Decimal("100000000000000000000.0001"), Decimal("-1.5"), Decimal("0")],
        "day": [day, dt.date(1900, 1, 1)],
        "at": [at, dt.datetime(2024, 1, 1, 15, 30)],
        "z": [at.replace(tzinfo=tables.UTC)],
        "t": [dt.time(2, 30, 15, 2), dt.time(2, 30, 15, 3), dt.time(8, 30, 15, 768), dt.time(),
            dt.time(23, 59, 59, 999_999)],
        "n": [dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.datetime(1970, 1, 1, 0, 0, 0, 20)],
        "s": ["", "ab", "é", "silent", "z", tables.LONG + "a" * 7, tables.LONG + "a" * 8, tables.LONG + "b" * 9,
              "\U0010ffff" * 20, "\ud7ff" * 30, "\ud7ff" * 31],
        "y": [b"\xff" * 70, b"\x00", "ab".encode("utf-16-le"), b"\xff" * 71],
        "p": ["x", "y y", "ü", "no"],
        "q": [3, 7, -1, 0],
    }  # fmt: skip
    questions = [leaves for name, values in asked.items() for leaves in _all_about(name, values)]
    questions += [[("=", ["i", "s"], [one])] for one in ((2, "ab"), (2, "abc"), (-5, tables.LONG + "a" * 7))]
    questions += [[("=", ["day", "s"], [(day, one)])] for one in ("ab", "abc", tables.LONG + "b" * 8)]
    questions += [[("=", ["i"], [2]), (op, ["f"], [2.0])] for op in ("<", ">", "=")]
    unproved = [path for path in files.files if path.endswith(("named.parquet", "unknown.parquet"))]
    case.ask(
        table,
        "now",
        files.live(),
        _columns(tables.TYPES, p="string", q="int32"),
        files.files,
        questions,
        uncovered=unproved,
    )
    return case


def delta(folder: Path) -> Case:
    """Columns with ids, three versions: a rename by which a column takes another's old name, a file removed and one put
    anew under its path, a column that came later."""
    table = DeltaTable(Folder(folder / "lake"))
    root = str(table.folder.root)
    first = pa.schema([("c1", pa.int64()), ("c2", pa.string())])
    third = pa.schema([*first, ("c3", pa.float64())])
    renamed = {"c1": "id:1", "c2": "id:2", "c3": "id:3"}
    kept: dict[str, dict[str, Kept]] = {}

    def remember() -> None:
        files = {
            path: Kept({renamed[name]: values for name, values in held.rows.items()}, held.row_groups)
            for path, held in table.folder.files.items()
        }
        kept[str(table.version - 1)] = files

    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    table.commit(
        protocol,
        table.meta(("a", "long", 1, "c1"), ("b", "string", 2, "c2")),
        table.add("f0", {"c1": [1, 2, 3], "c2": ["one", "two", None]}, first),
        table.add("f1", {"c1": [10, 20, None], "c2": ["ten", "twenty", "none"]}, first),
    )
    remember()
    live = {"0": table.live("f0", "f1")}
    kinds = (mi.ColumnStats(), mi.Values("a", "b"), mi.Values("a", by="value"), mi.Bloom("b"))
    mi.open_table(root).create_index(INDEX, *kinds, builder="local")

    removed = DeltaTable.remove("f0")
    table.commit(
        table.meta(("c", "long", 1, "c1"), ("a", "string", 2, "c2")),
        removed,
        table.add("f2", {"c1": [2, 30], "c2": ["two", "1"]}, first),
    )
    remember()
    live["1"] = table.live("f1", "f2")
    mi.open_table(root).refresh_index(INDEX, builder="local")

    table.commit(
        table.meta(("c", "long", 1, "c1"), ("a", "string", 2, "c2"), ("b", "double", 3, "c3")),
        table.add(
            "f0", {"c1": [500, 2, 7, 8], "c2": ["new", "two", "7", "8"], "c3": [1.5, math.nan, None, 2.0]}, third
        ),
    )
    remember()
    live["2"] = table.live("f1", "f2", "f0")
    case = Case(Path(mi.open_table(root).indexes()[0].location))
    texts, numbers = ["two", "twenty", "1", "nobody"], [2, 20, 30, 500]
    names = {
        "0": {"a": ("id:1", "int64", numbers), "b": ("id:2", "string", texts)},
        "1": {"c": ("id:1", "int64", numbers), "a": ("id:2", "string", texts)},
        "2": {
            "c": ("id:1", "int64", numbers),
            "a": ("id:2", "string", texts),
            "b": ("id:3", "double", [1.5, math.nan]),
        },
    }
    for version, columns in names.items():
        said = {name: {"stable": stable, "type": type_} for name, (stable, type_, _) in columns.items()}
        asked = [leaves for name, (_, _, values) in columns.items() for leaves in _all_about(name, values)]
        case.ask(mi.open_table(root), version, live[version], said, kept[version], asked, tables.TABLE_UUID)
    return case


def widened(folder: Path) -> Case:
    """Columns whose types grew: what was written before answers for some of them. Of floats it is not known whether
    there is NaN."""
    files = Folder(folder / "lake")
    old = pa.schema(
        [
            ("i", pa.int32()),
            ("l", pa.int64()),
            ("m", pa.int16()),
            ("d", pa.decimal128(5, 1)),
            ("f", pa.float32()),
            ("day", pa.date32()),
        ]
    )
    new = pa.schema(
        [
            ("i", pa.int64()),
            ("l", pa.float64()),
            ("m", pa.decimal128(12, 3)),
            ("d", pa.decimal128(24, 4)),
            ("f", pa.float64()),
            ("day", pa.timestamp("us")),
        ]
    )
    first: dict[str, tables.Rows] = {
        "small": {
            "i": [1, 2],
            "l": [1, 2**53],
            "m": [7, None],
            "d": [Decimal("1.5"), Decimal("2.0")],
            "f": [0.5, 1.0],
            "day": [dt.date(2024, 1, 1), None],
        },
        "large": {
            "i": [100, 200],
            "l": [2**53 + 1, 2**60],
            "m": [300, -300],
            "d": [Decimal("150.5"), None],
            "f": [64.25, math.nan],
            "day": [dt.date(2024, 6, 1), dt.date(2025, 1, 1)],
        },
    }
    for name, rows in first.items():
        files.add(name, rows, old)
    known = [name for name in old.names if name != "f"]  # what a key knew of f, no count of NaN would be asked
    kinds = (
        mi.ColumnStats(scan_floats=False),
        mi.Values(*known),
        mi.Values(*known, by="value"),
        mi.Bloom("i", "l", "d", "f"),
    )
    mi.open_table(str(files.root)).create_index(INDEX, *kinds, builder="local")
    table = mi.open_table(str(files.root), schema=new)
    case = Case(Path(table.indexes()[0].location))
    asked: dict[str, list[Any]] = {
        "i": [2, 100, 3],
        "l": [2.0**53, 2.0**60, 3.0],
        "m": [Decimal(7), Decimal("7.5"), Decimal(300)],
        "d": [Decimal("1.5"), Decimal("150.5"), Decimal("1.25")],
        "f": [0.5, math.nan, 64.25],
        "day": [dt.datetime(2024, 1, 1), dt.datetime(2024, 6, 1, 1)],
    }
    questions = [leaves for name, values in asked.items() for leaves in _all_about(name, values)]
    for kept in files.files.values():
        kept.rows["l"] = [float(v) for v in kept.rows["l"]]
        kept.rows["m"] = [None if v is None else Decimal(v) for v in kept.rows["m"]]
    case.ask(table, "now", files.live(), _columns(new), files.files, questions)
    return case


def many(folder: Path) -> Case:
    """Bloom filters of classes with one file, 255 and 259: slices that stand bit by bit, and slices that begin at
    bytes."""
    files = Folder(folder / "lake")
    schema = pa.schema([("v", pa.int64())])
    for number in range(515):
        count = 1 if number < 255 else 60 if number < 514 else 3000
        files.add(f"{number:03d}", {"v": [number * 10_000 + k for k in range(count)]}, schema)
    table = mi.open_table(str(files.root))
    table.create_index(INDEX, mi.Bloom("v"), builder="local")
    case = Case(Path(table.indexes()[0].location))
    values = [n * 10_000 + k for n, k in ((0, 0), (7, 0), (254, 0), (255, 59), (300, 30), (513, 1), (514, 2999))]
    asked: list[list[Question]] = [[("=", ["v"], [value])] for value in [*values, -1, 70_001, 5_149_999]]
    asked.append([("in", ["v"], [values[1], values[4], values[6]])])
    case.ask(table, "now", files.live(), _columns(schema), files.files, asked)
    return case


def groups(folder: Path) -> Case:
    """A file of more row groups than a unit has numbers for, beside one of few."""
    files = Folder(folder / "lake")
    schema = pa.schema([("v", pa.int64())])
    count = tables.GROUP_ROWS * 70_001
    held = {0: 1, 2: 2, 3: 2, 70_000: 3, 131_071: 4, 131_072: 5, 131_074: 6, 140_000: 7, 140_001: 8}
    files.add("wide", {"v": [held.get(row) for row in range(count)]}, schema)
    files.add("few", {"v": [1, None, None, 4, 9, None]}, schema)
    table = mi.open_table(str(files.root))
    table.create_index(INDEX, mi.Values("v"), mi.Values("v", by="value"), builder="local")
    case = Case(Path(table.indexes()[0].location))
    asked: list[list[Question]] = [[("=", ["v"], [value])] for value in range(10)]
    asked += [[("in", ["v"], [2, 6, 9])], [(">", ["v"], [6])], [("<=", ["v"], [2])]]
    case.ask(table, "now", files.live(), _columns(schema), files.files, asked)
    return case


def iceberg(folder: Path) -> Case:
    """A file is its path, its size, its sequence number and the snapshot that added it: one that was put anew under a
    path, of the same size, is another. No times."""
    table = IcebergTable(Folder(folder / "lake"))
    root = str(table.folder.root)
    kinds = (mi.ColumnStats(), mi.Values("n", "s"), mi.Values("n", by="value"), mi.Bloom("s"))
    kept: dict[str, dict[str, Kept]] = {}
    live: dict[str, list[dict[str, Any]]] = {}

    def remember() -> None:
        version = str(table.version)
        kept[version] = {path: Kept(held.rows, held.row_groups) for path, held in table.folder.files.items()}
        live[version] = table.live()

    table.commit({"f0": ([1, 2, None], ["one", "two", None]), "f1": ([10, 20, 30], ["ten", "twenty", "none"])})
    remember()
    mi.open_table(root).create_index(INDEX, *kinds, builder="local")
    table.commit({"f0": ([5, 6, None], ["new", "six", None])}, removed=["f0"])
    remember()
    old, new = (next(file for file in live[version] if file["path"] == "f0.parquet") for version in ("1", "2"))
    assert old | {"etag": ""} == new | {"etag": ""}
    names = {"n": {"stable": "id:1", "type": "int64"}, "s": {"stable": "id:2", "type": "string"}}
    asked = [*_all_about("n", [2, 5, 30]), *_all_about("s", ["two", "six", "nobody"])]
    mi.open_table(root).refresh_index(INDEX, builder="local")
    table.commit({}, removed=["f1"])
    remember()
    case = Case(Path(mi.open_table(root).indexes()[0].location))
    for version in kept:
        case.ask(mi.open_table(root), version, live[version], names, kept[version], asked, tables.ICEBERG_UUID)
    return case


def small(folder: Path) -> Case:
    """What is broken in many ways: three files, two runs."""
    files = Folder(folder / "lake")
    schema = pa.schema([("v", pa.int64()), ("s", pa.string())])
    files.add("a", {"v": [1, 2, 3], "s": ["a", "b", None]}, schema)
    files.add("b", {"v": [4, 5, 6], "s": ["c", "d", "e"]}, schema)
    kinds = (mi.ColumnStats("v"), mi.Values("v"), mi.Values("v", by="value"), mi.Bloom("s"))
    mi.open_table(str(files.root)).create_index(INDEX, *kinds, builder="local")
    files.add("c", {"v": [7, 8, 9], "s": ["f", None, "h"]}, schema)
    mi.open_table(str(files.root)).refresh_index(INDEX, builder="local")
    table = mi.open_table(str(files.root))
    case = Case(Path(table.indexes()[0].location))
    asked = [*_all_about("v", [2, 5, 8]), *([("=", ["s"], [text])] for text in "abcdefh")]
    case.ask(table, "now", files.live(), _columns(schema), files.files, asked)
    return case


CASES: dict[str, Callable[[Path], Case]] = {"types": types, "delta": delta, "widened": widened, "many": many,
    "groups": groups, "iceberg": iceberg, "rows": covering}  # fmt: skip
