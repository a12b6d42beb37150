"""Cures that name an argument of Python: the library words its cures in Python, other interfaces reword them.

What a cure names stands free: a path or a text that holds the same letters (`/data/schema=3`, `'format=csv'`) is left
as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from metaindex.formats import READER as READER

Cure = tuple[str, str | Callable[[re.Match[str]], str]]
"""A pattern, and what is said in its place."""
ALIKE: Final[tuple[Cure, ...]] = ((r"read with \.to_spark\(spark\)", "read it with Spark"),)
"""Said alike by everybody else."""

_FREE: Final = r"(?<![\w/'\"=.-])"
_VALUE: Final = r"(?:'(?P<text>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<word>True|False)|(?![\w'\"/*]))"


def argument(names: Sequence[str]) -> str:
    """The pattern of an argument, with its value or without one."""
    return rf"{_FREE}(?P<name>{'|'.join(names)})={_VALUE}"


def value_of(match: re.Match[str]) -> str | bool | None:
    """Return the value of such an argument in the message, where Python doubles backslashes; None if it has none."""
    text = match["text"] if match["double"] is None else match["double"]
    if text is not None:
        return text.replace(r"\\", "\\")
    return None if match["word"] is None else match["word"] == "True"


def cured(message: str, cures: Sequence[Cure]) -> str:
    """Return the message with each pattern replaced, in their order."""
    for pattern, cure in cures:
        message = re.sub(pattern, cure, message)
    return message
