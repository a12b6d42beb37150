"""metaindex: one live index over Delta, Iceberg and plain tables on a data lake.

import metaindex as mi
table = mi.open_table("/lake/flights")
table.create_index("stats", mi.ColumnStats())
table.prune("tailnum = 'N14228' AND dep_delay > 60").paths
"""

from typing import TYPE_CHECKING

from metaindex.core.expression_errors import (
    AmbiguousColumnError,
    ArgumentError,
    CorruptTableError,
    EmptyFilesError,
    ExpressionError,
    FormatError,
    LiteralTypeError,
    MissingDependencyError,
    NotATableError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutsideTableError,
    StorageError,
    StoragePermissionError,
    StorageUnavailableError,
    UnknownColumnError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from metaindex.expressions import ColumnBuilder, MetaIndexError, col

from .core.clients import offer
from .core.config import Config, QueryLog
from .core.errors import (
    BuildError,
    ConcurrentWriteError,
    DamagedIndexError,
    ForeignIndexError,
    IndexExistsError,
    IndexNotFoundError,
    IndexStateError,
    ScanError,
    SettingError,
    StatementError,
    WorkerError,
)
from .index.kinds.bloom.spec import Bloom
from .index.kinds.column_stats.spec import ColumnStats
from .index.kinds.covering.curve import CoveringCurve
from .index.kinds.covering.spec import Covering, CoveringRange
from .index.kinds.sketches.spec import Sketches
from .index.kinds.sums.spec import Sums
from .index.kinds.values.lists import ValueList
from .index.kinds.values.spec import Values
from .query.pruning.result import IndexReport, PruneResult
from .table.face import Table
from .table.opening import open_table
from .table.views.info import IndexInfo

if TYPE_CHECKING:  # loaded when asked for
    from .advisor.face.recommend_tables import recommend as recommend
    from .advisor.workloads.taking import workload as workload
    from .advisor.workloads.template import Workload as Workload
    from .ops import hooks as hooks
    from .ops.lake.answer import Lake as Lake
    from .ops.lake.opening import open_lake as open_lake
    from .query.semi_join.narrowed import Narrowed as Narrowed
    from .spark.optimizer import RuleConfig as RuleConfig
    from .spark.optimizer import disable as disable
    from .spark.optimizer import enable as enable
    from .spark.optimizer import explain as explain
    from .spark.optimizer import hint as hint
    from .spark.optimizer import is_enabled as is_enabled
    from .statements.execution.files import sql as sql
    from .table.frames import create_index as create_index
    from .table.narrowing import narrowed as narrowed

__version__ = "0.1.0"


_LATE = {
    "Lake": ".lake.answer",
    "RuleConfig": ".rule",
    "Workload": ".workloads.template",
    "create_index": ".table.frames",
    "disable": ".rule",
    "enable": ".rule",
    "explain": ".rule",
    "hint": ".rule",
    "is_enabled": ".rule",
    "narrowed": ".table.narrowing",
    "open_lake": ".lake.opening",
    "recommend": ".table.recommend",
    "sql": ".running.files",
    "workload": ".workloads.taking",
}
"""Where names are that are loaded when they are asked for."""


offer(
    clustering="metaindex.advisor.face.layout:clustering",
    frame_reads="metaindex.spark.optimizer.asking:frame_reads",
    recommend="metaindex.advisor.face.recommending:recommend",
    report="metaindex.advisor.face.report:write_report",
    savings="metaindex.advisor.face.spared:savings_of",
    spark_session="metaindex.spark:spark_session",
    text_reads="metaindex.spark.optimizer.asking:text_reads",
    to_spark="metaindex.spark.readers.spark:data_frame",
    what_if="metaindex.advisor.face.weighing:weighed",
)


def __getattr__(name: str) -> object:
    """`mi.hooks` is loaded by those who write, the rule of Spark's optimizer by those who enable it."""
    if name not in _LATE and name != "hooks":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(".hooks", __name__) if name == "hooks" else getattr(import_module(_LATE[name], __name__), name)


def __dir__() -> list[str]:
    """Every public name, those that are loaded when asked for too: for tab completion."""
    return sorted({*__all__, "__doc__", "__version__"})


__all__ = [
    "AmbiguousColumnError",
    "ArgumentError",
    "Bloom",
    "BuildError",
    "ColumnBuilder",
    "ColumnStats",
    "ConcurrentWriteError",
    "Config",
    "CorruptTableError",
    "Covering",
    "CoveringCurve",
    "CoveringRange",
    "DamagedIndexError",
    "EmptyFilesError",
    "ExpressionError",
    "ForeignIndexError",
    "FormatError",
    "IndexExistsError",
    "IndexInfo",
    "IndexNotFoundError",
    "IndexReport",
    "IndexStateError",
    "Lake",
    "LiteralTypeError",
    "MetaIndexError",
    "MissingDependencyError",
    "NotATableError",
    "ObjectExistsError",
    "ObjectNotFoundError",
    "OutsideTableError",
    "PruneResult",
    "QueryLog",
    "RuleConfig",
    "ScanError",
    "SettingError",
    "Sketches",
    "StatementError",
    "StorageError",
    "StoragePermissionError",
    "StorageUnavailableError",
    "Sums",
    "Table",
    "UnknownColumnError",
    "UnsupportedFeatureError",
    "ValueList",
    "Values",
    "VersionNotFoundError",
    "WorkerError",
    "Workload",
    "col",
    "create_index",
    "disable",
    "enable",
    "explain",
    "hint",
    "hooks",
    "is_enabled",
    "narrowed",
    "open_lake",
    "open_table",
    "recommend",
    "sql",
    "workload",
]
