"""What is asked: predicates, their meaning, and the walk that proves files out. Needs NumPy and pyarrow; engines are in
`metaindex.expressions.engines`."""

from metaindex.core.expression_errors import (
    AmbiguousColumnError,
    ExpressionError,
    LiteralTypeError,
    MetaIndexError,
    UnknownColumnError,
)

from .arrow_statistics import ArrowStatistics
from .binding import bind
from .build import ColumnBuilder, col, parse_path
from .composite_statistics import CompositeStatistics
from .conversion import convert_bounds
from .evaluate import matches
from .literals import Literal, LiteralValue, compare_values, kind, literal
from .normal_form import normalize
from .physical import column_domain_has_nan, from_physical, physical_type, to_physical
from .places import PhysicalInterval, physical_interval, prefix_interval
from .references import columns, conjuncts, leaves
from .skipping import may_fail, may_match, must_match
from .statistics import ColumnBounds, Interval, Mask, PruningStatistics
from .tree import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Leaf,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    fold,
    transform,
)

__all__ = [
    "AmbiguousColumnError",
    "And",
    "ArrowStatistics",
    "ColumnBounds",
    "ColumnBuilder",
    "ColumnRef",
    "Comparison",
    "CompositeStatistics",
    "Constant",
    "ExpressionError",
    "In",
    "Interval",
    "IsNan",
    "IsNull",
    "Leaf",
    "Literal",
    "LiteralTypeError",
    "LiteralValue",
    "Mask",
    "MetaIndexError",
    "Not",
    "Op",
    "Opaque",
    "Or",
    "PhysicalInterval",
    "Predicate",
    "PruningStatistics",
    "StartsWith",
    "UnknownColumnError",
    "bind",
    "col",
    "column_domain_has_nan",
    "columns",
    "compare_values",
    "conjuncts",
    "convert_bounds",
    "fold",
    "from_physical",
    "kind",
    "leaves",
    "literal",
    "matches",
    "may_fail",
    "may_match",
    "must_match",
    "normalize",
    "parse_path",
    "physical_interval",
    "physical_type",
    "prefix_interval",
    "to_physical",
    "transform",
]
