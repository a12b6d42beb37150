"""CSV and JSON by Arrow: the answers of Spark (`text_cases`), options, encodings, large files, and what is
refused."""

import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st

from metaindex.core import ScanError
from metaindex.formats import Field, Schema
from metaindex.formats.text.csv_dialect import CsvDialect
from metaindex.formats.text.csv_rows import CsvRows
from metaindex.formats.text.json_rows import JsonRows
from metaindex.formats.text.values import Doubts, Uncertain, ValueRules, typed
from tests.query.readers import text_whole_cases as whole
from tests.query.readers.lake import Lake, fields_of
from tests.query.readers.text_cases import CSV, JSON, REFUSED_CSV, TYPED

TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "float": pa.float32(),
    "decimal(5,2)": pa.decimal128(5, 2),
    "decimal(38,18)": pa.decimal128(38, 18),
    "decimal(38,38)": pa.decimal128(38, 38),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
    "struct<x:int>": pa.struct({"x": pa.int32()}),
    "array<tinyint>": pa.list_(pa.int8()),
    "array<int>": pa.list_(pa.int32()),
    "map<string,int>": pa.map_(pa.string(), pa.int32()),
}


def lake_of(root: Path, file_format: str, schema: str, options: Mapping[str, Any] | None = None) -> Lake:
    columns = [part.strip().split(" ", 1) for part in re.split(r", ?(?=[a-z0-9]+ )", schema)]
    arrow = pa.schema([(name, TYPES[type_]) for name, type_ in columns])
    return Lake(root, Schema(fields_of(arrow)), "files", {"file_format": file_format, **(options or {})})


def plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return dict(value)  # a map, as Arrow shows it
    return value


def rows(lake: Lake) -> list[tuple[Any, ...]]:
    maps = [pa.types.is_map(f.type) for f in lake.schema]
    return [
        tuple(dict(v) if is_map and v is not None else plain(v) for v, is_map in zip(row.values(), maps, strict=True))
        for row in lake.read()
    ]


READ = [
    *(("csv", *case) for case in CSV),
    *(("json", *case) for case in JSON),
    *(("json" if "int" in case[1] else "csv", *case) for case in whole.CSV + whole.JSON),
]


@pytest.mark.parametrize(("file_format", "data", "schema", "options", "expected"), READ)
def test_files_are_read_as_spark_reads_them(
    tmp_path: Path, file_format: str, data: Any, schema: str, options: dict[str, Any], expected: list[Any]
) -> None:
    lake = lake_of(tmp_path, file_format, schema, options)
    lake.add("f.txt", data)
    assert rows(lake) == [tuple(plain(v) for v in row) for row in expected]


REFUSED: list[tuple[str, str, Any, str, Mapping[str, Any]]] = [
    *((r"f\.txt.*escape=", "csv", *case[:3]) for case in REFUSED_CSV),
    *((r"to_spark|escape=", "csv", *case[:3]) for case in whole.REFUSED_CSV),
    *((r"to_spark|escape=", "json", *case[:3]) for case in whole.REFUSED_JSON),
    # Spark's parser takes it for something else.
    *((r"f\.txt", "csv", data, "a string, b string", options) for data, options in (
        ('"a\x00",b\n', {"escape": '"'}), ("a\x00,b\n", {"quote": ""}), ('"",b\n', {"escape": ""}),
        (" ,b\n", {"ignoreTrailingWhiteSpace": True}), ('" ",b\n', {"ignoreTrailingWhiteSpace": True}),
        ("a,b\r", {"multiLine": True}), ("\ra,b\r", {"multiLine": True}), ('"a\\"b\n', {}),
    )),
    # Which of two meanings Spark takes a character for depends on where it stands.
    *(("means one thing", "csv", "a\n", "a string, b string", options) for options in (
        {"sep": "|", "quote": "|"}, {"sep": "\\"}, {"sep": "#", "comment": "#"}, {"quote": "#", "comment": "#"},
    )),
    *((named, "csv", "1,x\n", "a int, b string", options) for named, options in (
        ("mode", {"mode": "DROPMALFORMED"}), ("sep", {"sep": "||"}), ("dateformat", {"dateFormat": "EEE, d MMM yyyy"}),
        ("timestampformat", {"timestampFormat": "yyyy-MM-dd hh:mm a"}), ("somenewoption", {"someNewOption": 1}),
    )),
    # UTF-8 to Spark alone.
    *((r"f\.txt.* has bytes that are none", "json", b'{"a":1,"b":"x' + it + b'"}\n', "a int, b string", {}) for it in (
        b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80",
    )),
]  # fmt: skip


@pytest.mark.parametrize(
    ("says", "file_format", "data", "schema", "options"),
    REFUSED,
    ids=[f"{at}: {says}" for at, (says, *_) in enumerate(REFUSED)],
)
def test_what_may_be_read_otherwise_than_by_spark_is_refused_with_the_cure(
    tmp_path: Path, says: str, file_format: str, data: Any, schema: str, options: Mapping[str, Any]
) -> None:
    lake = lake_of(tmp_path, file_format, schema, options)
    lake.add("f.txt", data)
    with pytest.raises(ScanError, match=says):
        lake.read()


@pytest.mark.parametrize(("option", "pattern", "type_", "cases"), whole.PATTERNS)
def test_patterns_of_dates_and_times(
    tmp_path: Path, option: str, pattern: str, type_: str, cases: list[tuple[str, str | None]]
) -> None:
    for i, (text, expected) in enumerate(cases):
        lake = lake_of(tmp_path / str(i), "csv", f"a {type_}, k string", {option: pattern})
        lake.add("f.csv", f'"{text}",k\n')
        try:
            column = lake.scan(columns=["a"]).to_arrow().column("a")
        except ScanError:
            assert re.search(r"[+-]\d", text)  # a year with a sign
            continue
        assert shown(column, type_) == expected, text


@pytest.mark.parametrize("type_", TYPED)
def test_csv_values(tmp_path: Path, type_: str) -> None:
    for i, (text, expected) in enumerate(TYPED[type_]):
        lake = lake_of(tmp_path / str(i), "csv", f"a {type_}, k string")
        lake.add("f.csv", f"{text},k\n")
        column = lake.scan(columns=["a"]).to_arrow().column("a")
        assert shown(column, type_) == expected, text


def shown(column: pa.ChunkedArray, type_: str) -> str | None:
    """The value as Spark's cast to string writes it."""
    if column.null_count:
        return None
    if type_ == "binary":
        return column[0].as_py().decode()
    if type_ in ("double", "float"):
        value = column[0].as_py()
        if math.isnan(value) or math.isinf(value):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        text = column.cast(pa.string())[0].as_py()
        number = float(text)
        return {1.1: "1.1", 1.0e-5: "1.0E-5", 16777216.0: "1.6777216E7"}.get(
            round(number, 6) if type_ == "float" else number, str(number)
        )
    if type_ == "boolean":
        return str(column[0].as_py()).lower()
    if type_ == "date":
        days = column.cast(pa.int32())[0].as_py()
        return {2932897: "+10000-01-01", -719893: "-0001-01-01", -719163: "0000-12-31"}.get(days) or str(
            column[0].as_py()
        )
    if type_.startswith("timestamp"):
        value = column[0].as_py().replace(tzinfo=None)
        whole = f"{value.year:04}-{value:%m-%d %H:%M:%S}"
        return whole + (f".{value.microsecond:06}".rstrip("0") if value.microsecond else "")
    return str(column[0].as_py())


def test_lines_have_as_many_columns_as_spark_takes(tmp_path: Path) -> None:
    for number, (tail, options) in enumerate(
        [(",x" * 20_478, {}), (',"x"' * 20_478, {}), (",x" * 99_998, {"maxColumns": 100_000})]
    ):
        lake = lake_of(tmp_path / str(number), "csv", "a int, b string", options)
        lake.add("f.csv", f"1,x\n2,y{tail}\n")
        assert rows(lake) == [(1, "x"), (2, "y")]
        lake.add("g.csv", f"3,z{tail},x\n")
        with pytest.raises(ScanError, match=r"g\.csv.*maxColumns"):
            lake.read()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_json_is_read_to_so_many_levels(tmp_path: Path, whole: bool, closed: bool) -> None:
    lake = lake_of(tmp_path, "json", "a int, b string", {"multiLine": whole})
    deep = "[" * 499
    lake.add("f.json", f'{{"a":1,"b":"{deep * 3}","z":{deep}{"]" * 499}}}')
    assert rows(lake) == [(1, deep * 3)]
    lake.add("g.json", f'{{"a":1,"z":[{deep}{"]" * 500 + "}" if closed else ""}')
    with pytest.raises(ScanError, match=r"g\.json.* has more"):
        lake.read()


def test_values_of_a_line_that_is_read_value_by_value_are_bounded(tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr("metaindex.formats.text.json_rows._MOST_VALUES", 100)
    lake = lake_of(tmp_path, "json", "a int, b array<tinyint>, m map<string,int>")
    lake.add("f.json", f'{{"a":1,"b":[{",".join("1" * 97)}]}}')
    assert rows(lake) == [(1, [1] * 97, None)]
    lake.add("g.json", f'{{"a":1,"b":[{",".join("1" * 99)}]}}')
    with pytest.raises(ScanError, match=r"at most 100 values.*g\.json"):
        lake.read()


def test_rows_are_the_same_however_many_are_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.formats.text.json_rows._AT_ONCE", 3)
    lake = lake_of(tmp_path, "json", "a int, b array<int>")
    lake.add("f.json", "".join(f'{{"a":{n},"b":[{n}]}}\n' for n in range(10)))
    assert rows(lake) == [(n, [n]) for n in range(10)]


def test_lines_across_blocks_stay_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.formats.text.reader._BLOCK_BYTES", 7)
    for newline in ("\n", "\r\n"):
        lake = lake_of(tmp_path / repr(newline), "csv", "a int, b string", {"header": True})
        lake.add("f.csv", "a,b" + newline + "".join(f'{i},"x,{i}"{newline}' for i in range(500)))
        assert rows(lake) == [(i, f"x,{i}") for i in range(500)]


def test_zones_of_the_session_are_honoured(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, "csv", "a timestamp, b string", {"timeZone": "America/New_York"})
    lake.add("f.csv", "2020-07-01 00:00:00,summer\n2020-03-08 02:30:00,gap\n2020-11-01 01:30:00,twice\n")
    assert [t.hour * 60 + t.minute for t, _ in rows(lake)] == [4 * 60, 7 * 60 + 30, 5 * 60 + 30]


texts = st.text(alphabet=st.sampled_from('ab,"\\\n\r \té\x00#'), max_size=60)


@how(deadline=None, max_examples=how.default.max_examples * 400 // 100)
@given(texts, st.sampled_from(["\\", '"']), st.sets(st.integers(0, 2)))
def test_the_fast_parser_agrees_with_the_slow_one_or_stands_aside(text: str, escape: str, places: set[int]) -> None:
    fields = fields_of(pa.schema({"a": pa.string(), "b": pa.string(), "c": pa.string()}))
    reader, asked = CsvRows(CsvDialect(escape=escape), fields, ValueRules()), tuple(fields[place] for place in places)
    block = text.encode()
    fast = reader._by_arrow(block, asked, over_lines=False)
    if fast is not None:
        slow = reader._by_line(block, "a file")
        assert fast.keys() == (places or {0})
        assert texts_of(fast) == {place: cells for place, cells in texts_of(slow).items() if place in fast}
    whole = reader._fast_whole(block, asked)
    if whole is not None:
        slow = reader._columns(reader._records(text, "a file"))
        assert texts_of(whole) == {place: cells for place, cells in texts_of(slow).items() if place in whole}


def texts_of(columns: dict[int, pa.Array]) -> dict[int, list[str | None]]:
    """An empty value is NULL."""
    return {place: [text or None for text in column.to_pylist()] for place, column in columns.items()}


def test_doubled_quotes_take_the_fast_parser() -> None:
    fields = fields_of(pa.schema({"a": pa.string(), "b": pa.string()}))
    reader = CsvRows(CsvDialect(escape='"'), fields, ValueRules())
    block = b'"say ""hi""",1\n"""","x"\n"",y\n'
    fast = reader._by_arrow(block, fields, over_lines=False)
    assert fast is not None
    assert texts_of(fast) == {0: ['say "hi"', '"', None], 1: ["1", "x", "y"]}


JSON_VALUES = st.sampled_from(
    ["1", "-0", "1.5", "1.0", "1e2", "007", "1e400", "9999999999", "99999999999999999999", "true", "null", "NaN", '""',
        '"x"', '"\\u00e9"', '"\\ud83d"', '"2020-01-01"', '"2020-1-1"', '"2020-01-01 10:11:12"', '"1"', "[1]", "{}",
        '{"a":1}', '"a\\nb"', '"a\tb"', '"1577836800"', '"NaN"', "-1", " 1 ",
        "-NaN", "Infinity", "-Infinity", "Inf", '"Infinity"', "0.005", "1.0050", "128", "12345678901234567890123",
        '"1,000"']
)  # fmt: skip
JSON_LINES = st.one_of(
    st.lists(st.tuples(st.sampled_from(["a", "b", "B", "z", "\\u0061"]), JSON_VALUES), max_size=3).map(
        lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
    ),
    st.sampled_from(["", " ", "{", "}", "[]", '[{"a":1}]', '{"a":1}{"a":2}', '{"a":1} x', '{"a":1,}', '{"a":{', "}}",
        "1", ' {"a":1}', '{"a":1}\r']),
)  # fmt: skip
PLAIN_LINES = st.builds('{{"a":{},"b":"x"}}'.format, st.sampled_from(["1", "0", "-7", "null", "1", "2.5", "1e1"]))
"""Among which odd ones stand, so that some are read by columns and some by lines."""


@how(deadline=None, max_examples=how.default.max_examples * 400 // 100)
@given(
    st.lists(JSON_LINES | PLAIN_LINES, max_size=6),
    st.sampled_from(
        ["int", "bigint", "tinyint", "double", "float", "decimal(5,2)", "decimal(38,18)", "string", "boolean", "date",
            "timestamp", "timestamp_ntz"]
    ),
)  # fmt: skip
def test_the_fast_json_parser_agrees_with_the_slow_one_or_stands_aside(lines: list[str], type_: str) -> None:
    alike("\n".join(lines).encode(), TYPES[type_])


def alike(block: bytes, type_: pa.DataType) -> None:
    """Arrow, with the few lines that it does not take read by hand, reads as all lines are read by hand."""
    fields = fields_of(pa.schema({"a": type_, "b": pa.string()}))
    fast, slow = JsonRows(ValueRules(json=True), ()), JsonRows(ValueRules(json=True), ())
    slow._fast = lambda *_: None  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metaindex.formats.text.json_rows._FEW", 1)
        patch.setattr("metaindex.formats.text.json_rows._PARTS", 2)
        assert outcome(fast, block, fields) == outcome(slow, block, fields)
        told, by_hand = Doubts(), Doubts()
        assert outcome(fast, block, fields, told) == outcome(slow, block, fields, by_hand)
    assert [(path, isinstance(why, str) or why) for path, why in sorted(told.items())] == [
        (path, isinstance(why, str) or why) for path, why in sorted(by_hand.items())
    ]


NUMBERS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "-", "+", "--"]),
    st.sampled_from(["0", "7", "12", "128", "00012", "2147483648", "9223372036854775807", "9223372036854775808",
        "\u0663"])
    | st.integers(0, 10**38).map(str),
    st.sampled_from(["", "", ".", ".0", ".25", ".255", ".1000000000000000000000001"]),
    st.sampled_from(["", "", "", "e1", "E-2", "e400", " ", "f"]),
)  # fmt: skip
DAYS_AND_MOMENTS = st.builds(
    "{}{}-{}-{}{}{}{}".format,
    st.sampled_from(["", "", "", "-", "+"]),
    st.sampled_from(["2024", "2023", "1900", "2000", "0000", "9999", "1582", "10000", "24"]),
    st.sampled_from(["01", "02", "12", "10", "13", "1", "00"]),
    st.sampled_from(["28", "29", "30", "31", "32", "1"]),
    st.sampled_from(["", "", "T00:00:00", " 23:59:59", "T24:00:00", "T12:34:56", " 1:2:3", "T12:34", "T12:34:60"]),
    st.sampled_from(["", "", ".1", ".123456", ".1234567", "."]),
    st.sampled_from(["", "", "Z", "+00:00", "+17:59", "-18:00", "+18:01", "-0530", "+1", "UTC", "z", "+23:59"]),
)
OTHER_TEXTS = st.sampled_from(["", "NaN", "Inf", "true", "TRUE", "x", "-9999", "1,000", "-Infinity", " 1"])
BY_ZONE = [ValueRules(), ValueRules(json=True), ValueRules(nan="-9999"), ValueRules(nan="12", zone="Europe/Berlin")]


@how(deadline=None, max_examples=how.default.max_examples * 800 // 100)
@given(
    st.sampled_from([t for t in TYPES.values() if not (pa.types.is_nested(t) or t in (pa.string(), pa.binary()))]),
    st.lists(st.none() | NUMBERS | DAYS_AND_MOMENTS | OTHER_TEXTS, max_size=5),
    st.sampled_from(BY_ZONE),
)
def test_texts_that_are_cast_together_are_what_each_is(
    type_: pa.DataType, texts: list[str | None], rules: ValueRules
) -> None:
    field, read = fields_of(pa.schema({"a": type_}))[0], rules.reader(type_, "a")
    try:
        each: object = numbered(typed([None if text is None else read(text) for text in texts], type_))
    except Uncertain:
        each = "refused"
    try:
        together: object = numbered(rules.column(pa.array(texts, pa.string()), field, "a file"))
    except ScanError:
        together = "refused"
    assert together == each


def numbered(values: pa.Array) -> tuple[pa.DataType, list[str]]:
    """Days and moments by their numbers, for some are beyond Python's calendar."""
    plain_type = {32: pa.int32(), 64: pa.int64()}[values.type.bit_width] if pa.types.is_temporal(values.type) else None
    return values.type, [repr(value) for value in (values.view(plain_type) if plain_type else values).to_pylist()]


@pytest.mark.parametrize(
    ("type_", "large", "other"),
    [("decimal(38,18)", "2469135780246913578024", "1.5"), ("decimal(38,38)", "6.94", "0.5")],
)
def test_a_decimal_of_too_many_digits_is_null(tmp_path: Path, type_: str, large: str, other: str) -> None:
    """The product of Arrow's cast wraps around to a number that fits."""
    for file_format, form in (("csv", "{},x\n"), ("json", '{{"a":{}}}\n'), ("json", '{{"a":"{}"}}\n')):
        lake = lake_of(tmp_path / str(len(form)), file_format, f"a {type_}, b string")
        lake.add("f.txt", form.format(large) + form.format(other))
        assert [row[0] for row in rows(lake)] == [None, Decimal(other)]


def test_a_decimal_has_all_its_digits_however_its_line_is_read(tmp_path: Path) -> None:
    """Python's own context has 28."""
    number = "12345678901234567890.123456789123456789"
    lake = lake_of(tmp_path, "json", "d decimal(38,18), i bigint")
    lake.add("f.txt", f'{{"d":{number},"i":1}}\n{{"d":{number},"i":"x"}}\n')  # the second value by value
    assert [row[0] for row in rows(lake)] == [Decimal(number)] * 2


NESTED = {
    "struct": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "struct of times": pa.struct([("a", pa.date32()), ("b", pa.timestamp("us", tz="UTC"))]),
    "struct of a struct": pa.struct([("a", pa.struct([("b", pa.float64()), ("a", pa.bool_())])), ("b", pa.int64())]),
    "list": pa.list_(pa.int64()),
    "list of texts": pa.list_(pa.string()),
    "list of lists": pa.list_(pa.list_(pa.float64())),
    "list of days": pa.list_(pa.date32()),
    "list of structs": pa.list_(pa.struct([("a", pa.date32()), ("b", pa.string())])),
    "struct of lists": pa.struct([("a", pa.list_(pa.bool_())), ("b", pa.list_(pa.struct([("b", pa.int32())])))]),
}
NESTED_VALUES = st.recursive(
    JSON_VALUES | st.sampled_from(['"2024-01-02"', '"2024-01-02T03:04:05Z"', "7", "null", '"x"', "true", "1.5", "-0"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda values: "[" + ",".join(values) + "]")
        | st.lists(st.tuples(st.sampled_from(["a", "b", "A", "z", "\\u0061"]), inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
        )
    ),
    max_leaves=6,
)


@how(deadline=None, max_examples=how.default.max_examples * 800 // 100)
@given(st.data(), st.sampled_from(sorted(NESTED)))
def test_the_fast_json_parser_agrees_about_nested_values_or_stands_aside(data: st.DataObject, type_: str) -> None:
    """Values of the column's own shape, most of them, so that the fast one is asked; and whatever else."""
    shaped = st.one_of(_of_type(NESTED[type_]), _of_type(NESTED[type_]), NESTED_VALUES)
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(["a", "a", "z"]), shaped), max_size=4))
    alike("\n".join(f'{{"{name}":{value}}}' for name, value in drawn).encode(), NESTED[type_])


FLAT = {str(t): t for t in (pa.int64(), pa.int16(), pa.bool_(), pa.date32(), pa.timestamp("us", tz="UTC"))}


@how(deadline=None, max_examples=how.default.max_examples * 400 // 100)
@given(st.data(), st.sampled_from(sorted({**NESTED, **FLAT})), st.sampled_from(["json", "csv"]))
def test_where_a_text_is_lost_the_reader_says_so(data: st.DataObject, type_: str, file_format: str) -> None:
    """A field has fewer values than texts by the number that it says: statistics and keys believe its other NULLs."""
    t = {**NESTED, **FLAT}[type_]
    field = fields_of(pa.schema({"a": t}))[0]
    if file_format == "json":
        drawn = data.draw(st.lists(st.one_of(_of_type(t), _of_type(t), _of_type(t), NESTED_VALUES), max_size=4))
        block = "\n".join(f'{{"a":{value}}}' for value in drawn).encode()
        rows: JsonRows | CsvRows = JsonRows(ValueRules(json=True), ())
    else:
        field = fields_of(pa.schema({"a": FLAT.get(type_, pa.int64())}))[0]
        cells = st.sampled_from(
            ["", "7", "-1", "true", "x", "1.5", "2024-01-02", "2024-01-02T03:04:05Z", "99999999999"]
        )
        drawn = data.draw(st.lists(cells, max_size=4))
        block, rows = "".join(f"{cell},z\n" for cell in drawn).encode(), CsvRows(CsvDialect(), (field,), ValueRules())
    doubts = Doubts()
    try:
        texts = rows.parse(block, (as_text(field),), "", False)[1][0]
        values = rows.parse(block, (field,), "", False, doubts)[1][0]
    except ScanError:
        return
    if not isinstance(doubts.get(("a",)), str):
        for (path, own), (_, text) in zip(leaves(values, ("a",)), leaves(texts, ("a",)), strict=True):
            assert doubts.get(path, 0) == own.null_count - text.null_count, path


def as_text(field: Field) -> Field:
    """The column with every primitive in it as text."""
    children = tuple(as_text(child) for child in field.children)
    type_ = pa.struct([pa.field(child.name, child.type) for child in children]) if children else pa.string()
    return field if pa.types.is_nested(field.type) and not children else replace(field, type=type_, children=children)


def leaves(array: pa.Array, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], pa.Array]]:
    """The primitive fields of structs, NULL where a struct around them is."""
    if not pa.types.is_struct(array.type):
        return [] if pa.types.is_nested(array.type) else [(path, array)]
    inside = zip(array.type, array.flatten(), strict=True)
    return [leaf for of, child in inside for leaf in leaves(child, (*path, of.name))]


def _of_type(t: pa.DataType) -> st.SearchStrategy[str]:
    if pa.types.is_struct(t):
        fields = [t.field(i) for i in range(t.num_fields)]
        each = st.tuples(*(st.none() | _of_type(f.type) for f in fields))
        return each.map(
            lambda values: (
                "{" + ",".join(f'"{f.name}":{v}' for f, v in zip(fields, values, strict=True) if v is not None) + "}"
            )
        ) | st.just("null")
    if pa.types.is_list(t):
        return st.lists(_of_type(t.value_type), max_size=3).map(lambda values: "[" + ",".join(values) + "]")
    if pa.types.is_date32(t) or pa.types.is_timestamp(t):
        return st.sampled_from(['"2024-01-02"', '"2024-01-02T03:04:05.6Z"', '"none"', '"1582-10-10"', "null"])
    if pa.types.is_string(t):
        return st.sampled_from(['"x"', '""', '"\\u00e9"', '"é"', "null"])
    if pa.types.is_boolean(t):
        return st.sampled_from(["true", "false", "null"])
    return st.sampled_from(
        ["0", "-1", "7", "2147483648", "null", *(["1.5", "-0.0", "1e400"] if t == pa.float64() else [])]
    )


def outcome(reader: JsonRows, block: bytes, fields: tuple[Field, ...], doubts: Doubts | None = None) -> object:
    try:
        count, columns, _ = reader.parse(block, fields, "a file", True, doubts)
    except ScanError:
        return "refused"
    return count, [repr([plain(v) for v in c.to_pylist()]) for c in columns]


CELLS = st.text(alphabet=st.sampled_from('ab,"\\ é;'), max_size=6)


@how(deadline=None, max_examples=how.default.max_examples * 200 // 100)
@given(st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_what_is_quoted_and_escaped_comes_back(cells: list[tuple[str, str]]) -> None:
    def quoted(cell: str) -> str:
        escaped = cell.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    reader = CsvRows(CsvDialect(), fields_of(pa.schema({"a": pa.string(), "b": pa.string()})), ValueRules())
    block = "".join(f"{quoted(a)},{quoted(b)}\n" for a, b in cells).encode()
    _, columns, _ = reader.parse(block, fields_of(pa.schema({"a": pa.string(), "b": pa.string()})), "a file", True)
    shown_cells = [tuple(v or None for v in pair) for pair in cells]
    assert list(zip(*(c.to_pylist() for c in columns), strict=True)) == shown_cells


@pytest.mark.parametrize("text", ['[{"b":"YWJj"},{"b":"!"}]', '[{"b":"a,b"}]'])
@pytest.mark.parametrize("options", [{}, {"multiLine": True}], ids=str)
def test_bytes_of_an_array_that_are_no_base64_are_refused(tmp_path: Path, text: str, options: dict[str, Any]) -> None:
    """Spark makes one row of NULLs of the whole array; each of its records was a row here."""
    lake = lake_of(tmp_path, "json", "b binary", options)
    lake.add("f.json", text)
    with pytest.raises(ScanError, match=r"base64.*f\.json"):
        lake.read()
    other = lake_of(tmp_path / "other", "json", "b binary", options)
    other.add("f.json", text.replace("!", "YQ==").replace("a,b", ""))
    assert len(other.read()) == text.count("{")


MOMENTS: list[tuple[str, str, str, int | None]] = [
    ("json", '{"a":1700000000000000}', "a timestamp", 2899545218721251328),  # as Java multiplies
    ("json", '{"a":9223372036854775807}', "a timestamp", -1000000),
    ("json", '{"a":9223372036855}', "a timestamp", -9223372036854551616),
    ("json", '{"a":9223372036854775808}', "a timestamp", None),
    ("csv", "294247-01-10T04:00:54.775807", "a timestamp", 2**63 - 1),
    ("csv", "294247-01-10T04:00:54.775808", "a timestamp", None),
    ("csv", "294247-01-10T05:00:00+01:00", "a timestamp", 9223372036800000000),
    ("csv", "294247-01-10T04:00:00-01:00", "a timestamp", None),
    ("csv", "-290308-12-21T19:59:05.224192", "a timestamp", -(2**63)),
    ("csv", "-290308-12-21T19:59:05.2+01:00", "a timestamp", None),
    ("csv", "294247-01-10T04:00:54.775808", "a timestamp_ntz", None),
    ("json", '{"a":"999999-01-01"}', "a timestamp", None),
    ("csv", "5881580-07-11", "a date", 2**31 - 1),
    ("csv", "5881580-07-12", "a date", None),
    ("json", '{"a":"-5877641-06-22"}', "a date", None),
]
"""What `unix_micros` and `unix_date` say in Spark."""


@pytest.mark.parametrize(("file_format", "text", "schema", "expected"), MOMENTS)
def test_moments_and_days_at_the_end_of_time(
    tmp_path: Path, file_format: str, text: str, schema: str, expected: int | None
) -> None:
    lake = lake_of(tmp_path, file_format, f"{schema}, k string")
    lake.add("f.txt", text + ("\n" if file_format == "json" else ",k\n"))
    found = lake.scan(columns=["a"]).to_arrow().column("a").combine_chunks()
    number = pa.int32() if pa.types.is_date(found.type) else pa.int64()
    assert found.view(number).to_pylist() == [expected]


def test_an_integer_of_json_has_no_minus_zero(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, "json", "a double, b double")
    lake.add("f.json", '{"a":-0,"b":-0.0}\n{"a": -0 ,"b":1}\n')
    assert [math.copysign(1.0, value) for row in rows(lake) for value in row] == [1.0, -1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("encoding", "bad"),
    [("US-ASCII", b"\xc3\x9f"), ("windows-1252", b"\x81")],
)
def test_lines_of_json_that_are_no_text_of_their_encoding_are_refused(
    tmp_path: Path, encoding: str, bad: bytes
) -> None:
    """Each is a row of NULLs to Spark, where a whole file has U+FFFD."""
    head, tail = ('{"a":1,"b":"'.encode(encoding), '"}'.encode(encoding))
    for options, expected in (({}, None), ({"multiLine": True}, 1)):
        lake = lake_of(tmp_path / str(expected), "json", "a int, b string", {"encoding": encoding, **options})
        lake.add("f.json", head + bad + tail)
        if expected is None:
            with pytest.raises(ScanError, match=r"f\.json .* bytes that are none"):
                lake.read()
        else:
            assert lake.read()[0]["a"] == expected
        lake = lake_of(tmp_path / f"good {expected}", "json", "a int, b string", {"encoding": encoding, **options})
        lake.add("f.json", head + "é".encode(encoding, "ignore") + tail)
        assert lake.read()[0]["a"] == 1


def test_a_name_that_a_map_has_twice_is_there_twice(tmp_path: Path) -> None:
    """As in Spark, to which `m['k']` is the first and `size(m)` the number of both."""
    lake = lake_of(tmp_path, "json", "m map<string,int>")
    lake.add("f.json", '{"m":{"k":1,"l":2,"k":null,"k":3}}\n')
    assert lake.read() == [{"m": [("k", 1), ("l", 2), ("k", None), ("k", 3)]}]
