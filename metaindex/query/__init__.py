"""Queries of a table: pruning, scans, aggregates, semi-joins, and the query log."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .aggregates.aggregating import Rows as Rows
    from .aggregates.aggregating import aggregate as aggregate
    from .aggregates.aggregating import from_metadata as from_metadata
    from .aggregates.asked import AggregateQuestion as AggregateQuestion
    from .aggregates.asked import asked_of as asked_of
    from .aggregates.each_value import EachValue as EachValue
    from .aggregates.each_value import TooManyValues as TooManyValues
    from .aggregates.first import certain_files as certain_files
    from .aggregates.first import first_in_order as first_in_order
    from .aggregates.first import first_rows as first_rows
    from .aggregates.kept import LeftOut as LeftOut
    from .aggregates.kept import sums_of as sums_of
    from .aggregates.kept_values import KeptValues as KeptValues
    from .aggregates.kept_values import values_of as values_of
    from .aggregates.known import KnownColumn as KnownColumn
    from .aggregates.known import KnownFiles as KnownFiles
    from .aggregates.live import KnownCounts as KnownCounts
    from .aggregates.live import agreed as agreed
    from .aggregates.live import deleted_rows as deleted_rows
    from .aggregates.live import physical_rows as physical_rows
    from .aggregates.live import with_deletes as with_deletes
    from .aggregates.measures import How as How
    from .aggregates.measures import Measure as Measure
    from .aggregates.order_by import Sorted as Sorted
    from .aggregates.partial import PartialAnswers as PartialAnswers
    from .bounds import BoundsOf as BoundsOf
    from .bounds import ColumnFacts as ColumnFacts
    from .order import Direction as Direction
    from .order import as_shown as as_shown
    from .pruning.collector import gc_paused as gc_paused
    from .pruning.folder import ANEW as ANEW
    from .pruning.folder import SAME_NAME as SAME_NAME
    from .pruning.folder import IndexFolder as IndexFolder
    from .pruning.folder import check as check
    from .pruning.folder import not_looked_at as not_looked_at
    from .pruning.folder import why as why
    from .pruning.over_snapshot import each_over_snapshot as each_over_snapshot
    from .pruning.plan_cache import PlanCache as PlanCache
    from .pruning.plan_cache import PlanCacheKey as PlanCacheKey
    from .pruning.pruner import Pruner as Pruner
    from .pruning.quarantine import QuarantinedIndexes as QuarantinedIndexes
    from .pruning.question import NeedsSnapshot as NeedsSnapshot
    from .pruning.question import TableQuestion as TableQuestion
    from .pruning.ranking import CORES as CORES
    from .pruning.ranking import HOT as HOT
    from .pruning.ranking import HOT_GROUP as HOT_GROUP
    from .pruning.ranking import KEY_SHARE as KEY_SHARE
    from .pruning.ranking import MARGIN as MARGIN
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
    from .pruning.report import human_bytes as human_bytes
    from .pruning.result import PruneResult as PruneResult
    from .pruning.run_coverage import unkeyed_files as unkeyed_files
    from .pruning.walk import LOG as LOG
    from .pruning.walk import LeafReport as LeafReport
    from .pruning.walk import surely as surely
    from .query_log.cleaning import QueriesCleaned as QueriesCleaned
    from .query_log.cleaning import clean as clean
    from .query_log.files import LogPlace as LogPlace
    from .query_log.files import listed as listed
    from .query_log.noted import helpers as helpers
    from .query_log.noted import now_us as now_us
    from .query_log.noted import pruned as pruned
    from .query_log.noted import scanned as scanned
    from .query_log.reading import LoggedQueries as LoggedQueries
    from .query_log.reading import logged as logged
    from .query_log.row import SUMMED as SUMMED
    from .query_log.row import QueryRow as QueryRow
    from .query_log.row import bounded as bounded
    from .query_log.summary import summary as summary
    from .query_log.texts import is_masked as is_masked
    from .query_log.writer import WRITER as WRITER
    from .query_log.writer import Recorder as Recorder
    from .readers.arrow import matching_rows as matching_rows
    from .readers.footer_groups import FooterGroups as FooterGroups
    from .readers.footer_groups import KeptGroups as KeptGroups
    from .readers.named import snapshot_of_kept as snapshot_of_kept
    from .readers.plan import Choose as Choose
    from .readers.plan import ScanPlan as ScanPlan
    from .readers.plan import narrowest as narrowest
    from .readers.recorded_scan import batches as batches
    from .readers.replaced import refuse_replaced as refuse_replaced
    from .readers.scan import Scan as Scan
    from .semi_join.keys import JoinKeys as JoinKeys
    from .semi_join.narrowed import MOST_RANGES as MOST_RANGES
    from .semi_join.narrowed import MOST_VALUES as MOST_VALUES
    from .semi_join.narrowed import Narrowed as Narrowed
    from .semi_join.narrowed import narrowed as narrowed
    from .semi_join.sources import Named as Named
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "aggregates.aggregating": "Rows aggregate from_metadata",
            "aggregates.asked": "AggregateQuestion asked_of",
            "aggregates.each_value": "EachValue TooManyValues",
            "aggregates.first": "certain_files first_in_order first_rows",
            "aggregates.kept": "LeftOut sums_of",
            "aggregates.kept_values": "KeptValues values_of",
            "aggregates.known": "KnownColumn KnownFiles",
            "aggregates.live": "KnownCounts agreed deleted_rows physical_rows with_deletes",
            "aggregates.measures": "How Measure",
            "aggregates.order_by": "Sorted",
            "aggregates.partial": "PartialAnswers",
            "bounds": "BoundsOf ColumnFacts",
            "order": "Direction as_shown",
            "pruning.collector": "gc_paused",
            "pruning.folder": "ANEW IndexFolder SAME_NAME check not_looked_at why",
            "pruning.run_coverage": "unkeyed_files",
            "pruning.over_snapshot": "each_over_snapshot",
            "pruning.pruner": "Pruner",
            "pruning.question": "NeedsSnapshot TableQuestion",
            "pruning.ranking": (
                "CORES HOT HOT_GROUP JoinOf KEY_SHARE MARGIN Offer PAGE_ROWS PRUNED Restriction buckets_left "
                "choose restrictions share_read share_sent unevenness"
            ),
            "pruning.plan_cache": "PlanCacheKey PlanCache",
            "pruning.result": "PruneResult",
            "pruning.quarantine": "QuarantinedIndexes",
            "pruning.report": "IndexReport human_bytes",
            "pruning.walk": "LOG LeafReport surely",
            "query_log.cleaning": "QueriesCleaned clean",
            "query_log.files": "LogPlace listed",
            "query_log.noted": "helpers now_us pruned scanned",
            "query_log.reading": "LoggedQueries logged",
            "query_log.row": "QueryRow SUMMED bounded",
            "query_log.summary": "summary",
            "query_log.texts": "is_masked",
            "query_log.writer": "Recorder WRITER",
            "readers.arrow": "matching_rows",
            "readers.footer_groups": "FooterGroups KeptGroups",
            "readers.named": "snapshot_of_kept",
            "readers.plan": "Choose ScanPlan narrowest",
            "readers.recorded_scan": "batches",
            "readers.replaced": "refuse_replaced",
            "readers.scan": "Scan",
            "semi_join.keys": "JoinKeys",
            "semi_join.narrowed": "MOST_RANGES MOST_VALUES Narrowed narrowed",
            "semi_join.sources": "Named",
        },
    )
