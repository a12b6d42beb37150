"""The facts on a table's page, as other rooms found them."""

from __future__ import annotations

from metaindex.advisor.clustering.clustering import Clustering
from metaindex.advisor.credit.savings import Savings
from metaindex.advisor.figures.strip import Strip
from metaindex.advisor.selection.answer import Recommendation
from metaindex.core import dataclass
from metaindex.formats import Snapshot
from metaindex.query import Explanation
from metaindex.table import IndexInfo


@dataclass(frozen=True, slots=True)
class LayoutSeen:
    """`clustering`: of the columns in the order of the table, `more` of which were not measured; `strips`: the ranges
    of some; `advised`: for the columns that the queries of the page name, or for all."""

    clustering: Clustering
    strips: tuple[Strip, ...]
    advised: Clustering
    more: int = 0


@dataclass(frozen=True, slots=True)
class TableSeen:
    """A table at a version. `queries`: conditions that were asked, each as its words; `recommended`: for a workload,
    where one was given; `savings`: None if the query log cannot be read; `notes`: what is missing, and why."""

    path: str
    snapshot: Snapshot
    growth: str
    indexes: tuple[IndexInfo, ...]
    layout: LayoutSeen
    queries: tuple[tuple[str, Explanation], ...]
    recommended: Recommendation | None
    savings: Savings | None
    made_ms: int
    notes: tuple[str, ...] = ()
