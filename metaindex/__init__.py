"""metaindex: one live index over Delta, Iceberg and plain tables on a data lake.

import metaindex as mi
table = mi.open_table("/lake/flights")
table.create_index("stats", mi.ColumnStats())
table.prune("tailnum = 'N14228' AND dep_delay > 60").paths
"""

from typing import TYPE_CHECKING

from metaindex.expressions import ColumnBuilder, MetaIndexError, col
from metaindex.expressions.errors import (
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

from .clients import offer
from .config import Config, QueryLog
from .errors import (
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
from .kinds.bloom.spec import Bloom
from .kinds.column_stats.spec import ColumnStats
from .kinds.covering.curve import CoveringCurve
from .kinds.covering.spec import Covering, CoveringRange
from .kinds.sketches.spec import Sketches
from .kinds.sums.spec import Sums
from .kinds.values.lists import ValueList
from .kinds.values.spec import Values
from .pruning.result import IndexReport, PruneResult
from .table.face import Table
from .table.opening import open_table
from .views.info import IndexInfo

if TYPE_CHECKING:  # loaded when asked for
    from . import hooks as hooks
    from .joins.narrowed import Narrowed as Narrowed
    from .lake.answer import Lake as Lake
    from .lake.opening import open_lake as open_lake
    from .rule import RuleConfig as RuleConfig
    from .rule import disable as disable
    from .rule import enable as enable
    from .rule import explain as explain
    from .rule import hint as hint
    from .rule import is_enabled as is_enabled
    from .running.files import sql as sql
    from .table.frames import create_index as create_index
    from .table.narrowing import narrowed as narrowed
    from .table.recommend import recommend as recommend
    from .workloads.taking import workload as workload
    from .workloads.template import Workload as Workload

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
    clustering="metaindex.table.layout:clustering",
    frame_reads="metaindex.rule.asking:frame_reads",
    recommend="metaindex.table.recommending:recommend",
    report="metaindex.table.report:write_report",
    savings="metaindex.table.spared:savings_of",
    spark_session="metaindex.spark:spark_session",
    text_reads="metaindex.rule.asking:text_reads",
    to_spark="metaindex.readers.spark:data_frame",
    what_if="metaindex.table.weighing:weighed",
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
