"""Predicates: built, bound, evaluated on rows and walked over statistics; converted from and to engines."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .arrow_statistics import ArrowStatistics as ArrowStatistics
    from .arrow_types import UUID as UUID
    from .arrow_types import is_bytes as is_bytes
    from .arrow_types import is_text as is_text
    from .arrow_types import is_uuid as is_uuid
    from .binding import bind as bind
    from .binding import reader_hint as reader_hint
    from .build import ColumnBuilder as ColumnBuilder
    from .build import col as col
    from .build import parse_path as parse_path
    from .coercion import Coerced as Coerced
    from .coercion import coerce as coerce
    from .coercion import family as family
    from .column_ref import ColumnRef as ColumnRef
    from .column_ref import between_backticks as between_backticks
    from .composite_statistics import CompositeStatistics as CompositeStatistics
    from .conversion import convert_bounds as convert_bounds
    from .conversion import narrowed_bounds as narrowed_bounds
    from .engines import CatalystNodes as CatalystNodes
    from .engines import engine_of as engine_of
    from .engines import to_predicate as to_predicate
    from .engines.arrow import to_arrow as to_arrow
    from .engines.arrow_reading import names_read as names_read
    from .engines.casts import field_type as field_type
    from .engines.catalog_types import fields_of as fields_of
    from .engines.catalog_types import leaves_of as leaves_of
    from .engines.grid import on_grid as on_grid
    from .engines.iceberg import to_iceberg as to_iceberg
    from .engines.scalar_text import DUCKDB as DUCKDB
    from .engines.scalar_text import ScalarWriter as ScalarWriter
    from .engines.scalar_text import is_written_first as is_written_first
    from .engines.spark import check_as_written as check_as_written
    from .engines.spark import to_spark as to_spark
    from .engines.spark_printed import conjuncts_of as conjuncts_of
    from .engines.spark_printed import printed_columns as printed_columns
    from .engines.spark_printed import printed_parts as printed_parts
    from .engines.spark_text import PrintedColumns as PrintedColumns
    from .engines.spark_text import Unclear as Unclear
    from .engines.spark_text import printed_predicate as printed_predicate
    from .engines.sql import parse as parse
    from .engines.sql_names import names_given as names_given
    from .engines.sql_statement import is_statement as is_statement
    from .engines.sql_statement import statement_reads as statement_reads
    from .engines.sql_text import literal_writer as literal_writer
    from .engines.sql_text import to_sql as to_sql
    from .engines.sql_values import NotReadable as NotReadable
    from .engines.sql_values import cast_value as cast_value
    from .engines.sql_words import column_sql as column_sql
    from .engines.sql_words import name_sql as name_sql
    from .engines.sql_words import quoted as quoted
    from .engines.sql_words import text_python as text_python
    from .engines.sql_words import text_sql as text_sql
    from .engines.sql_words import word as word
    from .evaluate import matches as matches
    from .literals import Literal as Literal
    from .literals import LiteralValue as LiteralValue
    from .literals import compare_values as compare_values
    from .literals import kind as kind
    from .literals import literal as literal
    from .normal_form import gathered_form as gathered_form
    from .normal_form import normalize as normalize
    from .order import Direction as Direction
    from .order import as_compared as as_compared
    from .order import as_shown as as_shown
    from .order import compared_type as compared_type
    from .order import has_order as has_order
    from .order import sorted_places as sorted_places
    from .order_places import NULL_FIRST as NULL_FIRST
    from .order_places import VALUE as VALUE
    from .order_places import OrderPlace as OrderPlace
    from .order_places import OrderPlaces as OrderPlaces
    from .order_places import nan_rank as nan_rank
    from .order_places import null_rank as null_rank
    from .order_places import place_of as place_of
    from .physical import INT64_MAX as INT64_MAX
    from .physical import INT64_MIN as INT64_MIN
    from .physical import Family as Family
    from .physical import PhysicalValue as PhysicalValue
    from .physical import column_domain_has_nan as column_domain_has_nan
    from .physical import decode_wide as decode_wide
    from .physical import encode_wide as encode_wide
    from .physical import family_of as family_of
    from .physical import from_physical as from_physical
    from .physical import physical_type as physical_type
    from .physical import to_physical as to_physical
    from .places import PhysicalInterval as PhysicalInterval
    from .places import physical_interval as physical_interval
    from .places import physical_intervals as physical_intervals
    from .places import prefix_interval as prefix_interval
    from .questions import Asking as Asking
    from .questions import Question as Question
    from .questions import answers as answers
    from .questions import grouped as grouped
    from .questions import pieces as pieces
    from .reads import JoinKey as JoinKey
    from .reads import StatementReads as StatementReads
    from .reads import TableRead as TableRead
    from .reads import conjoined as conjoined
    from .reads import first_part as first_part
    from .reads import without_said as without_said
    from .references import columns as columns
    from .references import conjuncts as conjuncts
    from .references import leaves as leaves
    from .references import signed_leaves as signed_leaves
    from .scalars.nodes import ColumnValue as ColumnValue
    from .scalars.nodes import Fixed as Fixed
    from .scalars.nodes import FunctionCall as FunctionCall
    from .scalars.nodes import Scalar as Scalar
    from .scalars.types import CLOCK as CLOCK
    from .scalars.types import INSTANT as INSTANT
    from .skipping import may_fail as may_fail
    from .skipping import may_match as may_match
    from .skipping import must_match as must_match
    from .statistics import ColumnBounds as ColumnBounds
    from .statistics import Interval as Interval
    from .statistics import ManyFiles as ManyFiles
    from .statistics import PruningStatistics as PruningStatistics
    from .steps import Steps as Steps
    from .steps import Walking as Walking
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
    from .tree import fold as fold
    from .tree import transform as transform
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "arrow_statistics": "ArrowStatistics",
            "arrow_types": "UUID is_bytes is_text is_uuid",
            "binding": "bind reader_hint",
            "build": "ColumnBuilder col parse_path",
            "coercion": "Coerced coerce family",
            "column_ref": "ColumnRef between_backticks",
            "composite_statistics": "CompositeStatistics",
            "conversion": "convert_bounds narrowed_bounds",
            "engines": "CatalystNodes engine_of to_predicate",
            "engines.arrow": "to_arrow",
            "engines.arrow_reading": "names_read",
            "engines.casts": "field_type",
            "engines.catalog_types": "fields_of leaves_of",
            "engines.grid": "on_grid",
            "engines.iceberg": "to_iceberg",
            "engines.scalar_text": "DUCKDB ScalarWriter is_written_first",
            "engines.spark": "check_as_written to_spark",
            "engines.spark_printed": "conjuncts_of printed_columns printed_parts",
            "engines.spark_text": "PrintedColumns Unclear printed_predicate",
            "engines.sql": "parse",
            "engines.sql_names": "names_given",
            "engines.sql_statement": "is_statement statement_reads",
            "engines.sql_text": "literal_writer to_sql",
            "engines.sql_values": "NotReadable cast_value",
            "engines.sql_words": "column_sql name_sql quoted text_python text_sql word",
            "evaluate": "matches",
            "literals": "Literal LiteralValue compare_values kind literal",
            "normal_form": "gathered_form normalize",
            "order": "Direction as_compared as_shown compared_type has_order sorted_places",
            "order_places": "NULL_FIRST OrderPlace OrderPlaces VALUE nan_rank null_rank place_of",
            "physical": (
                "Family INT64_MAX INT64_MIN PhysicalValue column_domain_has_nan decode_wide encode_wide "
                "family_of from_physical physical_type to_physical"
            ),
            "places": "PhysicalInterval physical_interval physical_intervals prefix_interval",
            "questions": "Asking Question answers grouped pieces",
            "reads": "JoinKey StatementReads TableRead conjoined first_part without_said",
            "references": "columns conjuncts leaves signed_leaves",
            "scalars.nodes": "ColumnValue Fixed FunctionCall Scalar",
            "scalars.types": "CLOCK INSTANT",
            "skipping": "may_fail may_match must_match",
            "statistics": "ColumnBounds Interval ManyFiles PruningStatistics",
            "steps": "Steps Walking",
            "tree": "And Comparison Constant In IsNan IsNull Leaf Not Op Opaque Or Predicate StartsWith fold transform",
        },
    )
