"""A CSV file without a header loses no first row in silence: where nobody says whether there is one, what looks like
data is not taken for names."""

import contextlib
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
from metaindex.core import MetaIndexError, UnsupportedFeatureError
from tests.tables import settled

from .folders import now, put


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
    root = folder(tmp_path / "t", text)
    assert mi.open_table(root).scan().to_arrow().num_rows == text.count("\n") - 1


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
    path = tmp_path_factory.mktemp("csv") / "t"
    root = folder(path, "".join(",".join(row) + "\n" for row in rows))
    sniffed = duckdb.sql(f"SELECT HasHeader FROM sniff_csv('{root}/0.csv')").fetchall()[0][0]
    if not sniffed:
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
