"""Names and texts as words of SQL, or of Python: whatever is in them, they stay one word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metaindex.core import one_line
from metaindex.expressions.build import parse_path

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def word(name: str, mark: str = "`") -> str:
    """A name, between marks where it is no plain word."""
    return name if _WORD.match(name) else quoted(name, mark)


def quoted(name: str, mark: str = "`") -> str:
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def column_sql(parts: Sequence[str], mark: str = "`") -> str:
    """A column, or a field inside structs. Each part stands between marks: a word may be one of SQL's own."""
    return ".".join(quoted(part, mark) for part in parts)


def name_sql(name: str) -> str:
    """A table's name as a user gave it, with or without quotes."""
    return ".".join(map(word, parse_path(name)))


def text_sql(text: str, *, doubled: bool = False) -> str:
    """A text of SQL. `doubled`: as the standard has it, and DuckDB; else as Spark has it."""
    if doubled:
        return "'" + text.replace("'", "''") + "'"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def text_python(text: str) -> str:
    """A text of Python, in double quotes: in one line, whatever is in it."""
    return '"' + one_line(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'
