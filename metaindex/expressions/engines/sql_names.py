"""Names that a query defines itself, which may stand where a column's name does and are not looked for in a table."""

from __future__ import annotations

from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from .sql_syntax import quotes_escaped

_OF_ENGINES: Final = frozenset(
    {
        *("grouping__id", "_metadata", "filename", "file_row_number", "file_index", "rowid"),
        *("current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp"),
        *("current_timezone", "current_user", "localtime", "localtimestamp", "session_user"),
    }
)
"""Names that Spark or DuckDB knows of itself."""


def names_given(query: str, dialect: str = "spark") -> frozenset[str] | None:
    """Aliases of columns and tables, columns of lateral views, and what stands before the arrow of a function, beside
    what engines know of themselves; in small letters. None where nobody can tell, as of columns that are turned into
    rows."""
    try:
        tree = sqlglot.parse_one(quotes_escaped(query, dialect), read=dialect)
        return None if tree.find(exp.Pivot) else _OF_ENGINES | _names(tree)
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError):
        return None


def _names(tree: exp.Expression) -> set[str]:
    names: set[str] = set()
    for node in tree.find_all(exp.Alias, exp.Aliases, exp.TableAlias, exp.Lambda):
        if isinstance(node, exp.Alias):
            given = [node.alias]
        elif isinstance(node, exp.Aliases):
            given = [each.name for each in node.expressions]
        else:
            given = [node.name, *(each.name for each in (node.args.get("columns") or node.expressions))]
        names |= {name.lower() for name in given if name}
    return names
