"""Columns by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaindex.core import dataclass

if TYPE_CHECKING:
    import pyarrow as pa


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
        """Return the column as written in a condition. A part that is no plain word, or that means something else in
        SQL, is quoted with backticks."""
        return ".".join(part if _means_itself(part) else between_backticks(part) for part in self.parts)

    def __str__(self) -> str:
        return self.name

    def type_in(self, schema: pa.Schema | None) -> pa.DataType | None:
        """Return the column's type, None where the schema has no such column (names compare as written), or is not
        known."""
        from pyarrow import StructType

        if schema is None:
            return None
        among: pa.Schema | pa.DataType = schema
        for number, part in enumerate(self.parts):
            if number and not isinstance(among, StructType):
                return None
            places = among.get_all_field_indices(part)  # without a scan of the schema: it may have thousands of fields
            if not places:
                return None
            among = among.field(places[-1]).type
        return among


def _quoted(part: str) -> str:
    return part if part and not any(c in part for c in ".` ") else between_backticks(part)


def between_backticks(part: str) -> str:
    """A part of a name as SQL takes it, whatever is in it."""
    return "`" + part.replace("`", "``") + "`"


def _means_itself(part: str) -> bool:
    return part.isascii() and part.isidentifier() and part.lower() not in _WORDS


_TEXT = (
    "alter and anti any as between by call case cast create cross current_date current_time current_timestamp"
    " current_user distinct drop else except execute exists explain false fetch for from full glob grant group"
    " having ilike in inner insert intersect interval into is join lateral left like limit minus natural not"
    " notnull null on optimize or order outer partitioned_by prepare qualify regexp rename returning revoke right"
    " rlike rollback select semi serdeproperties session_user show tablesample then true uncache union using"
    " vacuum values when where with xor"
)
_WORDS = frozenset(_TEXT.split())
"""Which some parser of SQL does not take for a column, here or in Spark: backticks are never wrong."""
