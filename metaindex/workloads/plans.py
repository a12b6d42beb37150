"""What Spark says of queries: of DataFrames and texts in a live session, or of plans in its event logs.

Whoever asks a live session stands above this room, beside the rule of Spark's optimizer: the public face, which may
import everything, says where (`LIVE`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from metaindex.expressions.reads import StatementReads
from metaindex.expressions.records import dataclass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class PlanReads:
    """`untold`: why something of it is not known."""

    reads: StatementReads
    untold: tuple[str, ...] = ()


def together(plans: Sequence[PlanReads]) -> PlanReads:
    """Of the plans of one query, each read once."""
    tables = dict.fromkeys(read for plan in plans for read in plan.reads.tables)
    joins = dict.fromkeys(join for plan in plans for join in plan.reads.joins)
    limit = next((plan.reads.limit for plan in plans if plan.reads.limit is not None), None)
    untold = dict.fromkeys(reason for plan in plans for reason in plan.untold)
    return PlanReads(StatementReads(tuple(tables), tuple(joins), limit), tuple(untold))


class LiveSpark(Protocol):
    """Analyses and optimizes queries in a session, and runs none. MetaIndexError for what cannot be analysed."""

    def frame_reads(self, frame: Any) -> PlanReads: ...

    def text_reads(self, text: str, spark: SparkSession) -> PlanReads: ...


LIVE: Final[list[Callable[[], LiveSpark]]] = []
"""One, where the public face is loaded: what gives it loads pyspark."""


def live() -> LiveSpark:
    return LIVE[0]()


def is_frame(query: object) -> bool:
    """Is it a DataFrame of Spark's?"""
    kind = type(query)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")
