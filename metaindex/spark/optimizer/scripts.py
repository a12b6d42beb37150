"""Statements about indexes in a script of SQL (`BEGIN ...; ... END`), where they cannot stand: Spark parses a script
whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from metaindex.core import StatementError
from metaindex.statements import Token, is_ours, tokens

_BEFORE: Final = frozenset({"BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT"})
"""Words of a script behind which a statement begins."""


def is_script(text: str) -> bool:
    """Return whether a text begins as a script, perhaps with a label. It may be wrong."""
    try:
        words = tokens(text)
    except StatementError:
        return False
    at = 2 if len(words) > 2 and words[1].is_sign(":") else 0
    return words[at].word == "BEGIN"


def indexes_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield position and text of each statement about indexes in a script. Raises StatementError for a text that cannot
    be split into tokens."""
    words = tokens(text)
    for before, token in pairwise(words):
        if before.is_sign(";") or before.word in _BEFORE:
            said = text[token.start : _end(words, token)]
            if is_ours(said):
                yield token.start, said


def _end(words: list[Token], first: Token) -> int:
    """Return the position where a statement ends: before the next semicolon."""
    return next((word.start for word in words if word.start > first.start and word.is_sign(";")), words[-1].start)
