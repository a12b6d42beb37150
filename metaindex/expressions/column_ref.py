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

    @property
    def in_sql(self) -> str:
        """As it is written in a condition: a part that is no plain word, or that means something else in SQL, stands
        between backticks."""
        return ".".join(part if _means_itself(part) else _between_backticks(part) for part in self.parts)

    def __str__(self) -> str:
        return self.name


def _quoted(part: str) -> str:
    return part if part and not any(c in part for c in ".` ") else _between_backticks(part)


def _between_backticks(part: str) -> str:
    return "`" + part.replace("`", "``") + "`"


def _means_itself(part: str) -> bool:
    return part.isascii() and part.isidentifier() and part.lower() not in _WORDS


_TEXT = (
    "alter and any anti array as at between both by call case cast check collate column constraint create cross cube"
    " current_date current_time current_timestamp current_user date delete desc describe distinct drop else end escape"
    " except execute exists explain extract false fetch filter for foreign from full glob grant group grouping having"
    " ilike in inner insert intersect interval into is join lateral leading left like limit map minus natural not"
    " notnull null offset on only optimize or order outer overlaps partition partitioned_by prepare primary qualify"
    " references regexp rename returning revoke right rlike rollback rollup select semi serdeproperties session_user"
    " set show similar some struct table tablesample then time timestamp to trailing true try_cast uncache union"
    " unique unknown unpivot update user using vacuum values when where window with within xor"
)
_WORDS = frozenset(_TEXT.split())
"""Which some parser of SQL does not take for a column, here or in Spark: backticks are never wrong."""
