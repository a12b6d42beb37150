"""The tables of a query as statements name them: by paths between quotes, and with reader options, as in ``FROM
csv.`/data/x` WITH (header = false)``. The parser of queries knows names alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metaindex.expressions.errors import ArgumentError

from .cursor import Cursor
from .forms import Form
from .tokens import Token, TokenKind, tokens
from .tree import Options

_FORM: Final = Form((), "SELECT ... FROM table WITH (key = value, ...)")
_BEFORE: Final = ("FROM", "JOIN")


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


def _path(text: str, is_path: Callable[[str], bool]) -> str:
    return text if not is_path(text) or "://" in text or text.startswith(("/", ".")) else f"./{text}"


def _name(cursor: Cursor) -> str:
    """With dots between its parts; what stands there may be none, and is left to the parser of queries."""
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
