"""The small tables that the kit's indexes are of, and their files' own values, from which its answers come."""

import datetime as dt
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.formats.iceberg.handmade import UUID, HandManifest, HandTable, entry

NAN = math.nan
WRITTEN_NS = 1_700_000_000 * 10**9
GROUP_ROWS = 2
TABLE_UUID = "11111111-2222-3333-4444-555555555555"
UTC = dt.UTC

Rows = dict[str, list[Any]]


@dataclass
class Kept:
    """A file's rows by stable name, and how many row groups it has."""

    rows: Rows
    row_groups: int


@dataclass
class Folder:
    """A folder of Parquet files whose bytes, names and times are the same each time it is made."""

    root: Path
    files: dict[str, Kept] = field(default_factory=dict)

    def add(self, name: str, rows: Rows, schema: pa.Schema, parts: Sequence[tuple[str, Any]] = (), **how: Any) -> None:
        path = self.root / "/".join(f"{column}={_hive(value)}" for column, value in parts) / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(rows, schema=schema), path, row_group_size=GROUP_ROWS, **how)
        os.utime(path, ns=(WRITTEN_NS, WRITTEN_NS))
        count = len(next(iter(rows.values())))
        held = rows | {column: [value] * count for column, value in parts}
        self.files[str(path.relative_to(self.root))] = Kept(held, -(-count // GROUP_ROWS))

    def live(self, paths: Sequence[str] | None = None) -> list[dict[str, Any]]:
        return [
            {
                "path": path,
                "size_bytes": (self.root / path).stat().st_size,
                "modified_ms": WRITTEN_NS // 10**6,
                "etag": _sign(self.root / path),
                "row_groups": self.files[path].row_groups,
            }
            for path in (self.files if paths is None else paths)
        ]


def _sign(path: Path) -> str:
    found = path.stat()
    return f"{found.st_ino}-{found.st_ctime_ns}"


def _hive(value: Any) -> str:
    if value is None:
        return "__HIVE_DEFAULT_PARTITION__"
    return "".join(c if ord(c) > 127 else quote(c, safe="") for c in str(value))  # as Spark writes them


TYPES = pa.schema(
    [
        ("b", pa.bool_()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("u", pa.uint64()),
        ("g", pa.float32()),
        ("f", pa.float64()),
        ("d", pa.decimal128(9, 2)),
        ("w", pa.decimal128(38, 4)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("z", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("ns")),
        ("t", pa.time64("us")),
        ("s", pa.string()),
        ("y", pa.binary()),
    ]
)


def typed_rows(numbers: Sequence[int | None], floats: Sequence[float | None], texts: Sequence[str | None]) -> Rows:
    """Rows of every type from a few numbers."""

    def each(make: Any) -> list[Any]:
        return [None if n is None else make(n) for n in numbers]

    return {
        "b": each(lambda n: n % 2 == 0),
        "i": list(numbers),
        "l": each(lambda n: n * 2**31),
        "u": each(lambda n: 2**63 + n),
        "g": list(floats),
        "f": list(floats),
        "d": each(lambda n: Decimal(n * 7) / 100),
        "w": each(lambda n: Decimal(n * 10**20) + Decimal("0.0001")),
        "day": each(lambda n: dt.date(2024, 1, 1) + dt.timedelta(days=n)),
        "at": each(lambda n: dt.datetime(2024, 1, 1, 12) + dt.timedelta(hours=n)),
        "z": each(lambda n: dt.datetime(2024, 1, 1, 12, tzinfo=UTC) + dt.timedelta(hours=n)),
        "n": each(lambda n: n * 1000),
        "t": each(lambda n: dt.time(abs(n) % 24, 30, 15, abs(n) % 1000)),
        "s": list(texts),
        "y": [None if t is None else t.encode("utf-16-le") for t in texts],
    }


LONG = "k" * 248
FIRST: dict[str, Rows] = {
    "plain": typed_rows([1, 2, 3, 4, 5, 6], [1.0, 2.5, -0.0, 4.0, 1e300, 6.5], ["a", "ab", "abc", "b", "", "é"]),
    "some": typed_rows([None, 7, 9], [NAN, 7.0, None], ["x", None, "z"]),
    "nans": typed_rows([-5, -5, -5], [NAN, NAN, NAN], [LONG + "a", LONG + "a" * 7, LONG + "a" * 8]),
    "nulls": typed_rows([None, None], [None, None], [None, None]),
    "empty": typed_rows([], [], []),
    "ends": typed_rows([-(2**15), 2**15], [-math.inf, math.inf], ["\U0010ffff" * 20, "\ud7ff" * 30]),
}
FIRST["ends"]["y"] = [b"\xff" * 70, b"\x00"]
FIRST["ends"]["u"] = [0, 2**64 - 1]
FIRST["ends"]["l"] = [-(2**63), 2**63 - 1]
SILENT = typed_rows([30, None, 32], [3.0, None, 5.0], ["silent", None, "t"])
"""Of a file that was written without statistics."""
SECOND: dict[str, Rows] = {
    "fine": typed_rows([20, 21, 22], [NAN, 0.5, 21.0], [LONG + "b" * 8, LONG + "b" * 9, "c"]),
}
SECOND["fine"]["n"] = [1, 2, 1000]  # no whole microseconds: unkeyed
QUICK = typed_rows([40, 41], [40.0, 41.0], ["q", "r"])
LATER = typed_rows([50], [50.0], ["later"])
NAMED = typed_rows([60], [60.0], ["named"])
UNKNOWN = typed_rows([70], [70.0], ["unknown"])


def delta_schema(*columns: tuple[str, str, int, str]) -> str:
    """Name, type, id, physical name of each."""
    return json.dumps(
        {
            "type": "struct",
            "fields": [
                {
                    "name": name,
                    "type": type_,
                    "nullable": True,
                    "metadata": {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical},
                }
                for name, type_, number, physical in columns
            ],
        }
    )


@dataclass
class DeltaTable:
    """A Delta table whose log is written by hand, so that nothing in it is random: columns have ids, and names
    change."""

    folder: Folder
    version: int = 0

    def commit(self, *actions: dict[str, Any]) -> None:
        log = self.folder.root / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        at = WRITTEN_NS // 10**6 + self.version
        first = {"commitInfo": {"timestamp": at, "operation": "WRITE"}}
        path = log / f"{self.version:020d}.json"
        path.write_text("".join(json.dumps(one) + "\n" for one in (first, *actions)))
        os.utime(path, ns=(at * 10**6, at * 10**6))
        self.version += 1

    def meta(self, *columns: tuple[str, str, int, str]) -> dict[str, Any]:
        return {
            "metaData": {
                "id": TABLE_UUID,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": delta_schema(*columns),
                "partitionColumns": [],
                "configuration": {
                    "delta.columnMapping.mode": "name",
                    "delta.columnMapping.maxColumnId": str(max(number for _, _, number, _ in columns)),
                },
                "createdTime": WRITTEN_NS // 10**6,
            }
        }

    def add(self, name: str, rows: Rows, schema: pa.Schema) -> dict[str, Any]:
        """The action that adds a new file. Its rows are by physical name."""
        self.folder.add(name, rows, schema)
        (file,) = self.folder.live([f"{name}.parquet"])
        return {
            "add": {
                "path": file["path"],
                "partitionValues": {},
                "size": file["size_bytes"],
                "modificationTime": file["modified_ms"],
                "dataChange": True,
            }
        }

    def live(self, *names: str) -> list[dict[str, Any]]:
        return [file | {"etag": None} for file in self.folder.live([f"{name}.parquet" for name in names])]

    @staticmethod
    def remove(name: str) -> dict[str, Any]:
        return {"remove": {"path": f"{name}.parquet", "deletionTimestamp": WRITTEN_NS // 10**6, "dataChange": True}}


ICEBERG_UUID = UUID
_ICEBERG = pa.schema(
    [
        pa.field("n", pa.int64(), metadata={"PARQUET:field_id": "1"}),
        pa.field("s", pa.string(), metadata={"PARQUET:field_id": "2"}),
    ]
)


@dataclass
class IcebergTable:
    """An Iceberg table of `n` and `s` whose metadata is written by hand, so that nothing in it is random."""

    folder: Folder
    version: int = 0
    added: dict[str, int] = field(default_factory=dict)  # of each live file the snapshot, and its sequence number
    _hand: HandTable | None = None

    def commit(self, files: dict[str, tuple[list[Any], list[Any]]], removed: Sequence[str] = ()) -> None:
        """`files`: numbers and texts of each, by name."""
        self.version += 1
        entries = [self._entry(name, self.added.pop(name), removed=True) for name in removed]
        for name, (numbers, texts) in files.items():
            self.folder.add(name, {"n": numbers, "s": texts}, _ICEBERG, compression="none")
            self.folder.files[f"{name}.parquet"].rows = {"id:1": numbers, "id:2": texts}
            self.added[name] = self.version
        if self._hand is None:
            fields = [{"id": 1, "name": "n", "required": False, "type": "long"},
                {"id": 2, "name": "s", "required": False, "type": "string"}]  # fmt: skip
            self._hand = HandTable(self.folder.root, schemas=[{"type": "struct", "schema-id": 0, "fields": fields}])
        entries += [self._entry(name, added) for name, added in sorted(self.added.items())]
        manifest = HandManifest(entries, sequence=self.version, added_snapshot=self.version)
        self._hand.commit([manifest], parent=self.version - 1 or None)
        self._hand.write()

    def _entry(self, name: str, added: int, *, removed: bool = False) -> dict[str, Any]:
        path = self.folder.root / f"{name}.parquet"
        count = len(self.folder.files[path.name].rows["id:1"])
        return entry(
            str(path), status=2 if removed else 1 if added == self.version else 0, sequence=added,
            snapshot=self.version if removed else added,
            record_count=count, file_size_in_bytes=path.stat().st_size,
        )  # fmt: skip

    def live(self) -> list[dict[str, Any]]:
        return [
            file | {"modified_ms": None, "etag": f"{added}-{added}"}
            for name, added in sorted(self.added.items())
            for file in self.folder.live([f"{name}.parquet"])
        ]


def row_matches(op: str, value: Any, literals: Sequence[Any]) -> bool:
    """Is the leaf TRUE of the value? NaN equals itself and is greater than every number."""
    if isinstance(value, tuple):
        return op in ("=", "in") and None not in value and value in literals
    if op in ("is null", "is not null"):
        return (value is None) == (op == "is null")
    if value is None:
        return False
    if op == "prefix":
        return bool(value.startswith(literals[0]))
    signs = [_order(value, literal) for literal in literals]
    match op:
        case "=" | "in":
            return 0 in signs
        case "<>":
            return 0 not in signs
        case "<":
            return signs[0] < 0
        case "<=":
            return signs[0] <= 0
        case ">":
            return signs[0] > 0
        case _:
            return signs[0] >= 0


def _order(value: Any, literal: Any) -> int:
    nan, other = value != value, literal != literal
    if nan or other:
        return int(nan) - int(other)
    if isinstance(value, str):
        value, literal = value.encode(), literal.encode()
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime) and isinstance(literal, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    if isinstance(value, int) and isinstance(literal, dt.datetime):  # nanoseconds
        literal = (literal - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) * 1000
    return (value > literal) - (value < literal)
