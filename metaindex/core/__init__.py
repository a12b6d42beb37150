"""The base of every other room: errors, configuration, records, vectors, display, and calls into a Spark session."""

from typing import TYPE_CHECKING

from .lazy import door as door

if TYPE_CHECKING:
    from .clients import client as client
    from .clients import offer as offer
    from .config import BuilderName as BuilderName
    from .config import Config as Config
    from .config import Literals as Literals
    from .config import QueryLog as QueryLog
    from .config import noting as noting
    from .config import sealing as sealing
    from .deadline import TooLate as TooLate
    from .deadline import look as look
    from .deadline import until as until
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
    from .expression_errors import TOO_DEEP as TOO_DEEP
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
    from .expression_errors import named_line as named_line
    from .figures.bars import ACCENT as ACCENT
    from .figures.bars import filled as filled
    from .figures.grid import BarCell as BarCell
    from .figures.grid import GridCell as GridCell
    from .figures.grid import Heading as Heading
    from .figures.grid import ValueCell as ValueCell
    from .figures.grid import facts as facts
    from .figures.grid import grid as grid
    from .figures.grid import link_to as link_to
    from .figures.grid import listed as listed
    from .figures.markup import Child as Child
    from .figures.markup import Element as Element
    from .figures.markup import Picture as Picture
    from .figures.markup import html as html
    from .figures.markup import pre as pre
    from .figures.markup import tag as tag
    from .jvm.cache import cache_dir as cache_dir
    from .jvm.callbacks import java_function as java_function
    from .jvm.classes import JavaClasses as JavaClasses
    from .jvm.classes import java_classes as java_classes
    from .jvm.classes import room_classes as room_classes
    from .jvm.frames import arrow_of as arrow_of
    from .jvm.frames import frame_of as frame_of
    from .jvm.frames import spark_schema as spark_schema
    from .jvm.gateway import gateway_of as gateway_of
    from .jvm.gateway import is_here as is_here
    from .jvm.gateway import jvm_of as jvm_of
    from .jvm.interrupts import interrupts_first as interrupts_first
    from .jvm.interrupts import surely as surely
    from .jvm.jobs import inheriting as inheriting
    from .jvm.jobs import setting as setting
    from .jvm.jobs import stage_ids as stage_ids
    from .jvm.jobs import tagged as tagged
    from .jvm.releases import SparkRelease as SparkRelease
    from .jvm.releases import installed_release as installed_release
    from .jvm.releases import installed_scala as installed_scala
    from .jvm.releases import known_names as known_names
    from .jvm.releases import known_release as known_release
    from .jvm.releases import release_of as release_of
    from .jvm.releases import scala_of as scala_of
    from .jvm.running import check_running as check_running
    from .jvm.said import said_by_spark as said_by_spark
    from .local_paths import local_path as local_path
    from .local_paths import local_path_of_uri as local_path_of_uri
    from .notebook import watched as watched
    from .output import Output as Output
    from .output import json_text as json_text
    from .output import show as show
    from .plain_result import Plain as Plain
    from .plain_result import named as named
    from .plain_result import plain as plain
    from .records import dataclass as dataclass
    from .rows import json_value as json_value
    from .rows import rows_of as rows_of
    from .shown import Shown as Shown
    from .shown import Tabular as Tabular
    from .shown import between_quotes as between_quotes
    from .shown import counted as counted
    from .shown import one_line as one_line
    from .shown import preformatted as preformatted
    from .telemetry import listening as listening
    from .telemetry import record_action as record_action
    from .telemetry import record_index_left_out as record_index_left_out
    from .telemetry import record_lag as record_lag
    from .telemetry import record_query as record_query
    from .telemetry import record_spark_query as record_spark_query
    from .text_table import Column as Column
    from .text_table import TextTable as TextTable
    from .times import utc_text as utc_text
    from .vectors import Mask as Mask
    from .vectors import Vector as Vector
    from .vectors import arrow_array as arrow_array
    from .vectors import compute as compute
    from .words import cell as cell
    from .words import duration as duration
    from .words import moment as moment
    from .words import percent as percent
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "clients": "client offer",
            "config": "BuilderName Config Literals QueryLog noting sealing",
            "deadline": "TooLate look until",
            "errors": (
                "BuildError ConcurrentWriteError DamagedIndexError ForeignIndexError IndexExistsError "
                "IndexNotFoundError IndexStateError ScanError SettingError StatementError WorkerError"
            ),
            "expression_errors": (
                "AmbiguousColumnError ArgumentError CorruptTableError EmptyFilesError ExpressionError FormatError "
                "LiteralTypeError MetaIndexError MissingDependencyError NotATableError ObjectExistsError "
                "ObjectNotFoundError OutsideTableError StorageError StoragePermissionError StorageUnavailableError "
                "TOO_DEEP UnknownColumnError UnsupportedFeatureError VersionNotFoundError first_line named_line"
            ),
            "figures.bars": "ACCENT filled",
            "figures.grid": "BarCell GridCell Heading ValueCell facts grid link_to listed",
            "figures.markup": "Child Element Picture html pre tag",
            "jvm.cache": "cache_dir",
            "jvm.callbacks": "java_function",
            "jvm.classes": "JavaClasses java_classes room_classes",
            "jvm.frames": "arrow_of frame_of spark_schema",
            "jvm.gateway": "gateway_of is_here jvm_of",
            "jvm.interrupts": "interrupts_first surely",
            "jvm.jobs": "inheriting setting stage_ids tagged",
            "jvm.releases": (
                "SparkRelease installed_release installed_scala known_names known_release release_of scala_of"
            ),
            "jvm.running": "check_running",
            "jvm.said": "said_by_spark",
            "local_paths": "local_path local_path_of_uri",
            "notebook": "watched",
            "output": "Output json_text show",
            "plain_result": "Plain named plain",
            "records": "dataclass",
            "rows": "json_value rows_of",
            "shown": "Shown Tabular between_quotes counted one_line preformatted",
            "telemetry": "listening record_action record_index_left_out record_lag record_query record_spark_query",
            "text_table": "Column TextTable",
            "times": "utc_text",
            "vectors": "Mask Vector arrow_array compute",
            "words": "cell duration moment percent",
        },
    )
