"""metaindex: one live index over Delta, Iceberg and plain tables on a data lake.

import metaindex as mi
table = mi.open_table("/lake/flights")
table.create_index("stats", mi.ColumnStats())
table.prune("tailnum = 'N14228' AND dep_delay > 60").paths
"""

import expressions as _expressions
import formats as _formats

_MARK = "a room of metaindex"


def _check_rooms() -> None:
    """`formats` and `expressions` are common names: a stranger's package of that name must not be taken for ours."""
    for room in (_expressions, _formats):
        if getattr(room, "__metaindex_room__", None) != _MARK:
            raise ImportError(
                f"metaindex needs its own package {room.__name__!r}; the import path has another one at {room.__file__}; "
                "take that one off the path, or install metaindex into an environment of its own"
            )


_check_rooms()

from typing import TYPE_CHECKING  # noqa: E402 - after the check

from expressions import ColumnBuilder, MetaIndexError, col  # noqa: E402
from expressions.errors import (  # noqa: E402
    AmbiguousColumnError,
    ArgumentError,
    CorruptTableError,
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

from .config import Config  # noqa: E402
from .errors import (  # noqa: E402
    BuildError,
    ConcurrentWriteError,
    DamagedIndexError,
    ForeignIndexError,
    IndexExistsError,
    IndexNotFoundError,
    IndexStateError,
    ScanError,
    SettingError,
)
from .kinds.bloom.spec import Bloom  # noqa: E402
from .kinds.column_stats.spec import ColumnStats  # noqa: E402
from .kinds.covering.spec import Covering, CoveringRange  # noqa: E402
from .kinds.values.lists import ValueList  # noqa: E402
from .kinds.values.spec import Values  # noqa: E402
from .pruning.result import IndexReport, PruneResult  # noqa: E402
from .table.face import Table  # noqa: E402
from .table.opening import open_table  # noqa: E402
from .views.info import IndexInfo  # noqa: E402

if TYPE_CHECKING:  # loaded when asked for
    from . import hooks as hooks
    from .rule import RuleConfig as RuleConfig
    from .rule import disable as disable
    from .rule import enable as enable
    from .rule import explain as explain
    from .rule import hint as hint
    from .rule import is_enabled as is_enabled
    from .table.frames import create_index as create_index

__version__ = "0.1.0"


_OF_RULE = ("RuleConfig", "disable", "enable", "explain", "hint", "is_enabled")


def __getattr__(name: str) -> object:
    """`mi.hooks` is loaded by those who write, the rule of Spark's optimizer by those who enable it."""
    if name == "create_index":
        from .table.frames import create_index

        return create_index
    if name == "hooks" or name in _OF_RULE:
        from importlib import import_module

        return import_module(".hooks", __name__) if name == "hooks" else getattr(import_module(".rule", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
    "CoveringRange",
    "DamagedIndexError",
    "ExpressionError",
    "ForeignIndexError",
    "FormatError",
    "IndexExistsError",
    "IndexInfo",
    "IndexNotFoundError",
    "IndexReport",
    "IndexStateError",
    "LiteralTypeError",
    "MetaIndexError",
    "MissingDependencyError",
    "NotATableError",
    "ObjectExistsError",
    "ObjectNotFoundError",
    "OutsideTableError",
    "PruneResult",
    "RuleConfig",
    "ScanError",
    "SettingError",
    "StorageError",
    "StoragePermissionError",
    "StorageUnavailableError",
    "Table",
    "UnknownColumnError",
    "UnsupportedFeatureError",
    "ValueList",
    "Values",
    "VersionNotFoundError",
    "col",
    "create_index",
    "disable",
    "enable",
    "explain",
    "hint",
    "hooks",
    "is_enabled",
    "open_table",
]
