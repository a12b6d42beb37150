"""`column = literal`, as look-ups ask it, alone or thousands of them and of other comparisons under AND, OR and
parentheses, read at a glance: SQL's parser takes longer than the look-up.

Only where its answer is known: the parser itself is asked once for each name whether that is a plain column, and what
it makes of the literals here follows from their own characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from metaindex.expressions.literals import Literal
from metaindex.expressions.tree import And, ColumnRef, Comparison, Op, Or, Predicate

_OPERAND: Final = re.compile(
    r"[ \n]*(?:(?P<open>\()|(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ ]*(?P<op>=|<=|>=|!=|<>|<|>)[ ]*"
    r"(?:'(?P<text>[^'\\\x00-\x1f\x7f]*)'|(?P<number>-?(?:0|[1-9][0-9]{0,17}))(?![A-Za-z0-9_.])))"
)
_OPERATOR: Final = re.compile(r"[ \n]*(?:(?P<close>\))|(?<=[ \n)])(?P<word>AND|OR|and|or)(?=[ \n(])|(?P<end>\Z))")
_DEEPEST: Final = 20
_OPS: Final = {"=": Op.EQ, "!=": Op.NE, "<>": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_EXAMPLES: Final[tuple[tuple[str, str | int], ...]] = (("'x'", "x"), ("1", 1), ("-1", -1), ("''", ""))


def plain_condition(text: str, is_column: Callable[[str], bool]) -> Predicate | None:
    """The predicate, with the tree that the parser makes: a list is flat, a parenthesized condition is one part. None
    for any text that is not so plain. `is_column`: see `reads_as_column`, to be remembered by name."""
    columns: dict[str, ColumnRef] = {}
    above: list[tuple[list[Predicate], list[Predicate]]] = []
    parts: list[Predicate] = []  # of the OR here
    both: list[Predicate] = []  # of the AND that is being read
    at = 0
    while True:
        operand = _OPERAND.match(text, at)
        if operand is None:
            return None
        at = operand.end()
        if operand["open"]:
            if len(above) == _DEEPEST:
                return None
            above.append((parts, both))
            parts, both = [], []
            continue
        name = operand["name"]
        if name not in columns:
            if not is_column(name):
                return None
            columns[name] = ColumnRef((name,))
        both.append(_comparison(operand, columns[name], _OPS[operand["op"]]))
        while True:
            said = _OPERATOR.match(text, at)
            if said is None:
                return None
            at = said.end()
            word = said["word"]
            if word is None or word in ("OR", "or"):
                parts.append(both[0] if len(both) == 1 else And(tuple(both)))
                both = []
            if word is not None:
                break
            whole = parts[0] if len(parts) == 1 else Or(tuple(parts))
            if said["close"] is None:
                return None if above else whole
            if not above:
                return None
            parts, both = above.pop()
            both.append(whole)


def _comparison(match: re.Match[str], column: ColumnRef, op: Op) -> Comparison:
    number = match["number"]
    return Comparison(column, op, Literal(match["text"] if number is None else int(number)))


def reads_as_column(name: str, parse: Callable[[str], Predicate]) -> bool:
    """Return whether the parser takes `name = literal` for a comparison with this column. It does not if the name is a
    word of the language."""
    try:
        return all(
            parse(f"{name} = {said}") == Comparison(ColumnRef((name,)), Op.EQ, Literal(value))
            for said, value in _EXAMPLES
        )
    except ValueError:  # ExpressionError is one
        return False
