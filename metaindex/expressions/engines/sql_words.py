"""Names and texts as words of SQL: whatever is in them, they stay one word."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def column_sql(parts: Sequence[str], mark: str = "`", *, bare: bool = False) -> str:
    """A column, or a field inside structs. Each part stands between marks: a word may be one of SQL's own. `bare`: a
    name, such as a table's, whose plain words stand without marks."""
    return ".".join(
        part if bare and _WORD.match(part) else f"{mark}{part.replace(mark, mark * 2)}{mark}" for part in parts
    )


def value_sql(value: object) -> str:
    """Write a text, a number or a truth of SQL."""
    if isinstance(value, bool):
        return str(value).lower()
    return text_sql(value) if isinstance(value, str) else repr(value)


def text_sql(text: str, *, doubled: bool = False) -> str:
    """A text of SQL. `doubled`: as the standard has it, and DuckDB; else as Spark has it."""
    if doubled:
        return "'" + text.replace("'", "''") + "'"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
