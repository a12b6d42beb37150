"""The tables of a query as statements name them: by paths between quotes, and with reader options, as in ``FROM
csv.`/data/x` WITH (header = false)``. The parser of queries knows names alone. Also tells queries from other texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from metaindex.core import ArgumentError, StatementError

from .cursor import Cursor
from .tokens import Token, TokenKind, tokens
from .tree import Options
from .verbs import Form

_FORM: Final = Form((), "SELECT ... FROM table WITH (key = value, ...)")
_BEFORE: Final = ("FROM", "JOIN")
_QUERY: Final = re.compile(
    r"(?:\s|\(|--(?:\\\n|[^\r\n])*+[\r\n]|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/)*(?:select|with|from|table|values)\b",
    re.IGNORECASE,
)
_BEGINS: Final = ("SELECT", "FROM", "TABLE", "VALUES")


def begins_as_query(query: str) -> bool:
    """Return whether the first word begins a query. What follows may change something all the same."""
    return _QUERY.match(query) is not None


def no_query(query: str) -> ArgumentError:
    """The error of a text that begins otherwise."""
    rule, cure = "a query begins with SELECT, WITH, FROM, TABLE or VALUES", "write SELECT ... FROM table"
    return ArgumentError(f"{rule}; this one does not: {query[:80]!r}; {cure}")


def check_query(query: str) -> None:
    """Raises ArgumentError for what is no query, or changes a table. Raises StatementError for a quote or comment that
    nothing closes."""
    if not begins_as_query(query):
        raise no_query(query)
    change = _change([token for token in tokens(query) if token.kind is not TokenKind.END])
    if change:
        raise ArgumentError(f"a query changes nothing; this one has {change}; give the query alone")


def _change(words: Sequence[Token]) -> str:
    """The verb behind the tables of a WITH, or behind a FROM in front, that changes something."""
    depth = 0
    behind_tables = False
    for token, following in pairwise(words):
        if token.is_sign("(") or token.is_sign(")"):
            depth += 1 if token.is_sign("(") else -1
            if depth or not token.is_sign(")"):
                continue
            verb = following.word
            if words[0].word == "WITH" and not behind_tables and not following.is_sign(",") and verb != "AS":
                behind_tables = True
                if following.kind is TokenKind.WORD and verb not in _BEGINS:
                    return verb
        elif depth == 0 and token.word == "INSERT" and following.word in ("INTO", "OVERWRITE"):
            return "INSERT"
    return ""


def with_names(query: str, is_path: Callable[[str], bool]) -> tuple[str, dict[str, Options]]:
    """The query with names alone, and the options of those that have some. `FROM 'lake/flights'` is ``FROM
    `./lake/flights` `` then, which is no name with dots: `'json.lines'` is no table of a format. `is_path`: is that
    what a text between quotes means? StatementError for options that are none."""
    words = tokens(query)
    cursor = Cursor(query, words, _FORM)
    pieces: list[str] = []
    options: dict[str, Options] = {}
    last = 0
    while cursor.token.kind is not TokenKind.END:
        if cursor.step().word not in _BEFORE:
            continue
        token = cursor.token
        if token.kind is TokenKind.TEXT and not token.double:
            name = _path(cursor.step().value, is_path)
            pieces += [query[last : token.start], "`" + name.replace("`", "``") + "`"]
            last, named = token.end, True
        else:
            name, named = _name(cursor), False
        if name and cursor.token.word == "WITH" and cursor.ahead().is_sign("("):
            pieces.append(query[last : cursor.step().start])
            given = cursor.options()
            last = words[cursor.place - 1].end
            _once(options, name, given)
        elif named:
            _once(options, name, ())
    return "".join([*pieces, query[last:]]), options


def path_between_quotes(query: str) -> str:
    """Return the first path that a query names so, `FROM 'lake/flights'`; empty if there is none, or it is unclear."""
    try:
        words = tokens(query)
    except StatementError:
        return ""
    named = (token for before, token in pairwise(words) if before.word in _BEFORE and token.kind is TokenKind.TEXT)
    return next((token.value for token in named), "")


def _path(text: str, is_path: Callable[[str], bool]) -> str:
    return text if not is_path(text) or "://" in text or text.startswith(("/", ".")) else f"./{text}"


def _name(cursor: Cursor) -> str:
    """Parse a name with dots between its parts; it may be empty, which the parser of queries will refuse."""
    parts: list[str] = []
    while _is_part(cursor.token):
        parts.append(cursor.step().value)
        if not (cursor.token.is_sign(".") and _is_part(cursor.ahead())):
            break
        cursor.step()
    return ".".join(parts)


def _is_part(token: Token) -> bool:
    return token.kind in (TokenKind.WORD, TokenKind.NAME)


def _once(options: dict[str, Options], name: str, given: Options) -> None:
    if options.setdefault(name, given) != given:
        raise ArgumentError(
            f"a query reads a table in one way; it names {name!r} with several options; name it with the same"
        )
