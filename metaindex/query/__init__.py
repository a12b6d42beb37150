"""Queries of a table: pruning, scans, aggregates, semi-joins, and the query log."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .aggregates.aggregating import from_metadata as from_metadata
    from .aggregates.asked import AggregateQuestion as AggregateQuestion
    from .aggregates.each_value import EachValue as EachValue
    from .aggregates.each_value import TooManyValues as TooManyValues
    from .aggregates.first import certain_files as certain_files
    from .aggregates.known import KnownColumn as KnownColumn
    from .aggregates.known import KnownFiles as KnownFiles
    from .aggregates.measures import How as How
    from .aggregates.measures import Measure as Measure
    from .aggregates.order_by import Sorted as Sorted
    from .aggregates.partial import PartialAnswers as PartialAnswers
    from .arguments import TimestampLike as TimestampLike
    from .arguments import VersionLike as VersionLike
    from .arguments import at_version as at_version
    from .arguments import check_since as check_since
    from .arguments import names_of as names_of
    from .arguments import paths_of as paths_of
    from .explanation import Credit as Credit
    from .explanation import Explanation as Explanation
    from .handle import Handle as Handle
    from .location import check_outside as check_outside
    from .lookups.answer import Answer as Answer
    from .order import Direction as Direction
    from .order import as_shown as as_shown
    from .pruning.pruner import Pruner as Pruner
    from .pruning.ranking import CORES as CORES
    from .pruning.ranking import HOT as HOT
    from .pruning.ranking import HOT_GROUP as HOT_GROUP
    from .pruning.ranking import KEY_SHARE as KEY_SHARE
    from .pruning.ranking import PAGE_ROWS as PAGE_ROWS
    from .pruning.ranking import PRUNED as PRUNED
    from .pruning.ranking import JoinOf as JoinOf
    from .pruning.ranking import Offer as Offer
    from .pruning.ranking import Restriction as Restriction
    from .pruning.ranking import buckets_left as buckets_left
    from .pruning.ranking import choose as choose
    from .pruning.ranking import restrictions as restrictions
    from .pruning.ranking import share_read as share_read
    from .pruning.ranking import share_sent as share_sent
    from .pruning.ranking import unevenness as unevenness
    from .pruning.report import IndexReport as IndexReport
    from .pruning.result import PruneResult as PruneResult
    from .pruning.walk import surely as surely
    from .queries import Queries as Queries
    from .query_log.of_table import TableQueryLog as TableQueryLog
    from .query_log.reading import LoggedQueries as LoggedQueries
    from .query_log.row import SUMMED as SUMMED
    from .query_log.row import QueryRow as QueryRow
    from .query_log.texts import is_masked as is_masked
    from .reader import TableReader as TableReader
    from .readers.footer_groups import FooterGroups as FooterGroups
    from .readers.plan import ScanPlan as ScanPlan
    from .readers.replaced import refuse_replaced as refuse_replaced
    from .readers.scan import Scan as Scan
    from .semi_join.narrowed import Narrowed as Narrowed
    from .semi_join.sources import Named as Named
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "aggregates.aggregating": "from_metadata",
            "aggregates.asked": "AggregateQuestion",
            "aggregates.each_value": "EachValue TooManyValues",
            "aggregates.first": "certain_files",
            "aggregates.known": "KnownColumn KnownFiles",
            "aggregates.measures": "How Measure",
            "aggregates.order_by": "Sorted",
            "aggregates.partial": "PartialAnswers",
            "arguments": "TimestampLike VersionLike at_version check_since names_of paths_of",
            "explanation": "Credit Explanation",
            "handle": "Handle",
            "location": "check_outside",
            "lookups.answer": "Answer",
            "order": "Direction as_shown",
            "pruning.pruner": "Pruner",
            "pruning.ranking": (
                "CORES HOT HOT_GROUP JoinOf KEY_SHARE Offer PAGE_ROWS PRUNED Restriction buckets_left choose "
                "restrictions share_read share_sent unevenness"
            ),
            "pruning.report": "IndexReport",
            "pruning.result": "PruneResult",
            "pruning.walk": "surely",
            "queries": "Queries",
            "query_log.of_table": "TableQueryLog",
            "query_log.reading": "LoggedQueries",
            "query_log.row": "QueryRow SUMMED",
            "query_log.texts": "is_masked",
            "reader": "TableReader",
            "readers.footer_groups": "FooterGroups",
            "readers.plan": "ScanPlan",
            "readers.replaced": "refuse_replaced",
            "readers.scan": "Scan",
            "semi_join.narrowed": "Narrowed",
            "semi_join.sources": "Named",
        },
    )
