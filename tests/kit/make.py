"""Makes the kit with the program: `python -m tests.kit`. What is written holds random names (of runs) and times; all else is the same each time, and a test compares it."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import io
import json
import math
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from expressions.tree import And, Predicate
from formats.model import FILE_SCHEMA, Field, FileTable, Leaf
from metaindex import keys
from metaindex.build.statistics import successors
from metaindex.kinds.bloom import blocks
from metaindex.kinds.canonical import hash_key, hash_values
from metaindex.kinds.values.encoding import encode_values
from metaindex.log.entry import FORMAT_VERSION
from metaindex.log.operation_log import entry_path, tombstone_path

from . import tables
from .tables import DeltaTable, Folder, Kept, row_matches

KIT = Path(__file__).parents[2] / "kit" / str(FORMAT_VERSION)
INDEX = "kit"
Columns = dict[str, dict[str, str]]
Question = tuple[str, list[str], list[Any]]


def make(target: Path) -> None:
    """The whole kit of this format, in a folder that is not there."""
    target.mkdir(parents=True)
    for name, build in CASES.items():
        with TemporaryDirectory() as folder:
            build(Path(folder)).write(target / name)
    with TemporaryDirectory() as folder:
        write_broken(_small(Path(folder)), target / "broken")
    (target / "vectors.json").write_text(_lines(vectors()))


@dataclass
class Case:
    """An index, the live files of some versions, and what was asked."""

    index: Path
    versions: dict[str, dict[str, Any]] = field(default_factory=dict)
    questions: list[dict[str, Any]] = field(default_factory=list)

    def ask(
        self,
        table: mi.Table,
        version: str,
        live: list[dict[str, Any]],
        columns: Columns,
        files: dict[str, Kept],
        asked: Iterable[list[Question]],
        table_uuid: str = "",
        uncovered: Sequence[str] = (),
    ) -> None:
        """`must`: the row groups that hold a match, by the files' own values; `may`: the files that the program keeps by this index; and those that no kind
        covers, of which the table's folders say more."""
        self.versions[version] = {"table_uuid": table_uuid, "columns": columns, "live": live}
        at = int(version) if version.isdigit() else None
        for leaves in asked:
            found = table.prune(_predicate(leaves), indexes=[INDEX], version=at)
            must = {f["path"]: _matching(files[f["path"]], leaves, columns) for f in live}
            self.questions.append(
                {
                    "version": version,
                    "and": [[op, names, [_told(one, names) for one in literals]] for op, names, literals in leaves],
                    "must": {path: groups for path, groups in must.items() if groups},
                    "may": sorted({*found.files.paths.to_pylist(), *uncovered}),
                }
            )

    def write(self, target: Path) -> None:
        shutil.copytree(self.index, target / "index")
        (target / "live.json").write_text(_lines(self.versions))
        (target / "questions.jsonl").write_text(
            "".join(json.dumps(q, ensure_ascii=False) + "\n" for q in self.questions)
        )


def _lines(value: dict[str, Any]) -> str:
    """JSON with a line for each thing: what changed can be seen."""
    said = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
    return f"{{\n{said}\n}}\n"


def _matching(kept: Kept, leaves: list[Question], columns: Columns) -> list[int]:
    count = len(next(iter(kept.rows.values())))
    here = {name: kept.rows.get(said["stable"], [None] * count) for name, said in columns.items()}

    def value(names: list[str], row: int) -> Any:
        found = tuple(here[name][row] for name in names)
        return found if len(names) > 1 else found[0]

    rows = [row for row in range(count) if all(row_matches(op, value(names, row), said) for op, names, said in leaves)]
    return sorted({row // tables.GROUP_ROWS for row in rows})


def _predicate(leaves: list[Question]) -> Predicate:
    parts: list[Predicate] = []
    for op, names, literals in leaves:
        for at, name in enumerate(names):
            one = mi.col(name)
            values = [literal[at] if len(names) > 1 else literal for literal in literals]
            made: dict[str, Callable[[], Predicate]] = {
                "=": lambda one=one, values=values: one == values[0],
                "<>": lambda one=one, values=values: one != values[0],
                "<": lambda one=one, values=values: one < values[0],
                "<=": lambda one=one, values=values: one <= values[0],
                ">": lambda one=one, values=values: one > values[0],
                ">=": lambda one=one, values=values: one >= values[0],
                "in": lambda one=one, values=values: one.isin(values),
                "is null": one.is_null,
                "is not null": one.is_not_null,
                "prefix": lambda one=one, values=values: one.startswith(values[0]),
            }
            parts.append(made[op]())
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _told(value: Any, names: Sequence[str]) -> Any:
    """A literal as the kit has it."""
    if len(names) > 1:
        return [_told(one, names[:1]) for one in value]
    match value:
        case None:
            return ["null", ""]
        case bool():
            return ["bool", str(value).lower()]
        case int() | float() | Decimal():
            return [type(value).__name__.lower(), str(value)]
        case bytes():
            return ["bytes", value.hex()]
        case dt.datetime():
            return ["timestamp", value.isoformat()]
        case dt.date():
            return ["date", value.isoformat()]
        case _:
            return ["text", value]


# Cases -------------------------------------------------------------------------------------------------------------


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
    """Every type, bounds at their ends, NaN, files of nothing, of NULLs and of none; runs of a build, two refreshes and two quick ones, and a file that no run knows."""
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
        mi.Values("b", "i", "u", "f", "d", "day", "n", "s", ("i", "s")),
        mi.Values("i", "u", "f", "w", "at", "s", ("day", "s"), by="value"),
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
    """Columns with ids, three versions: a rename by which a column takes another's old name, a file removed and one put anew under its path, a column that came later."""
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
    """Columns whose types grew: what was written before answers for some of them. Of floats it is not known whether there is NaN."""
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
    """Bloom filters of classes with one file, 255 and 259: slices that stand bit by bit, and slices that begin at bytes."""
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


def _small(folder: Path) -> Case:
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


CASES: dict[str, Callable[[Path], Case]] = {"types": types, "delta": delta, "widened": widened, "many": many}


# Broken folders ----------------------------------------------------------------------------------------------------


@dataclass
class Folders:
    """An index to break: its latest entry, manifests and parts, and how to seal them again."""

    index: Path

    @property
    def entry(self) -> Path:
        return max((self.index / "_log").glob("0*.json"))

    def said(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.entry.read_bytes().split(b"\n")[0])
        return value

    def seal(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False).encode()
        self.entry.write_bytes(line + b'\n{"sha256": "' + hashlib.sha256(line).hexdigest().encode() + b'"}\n')

    def parts(self, kind: str) -> list[Path]:
        return sorted((self.index / kind).rglob("*.mix"))

    def turn(self, path: Path, at: int) -> None:
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)

    def replace(self, part: Path, data: bytes) -> None:
        """Other bytes in a part's place, and every digest above made anew: what only the part's own checks can find."""
        entry, path = self.said(), str(part.relative_to(self.index))
        part.write_bytes(data)
        for run in entry["content"]["runs"]:
            manifest = self.index / "_manifests" / f"{run['run']}.json"
            value = json.loads(manifest.read_bytes())
            for one in value["parts"]:
                if one["path"] == path:
                    footer = int.from_bytes(data[-8:-4], "little") + 8
                    one |= {
                        "size_bytes": len(data),
                        "footer_bytes": footer,
                        "footer_digest": hashlib.sha256(data[-footer:]).hexdigest(),
                    }
            sealed = json.dumps(value).encode()
            manifest.write_bytes(sealed)
            run |= {"manifest_bytes": len(sealed), "manifest_digest": hashlib.sha256(sealed).hexdigest()}
        self.seal(entry)


def _changed(**fields: Any) -> Callable[[Folders], None]:
    return lambda one: one.seal(one.said() | fields)


def _turned_in_digit(one: Folders) -> None:
    """A digit of the entry, so that it is still JSON: the first column's id."""
    data = one.entry.read_bytes()
    at = data.index(b'"column_id": "') + len(b'"column_id": "') + 1
    one.entry.write_bytes(data[:at] + (b"1" if data[at : at + 1] != b"1" else b"2") + data[at + 1 :])


def _manifest_turned(one: Folders) -> None:
    """A part of statistics is said to lie where those of another run are: the same JSON, other rows."""
    first, second = sorted((one.index / "_manifests").glob("*.json"))
    for manifest, other in ((first, second), (second, first)):
        data = manifest.read_bytes()
        held = f"column_stats/run={manifest.stem}".encode()
        manifest.write_bytes(data.replace(held, f"column_stats/run={other.stem}".encode()))


def _parts_exchanged(one: Folders) -> None:
    """Each run has the other's statistics."""
    first, second = one.parts("column_stats")
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)


def _unknown_layout(one: Folders) -> None:
    entry = one.said()
    for run in entry["content"]["runs"]:
        for key in run["keys"]:
            if key["kind"] == "value_keys":
                key["layout"] |= {"key": "int64 upside down", "group_bits": key["layout"]["group_bits"] + 4}
    one.seal(entry)


def _needs_more(one: Folders) -> None:
    """Of a newer writer: each run has the other's statistics, by its own lights, and says what one must know to read it."""
    first, second = one.parts("column_stats")
    data = first.read_bytes()
    one.replace(first, second.read_bytes())
    one.replace(second, data)
    entry = one.said()
    for run in entry["content"]["runs"]:
        run["reader_needs"] = ["statistics of the other run"]
    one.seal(entry)


def _manifest_needs_more(one: Folders) -> None:
    """The same, said in the manifests alone."""
    _needs_more(one)
    entry = one.said()
    for run in entry["content"]["runs"]:
        manifest = one.index / "_manifests" / f"{run['run']}.json"
        value = json.loads(manifest.read_bytes()) | {"layout": {"version": 2}, "reader_needs": run.pop("reader_needs")}
        sealed = json.dumps(value).encode()
        manifest.write_bytes(sealed)
        run |= {"manifest_bytes": len(sealed), "manifest_digest": hashlib.sha256(sealed).hexdigest()}
    one.seal(entry)


def _unknown_name_in_layout(one: Folders) -> None:
    """Of a newer writer, whose hashes are of other bits."""
    entry = one.said()
    for run in entry["content"]["runs"]:
        for key in run["keys"]:
            if key["kind"] == "values":
                key["layout"] |= {"first_bit": 4, "hash_bits": key["layout"]["hash_bits"] - 4}
    one.seal(entry)


def _frames_turned(one: Folders) -> None:
    for part in one.parts("bloom_filters"):
        table = pq.read_table(io.BytesIO(part.read_bytes()))
        emptied = [bits[:8] + bytes(len(bits) - 8) for bits in table["bits"].to_pylist()]
        made = table.set_column(3, "bits", pa.array(emptied, pa.large_binary()))
        out = io.BytesIO()
        about = pq.read_metadata(io.BytesIO(part.read_bytes())).metadata
        with pq.ParquetWriter(out, made.schema, use_dictionary=False, store_schema=False) as writer:
            writer.add_key_value_metadata(about)
            writer.write_table(made)
        one.replace(part, out.getvalue())


def _buried(one: Folders) -> None:
    """A tombstone, and an older entry that is left below it: of another index, which knows nothing of this one's files."""
    latest = one.said()
    stone = {"format_version": 1, "lowest": latest["id"], "outdated": {}}
    (one.index / tombstone_path(latest["id"])).write_text(json.dumps(stone))


def _all_buried(one: Folders) -> None:
    stone = {"format_version": 1, "lowest": 50, "outdated": {}}
    (one.index / tombstone_path(50)).write_text(json.dumps(stone))


def _under_way(one: Folders) -> None:
    began = {"operation": "refresh", "began": 4, "nonce": "n", "who": "somebody", "since_ms": 1, "runs": ["r0"]}
    entry = one.said()
    one.seal(entry | {"state": "REFRESHING", "under_way": [began]})


def _older_is_damaged(one: Folders) -> None:
    one.turn(one.index / entry_path(1), 20)


BROKEN: dict[str, tuple[str, Callable[[Folders], None]]] = {
    "sound": ("use", lambda one: None),
    "refreshing": ("use", _under_way),
    "older entry damaged": ("use", _older_is_damaged),
    "older entry below a tombstone": ("use", _buried),
    "everything below a tombstone": ("nothing", _all_buried),
    "newer format": ("nothing", _changed(format_version=FORMAT_VERSION + 1)),
    "disabled": ("nothing", _changed(enabled=False)),
    "deleted": ("nothing", _changed(state="DELETED", stable_state="DELETED")),
    "a digit of the entry turned": ("nothing", _turned_in_digit),
    "manifests name each other's part": ("nothing", _manifest_turned),
    "manifests cut": (
        "nothing",
        lambda one: [p.write_bytes(p.read_bytes()[:-20]) for p in (one.index / "_manifests").iterdir()] and None,
    ),
    "footer turned": ("sound", lambda one: [one.turn(p, -30) for p in one.parts("column_stats")] and None),
    "parts exchanged": ("sound", _parts_exchanged),
    "part cut": ("sound", lambda one: [p.write_bytes(p.read_bytes()[:-9]) for p in one.parts("values")] and None),
    "part gone": ("sound", lambda one: [p.unlink() for p in one.parts("value_keys_int")] and None),
    "unknown layout": ("sound", _unknown_layout),
    "unknown name in a layout": ("sound", _unknown_name_in_layout),
    "runs that need more": ("nothing", _needs_more),
    "manifests that need more": ("nothing", _manifest_needs_more),
    "bloom filters emptied": ("sound", _frames_turned),
}
"""What a reader makes of it. use: as if nothing had been; nothing: no file is left out; sound: no file with a match is."""


def write_broken(case: Case, target: Path) -> None:
    case.write(target)
    sound = target / "index"
    said = {}
    for name, (expected, breaks) in BROKEN.items():
        said[name] = expected
        shutil.copytree(sound, target / name)
        breaks(Folders(target / name))
    shutil.rmtree(sound)
    (target / "broken.json").write_text(_lines(said))


# Vectors -----------------------------------------------------------------------------------------------------------


def vectors() -> dict[str, Any]:
    """What ids, hashes, keys, filters and bounds come out as."""
    numbers = [0, 1, -1, 42, 2**31, 2**63 - 1, -(2**63)]
    hashed = [pa.array(numbers, pa.int64()), pa.array([0, 2**63, 2**64 - 1], pa.uint64())]
    hashed += [pa.array([0.0, -0.0, 42.0, 0.5, math.nan, math.inf, 1e300], pa.float64())]
    hashed += [pa.array([Decimal("42.00"), Decimal("0.50"), Decimal("-1.25")], pa.decimal128(9, 2))]
    hashed += [pa.array([Decimal(10**30), Decimal("0.0001")], pa.decimal128(38, 4))]
    hashed += [pa.array([dt.date(1970, 1, 2), dt.date(1969, 12, 31)], pa.date32())]
    hashed += [pa.array([dt.datetime(2024, 1, 1, 12, 30)], pa.timestamp("us")), pa.array([True, False])]
    hashed += [pa.array(["", "é", "k" * 300]), pa.array([b"", b"\x00\xff"])]
    together = hash_key([pa.array([1, 2]), pa.array(["a", "b"])])[0]
    some = np.array([int(h) for h in hash_values(hashed[0])[0]], np.uint64)
    cut = [b"k" * 64, b"k" * 63 + b"\xff", "\U0010ffff".encode() * 16]
    ids = {"id:7": "id:7", "a.b": "a.b", "`a.b`": "`a.b`", "é": "é"}
    return {
        "column_id": {text: str(keys.column_id(stable)) for text, stable in ids.items()},
        "stable_name": {name: Leaf((Field(name, pa.int64()),)).stable for name in ("a", "a.b", "a`b", "id:3")},
        "partition_id": {text: str(keys.partition_id(text)) for text in ("", "p=x", "p=%C3%BC/q=7")},
        "key_id": [["values", ["a", "id:7"], str(keys.key_id("values", ["a", "id:7"]))]],
        "file_id": _file_ids(),
        "hash": [[_told(v, ["x"]), str(a.type), f"{int(h):016x}"] for a in hashed for v, h in _zip(a)],
        "hash_of_two": [[[1, "a"], f"{int(together[0]):016x}"], [[2, "b"], f"{int(together[1]):016x}"]],
        "key": [
            [_told(v, ["x"]), str(a.type), k.hex() if isinstance(k, bytes) else str(k)]
            for a in [*hashed[1:3], hashed[4], *hashed[-2:]]
            for v, k in zip(a.to_pylist(), encode_values(a, a.type).to_pylist(), strict=True)
        ],
        "bloom_block": [[f"{int(h):016x}", 371, int(b)] for h, b in zip(some, blocks.block_of(some, 371), strict=True)],
        "bloom_bits": [[f"{int(h):016x}", b.tolist()] for h, b in zip(some, blocks.bits_of(some), strict=True)],
        "successor": [
            [one.hex(), None if up is None else up.hex()]
            for one, up in zip(cut, successors(np.array([list(one) for one in cut], np.uint8)).to_pylist(), strict=True)
        ],
    }


def _zip(values: pa.Array) -> Iterable[tuple[Any, Any]]:
    return zip(values.to_pylist(), hash_values(values)[0], strict=True)


def _file_ids() -> list[list[Any]]:
    """Path, size, time and etag, and the id."""
    files: list[list[Any]] = [
        ["x.parquet", 12, 1_700_000_000_000, None],
        ["part=%C3%BC/ü.parquet", 0, None, "7-8123"],
        ["x.parquet", 2**40, -1, "é"],
    ]
    paths, sizes, times, etags = zip(*files, strict=True)
    ids = keys.file_ids(
        FileTable(
            pa.Table.from_arrays(
                [
                    pa.array(
                        {"path": paths, "size_bytes": sizes, "modified_ms": times, "etag": etags}.get(f.name), f.type
                    )
                    if f.name in ("path", "size_bytes", "modified_ms", "etag")
                    else pa.nulls(3, f.type)
                    if f.nullable
                    else pa.array([""] * 3, f.type)
                    for f in FILE_SCHEMA
                ],
                schema=FILE_SCHEMA,
            )
        )
    )
    return [[*file, id_.hex()] for file, id_ in zip(files, ids.to_pylist(), strict=True)]


# What is compared --------------------------------------------------------------------------------------------------


def essence(kit: Path) -> dict[str, Any]:
    """The kit without names and times that are random: JSON with runs by number, and the rows of every part."""
    out: dict[str, Any] = {}
    for path in sorted(kit.rglob("*")):
        if path.name in ("live.json", "questions.jsonl", "vectors.json", "broken.json"):
            out[str(path.relative_to(kit))] = re.sub(r'"etag": "[^"]*"', "", path.read_text())  # inodes
    for index in sorted({log.parent for log in kit.rglob("_log")}):
        out[str(index.relative_to(kit))] = _rows(index)
    return out


def _rows(index: Path) -> list[Any]:
    entry = json.loads(max((index / "_log").glob("0*.json")).read_bytes().split(b"\n")[0])
    found: list[Any] = [[k["name"] for k in entry["kinds"]], entry["content"]["columns"]]
    for run in entry["content"]["runs"]:
        found.append([run["files"], run["partitions"], run.get("keys"), run["columns"]])
        try:
            parts = json.loads((index / "_manifests" / f"{run['run']}.json").read_bytes())["parts"]
        except ValueError:
            continue
        for part in sorted(parts, key=lambda one: (one["kind"], one["path"].rpartition("/")[2])):
            with contextlib.suppress(pa.ArrowException, OSError):
                table = pq.read_table(io.BytesIO((index / part["path"]).read_bytes()))
                kept = [name for name in table.column_names if name not in ("etag", "file_id")]
                found.append([part["kind"], part["kind"] != "file_ids" and table.select(kept).to_pylist()])
    return found
