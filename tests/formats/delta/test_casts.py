"""Texts as values, beside what Spark's cast made of the same texts (`test_spark` asks it again)."""

import datetime as dt
import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.expressions import to_physical
from metaindex.formats.delta.casts import UNKNOWN, LocalMicros, cast

ZONED, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")


def micros(text: str) -> int:
    return (dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def days(text: str) -> int:
    return dt.date.fromisoformat(text).toordinal() - dt.date(1970, 1, 1).toordinal()


CASTS: list[tuple[pa.DataType, dict[str, object]]] = [
    (
        pa.string(),
        {"": b"", " x ": b" x ", "é": "é".encode(), "__HIVE_DEFAULT_PARTITION__": b"__HIVE_DEFAULT_PARTITION__"},
    ),
    (pa.binary(), {"": b"", "\u00fc": b"\xc3\xbc", "\u0000\u0001": b"\x00\x01"}),
    (
        pa.int32(),
        {
            "1": 1,
            " 5": 5,
            "5 ": 5,
            "+5": 5,
            "-0": 0,
            "1.9": 1,
            "-1.5": -1,
            ".5": 0,
            "5.": 5,
            "005": 5,
            "\t7": 7,
            "99999999999": None,
            "1e2": None,
        }
        | dict.fromkeys(["x", "", "0x10", "1_0", "٣", "1L", "__HIVE_DEFAULT_PARTITION__"]),
    ),
    (pa.int8(), {"127": 127, "128": None, "-128": -128, "-129": None, "1.0": 1}),
    (pa.int64(), {"9223372036854775807": 2**63 - 1, "9223372036854775808": None}),
    (
        pa.bool_(),
        dict.fromkeys(["true", "TRUE", "t", "1", "yes", "y", " true "], 1)
        | dict.fromkeys(["false", "f", "0", "no", "n"], 0)
        | {"x": None, "": None},
    ),
    (
        pa.float64(),
        {"1.5": 1.5, "1d": 1.0, "1f": 1.0, "0x1p3": 8.0, " 2 ": 2.0, "1e400": math.inf, "1_0": None, "": None}
        | dict.fromkeys(["Infinity", "inf", "+inf", "infinity", "INF", "+Infinity"], math.inf)
        | dict.fromkeys(["-Infinity", "-inf"], -math.inf),
    ),
    (
        pa.float32(),
        {
            "3.4028236E38": math.inf,
            "1e40": math.inf,
            "0.1": 0.10000000149011612,
            "1.00000005960464477540": 1.0000001192092896,
        },
    ),
    (
        pa.decimal128(5, 2),
        {
            "1.5": 150,
            "1.555": 156,
            "1.545": 155,
            "1e2": 10000,
            "999.99": 99999,
            "-0": 0,
            " 2 ": 200,
            "1.": 100,
            "+3": 300,
            ".5": 50,
            "-1.005": -101,
        }
        | dict.fromkeys(["1000", "999.995", "x", "", "1_0", "NaN", "1e400"]),
    ),
    (
        pa.date32(),
        dict.fromkeys(
            ["2020-01-01", "2020-1-1", "2020", "2020-01", "2020-01-01 12:00:00", "2020-01-01T12:00:00", " 2020-01-01 "],
            days("2020-01-01"),
        )
        | {
            "-0044-03-15": -735_525,
            "+12345-01-01": 3_789_391,
            "12345-01-01": 3_789_391,
            "0001-01-01": days("0001-01-01"),
            "0000-01-01": -719_528,
        }
        | dict.fromkeys(["2020-02-30", "20200101", "today", "epoch", "", "2020-W01-1", "1-1-1", "9999999-01-01"]),
    ),
    (
        ZONED,
        {
            "2020-01-01T12:00:00.123456Z": micros("2020-01-01 12:00:00.123456"),
            "2020-01-01T12:00:00.1234567Z": micros("2020-01-01 12:00:00.123456"),
            "2020-01-01 12:00:00+02:00": micros("2020-01-01 10:00:00"),
            "2020-01-01T12:00:00+0200": micros("2020-01-01 10:00:00"),
            "2020-01-01 12:00:00 Europe/Paris": micros("2020-01-01 11:00:00"),
            "2020-01-01 12:00:00 UTC": micros("2020-01-01 12:00:00"),
            "2020-01-01 12:00:00.": LocalMicros(micros("2020-01-01 12:00:00")),
            "2020-01-01 12:00": LocalMicros(micros("2020-01-01 12:00:00")),
            "2020-01-01 12": LocalMicros(micros("2020-01-01 12:00:00")),
            "2020-1-1 1:2:3": LocalMicros(micros("2020-01-01 01:02:03")),
            "2020": LocalMicros(micros("2020-01-01")),
            "1500-01-01 00:00:00": LocalMicros(micros("1500-01-01")),
            "+12345-01-01 00:00:00": LocalMicros(3_789_391 * 86_400_000_000),
            "12:00:00": UNKNOWN,
        }
        | dict.fromkeys(["x", "", "2020-01-01 24:00:00", "2020-W01-1 00:00:00", "20200101 12:00:00", "2020-01-01T"])
        | dict.fromkeys(["2020-01-01T12:00Z", "2020-01-01T12Z", "2020-01-01 12:00+02:00", "2020-01-01 12:00 UTC"]),
    ),
    (
        LOCAL,
        {
            "2020-01-01 12:00:00.5": micros("2020-01-01 12:00:00.500000"),
            "2020-01-01 12:00:00+02:00": micros("2020-01-01 12:00:00"),
            "2020-01-01T12:00:00.123456Z": micros("2020-01-01 12:00:00.123456"),
            "2020": micros("2020-01-01"),
            "-0044-03-15T00:00:00": -735_525 * 86_400_000_000,
            "12:00:00": None,
            "2020-01-01T12:00Z": None,
            "x": None,
        },
    ),
]


@pytest.mark.parametrize(
    ("type_", "text", "value"), [(t, text, value) for t, texts in CASTS for text, value in texts.items()]
)
def test_texts_are_what_spark_makes_of_them(type_: pa.DataType, text: str, value: object) -> None:
    found = cast(text, type_)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["NaN", "nan"])
def test_nan_is_no_null(text: str) -> None:
    found = cast(text, pa.float64())
    assert isinstance(found, float)
    assert math.isnan(found)


def test_minus_zero_keeps_its_sign() -> None:
    assert math.copysign(1, cast("-0.0", pa.float64())) == -1


@pytest.mark.parametrize(
    ("zone", "hours"), [("UTC", 0), ("America/New_York", 5), ("+02:00", -2), ("Asia/Kolkata", -5.5)]
)
def test_a_clock_is_an_instant_in_a_zone(zone: str, hours: float) -> None:
    noon = micros("2020-01-01 12:00:00")
    assert LocalMicros(noon).instant(zone) == noon + int(hours * 3_600_000_000)


def test_an_unknown_zone_has_no_instants() -> None:
    assert LocalMicros(0).instant("Nowhere/Else") is UNKNOWN


@given(st.datetimes(), st.sampled_from([ZONED, LOCAL, pa.date32()]))
def test_every_moment_is_read_back(moment: dt.datetime, type_: pa.DataType) -> None:
    found = cast(str(moment.date() if pa.types.is_date(type_) else moment), type_)
    value: object = moment.date() if pa.types.is_date(type_) else moment.replace(tzinfo=dt.UTC if type_.tz else None)
    physical = to_physical(pa.array([value], type_), type_, upper=False)[0].as_py()
    assert (found.micros if isinstance(found, LocalMicros) else found) == physical


@given(st.text(max_size=12), st.sampled_from([t for t, _ in CASTS]))
def test_no_text_is_an_error(text: str, type_: pa.DataType) -> None:
    cast(text, type_)
