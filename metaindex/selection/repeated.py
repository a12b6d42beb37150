"""A filter that comes again and that no index answers, as it is told: remembered, it would open only files in which a
row may match (`Config.remember_filters`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metaindex.expressions.engines.sql_words import text_python
from metaindex.expressions.records import dataclass
from metaindex.pruning.result import human_bytes
from metaindex.views.words import counted

FOR_WHOM: Final = (
    "scans of metaindex find it out, and write it beside the indexes (to_arrow, to_pandas and the like; of DuckDB and"
    " Polars those without a filter of their own). Spark's own scans write none; where the table has an index they"
    " leave files out by parts that compare columns with values"
)
"""Whom it helps."""
TITLE: Final = "no index answers what comes again; remembered, a filter opens only files in which a row may match:"


@dataclass(frozen=True, slots=True)
class RepeatedFilter:
    """`filter`: a whole condition, or a part of the AND of several. `times`: that it came, `by_spark` of them by Spark
    (None where nobody knows who asked); `by_itself`: did a scan have it as its whole filter? Only such a one finds out
    what is remembered. `again`: how often it came behind the first of those (all times where there is none), asked of
    metaindex; `files`, `size_bytes`: that were read then. As much is left out at most: in how few of them a row matches
    is known of no filter before it is remembered. `hidden`: its values are hashed, and no index was tried."""

    filter: str
    times: int
    again: int
    files: int
    size_bytes: int
    by_itself: bool = True
    by_spark: int | None = None
    hidden: bool = False

    @property
    def said(self) -> str:
        came = f"came {self.times:,} times" + (f" ({self.by_spark:,} by Spark)" if self.by_spark else "")
        whole = "after the first" if self.by_itself else "of them"
        read = f"{counted(self.files, 'file')}, {human_bytes(self.size_bytes)}"
        first = "" if self.by_itself else "; never by itself: scan it once as the whole filter"
        hidden = "; its values are hashed: whether an index would answer it was not tried" if self.hidden else ""
        return f"{self.filter}: {came}; the {self.again:,} {whole} read {read}: up to so much less{first}{hidden}"

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def remembering_python(table: str) -> str:
    """A line that opens a table so, behind `import metaindex as mi`."""
    return f"table = mi.open_table({text_python(table)}, config=mi.Config(remember_filters=True))"


def told(repeated: Sequence[RepeatedFilter], table: str) -> Iterator[str]:
    """In lines; none where no filter comes again."""
    if repeated:
        yield TITLE
        yield from (f"  {each.said}" for each in repeated)
        yield f"  to remember: {remembering_python(table)}"
        yield f"  {FOR_WHOM}"
