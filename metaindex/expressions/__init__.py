"""Predicates: built, bound and walked over statistics; converted from and to engines."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .arrow_statistics import ArrowStatistics as ArrowStatistics
    from .binding import bind as bind
    from .build import ColumnBuilder as ColumnBuilder
    from .build import col as col
    from .build import parse_path as parse_path
    from .column_ref import ColumnRef as ColumnRef
    from .conversion import convert_bounds as convert_bounds
    from .engines import CatalystNodes as CatalystNodes
    from .engines import engine_of as engine_of
    from .engines import to_predicate as to_predicate
    from .engines.arrow import to_arrow as to_arrow
    from .engines.arrow_reading import names_read as names_read
    from .engines.iceberg import to_iceberg as to_iceberg
    from .engines.spark import to_spark as to_spark
    from .engines.sql_statement import statement_reads as statement_reads
    from .engines.sql_syntax import names_given as names_given
    from .engines.sql_text import to_sql as to_sql
    from .engines.sql_values import cast_text as cast_text
    from .engines.sql_words import column_sql as column_sql
    from .engines.sql_words import text_sql as text_sql
    from .engines.sql_words import value_sql as value_sql
    from .key_values import as_column as as_column
    from .literals import Literal as Literal
    from .normal_form import conjuncts as conjuncts
    from .normal_form import gathered_form as gathered_form
    from .normal_form import normalize as normalize
    from .physical import Family as Family
    from .physical import from_physical as from_physical
    from .physical import physical_type as physical_type
    from .physical import to_physical as to_physical
    from .places import PhysicalInterval as PhysicalInterval
    from .predicate_program import PredicateProgram as PredicateProgram
    from .reads import JoinKey as JoinKey
    from .reads import StatementReads as StatementReads
    from .reads import TableRead as TableRead
    from .reads import without_said as without_said
    from .scalars.residual import ResidualFilter as ResidualFilter
    from .skipping import may_match as may_match
    from .statistics import ColumnBounds as ColumnBounds
    from .statistics import CompositeStatistics as CompositeStatistics
    from .statistics import Interval as Interval
    from .statistics import ManyFiles as ManyFiles
    from .statistics import PruningStatistics as PruningStatistics
    from .statistics import Question as Question
    from .tree import And as And
    from .tree import Comparison as Comparison
    from .tree import Constant as Constant
    from .tree import In as In
    from .tree import IsNan as IsNan
    from .tree import IsNull as IsNull
    from .tree import Leaf as Leaf
    from .tree import Not as Not
    from .tree import Op as Op
    from .tree import Opaque as Opaque
    from .tree import Or as Or
    from .tree import Predicate as Predicate
    from .tree import StartsWith as StartsWith

__getattr__, __dir__ = door(__name__)
