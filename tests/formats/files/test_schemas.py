"""The columns of plain files: from footers, from the values of texts, or as they are given."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from metaindex.core import CorruptTableError, FormatError, UnsupportedFeatureError
from metaindex.formats.files.beginnings import LOOKED_AT

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
