"""The columns of plain files: from footers, from the values of texts, or as they are given."""

import gzip
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from metaindex.core import CorruptTableError, FormatError, MetaIndexError, SparkDriver, UnsupportedFeatureError
from metaindex.formats.files import json_bounds
from metaindex.formats.files.beginnings import LOOKED_AT
from metaindex.formats.files.schema_text import MOST_DEEP, parse_ddl
from metaindex.table import open_table

from .folders import age, now, put


def test_a_parquet_schema_is_the_first_files_and_what_the_newest_has_besides(tmp_path: Path) -> None:
    age(put(tmp_path / "a.parquet", pa.table({"x": [1], "s": [{"i": 1}]})), 300)
    age(put(tmp_path / "c.parquet", pa.table({"old": [1]})), 200)
    age(put(tmp_path / "b.parquet", pa.table({"X": ["not this"], "added": [1.5]})), 100)
    schema = now(tmp_path).schema
    assert schema.names == ["x", "s", "added"]
    assert [".".join(leaf.parts) for leaf in schema.leaves()] == ["x", "s.i", "added"]
    assert schema.fields[0].type == pa.int64()


def test_a_file_that_is_no_parquet_is_an_error_that_names_it(tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", b"nonsense that is long enough")
    with pytest.raises(CorruptTableError, match=r"a\.parquet"):
        now(tmp_path)


CSV = b"""i,l,d,f,day,t,flag,s,none,mixed
1,1,12345678901234567890,1.5,2024-01-01,2024-01-01 10:00:00,true,x,,1
-2,3000000000,1,2,2024-12-31,2024-01-02T10:00:00.5Z,FALSE,"a,b",,x
,,,,,,,,,
"""


def test_csv_columns_have_the_types_that_their_values_have(tmp_path: Path) -> None:
    put(tmp_path / "a.csv", CSV)
    assert now(tmp_path).schema.arrow() == pa.schema(
        [
            ("i", pa.int32()),
            ("l", pa.int64()),
            ("d", pa.decimal128(20, 0)),
            ("f", pa.float64()),
            ("day", pa.date32()),
            ("t", pa.timestamp("us", "UTC")),
            ("flag", pa.bool_()),
            ("s", pa.string()),
            ("none", pa.string()),
            ("mixed", pa.string()),
        ]
    )


def test_csv_options_and_compression(tmp_path: Path) -> None:
    put(tmp_path / "a" / "0.csv.gz", gzip.compress(b"x;'y;z'\n1;'2'\n"))
    snapshot = now(tmp_path / "a", delimiter=";", quote="'")
    assert snapshot.schema.arrow() == pa.schema([("x", pa.int32()), ("y;z", pa.int32())])
    assert snapshot.details.read_options() == {"file_format": "csv", "header": "true", "sep": ";", "quote": "'"}
    put(tmp_path / "b" / "0.csv", b"1,a\n2,b\n")
    assert now(tmp_path / "b", header=False).schema.names == ["_c0", "_c1"]
    put(tmp_path / "c" / "0.tsv", b"p\tq\n1\t2\n")
    assert now(tmp_path / "c").schema.names == ["p", "q"]
    assert now(tmp_path / "c").details.read_options()["sep"] == "\t"
    put(tmp_path / "d" / "0.csv", "nämé\né\n".encode("latin-1"))
    assert now(tmp_path / "d", encoding="latin-1").schema.names == ["nämé"]


def test_schemas_of_files_that_are_not_split_by_lines(tmp_path: Path) -> None:
    put(tmp_path / "a" / "0.json", b'[{"i": 1, "s": "x"},\n {"i": 2.5,\n "l": [1]}]')
    json = now(tmp_path / "a", multiLine=True).schema.arrow()
    assert json == pa.schema([("i", pa.float64()), ("s", pa.string()), ("l", pa.list_(pa.int64()))])
    put(tmp_path / "b" / "0.csv", b'i,"s\nt"\n1,"x\ny"\n2,z\n')
    assert now(tmp_path / "b", multiLine=True).schema.arrow() == pa.schema([("i", pa.int32()), ("s\nt", pa.string())])
    for bad in (b"[{]", b"[1, 2]"):
        put(tmp_path / "e" / "0.json", bad)
        with pytest.raises(CorruptTableError, match=r"0\.json"):
            now(tmp_path / "e", multiLine=True)


def test_patterns_of_dates_and_times_say_which_columns_are_some(tmp_path: Path) -> None:
    put(tmp_path / "0.csv", b"d,t,other\n31.12.2024,31/12/2024 10:11,2024-12-31\n")
    types = now(tmp_path, dateFormat="dd.MM.yyyy", timestampFormat="dd/MM/yyyy HH:mm").schema.arrow().types
    assert types == [pa.date32(), pa.timestamp("us", "UTC"), pa.string()]
    assert now(tmp_path, dateFormat="EEE", timestampFormat="a").schema.arrow().types == [pa.string()] * 3


def test_merge_schema_takes_the_columns_of_all_files(tmp_path: Path) -> None:
    decimal = [pa.decimal128(p, 2) for p in (5, 9)]
    put(tmp_path / "a.parquet", pa.table({"a": [1], "s": [{"x": 1}], "d": pa.array([1], decimal[0])}))
    put(tmp_path / "b.parquet", pa.table({"b": ["x"], "s": [{"y": 1.5}]}))
    put(tmp_path / "c.parquet", pa.table({"A": [2], "d": pa.array([1], decimal[1])}))
    schema = now(tmp_path, mergeSchema=True).schema.arrow()
    struct = pa.struct([("x", pa.int64()), ("y", pa.float64())])
    assert schema == pa.schema([("a", pa.int64()), ("s", struct), ("d", decimal[1]), ("b", pa.string())])
    put(tmp_path / "d.parquet", pa.table({"a": ["text"]}))
    with pytest.raises(FormatError, match=r"a\.parquet.*d\.parquet"):
        now(tmp_path, mergeSchema=True)


def test_a_given_schema_wins(tmp_path: Path) -> None:
    put(tmp_path / "p=1" / "0.csv", b"a,b\n1,2\n")
    snapshot = now(tmp_path, schema="a STRING, b DECIMAL(10, 2), p BIGINT")
    assert snapshot.schema.arrow() == pa.schema([("a", pa.string()), ("b", pa.decimal128(10, 2)), ("p", pa.int64())])
    assert [f.partition for f in snapshot.schema] == [False, False, True]
    assert now(tmp_path, schema=pa.schema([("z", pa.int8())])).schema.names == ["z", "p"]
    for bad in ("a", "a STRUCT<b: INT", "a INT b INT", 7):
        with pytest.raises(UnsupportedFeatureError, match="schema"):
            now(tmp_path, schema=bad)


def test_json_lines_have_the_types_that_spark_gives(tmp_path: Path) -> None:
    put(
        tmp_path / "a.json", b'{"i":1,"t":"2024-01-01T00:00:00Z","s":{"x":1.5,"n":null},"l":[1]}\n{"i":2,"late":true}\n'
    )
    put(tmp_path / "b.json", b'{"i":2.5,"more":"x"}\n')
    age(tmp_path / "a.json")
    schema = now(tmp_path).schema.arrow()
    assert schema == pa.schema(
        [
            ("i", pa.float64()),
            ("t", pa.string()),
            ("s", pa.struct([("x", pa.float64()), ("n", pa.string())])),
            ("l", pa.list_(pa.int64())),
            ("late", pa.bool_()),
            ("more", pa.string()),
        ]
    )


LARGE_JSON = (
    b'{"alone":9223372036854775808,"beside":9223372036854775809,"wide":1,"double":9223372036854775808,'
    b'"huge":'
    + b"9"
    * 39
    + b',"least":-9223372036854775808,"s":{"x":18446744073709551615},"l":[18446744073709551615,1],'
    b'"text":"92233720368547758080"}\n{"beside":1,"wide":-12345678901234567890123456,"double":0.5,"l":null,"s":null}\n'
)


@pytest.mark.parametrize("piece", [8, 1 << 20])
def test_integers_of_json_beyond_64_bits_are_decimals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    """As doubles two neighbours were one value. What Spark makes of the same lines: `test_spark`."""
    monkeypatch.setattr("metaindex.formats.files.json_bounds.PIECE_BYTES", piece)
    put(tmp_path / "a.json", LARGE_JSON)
    types = {f.name: f.type for f in now(tmp_path).schema.arrow()}
    assert types == {
        "alone": pa.decimal128(19, 0),
        "beside": pa.decimal128(20, 0),
        "wide": pa.decimal128(26, 0),
        "double": pa.float64(),
        "huge": pa.float64(),
        "least": pa.int64(),
        "s": pa.struct([("x", pa.decimal128(20, 0))]),
        "l": pa.list_(pa.decimal128(20, 0)),
        "text": pa.string(),
    }


def test_text_that_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    put(tmp_path / "a" / "0.json", b"[1, 2]\nnonsense\n")
    put(tmp_path / "b" / "0.csv.gz", b"not gzip")
    for name in ("a", "b"):
        with pytest.raises(CorruptTableError, match="0\\."):
            now(tmp_path / name)


def test_two_names_that_differ_by_case_alone_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "0.parquet", pa.table({"a": [1], "A": [2]}))
    with pytest.raises(FormatError, match="case"):
        now(tmp_path)


def test_json_columns_do_not_depend_on_the_pieces_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        '{"n":1,"m":null,"s":{"x":1},"l":[]}',
        '{"n":2.5,"t":"2024-01-01T00:00:00Z","s":{"y":"a"},"l":[1]}',
        '{"m":true,"t":"never","s":{"x":2.5,"z":{"deep":[[1]]}},"l":[2.5,null]}',
        "",
        '{"late":"[{","n":3}',
    ]
    put(tmp_path / "a" / "0.json", "\r\n".join(lines).encode())
    whole = now(tmp_path / "a").schema.arrow()
    monkeypatch.setattr("metaindex.formats.files.json_bounds.PIECE_BYTES", 8)
    assert now(tmp_path / "a").schema.arrow() == whole
    put(tmp_path / "b" / "0.json", b'{"n":1}\n{"n":2}\n{"n":{"x":1}}\n')
    for piece in (8, 1 << 20):
        monkeypatch.setattr("metaindex.formats.files.json_bounds.PIECE_BYTES", piece)
        with pytest.raises(CorruptTableError, match=r"0\.json.*of one shape.*schema="):
            now(tmp_path / "b")


@given(st.binary(max_size=60).map(lambda some: bytes(b"[]{}\n\rx"[n % 7] for n in some)), st.integers(1, 9))
def test_levels_are_those_of_the_deepest_line_however_they_are_cut(text: bytes, at_once: int) -> None:
    deepest = 0
    for line in text.replace(b"\r", b"\n").split(b"\n"):
        depths = accumulate({91: 1, 123: 1, 93: -1, 125: -1}.get(byte, 0) for byte in line)
        deepest = max(deepest, *depths, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bounds, "_BRACKETS", at_once)
        assert json_bounds.levels(text, MOST_DEEP) == deepest


@pytest.mark.slow
def test_columns_are_inferred_within_bounds(tmp_path: Path) -> None:
    put(tmp_path / "a" / "0.json", b'{"id":1,"z":' + b"[" * 199 + b"1" + b"]" * 199 + b"}\n")
    assert [field.name for field in now(tmp_path / "a").schema] == ["id", "z"]
    for number, text in enumerate([
        b'{"id":1,"z":' + b"[" * 200 + b"1" + b"]" * 200 + b"}\n",
        b'{"id":1,"z":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}\n",
        b"".join(b'{"k%d":1}\n' % n for n in range(20_481)),
        b'{"a":{' + b",".join(b'"k%d":1' % n for n in range(20_480)) + b"}}",
    ]):  # fmt: skip
        put(tmp_path / f"b{number}" / "0.json", text)
        with pytest.raises(CorruptTableError, match=r"0\.json.*(levels|names); name the columns with schema="):
            now(tmp_path / f"b{number}")
    put(tmp_path / "c" / "0.csv", b"," * 20_480 + b"\n1,2\n")
    with pytest.raises(CorruptTableError, match=r"20,480 columns.*0\.csv.*maxColumns="):
        now(tmp_path / "c")
    assert len(now(tmp_path / "c", maxColumns=20_481).schema.fields) == 20_481
    put(tmp_path / "d" / "0.csv", b"".join(b",".join(b"%d" % n for n in range(2_000)) + b"\n" for _ in range(30)))
    named = now(tmp_path / "d", header=True), now(tmp_path / "d", header=True, multiLine=True)
    assert [len(snapshot.schema.fields) for snapshot in named] == [2_000, 2_000]
    put(tmp_path / "e" / "0.csv", b'"a\n",' * 20_480 + b"x\n1,2\n")
    with pytest.raises(CorruptTableError, match=r"20,480 columns"):
        now(tmp_path / "e", multiLine=True)


def test_a_link_to_nothing_hides_no_table(tmp_path: Path) -> None:
    for number in range(4):  # whichever the system names first
        (tmp_path / f"{number}.csv").symlink_to(tmp_path / "nothing")
    put(tmp_path / "a.csv", b"n\n1\n")
    assert now(tmp_path).files.paths.to_pylist() == ["a.csv"]


@pytest.mark.slow
def test_a_line_of_json_that_is_longer_than_what_is_looked_at_is_said_to_be_long(tmp_path: Path) -> None:
    """Not that an object goes over several lines: there is no second one."""
    put(tmp_path / "a.json", b'{"i":1,"s":"' + b"x" * LOOKED_AT + b'"}\n')
    with pytest.raises(CorruptTableError, match=r"a\.json.*its first line is longer than .*; name the columns with"):
        now(tmp_path)
    put(tmp_path / "b" / "a.json", b'{"i":1,\n"s":"x"}\n')
    with pytest.raises(CorruptTableError, match=r"goes over several .*multiLine=True.* first object alone"):
        now(tmp_path / "b")
    put(tmp_path / "c" / "a.json", b'[{"i":1},\n{"i":2}]\n')
    with pytest.raises(CorruptTableError, match=r"multiLine=True .*of files of lines it reads the first object alone"):
        now(tmp_path / "c")


@pytest.mark.parametrize("first", [b"null\n", b"\n null\nnull\n", b"null\r\n"])
def test_lines_of_null_before_the_first_object_have_no_columns(tmp_path: Path, first: bytes) -> None:
    """Arrow's own reader ended the process."""
    put(tmp_path / "a.json", first + b'{"id":1}\n')
    assert now(tmp_path).schema.arrow() == pa.schema([("id", pa.int64())])


@pytest.mark.parametrize("rest", [b"", b"\n", b"\n \n"])
def test_a_file_of_json_that_ends_too_early_is_to_be_written_again(tmp_path: Path, rest: bytes) -> None:
    put(tmp_path / "a.json", b'{"ts":"2024-01-01T00:00:00","bytes":1}\n')
    put(tmp_path / "b.json", b'{"ts":"2024-01-01T00:00:00","bytes":' + rest)
    with pytest.raises(CorruptTableError, match=r"ends within an object.*; write the file again, or remove it, or"):
        now(tmp_path)
    put(tmp_path / "b.json", b'{"ts":"2024-01-01T00:00:00","bytes":1}\n{"ts":"2024' + rest)
    with pytest.raises(CorruptTableError, match=r"; write the file again, or remove it, or name the columns"):
        now(tmp_path)


def test_files_of_several_formats_are_chosen_by_their_names_alone(tmp_path: Path) -> None:
    """A format that is said does not choose: it reads all files by it."""
    put(tmp_path / "a.csv", b"i\n1\n")
    put(tmp_path / "b.json", b'{"i":1}\n')
    with pytest.raises(UnsupportedFeatureError, match=r"; choose with glob=, or move the others away$"):
        now(tmp_path)


# Texts ----------------------------------------------------------------------------------------------------------------


PLAIN = {
    "BOOLEAN": pa.bool_(),
    "tinyint": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "bigint": pa.int64(),
    "FLOAT": pa.float32(),
    "double": pa.float64(),
    "STRING": pa.string(),
    "varchar(7)": pa.string(),
    "binary": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "DECIMAL": pa.decimal128(10, 0),
    "decimal(4)": pa.decimal128(4, 0),
    "decimal ( 38 , 6 )": pa.decimal128(38, 6),
}
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=6)

Written = tuple[str, pa.DataType]


def fields(types: st.SearchStrategy[Written]) -> st.SearchStrategy[list[tuple[str, Written]]]:
    return st.lists(st.tuples(NAMES, types), min_size=1, max_size=3, unique_by=lambda field: field[0])


def listed(parts: list[tuple[str, Written]], between: str) -> str:
    escaped = [(name.replace("`", "``"), text) for name, (text, _) in parts]
    return ", ".join(f"`{name}`{between}{text}" for name, text in escaped)


def struct(parts: list[tuple[str, Written]]) -> Written:
    return f"STRUCT<{listed(parts, ': ')}>", pa.struct([pa.field(name, t) for name, (_, t) in parts])


TYPES = st.recursive(
    st.sampled_from(list(PLAIN.items())),
    lambda inner: (
        inner.map(lambda of: (f"array<{of[0]}>", pa.list_(of[1])))
        | st.tuples(inner, inner).map(lambda two: (f"MAP<{two[0][0]}, {two[1][0]}>", pa.map_(two[0][1], two[1][1])))
        | fields(inner).map(struct)
    ),
    max_leaves=6,
)


@given(fields(TYPES), st.sampled_from([" ", ": "]))
def test_what_is_written_is_read(parts: list[tuple[str, Written]], between: str) -> None:
    assert parse_ddl(listed(parts, between)) == pa.schema([pa.field(name, t) for name, (_, t) in parts])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a INT NOT NULL COMMENT 'it''s, so', b struct<c: int NOT NULL COMMENT 'x>'>", ["a", "b"]),
        ("`a b` INT, c.d STRING,", ["a b", "c.d"]),
        ("not INT, comment STRING", ["not", "comment"]),
    ],
)
def test_what_stands_besides_names_and_types(text: str, names: list[str]) -> None:
    assert parse_ddl(text).names == names


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", "''"),
        ("a", "''"),
        ("a INT b INT", "' b INT'"),
        ("a INT,, b INT", "', b INT'"),
        ("a decimal(39, 2)", "' decimal(39, 2)'"),
        ("a decimal(5, 6)", "' decimal(5, 6)'"),
        ("a array<int", "''"),
        ("a map<int>", "'>'"),
        ("a varchar", "''"),
        ("a INT(3)", "'(3)'"),
        ("a variant", "' variant'"),
        ("a 'x'", "\" 'x'\""),
        ("a `", "' `'"),
        ("a " + "array<" * 60 + "int" + ">" * 60, "'array<array<"),
        ("a decimal(" + "9" * 5000 + ")", "'999"),
    ],
)
def test_what_is_no_schema_is_refused_where_it_stands(text: str, at: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        parse_ddl(text)
    assert f"cannot read {at}" in str(caught.value)
    assert len(str(caught.value)) < 300


@given(st.text(st.sampled_from("ab <>(),:`'1\\intarydecmlsuop"), max_size=40))
def test_any_text_is_a_schema_or_an_error_of_ours(text: str) -> None:
    with suppress(MetaIndexError):
        assert parse_ddl(text).names


def test_a_schema_is_no_deeper_than_a_text_may_be(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}\n')
    t = pa.int32()
    for _ in range(MOST_DEEP):
        t = pa.list_(t)
    open_table(tmp_path, schema=pa.schema([("a", t)]))
    for _ in range(3000):
        t = pa.list_(t)
    with pytest.raises(UnsupportedFeatureError, match="'a' is deeper"):
        open_table(tmp_path, schema=pa.schema([("a", t)]))


@pytest.mark.spark
def test_spark_reads_the_same_columns(spark: SparkSession, tmp_path: Path) -> None:
    from metaindex.formats.files.schema_text import plain_type

    quoted = "it is" if spark.version.startswith("3.5") else "it''s"  # a quote written twice is one from 4.0 on
    for text in (
        f"a INT, b DECIMAL(10,2) NOT NULL COMMENT '{quoted}', c STRUCT<d: STRING COMMENT 'x>', `e ``f`: ARRAY<"
        "MAP<STRING, DATE>>>",
        "ts TIMESTAMP, n TIMESTAMP_NTZ, t ARRAY<DEC>, s struct<not: int, comment: string>",
    ):
        theirs = SparkDriver.arrow_of(spark.read.schema(text).json(str(tmp_path))).schema
        ours = parse_ddl(text)
        assert ours.names == theirs.names
        assert [plain_type(field.type) for field in theirs] == [field.type for field in ours]
