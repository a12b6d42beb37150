"""Data files and their live rows: Delta, Iceberg, plain folders; Parquet and text files."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .condition import OfSchema as OfSchema
    from .diff import Diff as Diff
    from .files.read_options import ReadOptions as ReadOptions
    from .format import At as At
    from .format import Format as Format
    from .format import Resolved as Resolved
    from .format import TableRef as TableRef
    from .iceberg.configured import ConfiguredCatalog as ConfiguredCatalog
    from .model import Base as Base
    from .model import Changes as Changes
    from .model import Field as Field
    from .model import FileTable as FileTable
    from .model import Leaf as Leaf
    from .model import Schema as Schema
    from .model import Snapshot as Snapshot
    from .model import Trust as Trust
    from .model import Version as Version
    from .names import NAMED as NAMED
    from .parquet.file import Layouts as Layouts
    from .parquet.footers import Footer as Footer
    from .parquet.footers import FooterColumn as FooterColumn
    from .parquet.opened import HeldFooters as HeldFooters
    from .parquet.opened import OpenedFile as OpenedFile
    from .parquet.partitions import PartitionValues as PartitionValues
    from .parquet.rows import ParquetRows as ParquetRows
    from .parquet.schema import Compact as Compact
    from .parquet.stated import StatedColumn as StatedColumn
    from .registry import open_ref as open_ref
    from .tables_below import Walk as Walk
    from .text.reader import TextReader as TextReader

__getattr__, __dir__ = door(__name__)
