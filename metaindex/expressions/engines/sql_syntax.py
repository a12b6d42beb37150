"""The text of a condition as the parser's tree; where it is none, an error that says where, in one line."""

from __future__ import annotations

from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from metaindex.core import ExpressionError

from .sql_strict import refuse_lax, unclosed


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


def quotes_escaped(text: str, dialect: str) -> str:
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
