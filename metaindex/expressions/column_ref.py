"""Columns by their names."""

from __future__ import annotations

from .records import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ColumnRef:
    """A column by its path: `("payload", "user")` is field `user` of struct `payload`."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """The dotted name; a part that holds a dot, a backtick, a blank or nothing is quoted by backticks as Spark
        does."""
        return ".".join(_quoted(part) for part in self.parts)

    def __str__(self) -> str:
        return self.name


def _quoted(part: str) -> str:
    if part and not any(c in part for c in ".` "):
        return part
    return "`" + part.replace("`", "``") + "`"
