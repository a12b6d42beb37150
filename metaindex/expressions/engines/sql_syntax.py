"""The text of a condition as the parser's tree; where it is none, an error that says where, in one line.

Refused are, too, what the parser takes and Spark's does not: a semicolon, missing elements of a list, IN without a
list, brackets that are no index, words of other databases. Who writes `IN (1,)` has left something out, mostly by a
program; what they meant is not for us to guess. So is a name in double quotes, which is a text to Spark
where other engines read a column: a comparison of such a text with a constant is the same for every row, so the error
gives both ways to write what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.tokens import Token, TokenType

from metaindex.core import ExpressionError

from .casts import type_by_any_case


def syntax_tree(text: str, dialect: str) -> exp.Expression:
    """ExpressionError for a text that is no condition, or that the dialect would not read."""
    refuse_lax(text, dialect)
    try:
        tree = sqlglot.parse_one(quotes_escaped(text, dialect), read=dialect, into=exp.Condition)
    except ParseError as error:
        raise ExpressionError(_one_line(text, error)) from None
    except RecursionError:
        raise ExpressionError(
            "a condition must not be nested too deeply to be read; flatten it into AND and OR lists"
        ) from None
    except (SqlglotError, ValueError) as error:
        if quote := unclosed(text):
            raise ExpressionError(
                f"a condition must be one SQL expression; {text[:80]!r} has a quote, {quote}, that is not closed; write"
                f" {quote} at the end of the text or name"
            ) from None
        reason = " ".join(str(error).split())
        raise ExpressionError(f"a condition must be one SQL expression; {text[:80]!r}: {reason[:160]}") from None
    if isinstance(tree, (exp.Query, exp.Alias)) or not isinstance(tree, exp.Expression):
        raise ExpressionError(f"a condition must be one SQL expression, as after WHERE; {text[:80]!r} is a statement")
    return tree


def _one_line(text: str, error: ParseError) -> str:
    if not text.strip():
        return "a condition must not be empty; to ask for every row write TRUE"
    first = error.errors[0] if error.errors else {}
    what = " ".join(str(first.get("description") or error).split()).rstrip(".")
    if what.startswith("Required keyword"):  # names a class of the parser
        what = "something is missing behind it"
    near = (
        f"{first.get('start_context', '')[-30:]}>>>{first.get('highlight', '')}<<<{first.get('end_context', '')[:30]}"
    )
    word = text.split(maxsplit=1)[0].lower()
    if word in {"where", "select"}:
        what += f"; write what stands behind WHERE, without {'the word' if word == 'where' else 'the rest'}"
    return (
        f"a condition must be one SQL expression; at line {first.get('line', 1)}, column {first.get('col', 1)}, "
        f"near {' '.join(near.split())!r}: {what}"
    )


def quotes_escaped(text: str, dialect: str = "spark") -> str:
    """Spark 4 reads '' inside a string as one quote; the parser would read two strings side by side."""
    if dialect not in {"spark", "databricks"} or ("''" not in text and '""' not in text):
        return text
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except TokenError:
        return text  # the parser is about to say where
    pieces = list(text)
    for left, right in pairwise(tokens):
        side_by_side = left.token_type == right.token_type == sqlglot.TokenType.STRING and right.start == left.end + 1
        if side_by_side and pieces[left.end] == pieces[right.start]:
            pieces[left.end] = "\\"
    return "".join(pieces)


_MAY_BE_LAX: Final = re.compile(r"[;,\[]|\bin\b|\bisnull\b|\bnotnull\b|\bnot\s+null\b|\(\s*\)", re.IGNORECASE)

_OPENS: Final = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSES: Final = {TokenType.R_PAREN, TokenType.R_BRACKET}
_OPERATORS: Final = {
    TokenType.EQ,
    TokenType.NEQ,
    TokenType.LT,
    TokenType.LTE,
    TokenType.GT,
    TokenType.GTE,
    TokenType.NULLSAFE_EQ,
    TokenType.AND,
    TokenType.OR,
    TokenType.NOT,
    TokenType.BETWEEN,
    TokenType.LIKE,
    TokenType.COMMA,
    TokenType.PLUS,
    TokenType.DASH,
    TokenType.STAR,
    TokenType.SLASH,
}
_ENDS: Final = {TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, *_CLOSES}
"""What an operand may end with."""


def refuse_lax(text: str, dialect: str) -> None:
    """ExpressionError where Spark would refuse the text for one of these."""
    if dialect not in {"spark", "databricks"} or not _MAY_BE_LAX.search(text):
        return
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except SqlglotError:
        return  # the parser is about to say what is wrong
    for token, why in _wrong(tokens):
        near = " ".join(text[max(token.start - 30, 0) : token.end + 1].split())
        raise ExpressionError(f"a condition must be one SQL expression, as Spark reads it; {why}, near {near!r}")


def _wrong(tokens: list[Token]) -> Iterator[tuple[Token, str]]:
    positions: list[bool] = []  # of each open parenthesis: is it POSITION's, in which IN is another word?
    before: Token | None = None
    for token, after in pairwise([*tokens, None]):
        assert token is not None
        kind, last, following = token.token_type, _kind(before), _kind(after)
        if kind is TokenType.SEMICOLON:
            yield token, "a semicolon ends a statement and is no part of it; leave it out"
        elif kind is TokenType.COMMA and (last in {None, TokenType.COMMA, *_OPENS} or following in {None, *_CLOSES}):
            yield token, "a list has an element on both sides of a comma; one is missing"
        elif kind is TokenType.L_BRACKET and (last is None or last in _OPERATORS | _OPENS or last is TokenType.IN):
            yield token, "brackets stand behind a column; a list has parentheses"
        elif kind is TokenType.IN and last in _ENDS | {TokenType.NOT} and following is not TokenType.L_PAREN:
            if not (positions and positions[-1]):
                yield token, "IN takes a list in parentheses"
        elif kind is TokenType.R_PAREN and last is TokenType.L_PAREN and _needs_elements(tokens, token):
            yield token, "a list has at least one element"
        elif last in _ENDS and (
            (kind in {TokenType.ISNULL, TokenType.NOTNULL} and following is not TokenType.L_PAREN)
            or (kind is TokenType.NOT and following is TokenType.NULL)
        ):
            yield token, "NULL is asked for by IS NULL and IS NOT NULL"
        if kind is TokenType.L_PAREN:
            positions.append(before is not None and before.text.upper() == "POSITION")
        elif kind is TokenType.R_PAREN and positions:
            positions.pop()
        before = token


def _needs_elements(tokens: list[Token], closing: Token) -> bool:
    """Return whether empty parentheses follow something else than a function's name."""
    at = next(number for number, token in enumerate(tokens) if token is closing) - 2
    return at < 0 or tokens[at].token_type in {TokenType.IN, TokenType.ANY, TokenType.ALL, TokenType.SOME, *_OPERATORS}


def _kind(token: Token | None) -> TokenType | None:
    return None if token is None else token.token_type


def unclosed(text: str) -> str:
    """The quote that a text or name begins with and never ends with; "" where there is none."""
    within, skip = "", False
    for char in text:
        if skip:
            skip = False
        elif within and char == "\\" and within != "`":
            skip = True
        elif within:
            within = "" if char == within else within
        elif char in "'\"`":
            within = char
    return within


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


_OF_ENGINES: Final = frozenset(
    {
        *("grouping__id", "_metadata", "filename", "file_row_number", "file_index", "rowid"),
        *("current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp"),
        *("current_timezone", "current_user", "localtime", "localtimestamp", "session_user"),
    }
)
"""Names that Spark or DuckDB knows of itself."""


def names_given(query: str, dialect: str = "spark") -> frozenset[str] | None:
    """Aliases of columns and tables, columns of lateral views, and what stands before the arrow of a function, beside
    what engines know of themselves; in small letters. None where nobody can tell, as of columns that are turned into
    rows."""
    try:
        tree = sqlglot.parse_one(quotes_escaped(query, dialect), read=dialect)
        return None if tree.find(exp.Pivot) else _OF_ENGINES | _names(tree)
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError):
        return None


def _names(tree: exp.Expression) -> set[str]:
    names: set[str] = set()
    for node in tree.find_all(exp.Alias, exp.Aliases, exp.TableAlias, exp.Lambda):
        if isinstance(node, exp.Alias):
            given = [node.alias]
        elif isinstance(node, exp.Aliases):
            given = [each.name for each in node.expressions]
        else:
            given = [node.name, *(each.name for each in (node.args.get("columns") or node.expressions))]
        names |= {name.lower() for name in given if name}
    return names
