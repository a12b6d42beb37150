"""Data files and their live rows: Delta, Iceberg, plain folders; Parquet and text files."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .column_names import alike as alike
    from .condition import OfSchema as OfSchema
    from .condition import at_moment as at_moment
    from .condition import bound as bound
    from .condition import predicate_of as predicate_of
    from .diff import compare as compare
    from .drafts import check_folder as check_folder
    from .drafts import new_draft as new_draft
    from .files.beginnings import beginning as beginning
    from .files.beginnings import is_whole as is_whole
    from .files.compressed import not_unpacked as not_unpacked
    from .files.globs import escape as escape
    from .files.only_spark import unread_file as unread_file
    from .files.only_spark import without_only_spark as without_only_spark
    from .files.place import above as above
    from .files.place import name_of as name_of
    from .files.read_options import ReadOptions as ReadOptions
    from .files.read_options import options_in_words as options_in_words
    from .files.read_options import said_once as said_once
    from .files.schema import needs_header as needs_header
    from .files.spelling import READER as READER
    from .files.spelling import is_known as is_known
    from .files.spelling import meant as meant
    from .files.spelling import spelled as spelled
    from .format import At as At
    from .format import Format as Format
    from .format import Resolved as Resolved
    from .format import TableRef as TableRef
    from .iceberg.configured import ConfiguredCatalog as ConfiguredCatalog
    from .iceberg.configured import said_name as said_name
    from .model import COLLATED as COLLATED
    from .model import FILE_SCHEMA as FILE_SCHEMA
    from .model import IDENTITY as IDENTITY
    from .model import Base as Base
    from .model import Changes as Changes
    from .model import Deletes as Deletes
    from .model import Diff as Diff
    from .model import EqualityDelete as EqualityDelete
    from .model import Field as Field
    from .model import FileTable as FileTable
    from .model import Leaf as Leaf
    from .model import Schema as Schema
    from .model import Snapshot as Snapshot
    from .model import SnapshotDetails as SnapshotDetails
    from .model import Trust as Trust
    from .model import Version as Version
    from .names import FILES as FILES
    from .names import NAMED as NAMED
    from .nested_fields import inner_fields as inner_fields
    from .nested_fields import noted as noted
    from .older_calendar import may_be_in_older_calendar as may_be_in_older_calendar
    from .parquet.errors import describe as describe
    from .parquet.file import Layouts as Layouts
    from .parquet.file import Shape as Shape
    from .parquet.file import ShapeKey as ShapeKey
    from .parquet.file import askable as askable
    from .parquet.file import askable_in as askable_in
    from .parquet.file import encrypted_columns as encrypted_columns
    from .parquet.file import open_footer as open_footer
    from .parquet.file import shape_of as shape_of
    from .parquet.footers import FooterColumn as FooterColumn
    from .parquet.footers import read_footers as read_footers
    from .parquet.footers import row_group_columns as row_group_columns
    from .parquet.opened import DOUBTS as DOUBTS
    from .parquet.opened import EveryRowGroup as EveryRowGroup
    from .parquet.opened import FileFooter as FileFooter
    from .parquet.opened import HeldFooters as HeldFooters
    from .parquet.opened import OpenedFile as OpenedFile
    from .parquet.opened import open_file as open_file
    from .parquet.partitions import PartitionValues as PartitionValues
    from .parquet.projection import FileNames as FileNames
    from .parquet.projection import constant as constant
    from .parquet.rows import check_columns as check_columns
    from .parquet.rows import read_parquet as read_parquet
    from .parquet.schema import Compact as Compact
    from .parquet.schema import Kinds as Kinds
    from .parquet.trust import AbsentLeaf as AbsentLeaf
    from .parquet.trust import Doubt as Doubt
    from .parquet.trust import Found as Found
    from .registry import catalog_options as catalog_options
    from .registry import format_named as format_named
    from .registry import open_ref as open_ref
    from .tables_below import FoundTable as FoundTable
    from .tables_below import Walk as Walk
    from .text.reader import TextReader as TextReader
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "column_names": "alike",
            "condition": "OfSchema at_moment bound predicate_of",
            "diff": "compare",
            "drafts": "check_folder new_draft",
            "files.beginnings": "beginning is_whole",
            "files.compressed": "not_unpacked",
            "files.globs": "escape",
            "files.only_spark": "unread_file without_only_spark",
            "files.place": "above name_of",
            "files.read_options": "ReadOptions options_in_words said_once",
            "files.schema": "needs_header",
            "files.spelling": "READER is_known meant spelled",
            "iceberg.configured": "ConfiguredCatalog said_name",
            "model": (
                "Base COLLATED Changes Deletes Diff EqualityDelete FILE_SCHEMA Field FileTable IDENTITY Leaf "
                "Schema Snapshot SnapshotDetails Trust Version"
            ),
            "names": "FILES NAMED",
            "nested_fields": "inner_fields noted",
            "older_calendar": "may_be_in_older_calendar",
            "parquet.errors": "describe",
            "parquet.file": "Layouts Shape ShapeKey askable askable_in encrypted_columns open_footer shape_of",
            "parquet.footers": "FooterColumn read_footers row_group_columns",
            "parquet.opened": "DOUBTS EveryRowGroup FileFooter HeldFooters OpenedFile open_file",
            "parquet.partitions": "PartitionValues",
            "parquet.projection": "FileNames constant",
            "parquet.rows": "check_columns read_parquet",
            "parquet.schema": "Compact Kinds",
            "parquet.trust": "AbsentLeaf Doubt Found",
            "format": "At Format Resolved TableRef",
            "registry": "catalog_options format_named open_ref",
            "tables_below": "FoundTable Walk",
            "text.reader": "TextReader",
        },
    )
