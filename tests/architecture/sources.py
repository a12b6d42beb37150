"""Sources as syntax trees, parsed once for all that is asked of them here."""

from __future__ import annotations

import ast
from functools import cache


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)
