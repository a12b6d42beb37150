"""A CSV file that another mark than the comma separates is refused with the choice; one that commas separate never is,
whatever its texts hold."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions.errors import UnsupportedFeatureError
from metaindex.formats.files.separator import check_separator
from tests.tables import settle

MARKS = [";", "\t", "|"]
TEXTS = st.text(alphabet=st.one_of(st.sampled_from(list(';\t|,"\\\n\r a1')), st.characters(codec="utf-8")), max_size=8)


def written(rows: list[list[str]], delimiter: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


@given(st.integers(2, 4).flatmap(lambda width: st.lists(st.lists(TEXTS, min_size=width, max_size=width), max_size=6)))
def test_what_commas_separate_is_never_refused(rows: list[list[str]]) -> None:
    check_separator("t.csv", written(rows, ","), '"')


@given(st.lists(TEXTS.map(lambda text: text.translate({ord(mark): " " for mark in ";\t|"})), max_size=6))
def test_one_column_without_a_mark_in_its_name_is_never_refused(rows: list[str]) -> None:
    check_separator("t.csv", "note\r\n" + written([[row + ";"] for row in rows], ","), '"')


PLAIN = st.text(alphabet="ab ,1.", min_size=1, max_size=6).filter(lambda text: bool(text.strip()))


@given(st.data(), st.sampled_from(MARKS), st.integers(2, 4))
def test_what_another_mark_separates_is_refused_unless_commas_may(data: st.DataObject, mark: str, width: int) -> None:
    rows = data.draw(st.lists(st.lists(PLAIN, min_size=width, max_size=width), min_size=2, max_size=6))
    text = "".join(mark.join(row) + "\n" for row in rows)
    widths = {line.count(",") for line in text.splitlines()}
    if len(widths) == 1 and widths != {0}:
        check_separator("t.csv", text, '"')
        return
    with pytest.raises(UnsupportedFeatureError, match="say delimiter='") as told:
        check_separator("t.csv", text, '"')
    said = "\\t" if mark == "\t" else mark
    assert f"delimiter='{said}'" in str(told.value)


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(
    "values",
    [["name", "a, b", "c"], ["price", "1,5", "2,5"], ['"a, b"', "c", "d"], ["x", '"a; b"', "c, d"]],
    ids=["texts", "decimals", "in quotes", "marks in quotes"],
)
def test_a_table_of_such_files_is_refused_with_the_choice(tmp_path: Path, mark: str, values: list[str]) -> None:
    lines = [f"id{mark}v", *(f"{at}{mark}{value}" for at, value in enumerate(values))]
    (tmp_path / "0.csv").write_text("\n".join(lines))
    said = "\\t" if mark == "\t" else mark
    with pytest.raises(UnsupportedFeatureError) as told:
        mi.open_table(tmp_path).snapshot()
    assert f"say delimiter='{said}' where that separates them, delimiter=',' where " in str(told.value)
    schema = mi.open_table(tmp_path, delimiter=mark).snapshot().schema
    assert [field.name for field in schema] == ["id", "v"]
    assert len([*mi.open_table(tmp_path, delimiter=",").snapshot().schema]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "note\na; b\nc; d\n",  # one column, whose name holds no mark
        'note,id\n"a; b",1\n"c; d",2\n',
        "a;b,c\nx;y,z\nx;y,z\n",  # two columns by commas, and by semicolons
        "a;b\n",  # nothing but names
        'a;b\n"x\ny";"z\nw"\n',  # over lines
        'a;b\n"x;y"\n"z;w"\n',  # one column of texts
        "a;b\n1;2;3\n1;2\n",
        f"id,text;more\n1,{'x' * 200_000};y\n",  # longer than Python's own limit of a field
        'id,"note; x",c\n1,"a; b"\n2,"a; b",c\n',  # marks in quotes, and rows that end early
    ],
)
def test_what_is_not_for_certain_of_another_mark_is_left(text: str) -> None:
    check_separator("t.csv", text, '"')


def test_a_long_file_is_not_looked_at_to_its_end() -> None:
    beginning = "a;b\n" + "1;x, y\n" * 2000
    with pytest.raises(UnsupportedFeatureError):
        check_separator("t.csv", beginning + "no mark\n" * 10, '"')
    with pytest.raises(UnsupportedFeatureError):
        check_separator("t.csv", "a;b\n" + ("1;" + "x, " * 10_000 + "\n") * 100, '"')


@pytest.mark.parametrize("built", [{}, {"delimiter": ","}])
def test_a_comma_that_is_said_is_another_reading_where_tabs_go_without_saying(
    tmp_path: Path, built: dict[str, str]
) -> None:
    """Files called .tsv: an index of the one reading is none of the other, as long as it lives."""
    for number in range(3):
        (tmp_path / f"p{number}.tsv").write_text(f"id,n\n{number}\t{number},x{number}\n")
    settle(tmp_path)
    schema = "id STRING, n STRING"
    mi.open_table(tmp_path, schema=schema, **built).create_index("i", mi.ColumnStats(), builder="local")
    asked = ("id = '1\t1'", "id = '1'", "n = 'x1'", "n = '1,x1'")
    unsaid, said = mi.open_table(tmp_path, schema=schema), mi.open_table(tmp_path, schema=schema, delimiter=",")
    assert [unsaid.count(each) for each in asked] == [0, 1, 0, 1]
    assert [said.count(each) for each in asked] == [1, 0, 1, 0]
    (tmp_path / "p9.tsv").write_text("id,n\n9\t9,x9\n")
    settle(tmp_path)
    mi.hooks.after_commit(str(tmp_path), mode="synchronous", builder="local")
    assert (unsaid.count("n = '9,x9'"), said.count("n = 'x9'")) == (1, 1)
