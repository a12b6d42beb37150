"""Where a statement says what an error names: for what goes wrong when it is run."""

from __future__ import annotations

import re
from typing import Final

from metaindex.core import StatementError

from .tokens import TokenKind, tokens

_QUOTED: Final = re.compile(r"'([^']{1,200})'")


def placed(text: str, message: str) -> tuple[int, int] | None:
    """Where the first word stands that a message has in quotes, as 'user_id'; None where no word of the text is it."""
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
