"""What the first file, or its first lines, do not say of the columns of CSV and JSON: empty parts, comments, blank
lines, an unended line. No row and no column is lost in silence."""

import contextlib
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.cli import main
from metaindex.core import CorruptTableError, MetaIndexError, UnsupportedFeatureError
from tests.tables import settle, settled

from .folders import now, put

ROWS = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
CSV = b"a,b\n1,2\n3,4\n"
JSON = b'{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n'


def lake(root: Path, files: dict[str, bytes]) -> str:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    settle(root)
    return str(root)


EMPTY = {"nothing": b"", "an end": b"\n", "blanks": b"   \n\t\n", "a mark": b"\xef\xbb\xbf"}


@pytest.mark.parametrize("first", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize(("kind", "rest"), [("csv", CSV), ("json", JSON)])
@pytest.mark.parametrize("later", [False, True], ids=["first", "newest"])
def test_a_file_without_a_line_says_nothing_of_columns(
    tmp_path: Path, kind: str, first: bytes, rest: bytes, later: bool
) -> None:
    """Also where it is the first and the newest one, of three."""
    names = ["b", "c"] if later else ["c", "b"]
    root = lake(tmp_path / "t", {f"{name}.{kind}.gz": rest if name == "b" else first for name in names})
    table = mi.open_table(root)
    assert table.scan().to_arrow().to_pylist() == ROWS
    table.create_index("i", mi.ColumnStats())
    (tmp_path / "t" / f"a.{kind}.gz").write_bytes(gzip.compress(first))
    again = mi.open_table(root)
    assert again.scan().to_arrow().to_pylist() == ROWS
    assert again.scan("a = 3").to_arrow().to_pylist() == ROWS[1:]


def test_files_that_all_have_no_line(tmp_path: Path) -> None:
    table = mi.open_table(lake(tmp_path / "t", {"a.csv.gz": b"", "b.csv.gz": b"\n"}))
    assert table.scan().to_arrow().num_rows == 0
    with pytest.raises(MetaIndexError, match="the table has none"):
        table.count()


@pytest.mark.parametrize("whole", [False, True])
def test_a_line_of_megabytes_behind_a_file_without_one_is_read_to_its_end(tmp_path: Path, whole: bool) -> None:
    rows = [{"a": 1, "s": "x" * (2 << 20)}]
    empty = b"[]" if whole else b""
    text = json.dumps(rows if whole else rows[0]).encode()
    root = lake(tmp_path / "t", {"a.json": empty, "b.json": text, "c.json": empty})
    assert mi.open_table(root, multiLine=whole).scan().to_arrow().to_pylist() == rows


def test_megabytes_of_blanks_are_a_doubt(tmp_path: Path) -> None:
    """Behind them there may be a line; and whoever writes them makes nobody read gigabytes."""
    root = lake(tmp_path / "t", {f"{name}.csv.gz": b" " * (5 << 20) for name in "abcd"} | {"e.csv.gz": CSV})
    with pytest.raises(CorruptTableError, match=r"2 of 5 files.*name the columns with schema="):
        mi.open_table(root).scan()


BEGINNINGS = [
    (b"# said\n#again\n" + CSV, {"header": True, "comment": "#"}),
    (b"# said\n#again\na,b\n1,2\n#9,9\n3,4\n", {"header": True, "comment": "#"}),
    (b"#said\n" + CSV, {"header": True, "comment": "#", "multiLine": True}),
    (b"   \n\n" + CSV, {"header": True}),
    (b"\t\n" + CSV.replace(b",", b"\t"), {"header": True, "sep": "\t"}),
    (CSV.removesuffix(b"\n"), {"header": True}),
]


@pytest.mark.parametrize(("text", "options"), BEGINNINGS)
def test_lines_that_are_passed_over_are_no_names(tmp_path: Path, text: bytes, options: dict[str, object]) -> None:
    assert mi.open_table(lake(tmp_path / "t", {"a.csv": text}), **options).scan().to_arrow().to_pylist() == ROWS


def test_a_comment_before_rows_without_a_header(tmp_path: Path) -> None:
    root = lake(tmp_path / "t", {"a.csv": b"#x\n1,2\n3,4\n"})
    rows = mi.open_table(root, header=False, comment="#").scan().to_arrow().to_pylist()
    assert rows == [{"_c0": 1, "_c1": 2}, {"_c0": 3, "_c1": 4}]


def test_names_alone_without_an_end(tmp_path: Path) -> None:
    table = mi.open_table(lake(tmp_path / "t", {"a.csv": b"a,b", "b.csv": CSV}), header=True)
    assert table.scan().to_arrow().num_rows == 2


@pytest.mark.parametrize("more", [{}, {"schema": "a INT, b INT"}], ids=["inferred", "said"])
def test_a_later_file_without_a_header_asks_for_the_choice(tmp_path: Path, more: dict[str, str]) -> None:
    root = lake(tmp_path / "t", {"a.csv": b"a,b\n1,2\n", "b.csv": b"3,4\n5,6\n"})
    with pytest.raises(UnsupportedFeatureError, match=r"'b\.csv' looks like data .*header=False.*header=True"):
        mi.open_table(root, **more).scan()


def test_a_partition_amid_the_columns_of_csv_is_refused(tmp_path: Path) -> None:
    """Behind them it is one; and all of the files can be read without the folders."""
    for day in (1, 2):
        lake(tmp_path / "t", {f"day={day}/x.csv": b"day,amount,id\n%d,%d00,0\n" % (day, day)})
        lake(tmp_path / "last", {f"day={day}/x.csv": b"amount,id,day\n%d00,0,%d\n" % (day, day)})
    with pytest.raises(UnsupportedFeatureError, match=r"'day' is a partition.*recursiveFileLookup=True"):
        mi.open_table(tmp_path / "t", header=True).scan()
    rows = [{"day": day, "amount": day * 100, "id": 0} for day in (1, 2)]
    assert mi.open_table(tmp_path / "t", header=True, recursiveFileLookup=True).scan().to_arrow().to_pylist() == rows
    assert (
        mi.open_table(tmp_path / "last", header=True).scan(columns=["day", "amount", "id"]).to_arrow().to_pylist()
        == rows
    )


def test_objects_that_go_over_lines_are_no_json_lines(tmp_path: Path) -> None:
    root = lake(tmp_path / "t", {"a.json": b'{\n "a": 1\n}\n{\n "a": 2\n}\n'})
    with pytest.raises(CorruptTableError, match="multiLine=True"):
        mi.open_table(root).scan()


def test_gzip_by_another_name_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(gzip.compress(CSV * 50))
    with pytest.raises(CorruptTableError, match=r"ends in \.gz"):
        mi.open_table(tmp_path).scan()


def test_columns_that_are_nested_too_deep_are_told(tmp_path: Path) -> None:
    root = lake(tmp_path / "t", {"a.json": b'{"a":' * 130 + b"1" + b"}" * 130 + b"\n"})
    with pytest.raises(UnsupportedFeatureError, match="120 levels"):
        mi.open_table(root).create_index("i", mi.ColumnStats(), builder="local")


# Headers --------------------------------------------------------------------------------------------------------------


def folder(root: Path, *texts: str) -> Path:
    settled(root, {f"{number}.csv": text for number, text in enumerate(texts)})
    return root


DATA = {
    "ranges of addresses": "16777216,16777471,AU\n16777472,16778239,CN\n",
    "a day and a text": "2024-01-01,x\n2024-01-02,y\n",
    "numbers with a gap": ",5,a\n3,6,b\n",
    "texts that come again": "AU,Sydney\nUS,Boston\nAU,Perth\n",
    "one row of numbers": "1,2.5\n",
    "truths": "true,b\nfalse,c\n",
}
NAMES = {
    "names of numbers": "id,amount\n1,2\n3,4\n",
    "names of texts": "city,country\nSydney,AU\nBoston,US\n",
    "one name of a number among years": "id,2019,2020\n7,1,2\n",
    "files put together": "city,country\nSydney,AU\ncity,country\nBoston,US\n",
    "nothing but names": "a,b\n",
    "one column": "name\nx\ny\n",
    "a nameless one": ",x\n1,2\n",
}


@pytest.mark.parametrize("text", DATA.values(), ids=DATA)
def test_a_first_row_that_looks_like_data_asks_for_the_choice(text: str, tmp_path: Path) -> None:
    root = folder(tmp_path / "t", text)
    with pytest.raises(UnsupportedFeatureError, match=r"'0\.csv' looks like data .*header=False.*header=True"):
        mi.open_table(root).create_index("i", mi.ColumnStats())
    rows = text.count("\n")
    assert mi.open_table(root, header=False).scan().to_arrow().num_rows == rows
    assert mi.open_table(root, header=True).scan().to_arrow().num_rows == rows - 1


@pytest.mark.parametrize("text", NAMES.values(), ids=NAMES)
def test_names_are_names(text: str, tmp_path: Path) -> None:
    assert mi.open_table(folder(tmp_path / "t", text)).scan().to_arrow().num_rows == text.count("\n") - 1


@pytest.mark.parametrize(
    ("schema", "text", "data"),
    [
        ("a BIGINT, b STRING", "1,x\n2,y\n", True),
        ("a BIGINT, b STRING", "n,m\n2,y\n", False),
        ("a STRING, b STRING", "a,zzz\nzzz,zzz\nq,zzz\n", False),  # it is called as the schema says
        ("a STRING, b STRING", "x,zzz\nq,zzz\n", True),
        ("a DECIMAL(10,2)", "1.50\n", True),
    ],
)
def test_columns_that_the_user_names(schema: str, text: str, data: bool, tmp_path: Path) -> None:
    root = folder(tmp_path / "t", text)
    if data:
        with pytest.raises(UnsupportedFeatureError, match=r"looks like data.*those of schema="):
            mi.open_table(root, schema=schema).scan()
        assert mi.open_table(root, schema=schema, header=False).scan().to_arrow().num_rows == text.count("\n")
    else:
        assert mi.open_table(root, schema=schema).scan().to_arrow().num_rows == text.count("\n") - 1


def test_what_cannot_be_read_is_the_readers_business(tmp_path: Path) -> None:
    root = folder(tmp_path / "t", '1,"x\n2,y,z\n')
    assert mi.open_table(root, schema="a INT, b STRING").schema.names == ["a", "b"]


def test_the_command_line_says_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = folder(tmp_path / "t", DATA["ranges of addresses"], "1,2,US\n")
    assert main(["create", str(root), "i"]) == 1
    assert "--option header=false" in capsys.readouterr().err
    assert main(["create", str(root), "i", "--option", "header=false"]) == 0
    assert main(["count", str(root), "_c2 = 'AU'", "--option", "header=false"]) == 0


@pytest.mark.slow
def test_verbs_on_an_index_know_the_options_that_it_was_built_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = folder(tmp_path / "t", DATA["ranges of addresses"])
    mi.open_table(root, header=False).create_index("i", mi.ColumnStats())
    settled(root, {"more.csv": "1,2,US\n"})
    (told,) = mi.open_table(root).indexes()
    assert (told.problem, told.new_files) == ("", 1)
    for verb in ("refresh", "verify", "repair", "optimize", "history", "clean"):
        assert main([verb, str(root), "i"]) == 0, verb
    assert "is right" in capsys.readouterr().out
    asked = mi.open_table(root, header=False).prune("_c0 = 1")
    assert (asked.kept_files, asked.total_files) == (1, 2)
    assert mi.open_table(root).scan().to_arrow() == mi.open_table(root, header=False).scan().to_arrow()
    with pytest.raises(UnsupportedFeatureError, match="other reader options"):
        mi.open_table(root, header=True).refresh_index("i")


@given(st.data())
def test_what_duckdb_sniffs_as_data_is_never_taken_for_names(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """With at least one column that is no text: of texts alone it guesses."""
    kinds = data.draw(st.lists(st.sampled_from(["int", "date", "text"]), min_size=1, max_size=3))
    if set(kinds) == {"text"}:
        kinds.append("int")
    of = {
        "int": st.integers(0, 10**6).map(str),
        "date": st.dates().map(str),
        "text": st.sampled_from(["x", "AU", "zed"]),
    }
    rows = data.draw(st.lists(st.tuples(*(of[kind] for kind in kinds)), min_size=3, max_size=6))
    root = folder(tmp_path_factory.mktemp("csv") / "t", "".join(",".join(row) + "\n" for row in rows))
    if not duckdb.sql(f"SELECT HasHeader FROM sniff_csv('{root}/0.csv')").fetchall()[0][0]:
        with pytest.raises(UnsupportedFeatureError, match="looks like data"):
            mi.open_table(root).scan()


ODD = [",", ";", '"', "\\", "", "\0", "\t", "\n", "\r", "\x7f", "\xb4", "\u2028", "\U0001f600", "ab"]
ENCODINGS = ["utf-8", "utf-16", "utf-7", "cp037", "idna", "punycode", "undefined", "base64", "unicode_escape", "x"]


@given(
    options=st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(["sep", "quote", "escape", "comment", "nullValue", "lineSep"], st.sampled_from(ODD)),
            **dict.fromkeys(["header", "multiLine"], st.sampled_from(["true", "false", "perhaps", ""])),
            "encoding": st.sampled_from(ENCODINGS),
            "schema": st.sampled_from(["a STRING, b BIGINT", "a DATE"]),
        },
    ),
    data=st.one_of(
        st.binary(max_size=40), st.text(max_size=40).map(str.encode), st.text('1a,;"\\\n\r\x85 ').map(str.encode)
    ),
    form=st.sampled_from(["csv", "json"]),
)
def test_whatever_options_say_no_error_is_another_librarys(
    tmp_path_factory: pytest.TempPathFactory, options: dict[str, str], data: bytes, form: str
) -> None:
    path = tmp_path_factory.mktemp("odd")
    (path / f"0.{form}").write_bytes(data)
    with contextlib.suppress(MetaIndexError):
        mi.open_table(path, format=form, **options).scan().to_arrow()


@pytest.mark.parametrize(
    ("data", "cure"),
    [
        (
            "id,name\n1,é\n".encode("utf-16"),
            "begins as UTF-16 or UTF-32: write it in UTF-8, or say --option encoding=... and --option schema=...",
        ),
        (b"PAR1" + bytes(range(256)) * 40, "begins as Parquet: say --format parquet"),
        ("id,name\n1,café\n".encode("latin-1"), "say --option encoding="),
        ('id,name\n1,"x\n2,é,é,é\n'.encode("latin-1"), "say --option encoding="),  # a row that Arrow would hand over
        ("id,né\n1,x\n".encode("latin-1"), "say --option encoding="),
    ],
)
@pytest.mark.slow
def test_what_is_no_utf8_is_told_with_its_cure(data: bytes, cure: str, tmp_path: Path) -> None:
    """By a process of its own: where Arrow cannot decode a row that it hands over, it prints a traceback, which nothing
    catches, and a thread of its stream may outlive the process and abort it."""
    root = settled(tmp_path / "t", {"a.csv": data})
    ran = subprocess.run(
        [sys.executable, "-m", "metaindex", "scan", str(root)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert re.search(cure, ran.stderr), ran.stderr
    assert ran.stderr.count("\n") == 1, ran.stderr


@pytest.mark.parametrize(("mark", "said"), [(";", ";"), ("\t", r"\\t"), ("|", r"\|")])
def test_lines_of_one_column_that_look_like_several_are_not_taken_for_one(tmp_path: Path, mark: str, said: str) -> None:
    """The first row of every file would be the name of one text."""
    for number, rows in enumerate(("x1;a\nx2;b\nx3;c\n", "0;x38;2024-01-01\n1;x39;2024-01-02\n")):
        put(tmp_path / str(number) / "0.csv", rows.replace(";", mark).encode())
        with pytest.raises(UnsupportedFeatureError, match=rf"is one column, and it has .*; say delimiter='{said}'"):
            now(tmp_path / str(number))
        with pytest.raises(UnsupportedFeatureError, match=r"delimiter="):
            now(tmp_path / str(number), header=False)
        assert len(now(tmp_path / str(number), header=False, delimiter=mark).schema.fields) == 2 + number
        assert len(now(tmp_path / str(number), header=True, delimiter=",").schema.fields) == 1


def test_one_column_is_one_where_its_name_has_no_mark(tmp_path: Path) -> None:
    for number, rows in enumerate(("name\na;b\nc;d\n", "x\n1\n2\n", "a,b\n1;2,3;4\n5;6,7;8\n", "a;b,c\nx;y,z\n")):
        put(tmp_path / str(number) / "0.csv", rows.encode())
        assert now(tmp_path / str(number)).schema.fields
    put(tmp_path / "t.tsv", b"a;b\nc;d\n")
    assert now(tmp_path / "t.tsv").schema.names == ["a;b"]
