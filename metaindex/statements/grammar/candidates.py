"""`EXPLAIN WHATIF query WITH INDEX ...`: where a query ends, and indexes that there are not begin."""

from __future__ import annotations

from metaindex.index import Options, Using, Value

from .clauses import kinds_of, verb_options
from .cursor import Cursor
from .tokens import TokenKind
from .tree import CandidateIndex


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
    more: dict[str, Value] = {}
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
