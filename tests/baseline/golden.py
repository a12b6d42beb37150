"""Golden indexes: a small table of each format with an index of each kind, as 956c3373 wrote them, one zip a format.

`python -m tests.baseline.golden` wrote them, run once at 956c3373, with the answers that it gave then. A zip holds
`now/`, the objects of a bucket, and `more/`, what one more commit puts into it. Delta's are unpacked into a folder. The
others are served as a bucket: a copied local file has another inode and another time of change, so it counts as another
file, and Iceberg's metadata holds whole paths; an object is its bytes. Covering indexes are written by the project's
own tasks without Spark (`ArrowBuilder`)."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import deltalake
import fastavro
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

import metaindex as mi
from tests.index.kinds.covering.arrow_builder import ArrowBuilder

from .bucket import NAME, served

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
FILES = 4
TABLE = "lake/table"


def rows(number: int) -> pa.Table:
    """Of a file: `id` in order, `name` in none, so that bounds alone leave no file of it out."""
    some = range(number * 6, number * 6 + 6)
    names = [f"user-{(one * 7) % 24:02d}" if one % 6 else None for one in some]
    return pa.table([pa.array(some, pa.int64()), names, [one / 2 for one in some]], schema=SCHEMA)


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


def main() -> None:
    HERE.mkdir(exist_ok=True)
    for format_ in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            _write(format_, Path(folder))
        said = []
        for grown in (False, True):
            with tempfile.TemporaryDirectory() as folder, opened(format_, Path(folder), grown=grown) as table:
                said += [f"{'after one more commit' if grown else 'at first'}:"]
                for index in KINDS:
                    if grown:
                        table.refresh_index(index, builder=builder_of(index))
                    said += answers(table, index)
        (HERE / f"{format_}.txt").write_text("".join(f"{line}\n" for line in said))


def _write(format_: str, folder: Path) -> None:
    before, more = (_iceberg if format_ == "iceberg" else _files)(format_, folder)
    if format_ == "delta":
        now = before
    else:
        with served(before) as bucket:
            _index(mi.open_table(bucket.uri(TABLE), storage_options=bucket.options, **OPTIONS.get(format_, {})))
            now = dict(bucket.objects)
    with zipfile.ZipFile(HERE / f"{format_}.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for part, objects in (("now", now), ("more", more)):
            for key, data in sorted(objects.items()):
                file.writestr(zipfile.ZipInfo(f"{part}/{key}"), data, zipfile.ZIP_DEFLATED)


def _index(table: mi.Table) -> None:
    for index, kind in KINDS.items():
        table.create_index(index, kind, builder=builder_of(index))


def _files(format_: str, folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """What there is at first (of Delta with its indexes), and what one more commit brings."""
    root = folder / TABLE
    root.mkdir(parents=True)
    for number in range(FILES):
        _file(format_, root, number)
    if format_ == "delta":
        _index(mi.open_table(str(root)))
    before = _below(folder)
    _file(format_, root, FILES)
    return before, {key: data for key, data in _below(folder).items() if key not in before}


def _file(format_: str, root: Path, number: int) -> None:
    some, path = rows(number), root / f"f{number}.{format_}"
    match format_:
        case "delta":
            before = set(root.glob("*.parquet"))
            deltalake.write_deltalake(str(root), some, mode="append")
            (written,) = {*root.glob("*.parquet")} - before
            written.rename(root / f"f{number}.parquet")  # the log's entry that names it is not yet read by anybody
            log = root / "_delta_log" / f"{number:020}.json"
            log.write_text(log.read_text().replace(written.name, f"f{number}.parquet"))
        case "parquet":
            pq.write_table(some, path)
        case "csv":
            pacsv.write_csv(some, path)
        case "json":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in some.to_pylist()))


def _below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _iceberg(format_: str, folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """As pyiceberg writes them to a folder, with the paths that they have in the bucket."""
    home = folder / "home"
    home.mkdir()
    catalog = SqlCatalog("golden", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{home}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.table", SCHEMA, location=f"file://{home}/{TABLE}")
    names = {f"file://{home}": f"s3://{NAME}"}
    first: set[str] = set()
    for number in range(FILES + 1):
        before = _below(home)
        first |= set(before)
        table.append(rows(number))
        (written,) = {key for key in _below(home) if key not in before and key.endswith(".parquet")}
        names[Path(written).name] = f"f{number}.parquet"
    catalog.engine.dispose()
    moved: dict[str, bytes] = {}
    for key, data in sorted(_below(home).items(), key=lambda one: ("/snap-" in one[0], one[0])):
        match key.rpartition(".")[2]:
            case "json":
                moved[key] = _renamed(data.decode(), names).encode()
            case "avro":
                moved[key] = _moved(data, names, moved)
            case _:
                moved[_renamed(key, names)] = data
    first = {_renamed(key, names) for key in first}
    return {key: moved[key] for key in first}, {key: data for key, data in moved.items() if key not in first}


def _moved(data: bytes, names: Mapping[str, str], moved: Mapping[str, bytes]) -> bytes:
    """An Avro file with other paths. `moved`: the manifests, whose lengths a list of them holds."""
    reader = fastavro.reader(io.BytesIO(data))
    records = [_renamed(record, names) for record in reader]
    for record in records:
        if "manifest_path" in record:
            record["manifest_length"] = len(moved[record["manifest_path"].removeprefix(f"s3://{NAME}/")])
    own = {name: value for name, value in reader.metadata.items() if not name.startswith("avro.")}
    out = io.BytesIO()
    schema = json.loads(reader.metadata["avro.schema"])
    fastavro.writer(out, schema, records, codec="deflate", metadata=own, sync_marker=bytes(16))
    return out.getvalue()


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case str():
            for old, new in names.items():
                value = value.replace(old, new)
            return value
        case dict():
            return {name: _renamed(inner, names) for name, inner in value.items()}
        case list():
            return [_renamed(inner, names) for inner in value]
    return value


if __name__ == "__main__":
    main()
