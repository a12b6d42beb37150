"""A text becomes a statement. What is wrong is a StatementError that says line and column, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import Final

from metaindex.core import ArgumentError, MetaIndexError, StatementError, first_line
from metaindex.expressions import ColumnRef
from metaindex.formats import ReadOptions
from metaindex.index import KINDS, Kind

from .cursor import Cursor
from .tokens import Token, TokenKind, each_token, near, tokens, wrong
from .tree import (
    NOW,
    CandidateIndex,
    ChangeIndex,
    CreateIndex,
    DescribeIndex,
    ExplainIndexes,
    ExplainWhatIf,
    Options,
    RecommendIndexes,
    ShowIndexes,
    Statement,
    VerifyIndex,
)
from .verbs import ALSO, FORMS, INSTEAD, VERBS, Form

_RULE: Final = "a statement about indexes begins as one"
_LONGEST_SHOWN: Final = 40


_QUERIES: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "INSERT", "UPDATE", "MERGE"})


def _wrong_beginning(text: str) -> StatementError:
    """The error of a text that begins as no statement about indexes; with the one that its first words are nearest
    to."""
    words = tokens(text)
    first = text[words[0].start : words[0].end]
    beginnings = _beginnings()
    cure = f"there are {', '.join(dict.fromkeys(beginnings.values()))}"
    if words[0].kind is TokenKind.END:
        return wrong(text, words[0].start, "no statement is given", cure=cure)
    if first.upper() in _QUERIES:
        fact = f"{first.upper()} is for tables, whose rows scan(), `metaindex scan` and Spark read"
        return wrong(text, words[0].start, fact, _RULE, cure, words[0].end)
    meant = _meant(text, words, beginnings)
    if meant is not None:
        return meant
    fact = f"no statement about indexes begins as {first[:_LONGEST_SHOWN]!r}"
    return wrong(text, words[0].start, fact, cure=cure, end=words[0].end)


def _beginnings() -> dict[str, str]:
    """The first words of each statement, and as they are written in general."""
    also = {" ".join(other): " ".join(form) for other, form in ALSO.items()}
    return {" ".join(form): " ".join(form) for form in FORMS} | also


def _meant(text: str, words: Sequence[Token], beginnings: Mapping[str, str]) -> StatementError | None:
    said = [word for word in words[:2] if word.kind is TokenKind.WORD]
    shown = " ".join(word.value for word in said).upper()
    other = INSTEAD.get(tuple(shown.split()))
    if other is not None:
        cure = f"it is written {FORMS[other].beginning}"
        return wrong(text, said[0].start, f"no statement begins as {shown}", cure=cure, end=said[0].end)
    close = get_close_matches(shown, list(beginnings), n=1, cutoff=0.75)
    if not close or not shown:
        return None
    as_meant = zip(said, close[0].split(), strict=False)
    mistyped = next((word for word, meant in as_meant if word.value.upper() != meant), said[-1])
    fact, cure = f"no statement begins as {shown}", f"did you mean {beginnings[close[0]]}?"
    return wrong(text, mistyped.start, fact, cure=cure, end=mistyped.end)


def slip(text: str) -> StatementError | None:
    """Suggest what was meant by a text that is no statement about indexes, and that nothing else could parse; None if
    its first words resemble no statement."""
    form = _form(text)
    if form is not None:
        return _without_name(text, form) if form.shared else None
    try:
        words = tuple(islice(each_token(text), 2))
    except StatementError:
        return None
    return _meant(text, words, _beginnings())


def _without_name(text: str, form: Form) -> StatementError | None:
    """Return the error of a statement that others may begin so, too, if ON stands in place of an index's name."""
    cursor = _behind(text, form)
    if cursor is None:
        return None
    if cursor.token.word == "ON" and cursor.ahead().kind in (TokenKind.WORD, TokenKind.NAME, TokenKind.TEXT):
        return cursor.unnamed() if cursor.ahead().word != "ON" else None
    return None


def _behind(text: str, form: Form) -> Cursor | None:
    """Behind the first words of a statement, and IF EXISTS; None if the text is none of words."""
    try:
        words = tokens(text)
    except StatementError:
        return None
    cursor = Cursor(text, words, form)
    cursor.takes("IF", "EXISTS")
    return cursor


def parsed(text: str) -> Statement:
    """Parse a text of one statement. Raises StatementError if it is none, or badly written."""
    if not isinstance(text, str):
        raise ArgumentError(f"a statement is text; got {type(text).__name__}; write it as 'CREATE INDEX ...'")
    form = _form(text)
    if form is None:
        raise _wrong_beginning(text)
    words = tokens(text)
    _no_parameters(text, words)
    cursor = Cursor(text, words, form)
    statement = _statement(cursor)
    cursor.ended()
    return statement


def _no_parameters(text: str, words: Sequence[Token]) -> None:
    """Refuse `:name` and `?`, which stand for values given beside a text (Spark's `args`); a cast `::` is allowed."""
    for before, token, after in zip([None, *words], words, [*words[1:], None], strict=False):
        named = token.is_sign(":") and after is not None and after.start == token.end and after.word
        signs = (TokenKind.SIGN, TokenKind.TEXT)
        cast = before is not None and before.end == token.start and (before.is_sign(":") or before.kind not in signs)
        if token.is_sign("?") or (named and not cast):
            end = after.end if named and after is not None else token.end
            fact = f"{text[token.start : end]} is a parameter"
            cure = "write the value itself, or a DataFrame as {name}"
            raise wrong(text, token.start, fact, "args are not put into statements about indexes", cure, end)


def is_ours(text: str) -> bool:
    """Return whether a text begins like a statement about indexes that neither Spark nor Delta has. It may be wrong."""
    form = _form(text)
    if form is None or not form.shared:
        return form is not None
    cursor = _behind(text, form)
    if cursor is None:
        return False
    if form.words[0] == "DESCRIBE" and cursor.token.word == "HISTORY" and cursor.ahead().word != "ON":
        cursor.step()
    named = cursor.token.kind in (TokenKind.WORD, TokenKind.NAME, TokenKind.TEXT)
    return named and cursor.ahead().word == "ON"


def split(text: str) -> Iterator[str]:
    """The statements of a text, which semicolons end. StatementError for a quote or comment that nothing closes."""
    start = 0
    empty = True
    for token in tokens(text):
        if token.is_sign(";") or token.kind is TokenKind.END:
            if not empty:
                yield text[start : token.start].strip()
            start, empty = token.end, True
        else:
            empty = False


def _form(text: str) -> Form | None:
    try:
        words = tuple(token.word for token in islice(each_token(text), 2))
    except StatementError:
        return None
    return FORMS.get(ALSO.get(words, words))


def _statement(cursor: Cursor) -> Statement:
    match cursor.form.words:
        case ("CREATE", _):
            return _create(cursor)
        case ("SHOW", _):
            if not cursor.takes_one(("ON", "FROM", "IN")):
                raise cursor.without_on()
            return ShowIndexes(cursor.table(), cursor.asked())
        case ("DESCRIBE", _):
            history = cursor.token.word == "HISTORY" and cursor.ahead().word != "ON"
            if history:
                cursor.step()
            name = _name_on(cursor)
            return DescribeIndex(name, cursor.table(), history)
        case ("VERIFY", _):
            name = _name_on(cursor)
            return VerifyIndex(name, cursor.table(), verb_options(cursor))
        case ("EXPLAIN", "INDEXES"):
            formatted = cursor.takes("FORMATTED")
            return ExplainIndexes(_rest(cursor, "a query"), formatted)
        case ("EXPLAIN", "WHATIF"):
            query, candidates, options = candidates_from(cursor)
            return ExplainWhatIf(query, candidates, options)
        case ("RECOMMEND", _):
            return _recommend(cursor)
        case _:
            return _change(cursor)


def _name_on(cursor: Cursor) -> str:
    if cursor.token.word == "ON" and cursor.ahead().word != "ON":
        raise cursor.unnamed()
    name = cursor.name("an index's name")
    if not cursor.takes("ON"):
        raise cursor.without_on()
    return name


def _create(cursor: Cursor) -> CreateIndex:
    if_not_exists = cursor.takes("IF")
    if if_not_exists:
        cursor.word("NOT")
        cursor.word("EXISTS")
    name = _name_on(cursor)
    table, at = cursor.table(), cursor.asked()
    kinds, options = kinds_of(cursor)
    return CreateIndex(name, table, kinds, if_not_exists, at, options)


def _change(cursor: Cursor) -> ChangeIndex:
    verb = VERBS[cursor.form.words[0].lower()]
    if_exists = cursor.if_exists()
    name = _name_on(cursor)
    table = cursor.table()
    at = cursor.asked() if verb.name == "refresh" else NOW
    mode = cursor.takes_one([mode.upper() for mode in verb.modes]).lower()
    hours = None
    if verb.name == "clean" and cursor.takes("RETAIN"):
        hours = cursor.number("how many hours")
        cursor.word("HOURS")
    options = verb_options(cursor) if verb.options else ()
    where = _rest(cursor, "a condition") if verb.name == "refresh" and cursor.takes("WHERE") else ""
    return ChangeIndex(verb.name, name, table, mode, if_exists, hours, options, at, where)


def _recommend(cursor: Cursor) -> RecommendIndexes:
    if not cursor.takes("ON"):
        raise cursor.without_on()
    tables = [cursor.table()]
    while cursor.takes_sign(","):
        tables.append(cursor.table())
    queries = cursor.named() if cursor.takes("FROM") else None
    return RecommendIndexes(tuple(tables), queries, verb_options(cursor))


def _rest(cursor: Cursor, what: str) -> str:
    """Return the rest of the text as written, without semicolons at its end."""
    first = last = cursor.token
    if first.kind is TokenKind.END or first.is_sign(";"):
        raise cursor.expected(what)
    end = first.end
    while last.kind is not TokenKind.END:
        end = last.end if not last.is_sign(";") else end
        cursor.step()
        last = cursor.token
    return cursor.text[first.start : end]


def placed(text: str, name: str) -> int | None:
    """Return where a name begins, such as user_id; None if it is not there."""
    named = (TokenKind.WORD, TokenKind.NAME, TokenKind.TEXT)
    try:
        return next((token.start for token in tokens(text) if token.kind in named and token.value == name), None)
    except StatementError:
        return None


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
    kind = kind or KINDS.worded("", columns=bool(keys))
    assert kind is not None
    if not keys and not kind.keeps_facts:
        raise cursor.expected("( and columns")
    included = tuple(cursor.listed(lambda: _column(cursor))) if cursor.takes("INCLUDE") else ()
    own = KINDS.options_of(kind)
    options: Options = ()
    if cursor.takes("OPTIONS"):
        options = cursor.options(lambda key, place: _check(cursor, key.lower(), place, tuple(own)))
    said = tuple((key.lower(), value) for key, value in options)
    for key, value in said:
        if key not in own and more.setdefault(key, value) != value:
            raise cursor.wrong(f"the option {key!r} is given twice", cursor.values[key], "leave one out")
    made = partial(KINDS.made, kind, keys, included)
    said = tuple((key, value) for key, value in said if key in own)
    try:
        return made(said)
    except MetaIndexError as error:
        at_fault = _at_fault(made, said)
        raise cursor.wrong(first_line(error), cursor.values[at_fault] if at_fault else token) from None


def _at_fault(made: Callable[[Options], Kind], options: Options) -> str:
    """Return the one option without which the kind could be made; "" if there is none."""
    for name, _ in options:
        try:
            made(tuple(option for option in options if option[0] != name))
        except MetaIndexError:
            continue
        return name
    return ""


def _named(cursor: Cursor) -> type[Kind]:
    token = cursor.token
    word = cursor.name("a kind")
    kind = KINDS.worded(word)
    if kind is None:
        known = KINDS.words()
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
            unused = behind.word.lower() in KINDS.words() and cursor.ahead(3).is_sign("(")  # USING was forgotten
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
