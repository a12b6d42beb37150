"""The text that Spark prints of conditions, taken apart at its brackets and operators."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

_DEEPEST: Final = 200
_OPERATOR: Final = re.compile(r" (AND|OR|<=>|<=|>=|=|<|>|[-+*/%&|^]|\|\|) ")
_STEP: Final = re.compile(r"\(| (?:AND|OR|<=>|<=|>=|=|<|>|[-+*/%&|^]|\|\|) ")
NUMBERED: Final = re.compile(r"#\d+")
"""Behind the name of an attribute."""
_SUFFIX: Final = re.compile(r"#\d+L?")
_NAMED: Final = re.compile(r"(?<!\w)(\w++)#\d+")
_NO_COLUMNS: Final = frozenset({"subquery", "dynamicpruning"})
_WHOLE_CALL: Final = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
_OPEN: Final = re.compile(r" (?:INSET|LIKE) ")
_MOST_SHOWN: Final = 300
CUT: Final = re.compile(r"\.\.\.(?: \d+ more fields?)?\)*\Z")
"""How what is cut ends."""


def printed_parts(text: str) -> Iterator[str]:
    """The conditions in a list `[a, b]`. Behind members of a list and patterns, which stand in no bracket, what no
    column is in belongs to them. Of a list that is cut the last is cut, too."""
    whole = text.endswith("]")
    inner = text[1:-1] if whole else text[1:]
    held: str | None = None
    for part in split(inner, ", "):
        if held is not None and _OPEN.search(held) and not NUMBERED.search(part):
            held = f"{held}, {part}"
            continue
        if held:
            yield held
        held = part
    if held:
        yield held if whole or CUT.search(held) else f"{held}..."


def conjuncts_of(text: str, depth: int = 0) -> Iterator[str]:
    """The parts of ANDs, as they are printed."""
    closing = closings(text)
    if depth < _DEEPEST and text.startswith("(") and closing.get(0) == len(text) - 1:
        operator = first_operator(text, closing, 1, len(text) - 1)
        if operator is not None and operator[1] == "AND":
            yield from conjuncts_of(text[1 : operator.start()], depth + 1)
            yield from conjuncts_of(text[operator.end() : -1], depth + 1)
            return
    yield text


def printed_columns(text: str) -> tuple[str, ...]:
    """Return the names of the columns in a condition that is not understood."""
    return tuple(dict.fromkeys(name for name in _NAMED.findall(text) if name not in _NO_COLUMNS))


def closings(text: str) -> dict[int, int]:
    """Map the position of each bracket to that of its closing bracket."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for bracket in re.finditer(r"[()]", text):
        if bracket[0] == "(":
            opened.append(bracket.start())
        elif opened:
            closing[opened.pop()] = bracket.start()
    return closing


def first_operator(text: str, closing: Mapping[int, int], start: int, end: int) -> re.Match[str] | None:
    """Return the first operator outside of brackets, or None."""
    at = start
    while (step := _STEP.search(text, at, end)) is not None:
        if step[0] != "(":
            return _OPERATOR.match(text, step.start(), end)
        if step.start() not in closing:
            return None
        at = closing[step.start()] + 1
    return None


def split(text: str, separator: str) -> Iterator[str]:
    """Yield the parts between separators that are outside of brackets."""
    start = depth = 0
    for part in re.finditer(rf"[(\[]|[)\]]|{re.escape(separator)}", text):
        if part[0] == separator:
            if depth == 0:
                yield text[start : part.start()]
                start = part.end()
        else:
            depth = depth + 1 if part[0] in "([" else max(depth - 1, 0)
    yield text[start:]


def shown_text(text: str) -> str:
    """Return a condition's text for people, equal for conditions that differ in values alone."""
    text = text[:_MOST_SHOWN].replace("\0", "")
    call = _WHOLE_CALL.fullmatch(text)
    if call is not None:
        return _plain(f"{call[1]}({', '.join(map(_quoted, split(call[2], ', ')))})")
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    column, like, pattern = inner.partition(" LIKE ")
    if like and NUMBERED.search(column):
        return _plain(f"{column} LIKE {_quoted(pattern)}")
    operator = first_operator(inner, closings(inner), 0, len(inner))
    if operator is None:
        return _plain(inner)
    return _plain(f"{_quoted(inner[: operator.start()])} {operator[1]} {_quoted(inner[operator.end() :])}")


def _quoted(text: str) -> str:
    return text if NUMBERED.search(text) else "'" + text.replace("\\", "").replace("'", "") + "'"


def _plain(text: str) -> str:
    return _SUFFIX.sub("", text)
