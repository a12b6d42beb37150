"""metaindex: one live index over Delta, Iceberg and plain tables on a data lake.

import metaindex as mi
table = mi.open_table("/lake/flights")
table.create_index("stats", mi.ColumnStats())
table.prune("tailnum = 'N14228' AND dep_delay > 60").paths
"""

from typing import TYPE_CHECKING

from metaindex.core import CLIENTS, door

if TYPE_CHECKING:
    from metaindex.advisor import Workload as Workload
    from metaindex.advisor import recommend as recommend
    from metaindex.advisor import workload as workload
    from metaindex.core import AmbiguousColumnError as AmbiguousColumnError
    from metaindex.core import ArgumentError as ArgumentError
    from metaindex.core import BuildError as BuildError
    from metaindex.core import ConcurrentWriteError as ConcurrentWriteError
    from metaindex.core import Config as Config
    from metaindex.core import CorruptTableError as CorruptTableError
    from metaindex.core import DamagedIndexError as DamagedIndexError
    from metaindex.core import EmptyFilesError as EmptyFilesError
    from metaindex.core import ExpressionError as ExpressionError
    from metaindex.core import ForeignIndexError as ForeignIndexError
    from metaindex.core import FormatError as FormatError
    from metaindex.core import IndexExistsError as IndexExistsError
    from metaindex.core import IndexNotFoundError as IndexNotFoundError
    from metaindex.core import IndexStateError as IndexStateError
    from metaindex.core import LiteralTypeError as LiteralTypeError
    from metaindex.core import MetaIndexError as MetaIndexError
    from metaindex.core import MissingDependencyError as MissingDependencyError
    from metaindex.core import NotATableError as NotATableError
    from metaindex.core import ObjectExistsError as ObjectExistsError
    from metaindex.core import ObjectNotFoundError as ObjectNotFoundError
    from metaindex.core import OutsideTableError as OutsideTableError
    from metaindex.core import QueryLog as QueryLog
    from metaindex.core import ScanError as ScanError
    from metaindex.core import SettingError as SettingError
    from metaindex.core import StatementError as StatementError
    from metaindex.core import StorageError as StorageError
    from metaindex.core import StoragePermissionError as StoragePermissionError
    from metaindex.core import StorageUnavailableError as StorageUnavailableError
    from metaindex.core import UnknownColumnError as UnknownColumnError
    from metaindex.core import UnsupportedFeatureError as UnsupportedFeatureError
    from metaindex.core import VersionNotFoundError as VersionNotFoundError
    from metaindex.core import WorkerError as WorkerError
    from metaindex.expressions import ColumnBuilder as ColumnBuilder
    from metaindex.expressions import col as col
    from metaindex.index import Bloom as Bloom
    from metaindex.index import ColumnStats as ColumnStats
    from metaindex.index import Covering as Covering
    from metaindex.index import CoveringCurve as CoveringCurve
    from metaindex.index import CoveringRange as CoveringRange
    from metaindex.index import Sketches as Sketches
    from metaindex.index import Sums as Sums
    from metaindex.index import ValueList as ValueList
    from metaindex.index import Values as Values
    from metaindex.ops import Lake as Lake
    from metaindex.ops import hooks as hooks
    from metaindex.ops import open_lake as open_lake
    from metaindex.query import IndexReport as IndexReport
    from metaindex.query import PruneResult as PruneResult
    from metaindex.query import TooCostlyError as TooCostlyError
    from metaindex.serve import open_server as open_server
    from metaindex.spark import RuleConfig as RuleConfig
    from metaindex.spark import create_index as create_index
    from metaindex.spark import disable as disable
    from metaindex.spark import enable as enable
    from metaindex.spark import explain as explain
    from metaindex.spark import hint as hint
    from metaindex.spark import is_enabled as is_enabled
    from metaindex.statements import sql as sql
    from metaindex.table import IndexInfo as IndexInfo
    from metaindex.table import Table as Table
    from metaindex.table import narrowed as narrowed
    from metaindex.table import open_table as open_table

__version__ = "0.1.0"

__getattr__, _names = door(__name__)
__all__ = list(_names())


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__version__"]


CLIENTS.offer(
    clustering="metaindex.advisor.clustering.measure:clustering",
    frame_reads="metaindex.spark.optimizer.asking:frame_reads",
    recommend="metaindex.advisor.selection.recommend:recommend_for",
    report="metaindex.advisor.report.page:write_report",
    savings="metaindex.advisor.savings:savings_of",
    spark_session="metaindex.spark:spark_session",
    text_reads="metaindex.spark.optimizer.asking:text_reads",
    to_spark="metaindex.spark.readers.spark:data_frame",
    what_if="metaindex.advisor.hypothetical.what_if:weighed",
)
