"""Functions that write, merge and check the rows of facts of columns (`FACT_ROWS`): loaded by the verbs that do."""

from .column_stats.merge import merge as merge_facts
from .column_stats.merge import together as columns_together
from .column_stats.rows import column_rows as fact_rows
from .column_stats.rows import partition_values as partition_values
from .column_stats.spark import aggregated as aggregated_by_spark
from .column_stats.verified import check as check_facts
from .column_stats.verified import wrong as wrong_facts
from .column_stats.writer import ColumnWriter as FactWriter

__all__ = [
    "FactWriter",
    "aggregated_by_spark",
    "check_facts",
    "columns_together",
    "fact_rows",
    "merge_facts",
    "partition_values",
    "wrong_facts",
]
