"""JSON logs, flat and nested, read as Spark reads them, beside pyarrow, DuckDB and Polars, which read them by rules of
their own; and an index of JSON and of CSV (statistics and keys of four columns, one of integers and NULLs), beside
DuckDB's scan of those columns, with their types given and inferred. All in the same run, interleaved, in this process;
CPU counts all threads."""

from __future__ import annotations

import csv
import json
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.json as arrow_json

import metaindex as mi

ROWS, ROWS_INDEXED = 200_000, 2_000_000
SCHEMA = {
    "flat": "id BIGINT, at TIMESTAMP, name STRING, lat DOUBLE",
    "nested": "id BIGINT, at TIMESTAMP, user STRUCT<id: BIGINT, name: STRING, geo: STRUCT<lat: DOUBLE, lon: DOUBLE>>,"
    " tags ARRAY<STRING>",
}

REQUESTS = {"request": "STRING", "at": "TIMESTAMP", "account": "BIGINT", "price": "DECIMAL(10,2)", "ok": "BOOLEAN"}
INDEXED = ("request", "at", "account", "price")


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    figures: list[dict[str, object]] = []
    rows = ROWS // 10 if quick else ROWS
    for shape, schema in SCHEMA.items():
        place = folder / f"json-{shape}-{rows}"
        file = place / "log.json"
        if not file.exists():
            place.mkdir(parents=True)
            _write(file, shape, rows)
        table = mi.open_table(str(place), schema=schema)
        figures += _measure(shape, rows, file, table, 3 if quick else 7)
    rows = ROWS_INDEXED // 10 if quick else ROWS_INDEXED
    for file_format in ("json", "csv"):
        place = folder / f"build-{file_format}-{rows}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        file = place / f"requests.{file_format}"
        _write_requests(file, rows)
        figures += _measure_build(rows, file, 3 if quick else 7)
    return figures


def _write(file: Path, shape: str, rows: int) -> None:
    with file.with_suffix(".new").open("w") as out:
        for number in range(rows):
            row: dict[str, object] = {"id": number, "at": f"2024-01-02T03:{number // 60 % 60:02}:{number % 60:02}Z"}
            if shape == "flat":
                row |= {"name": f"user {number % 1000}", "lat": number % 90 + 0.5}
            else:
                geo = {"lat": number % 90 + 0.5, "lon": number % 180 + 0.25}
                row |= {"user": {"id": number * 7, "name": f"user {number % 1000}", "geo": geo}, "tags": ["a", "b"]}
            out.write(json.dumps(row) + "\n")
    file.with_suffix(".new").rename(file)


def _write_requests(file: Path, rows: int) -> None:
    with file.open("w", newline="") as out:
        lines = csv.DictWriter(out, REQUESTS, lineterminator="\n")
        if file.suffix == ".csv":
            lines.writeheader()
        for number in range(rows):
            key = f"{number * 2_654_435_761 % 2**64:016x}"
            at = f"2024-01-02T03:{number // 60 % 60:02}:{number % 60:02}.{number % 1000:03}Z"
            account = None if number % 3 == 0 else number % 5000
            row = {"request": key, "at": at, "account": account, "price": number % 9973 / 100, "ok": number % 7 > 0}
            if file.suffix == ".csv":
                lines.writerow(row | {"ok": str(row["ok"]).lower()})
            else:
                out.write(json.dumps(row) + "\n")


def _measure_build(rows: int, file: Path, times: int) -> list[dict[str, object]]:
    file_format = file.suffix[1:]
    schema = ", ".join(f"{name} {type_}" for name, type_ in REQUESTS.items())
    table = mi.open_table(str(file.parent), schema=schema, **({"header": True} if file_format == "csv" else {}))
    columns = {name: {"STRING": "VARCHAR"}.get(type_, type_) for name, type_ in REQUESTS.items()}

    def build() -> int:
        table.create_index("find", mi.ColumnStats(*INDEXED), *map(mi.Values, INDEXED), builder="local")
        return rows

    def scan(types: str) -> int:
        by = "read_json" if file_format == "json" else "read_csv"
        found = duckdb.sql(f"""SELECT request, "at", account, price FROM {by}('{file}'{types})""")
        return found.to_arrow_table().num_rows

    who = {
        "metaindex, index of four columns": build,
        "DuckDB, scan of four columns": lambda: scan(f", columns={columns}"),
        "DuckDB, scan without types": lambda: scan(""),
    }

    def remove() -> None:
        table.drop_index("find")
        table.vacuum_index("find")

    if any(index.name == "find" for index in table.indexes()):  # of a run that was broken off
        remove()
    return _timed(f"{file_format} requests", rows, who, times, remove)


def _measure(shape: str, rows: int, file: Path, table: mi.Table, times: int) -> list[dict[str, object]]:
    who: dict[str, Callable[[], int]] = {
        "metaindex": lambda: table.scan().to_arrow().num_rows,
        "pyarrow": lambda: arrow_json.read_json(str(file)).num_rows,
        "DuckDB": lambda: len(duckdb.read_json(str(file), format="newline_delimited").to_arrow_table()),
        "Polars": lambda: pl.read_ndjson(file).height,
    }
    return _timed(shape, rows, who, times, lambda: None)


def _timed(
    shape: str, rows: int, who: dict[str, Callable[[], int]], times: int, after: Callable[[], None]
) -> list[dict[str, object]]:
    took: dict[str, list[float]] = {name: [] for name in who}
    for _ in range(times):
        for name, work in who.items():
            cpu = time.process_time()
            found = work()
            took[name].append((time.process_time() - cpu) / rows * 1e6)
            assert found == rows, f"{name} finds {found} rows, not {rows}"
        after()
    return [
        {
            "shape": shape,
            "rows": rows,
            "who": name,
            "CPU us a row": round(statistics.median(some), 2),
            "from": round(min(some), 2),
            "to": round(max(some), 2),
        }
        for name, some in took.items()
    ]
