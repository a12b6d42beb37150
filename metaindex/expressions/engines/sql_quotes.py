"""Refuses a name in double quotes, which is a text to Spark, where other engines read a column. A condition that
compares such a text with a constant is the same for every row: the error gives both ways to write what is meant."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from metaindex.core import ExpressionError

from .casts import type_by_any_case


def refuse_quoted_names(text: str, tree: exp.Expression, schema: pa.Schema, dialect: str) -> None:
    """ExpressionError for a comparison without columns, of a text in double quotes that is a column's name."""
    if '"' not in text or dialect != "spark":
        return
    said = _in_double_quotes(text, dialect)
    names = {name for name in said if type_by_any_case(schema, tuple(name.split("."))) is not None}
    if not names:
        return
    for node in tree.find_all(exp.Predicate):
        if node.find(exp.Column, exp.Query) is not None:
            continue
        for literal in node.find_all(exp.Literal):
            if literal.is_string and str(literal.this) in names:
                name = str(literal.this)
                raise ExpressionError(
                    f'names stand in backticks, as in Spark, and double quotes hold texts; "{name}" is compared with a'
                    f" constant, for every row alike; write `{name}` for the column, or '{name}' for the text"
                )


def _in_double_quotes(text: str, dialect: str) -> Iterator[str]:
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except SqlglotError:
        return
    for token in tokens:
        if token.token_type is sqlglot.TokenType.STRING and text[token.start] == '"':
            yield token.text
