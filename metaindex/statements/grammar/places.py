"""Positions in a statement of what an error names, for errors raised when it runs."""

from __future__ import annotations

import re
from typing import Final

from metaindex.core import StatementError

from .tokens import TokenKind, tokens

_QUOTED: Final = re.compile(r"'([^']{1,200})'")


def placed(text: str, message: str) -> tuple[int, int] | None:
    """Return start and end of the first word that a message quotes, such as 'user_id'; None if there is none."""
    named = _QUOTED.findall(message)
    try:
        every = [token for token in tokens(text) if token.kind in (TokenKind.WORD, TokenKind.NAME, TokenKind.TEXT)]
    except StatementError:
        return None
    for name in named:
        for token in every:
            if token.value == name:
                return token.start, token.end
    return None
