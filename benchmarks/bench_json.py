"""JSON logs, flat and nested, read as Spark reads them, beside pyarrow, DuckDB and Polars, which read them by rules of
their own. All in the same run, interleaved, in this process; CPU counts all threads."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.json as arrow_json

import metaindex as mi

ROWS = 200_000
SCHEMA = {
    "flat": "id BIGINT, at TIMESTAMP, name STRING, lat DOUBLE",
    "nested": "id BIGINT, at TIMESTAMP, user STRUCT<id: BIGINT, name: STRING, geo: STRUCT<lat: DOUBLE, lon: DOUBLE>>,"
    " tags ARRAY<STRING>",
}


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


def _measure(shape: str, rows: int, file: Path, table: mi.Table, times: int) -> list[dict[str, object]]:
    who: dict[str, Callable[[], int]] = {
        "metaindex": lambda: table.scan().to_arrow().num_rows,
        "pyarrow": lambda: arrow_json.read_json(str(file)).num_rows,
        "DuckDB": lambda: len(duckdb.read_json(str(file), format="newline_delimited").to_arrow_table()),
        "Polars": lambda: pl.read_ndjson(file).height,
    }
    took: dict[str, list[float]] = {name: [] for name in who}
    for _ in range(times):
        for name, work in who.items():
            cpu = time.process_time()
            found = work()
            took[name].append((time.process_time() - cpu) / rows * 1e6)
            assert found == rows, f"{name} finds {found} rows, not {rows}"
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
