"""Queries of a table: pruning, scans, aggregates, semi-joins, and the query log."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .aggregates.measures import How as How
    from .aggregates.whole_files import Unproved as Unproved
    from .aggregates.whole_files import WholeFiles as WholeFiles
    from .arguments import TimestampLike as TimestampLike
    from .arguments import VersionLike as VersionLike
    from .arguments import check_since as check_since
    from .arguments import names_of as names_of
    from .explanation import Credit as Credit
    from .explanation import Explanation as Explanation
    from .handle import Handle as Handle
    from .noting import TableQueryLog as TableQueryLog
    from .order import Direction as Direction
    from .pruning.pruner import Pruner as Pruner
    from .pruning.report import IndexReport as IndexReport
    from .pruning.result import PruneResult as PruneResult
    from .queries import Queries as Queries
    from .query_log.reading import LoggedQueries as LoggedQueries
    from .query_log.row import QueryRow as QueryRow
    from .query_log.texts import is_masked as is_masked
    from .reader import TableReader as TableReader
    from .readers.footer_groups import FooterGroups as FooterGroups
    from .readers.read_budget import ReadBudget as ReadBudget
    from .readers.read_budget import TooCostlyError as TooCostlyError
    from .readers.replaced import refuse_replaced as refuse_replaced
    from .readers.row_reading import RowReading as RowReading
    from .readers.scan import Scan as Scan
    from .semi_join.narrowed import Narrowed as Narrowed
    from .semi_join.sources import Named as Named

__getattr__, __dir__ = door(__name__)
