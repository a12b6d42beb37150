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
    from .readers.replaced import refuse_replaced as refuse_replaced
    from .readers.scan import Scan as Scan
    from .semi_join.narrowed import Narrowed as Narrowed
    from .semi_join.sources import Named as Named
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "aggregates.measures": "How",
            "aggregates.whole_files": "Unproved WholeFiles",
            "arguments": "TimestampLike VersionLike check_since names_of",
            "explanation": "Credit Explanation",
            "handle": "Handle",
            "noting": "TableQueryLog",
            "order": "Direction",
            "pruning.pruner": "Pruner",
            "pruning.report": "IndexReport",
            "pruning.result": "PruneResult",
            "queries": "Queries",
            "query_log.reading": "LoggedQueries",
            "query_log.row": "QueryRow",
            "query_log.texts": "is_masked",
            "reader": "TableReader",
            "readers.footer_groups": "FooterGroups",
            "readers.replaced": "refuse_replaced",
            "readers.scan": "Scan",
            "semi_join.narrowed": "Narrowed",
            "semi_join.sources": "Named",
        },
    )
