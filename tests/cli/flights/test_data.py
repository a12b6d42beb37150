"""The flights as the demo takes them: all of them, with true types and NULLs."""

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from metaindex.cli.flights.data import LAST_DAY, SCHEMA, days, flights, split


@pytest.fixture(scope="module")
def flown() -> pa.Table:
    return flights()


@pytest.mark.slow
def test_all_flights_are_there_with_their_types(flown: pa.Table) -> None:
    assert (flown.num_rows, flown.schema) == (336_776, SCHEMA)


def test_what_is_missing_is_null_and_never_nan(flown: pa.Table) -> None:
    missing = {name: flown.column(name).null_count for name in flown.column_names if flown.column(name).null_count}
    assert missing == {
        "dep_time": 8255,
        "dep_delay": 8255,
        "arr_time": 8713,
        "arr_delay": 9430,
        "tailnum": 2512,
        "air_time": 9430,
    }
    for name in ("dep_delay", "arr_delay", "air_time", "distance"):
        assert not pc.any(pc.is_nan(flown.column(name))).as_py()
    assert not pc.any(pc.equal(flown.column("tailnum"), "")).as_py()


def test_the_date_is_that_of_year_month_and_day(flown: pa.Table) -> None:
    for row in flown.slice(100_000, 3).to_pylist():
        assert row["flight_date"] == dt.date(row["year"], row["month"], row["day"])


def test_each_day_has_a_number_of_its_own(flown: pa.Table) -> None:
    number = days(flown)
    assert pc.min_max(number).as_py() == {"min": 0, "max": 364}
    pairs = pa.table({"n": number, "d": flown.column("flight_date")}).group_by(["n", "d"]).aggregate([])
    assert pairs.num_rows == 365


def test_the_last_day_is_held_back_whole(flown: pa.Table) -> None:
    year, last = split(flown)
    assert year.num_rows + last.num_rows == flown.num_rows
    assert pc.unique(last.column("flight_date")).to_pylist() == [LAST_DAY]
    assert pc.max(year.column("flight_date")).as_py() < LAST_DAY
