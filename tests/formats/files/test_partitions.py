"""Hive partition folders: escapes, types and layouts, by Spark's rules."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.core import FormatError, UnsupportedFeatureError
from metaindex.formats.files.partitions import infer, read_partitions, unescape
from metaindex.formats.model import partition_text

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def values(*raw: str, given: pa.DataType | None = None) -> tuple[pa.DataType, list[object]]:
    schema = None if given is None else pa.schema([("p", given)])
    parts = read_partitions([f"p={r}/" for r in raw], schema)
    return parts.types[0], parts.values[0].to_pylist()


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("1", ("int", 0)),
        ("-1", ("int", 0)),
        ("+7", ("int", 0)),
        ("007", ("int", 0)),
        ("2147483648", ("long", 0)),
        ("9223372036854775808", ("decimal", 19)),
        ("1e3", ("decimal", 4)),
        ("1.0", ("double", 0)),
        ("1.5", ("double", 0)),
        (".5", ("double", 0)),
        ("1d", ("double", 0)),
        ("NaN", ("double", 0)),
        ("2024-01-31", ("date", 0)),
        ("2024-02-31", ("string", 0)),
        ("2024-1-5", ("string", 0)),
        ("2024-01-31 12%3A30%3A00", ("timestamp", 0)),
        ("2024-01-31 12:30:00.1", ("timestamp", 0)),
        ("2024-01-31 12:30:00.123", ("string", 0)),
        ("0x1p3", ("double", 0)),
        ("true", ("string", 0)),
        ("abc", ("string", 0)),
        ("1_000", ("string", 0)),
        (HIVE_NULL, ("null", 0)),
    ],
)
def test_a_value_has_the_type_that_spark_gives_it(raw: str, kind: tuple[str, int]) -> None:
    assert infer(raw) == kind


def test_types_widen_over_all_values() -> None:
    assert values("1", "2", HIVE_NULL) == (pa.int32(), [1, 2, None])
    assert values("1", "3000000000") == (pa.int64(), [1, 3000000000])
    assert values("0x1p3", "0x1.8p1d", "-0x1p3000") == (pa.float64(), [8.0, 3.0, -math.inf])
    assert values("1", "1.5") == (pa.float64(), [1.0, 1.5])
    assert values("3000000000", "1.5") == (pa.string(), ["3000000000", "1.5"])
    assert values("1", "9223372036854775808") == (pa.decimal128(19, 0), [Decimal(1), Decimal("9223372036854775808")])
    assert values("9" * 38) == (pa.decimal128(38, 0), [Decimal("9" * 38)])
    assert values("2024-01-31", "2024-01-31 00%3A00%3A01")[0] == pa.timestamp("us", "UTC")
    assert values("1", "x") == (pa.string(), ["1", "x"])
    assert values("2024-01-31", "1") == (pa.string(), ["2024-01-31", "1"])
    assert values("007", "x") == (pa.string(), ["007", "x"])
    assert values(HIVE_NULL) == (pa.string(), [None])


def test_a_given_type_wins_and_a_value_that_does_not_fit_is_an_error() -> None:
    assert values("007", given=pa.string()) == (pa.string(), ["007"])
    assert values("2024-01-31", given=pa.date32()) == (pa.date32(), [dt.date(2024, 1, 31)])
    assert values("1.50", given=pa.decimal128(5, 2)) == (pa.decimal128(5, 2), [Decimal("1.50")])
    assert values("true", given=pa.bool_()) == (pa.bool_(), [True])
    with pytest.raises(FormatError, match="'p'"):
        values("x", given=pa.int32())
    with pytest.raises(FormatError, match="'p'"):
        values("300", given=pa.int8())


def test_escapes_are_decoded_one_character_at_a_time_as_spark_does() -> None:
    assert unescape("a%2Fb%3D%25") == "a/b=%"
    assert unescape("100%") == "100%"
    assert unescape("%zz%2") == "%zz%2"
    assert unescape("é😀") == "é😀"
    assert unescape("%C3%A9") == "Ã©"


_SPARK_ESCAPES = {chr(c) for c in range(1, 32)} | set("\"#%'*/:=?\\\x7f{[]^")


def spark_escape(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _SPARK_ESCAPES else c for c in text)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20))
def test_what_spark_escapes_comes_back(text: str) -> None:
    parts = read_partitions(
        [f"{spark_escape('c ' + text)}={spark_escape(text)}/"], pa.schema([("c " + text, pa.string())])
    )
    assert parts.names == ("c " + text,)
    if text != HIVE_NULL:
        assert parts.values[0].to_pylist() == [text]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-5, 5), min_size=2, max_size=2), min_size=1, max_size=20))
def test_integers_come_back_in_any_layout(rows: list[list[int]]) -> None:
    parts = read_partitions([f"year={a}/day={b}/" for a, b in rows])
    assert parts.names == ("year", "day")
    assert [list(r) for r in zip(*(v.to_pylist() for v in parts.values), strict=True)] == rows


def test_folders_below_and_above_partitions_say_nothing() -> None:
    parts = read_partitions(["base/a=1/b=x/part/deep/", "base/a=2/b=y/"])
    assert parts.names == ("a", "b")
    assert parts.values[0].to_pylist() == [1, 2]
    assert read_partitions(["", "x/", "x/y/"]).names == ()


@pytest.mark.parametrize(
    "folders",
    [
        ["a=1/", "b=1/"],
        ["a=1/", "a=1/b=2/"],
        ["a=1/", ""],
        ["x/a=1/", "y/a=1/"],
        ["a=1/x/b=2/"],
        ["a=1/a=2/"],
        ["a=1/A=2/"],
    ],
)
def test_layouts_that_make_two_tables_are_refused(folders: list[str]) -> None:
    with pytest.raises(UnsupportedFeatureError):
        read_partitions(folders)


@pytest.mark.parametrize("folder", ["a=/", "=1/"])
def test_an_empty_name_or_value_is_an_error(folder: str) -> None:
    with pytest.raises(FormatError):
        read_partitions([folder])


def test_the_text_of_null_and_of_its_name_are_the_hive_text() -> None:
    parts = read_partitions([f"a={HIVE_NULL}/b=x%2Fy/"])
    assert partition_text(parts.names, parts.texts(0)) == f"a={HIVE_NULL}/b=x%2Fy"
