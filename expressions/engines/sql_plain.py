"""`column = literal`, as look-ups ask it, read at a glance: SQL's parser takes longer than the look-up.

Only where its answer is known: the parser itself is asked once for each name whether that is a plain column, and what it makes of the literals here follows from their own characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from expressions.literals import Literal
from expressions.tree import ColumnRef, Comparison, Op, Predicate

_EQUALITY: Final = re.compile(
    r"[ ]*(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ ]*=[ ]*(?:'(?P<text>[^'\\\x00-\x1f\x7f]*)'|(?P<number>-?(?:0|[1-9][0-9]{0,17})))[ ]*"
)
_EXAMPLES: Final[tuple[tuple[str, str | int], ...]] = (("'x'", "x"), ("1", 1), ("-1", -1), ("''", ""))


def plain_equality(text: str, is_column: Callable[[str], bool]) -> Predicate | None:
    """The predicate; None for any text that is not so plain. `is_column`: see `reads_as_column`, to be remembered by name."""
    found = _EQUALITY.fullmatch(text)
    if found is None or not is_column(found["name"]):
        return None
    value: str | int = int(found["number"]) if found["number"] is not None else found["text"]
    return Comparison(ColumnRef((found["name"],)), Op.EQ, Literal(value))


def reads_as_column(name: str, parse: Callable[[str], Predicate]) -> bool:
    """Does the parser take `name = literal` for a comparison of a column of this name? It does not where the name is a word of the language."""
    try:
        return all(
            parse(f"{name} = {said}") == Comparison(ColumnRef((name,)), Op.EQ, Literal(value))
            for said, value in _EXAMPLES
        )
    except ValueError:  # ExpressionError is one
        return False
