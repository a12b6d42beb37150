"""The base of every other room: errors, configuration, records, vectors, display, and calls into a Spark session."""

from typing import TYPE_CHECKING

from .lazy import door as door

if TYPE_CHECKING:
    from .bounded import BoundedCache as BoundedCache
    from .clients import CLIENTS as CLIENTS
    from .config import Config as Config
    from .config import QueryLog as QueryLog
    from .cures import Cure as Cure
    from .cures import Words as Words
    from .deadline import TooLate as TooLate
    from .errors import BuildError as BuildError
    from .errors import ConcurrentWriteError as ConcurrentWriteError
    from .errors import DamagedIndexError as DamagedIndexError
    from .errors import ForeignIndexError as ForeignIndexError
    from .errors import IndexExistsError as IndexExistsError
    from .errors import IndexNotFoundError as IndexNotFoundError
    from .errors import IndexStateError as IndexStateError
    from .errors import ScanError as ScanError
    from .errors import SettingError as SettingError
    from .errors import StatementError as StatementError
    from .errors import WorkerError as WorkerError
    from .expression_errors import AmbiguousColumnError as AmbiguousColumnError
    from .expression_errors import ArgumentError as ArgumentError
    from .expression_errors import CorruptTableError as CorruptTableError
    from .expression_errors import EmptyFilesError as EmptyFilesError
    from .expression_errors import ExpressionError as ExpressionError
    from .expression_errors import FormatError as FormatError
    from .expression_errors import LiteralTypeError as LiteralTypeError
    from .expression_errors import MetaIndexError as MetaIndexError
    from .expression_errors import MissingDependencyError as MissingDependencyError
    from .expression_errors import NotATableError as NotATableError
    from .expression_errors import ObjectExistsError as ObjectExistsError
    from .expression_errors import ObjectNotFoundError as ObjectNotFoundError
    from .expression_errors import OutsideTableError as OutsideTableError
    from .expression_errors import StorageError as StorageError
    from .expression_errors import StoragePermissionError as StoragePermissionError
    from .expression_errors import StorageUnavailableError as StorageUnavailableError
    from .expression_errors import UnknownColumnError as UnknownColumnError
    from .expression_errors import UnsupportedFeatureError as UnsupportedFeatureError
    from .expression_errors import VersionNotFoundError as VersionNotFoundError
    from .expression_errors import first_line as first_line
    from .figures import Element as Element
    from .jvm.driver import SparkDriver as SparkDriver
    from .jvm.releases import SparkRelease as SparkRelease
    from .notebook import Progress as Progress
    from .notebook import watched as watched
    from .plain_result import Plain as Plain
    from .records import dataclass as dataclass
    from .rows import ArrowRows as ArrowRows
    from .shown import Shown as Shown
    from .telemetry import TELEMETRY as TELEMETRY
    from .text_table import TextTable as TextTable
    from .texts import Column as Column
    from .texts import one_line as one_line
    from .vectors import Mask as Mask
    from .vectors import Vector as Vector
    from .vectors import compute as compute
    from .words import counted as counted
    from .words import duration as duration
    from .words import human_bytes as human_bytes
    from .words import moment as moment
    from .words import percent as percent

__getattr__, __dir__ = door(__name__)
