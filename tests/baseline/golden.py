"""Golden indexes: a small table of each format with an index of each kind, as 956c3373 wrote them, one zip a format.

`python -m tests.baseline.golden`, as c5aa48f5 has it, wrote them once, with the answers of then. A zip holds `now/`,
the objects of a bucket, and `more/`, what one more commit puts into it. Delta's are unpacked into a folder. The
others are served as a bucket: a copied local file has another inode and another time of change, so it counts as another
file, and Iceberg's metadata holds whole paths; an object is its bytes. Covering indexes are written by the project's
own tasks without Spark (`ArrowBuilder`)."""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

import metaindex as mi
from tests.index.kinds.covering.arrow_builder import ArrowBuilder

from .bucket import served

HERE = Path(__file__).parent / "indexes"
FORMATS = ("delta", "iceberg", "parquet", "csv", "json")
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("amount", pa.float64())])
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "csv": {"format": "csv", "header": True, "schema": SCHEMA},
    "json": {"format": "json", "schema": SCHEMA},
}
KINDS = {
    "column_stats": mi.ColumnStats(),
    "values": mi.Values("name", ("name", "id")),
    "bloom": mi.Bloom("name"),
    "value_list": mi.ValueList("name"),
    "covering": mi.Covering(["name"], ["id", "amount"], buckets=2),
    "covering_range": mi.CoveringRange(["id"], ["name"]),
    "covering_curve": mi.CoveringCurve(["id", "amount"], ["name"]),
    "sums": mi.Sums("id"),
    "sketches": mi.Sketches("name"),
}
PREDICATES = (
    "name = 'user-05'",
    "name IN ('user-01', 'user-21', 'nobody')",
    "name = 'user-05' AND id = 15",
    "id = 7",
    "id > 15",
    "amount < 4.5",
    "name IS NULL",
    "name = 'nobody'",
)
READ = ("name = 'user-05'", "id > 15")
"""Those whose rows are read and counted, too."""
PRUNES = frozenset({"column_stats", "values", "bloom", "value_list"})
"""Kinds that leave files out. The rows of the others are compared with the table's (`verify`), or answer aggregates."""
AGGREGATES: Mapping[str, Mapping[str, Any]] = {
    "column_stats": {"min": ["id"], "max": ["amount"]},
    "value_list": {"count_distinct": ["name"]},
    "sums": {"sum": ["id"]},
    "sketches": {"approx_distinct": ["name"]},
}
TABLE = "lake/table"


@contextmanager
def opened(format_: str, folder: Path, *, grown: bool = False) -> Iterator[mi.Table]:
    """The golden table, and after its next commit (`grown`). `folder`: where it may be unpacked."""
    with archive(format_) as (now, more):
        objects = {**now, **more} if grown else now
        if format_ == "delta":
            for key, data in objects.items():
                path = folder / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            yield mi.open_table(str(folder / TABLE))
            return
        with served(objects) as bucket:
            yield mi.open_table(bucket.uri(TABLE), storage_options=bucket.options, **OPTIONS.get(format_, {}))


@contextmanager
def archive(format_: str) -> Iterator[tuple[dict[str, bytes], dict[str, bytes]]]:
    parts: dict[str, dict[str, bytes]] = {"now": {}, "more": {}}
    with zipfile.ZipFile(HERE / f"{format_}.zip") as file:
        for name in file.namelist():
            part, _, key = name.partition("/")
            parts[part][key] = file.read(name)
    yield parts["now"], parts["more"]


def builder_of(index: str) -> Any:
    return ArrowBuilder() if index.startswith("covering") else "local"


def answers(table: mi.Table, index: str) -> Iterator[str]:
    """What a table answers with one index, a line each; `used`: that the index took part."""
    for predicate in PREDICATES if index in PRUNES else PREDICATES[:1]:
        found = table.prune(predicate, indexes=[index])
        report = next(one for one in found.indexes if one.name == index)
        kept = " ".join(sorted(Path(path).stem for path in found.paths)) or "none"
        used = "used" if report.used else "not used"
        yield f"{index} | {predicate} | {used} | of {found.total_files} files kept {kept}"
        if predicate in READ:
            read = table.scan(predicate, indexes=[index]).to_arrow().column("id").to_pylist()
            yield f"{index} | {predicate} | rows {sorted(read)} | count {table.count(predicate, indexes=[index])}"
    if asked := AGGREGATES.get(index):
        told = table.aggregate(**asked, indexes=[index]).to_json()
        yield f"{index} | {told['rows']} | files opened {told['opened']}"
    verified = table.verify_index(index)
    compared = (verified.files, verified.statistics, verified.keys, verified.rows_compared)
    yield f"{index} | verified {verified.sound} | compared files, statistics, keys, rows: {compared}"
