"""The parts of a statement that name kinds and options; and of `EXPLAIN WHATIF query WITH INDEX ...`, where the query
ends and the candidates begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metaindex.core import MetaIndexError, first_line
from metaindex.expressions import ColumnRef
from metaindex.formats import ReadOptions
from metaindex.index import KINDS, Kind, Using

from .cursor import Cursor
from .tokens import Token, TokenKind, near
from .tree import CandidateIndex, Options

_USING: Final = "USING kind (columns) [INCLUDE (columns)] [OPTIONS (key = value, ...)]"


def kinds_of(cursor: Cursor, *, named: bool = False) -> tuple[tuple[Kind, ...], Options]:
    """Parse each `[USING kind] [(columns)] [INCLUDE (columns)] [OPTIONS (...)]`; return the kinds, and the options that
    are the statement's own. `named`: a kind is required."""
    kinds: list[Kind] = []
    more: dict[str, object] = {}
    first = cursor.token
    if named and first.word != "USING" and not first.is_sign("("):
        raise cursor.expected("USING, or columns")
    cursor.clause = _USING
    while not kinds or cursor.token.word == "USING":
        kinds.append(_kind(cursor, more))
    try:
        KINDS.check(kinds)
    except MetaIndexError as error:
        raise cursor.wrong(first_line(error), first) from None
    return tuple(kinds), tuple(more.items())


def verb_options(cursor: Cursor) -> Options:
    """`[OPTIONS (...)]` of a statement that names no kind."""
    return cursor.options(lambda key, token: _check(cursor, key, token, ())) if cursor.takes("OPTIONS") else ()


def _kind(cursor: Cursor, more: dict[str, object]) -> Kind:
    token = cursor.token
    kind = None
    if cursor.takes("USING"):
        token = cursor.token
        kind = _named(cursor)
    keys = tuple(cursor.listed(lambda: _key(cursor))) if cursor.token.is_sign("(") else ()
    kind = kind or Using.kind_of("", columns=bool(keys))
    assert kind is not None
    if not keys and not kind.keeps_facts:
        raise cursor.expected("( and columns")
    included = tuple(cursor.listed(lambda: _column(cursor))) if cursor.takes("INCLUDE") else ()
    own = Using.options_of(kind)
    options: Options = ()
    if cursor.takes("OPTIONS"):
        options = cursor.options(lambda key, place: _check(cursor, key.lower(), place, tuple(own)))
    said = tuple((key.lower(), value) for key, value in options)
    for key, value in said:
        if key not in own and more.setdefault(key, value) != value:
            raise cursor.wrong(f"the option {key!r} is given twice", cursor.values[key], "leave one out")
    using = Using(kind, keys, included, tuple((key, value) for key, value in said if key in own))
    try:
        return using.made()
    except MetaIndexError as error:
        at_fault = _at_fault(using)
        raise cursor.wrong(first_line(error), cursor.values[at_fault] if at_fault else token) from None


def _at_fault(using: Using) -> str:
    """Return the one option without which the kind could be made; "" if there is none."""
    for name, _ in using.options:
        fewer = tuple(option for option in using.options if option[0] != name)
        try:
            Using(using.kind, using.keys, using.included, fewer).made()
        except MetaIndexError:
            continue
        return name
    return ""


def _named(cursor: Cursor) -> type[Kind]:
    token = cursor.token
    word = cursor.name("a kind")
    kind = Using.kind_of(word)
    if kind is None:
        known = Using.words()
        cure = near(word.lower(), known) or f"there are {', '.join(known)}"
        raise cursor.wrong(f"there is no kind {word!r}", token, cure)
    return kind


def _key(cursor: Cursor) -> tuple[str, ...]:
    if cursor.token.is_sign("("):
        return tuple(cursor.listed(lambda: _column(cursor)))
    return (_column(cursor),)


def _column(cursor: Cursor) -> str:
    return ColumnRef(tuple(cursor.parts("a column"))).name


def _check(cursor: Cursor, key: str, token: Token, own: Sequence[str]) -> None:
    known = [*own, *cursor.form.options]
    if key not in known:
        takes = "; ".join([*own, *(f"{name}: {what}" for name, what in cursor.form.options.items())])
        cure = near(key, known) or (f"there are {takes}" if known else "leave it out")
        if ReadOptions.spelled(key) in ReadOptions.NAMES:
            cure = f"how files are read stands behind the table: WITH ({ReadOptions.spelled(key)} = ...)"
        raise cursor.wrong(f"there is no option {key!r}", token, cure)


def candidates_from(cursor: Cursor) -> tuple[str, tuple[CandidateIndex, ...], Options]:
    """The query as it is written, the candidates, and the options of the statement."""
    start, first = cursor.token.start, cursor.place
    empty = cursor.token.is_sign(";")
    place, end = _end_of_query(cursor)
    if place == first or empty:
        cursor.go(first)
        raise cursor.expected("a query")
    cursor.go(place)
    candidates: list[CandidateIndex] = []
    more: dict[str, object] = {}
    if cursor.takes("WITH"):
        while not candidates or cursor.takes_sign(","):
            cursor.word("INDEX")
            table = cursor.table() if cursor.takes("ON") else None
            kinds, options = kinds_of(cursor, named=True)
            more |= dict(options)
            candidates.append(CandidateIndex(kinds, table))
    else:
        more |= dict(verb_options(cursor))
    return cursor.text[start:end], tuple(candidates), tuple(more.items())


def _end_of_query(cursor: Cursor) -> tuple[int, int]:
    """The number of the token behind the query, and where its text ends: at the last WITH INDEX outside of brackets, in
    front of `OPTIONS (` at the end, or at the end of all. `WITH index AS (...)` begins a query."""
    depth = 0
    index_clause = None
    last = cursor.token.start
    ends = []
    while cursor.token.kind is not TokenKind.END:
        token = cursor.token
        depth += token.is_sign("(") or token.is_sign("[")
        depth -= token.is_sign(")") or token.is_sign("]")
        if depth == 0 and token.word == "WITH" and cursor.ahead().word == "INDEX":
            behind = cursor.ahead(2)
            unused = behind.word.lower() in Using.words() and cursor.ahead(3).is_sign("(")  # USING was forgotten
            if unused or behind.word in ("ON", "USING") or (behind.is_sign("(") and cursor.ahead(3).word != "SELECT"):
                index_clause = cursor.place, last
        if depth == 0 and token.word == "OPTIONS" and cursor.ahead().is_sign("("):
            ends.append((cursor.place, last))
        if not token.is_sign(";"):
            last = token.end
        cursor.step()
    if index_clause is not None:
        return index_clause
    return ends[-1] if ends and _closes_all(cursor, ends[-1][0]) else (cursor.place, last)


def _closes_all(cursor: Cursor, place: int) -> bool:
    """Return whether the brackets after OPTIONS end the statement."""
    end = cursor.place
    cursor.go(place + 1)
    depth = 0
    while cursor.place < end:
        depth += cursor.token.is_sign("(")
        depth -= cursor.token.is_sign(")")
        cursor.step()
        if not depth:
            break
    while cursor.takes_sign(";"):
        pass
    closed = cursor.place == end
    cursor.go(end)
    return closed
