"""Positions in a statement of what an error names, for errors raised when it runs."""

from __future__ import annotations

from metaindex.core import StatementError

from .tokens import TokenKind, tokens


def placed(text: str, name: str) -> int | None:
    """Return where a name begins, such as user_id; None if it is not there."""
    named = (TokenKind.WORD, TokenKind.NAME, TokenKind.TEXT)
    try:
        return next((token.start for token in tokens(text) if token.kind in named and token.value == name), None)
    except StatementError:
        return None
