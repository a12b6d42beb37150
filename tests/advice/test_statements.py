"""What a statement says, whatever stands in a name: it is one statement, of these names and no others."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advice.statements import Rewrite, text_python

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
    assert texts == {f"/lake/{name}", f"/lake/{name}-sorted", "`" + name.replace("`", "``") + "`", name}
    assert statement.isprintable()


@given(st.text())
def test_a_text_of_python_is_that_text(text: str) -> None:
    assert ast.literal_eval(text_python(text)) == text
    assert text_python(text).isprintable()
