"""Resolves a name to columns of a file: one rule for the index, for bounds from footers and for readers, so that none
finds a column that another shows as absent.

Spark's: names are alike when their small letters are (`lower`, as Java's toLowerCase; `casefold` would make `ß` of one
file the `ss` of another). Columns alike are ambiguous, one of the very name among them or not.
"""

from __future__ import annotations


def alike(name: str) -> str:
    """Equal for names that mean one column."""
    return name.lower()
