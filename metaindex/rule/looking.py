"""Java in which every turn of every loop looks at the deadline (`Deadline.java`): the sources of the rule, before Spark
compiles them. What stands in the text need not be remembered by whoever writes a loop."""

from __future__ import annotations

import re
from typing import Final

LOOK: Final = " Deadline.look();"
_PARTS: Final = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \b(?:for|while)\b | [()]""",
    re.VERBOSE | re.DOTALL,
)


def looking(source: str) -> str:
    """The lines stay as they are numbered. ValueError for a loop whose turn is no block."""
    out = []
    done = depth = 0
    heads: list[int] = []  # how deep those are that are open
    for part in _PARTS.finditer(source):
        match part[0]:
            case "for" | "while":
                heads.append(depth)
            case "(":
                depth += 1
            case ")":
                depth -= 1
                if heads and heads[-1] == depth:
                    heads.pop()
                    begin = source.find("{", part.end())
                    if source[part.end() : begin].strip():
                        line = source.count("\n", 0, part.start()) + 1
                        raise ValueError(f"a turn of a loop is a block; line {line} has another; put it in braces")
                    out += [source[done : begin + 1], LOOK]
                    done = begin + 1
    return "".join((*out, source[done:]))
