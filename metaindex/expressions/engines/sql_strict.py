"""Rejects what Spark's parser refuses and sqlglot would accept: a semicolon, missing elements of a list, IN without a
list, brackets that are no index, and words of other databases.

Who writes `IN (1,)` has left something out, mostly by a program; what they meant is not for us to guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from metaindex.core import ExpressionError

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
