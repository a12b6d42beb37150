"""What a statement says, whatever stands in a name: it is one statement, of these names and no others."""

import ast
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advisor.clustering.layouts import Rewrite, text_python
from metaindex.formats import TableRef

NAMES = ['a"b', "a`b", "a'b", "a\\", "a\nb", "a\rb", "a\0b", "a\x1b[31mb", "a\u2028b", "a\u202eb", "\ud800", "é", '\\"']


def copy_of(path: str, column: str) -> str:
    """The statement for plain files."""
    (statement,) = Rewrite("files", path, "", ((column,),), "sort", 1000, 8, (column,)).statements()
    return statement


@pytest.mark.parametrize("name", NAMES)
def test_a_line_of_python_is_one_call_whatever_is_in_its_names(name: str) -> None:
    statement = copy_of(f"/lake/{name}", name)
    (call,) = ast.parse(statement).body
    texts = {node.value for node in ast.walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert isinstance(call, ast.Expr)
    assert texts == {
        f"/lake/{TableRef.literal(name)}",
        f"/lake/{name}-sorted",
        "`" + name.replace("`", "``") + "`",
        name,
    }
    assert statement.isprintable()


@given(st.text())
def test_a_text_of_python_is_that_text(text: str) -> None:
    assert ast.literal_eval(text_python(text)) == text
    assert text_python(text).isprintable()


@pytest.mark.parametrize("name", ["a[1]", "a{1,2}", "a*b", "a?b", "a]b", "a[!x]", "a[b", "a'b", "${env:HOME}"])
def test_a_copy_by_duckdb_is_of_this_folder_alone(name: str, tmp_path: Path) -> None:
    for folder in {name, "a1", "a2", "axb", "ay"}:
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table({"n": [folder]}), tmp_path / folder / "f.parquet")
    (statement,) = Rewrite("files", str(tmp_path / name), "", (("n",),), "sort", 1_000_000, 1).otherwise()
    duckdb.connect().execute(statement)
    assert pq.read_table(f"{tmp_path / name}-sorted").column("n").to_pylist() == [name]


def test_what_no_pattern_of_duckdb_can_say_is_not_said() -> None:
    assert Rewrite("files", "/lake/a\\b", "", (("n",),), "sort", 1000, 1).otherwise() == ()


@pytest.mark.parametrize("name", ["${env:HOME}", "a${x}"])
def test_spark_is_told_to_take_names_for_what_they_are(name: str) -> None:
    off = "SET spark.sql.variable.substitute = false"
    for table_format in ("delta", "iceberg"):
        in_path = Rewrite(table_format, f"/lake/db/{name}", "", (("n",),), "sort", 1000, 8)
        in_column = Rewrite(table_format, "/lake/db/t", "", ((name,),), "sort", 1000, 8)
        for rewrite in (in_path, in_column):
            assert rewrite.statements()[0] == off
            assert rewrite.otherwise()[:1] in ((off,), ())
        assert off not in Rewrite(table_format, "/lake/db/t", "", (("$n",),), "sort", 1000, 8).statements()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lake.a.b.t1", "table => 'a.b.t1'"),
        ("lake.a.`b.t1`", "table => 'a.`b.t1`'"),
        ("lake.a`b.t1", "table => '`a``b`.t1'"),
    ],
)
def test_a_table_of_a_catalog_keeps_the_parts_of_its_name(name: str, said: str) -> None:
    (statement,) = Rewrite("iceberg", "/w/t", name, (("n",),), "sort", 1000, 8).statements()
    assert said in statement
