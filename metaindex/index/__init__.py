"""Stored indexes and what changes them: the operation log, runs, kinds, builders, actions."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .actions.action import Outcome as Outcome
    from .actions.index_actions import IndexActions as IndexActions
    from .actions.refresh import Staleness as Staleness
    from .actions.target import Target as Target
    from .actions.target import Written as Written
    from .actions.trial import Sandbox as Sandbox
    from .actions.trial import Trial as Trial
    from .actions.trial import TrialRows as TrialRows
    from .build.local import LocalBuilder as LocalBuilder
    from .build.protocol import Builder as Builder
    from .build.protocol import Progress as Progress
    from .build.spark import SparkBuilder as SparkBuilder
    from .folder import IndexFolder as IndexFolder
    from .keys import FileIdentities as FileIdentities
    from .kinds.bloom.spec import Bloom as Bloom
    from .kinds.canonical import answers_for as answers_for
    from .kinds.canonical import hash_values as hash_values
    from .kinds.canonical import plain_type as plain_type
    from .kinds.column_stats.spec import ColumnStats as ColumnStats
    from .kinds.columns import columns_of as columns_of
    from .kinds.columns import find_leaf as find_leaf
    from .kinds.command import KindCommand as KindCommand
    from .kinds.covering.curve import CoveringCurve as CoveringCurve
    from .kinds.covering.spec import Covering as Covering
    from .kinds.covering.spec import CoveringRange as CoveringRange
    from .kinds.described import FactKind as FactKind
    from .kinds.described import StoredColumn as StoredColumn
    from .kinds.described import footers_tell as footers_tell
    from .kinds.described import leaves_of as leaves_of
    from .kinds.different import key_floats as key_floats
    from .kinds.different import keys_type as keys_type
    from .kinds.different import may_be_cut as may_be_cut
    from .kinds.different import value_keys as value_keys
    from .kinds.exact_sums import SUM_BYTES as SUM_BYTES
    from .kinds.exact_sums import can_be_summed as can_be_summed
    from .kinds.exact_sums import scale_of as scale_of
    from .kinds.exact_sums import totals as totals
    from .kinds.facts import facts_of as facts_of
    from .kinds.facts import replace_rows as replace_rows
    from .kinds.facts import take_bounds as take_bounds
    from .kinds.facts import unknown_facts as unknown_facts
    from .kinds.keyed import Hits as Hits
    from .kinds.keyed import KeyReader as KeyReader
    from .kinds.keyed import ReadsRanges as ReadsRanges
    from .kinds.keyed import SupportsBatchReads as SupportsBatchReads
    from .kinds.kind import AskedColumns as AskedColumns
    from .kinds.kind import KeepsValues as KeepsValues
    from .kinds.kind import KeyKind as KeyKind
    from .kinds.kind import Kind as Kind
    from .kinds.of_files import OfFilesKind as OfFilesKind
    from .kinds.of_files import Told as Told
    from .kinds.of_files import of_key as of_key
    from .kinds.pieces import MergedPiece as MergedPiece
    from .kinds.pieces import RowMerge as RowMerge
    from .kinds.registry import FACT_ROWS as FACT_ROWS
    from .kinds.registry import KINDS as KINDS
    from .kinds.registry import asked as asked
    from .kinds.registry import check_kinds as check_kinds
    from .kinds.registry import check_one_index as check_one_index
    from .kinds.registry import covered_columns as covered_columns
    from .kinds.registry import key_reader as key_reader
    from .kinds.registry import keyed as keyed
    from .kinds.registry import kind_from_spec as kind_from_spec
    from .kinds.registry import looked_up as looked_up
    from .kinds.registry import looked_up_rows as looked_up_rows
    from .kinds.registry import others as others
    from .kinds.registry import readable as readable
    from .kinds.registry import rows_of as rows_of
    from .kinds.registry import served_keys as served_keys
    from .kinds.registry import served_rows as served_rows
    from .kinds.registry import serves_rows as serves_rows
    from .kinds.registry import stored_kind as stored_kind
    from .kinds.registry import stranger as stranger
    from .kinds.renames import same_kinds as same_kinds
    from .kinds.renames import with_ids as with_ids
    from .kinds.served import ORDINAL as ORDINAL
    from .kinds.served import ROW as ROW
    from .kinds.served import RowKind as RowKind
    from .kinds.served import RowLayout as RowLayout
    from .kinds.served import StoredPart as StoredPart
    from .kinds.served import row_plans as row_plans
    from .kinds.sketches.spec import Sketches as Sketches
    from .kinds.spark_types import is_whole as is_whole
    from .kinds.spark_types import spark_type as spark_type
    from .kinds.spark_types import stored_type as stored_type
    from .kinds.spark_types import stored_types as stored_types
    from .kinds.spark_types import width as width
    from .kinds.states import StatState as StatState
    from .kinds.sums.spec import Sums as Sums
    from .kinds.theta.hashed import as_sketched as as_sketched
    from .kinds.theta.hashed import can_be_sketched as can_be_sketched
    from .kinds.theta.hashed import different as different
    from .kinds.theta.murmur import Hashes as Hashes
    from .kinds.theta.murmur import murmur_hashes as murmur_hashes
    from .kinds.theta.sketch import ENTRIES as ENTRIES
    from .kinds.theta.sketch import Theta as Theta
    from .kinds.theta.sketch import union as union
    from .kinds.values.lists import ValueList as ValueList
    from .kinds.values.spec import Values as Values
    from .kinds.written import Options as Options
    from .kinds.written import Using as Using
    from .kinds.written import Value as Value
    from .kinds.written import create_text as create_text
    from .kinds.written import kind_of_word as kind_of_word
    from .kinds.written import known_words as known_words
    from .kinds.written import options_of as options_of
    from .kinds.written import value_text as value_text
    from .kinds.written import with_text as with_text
    from .log.entry import CoveredColumn as CoveredColumn
    from .log.entry import CoveredKey as CoveredKey
    from .log.entry import IndexLogEntry as IndexLogEntry
    from .log.entry import RunRef as RunRef
    from .log.operation_log import OperationLog as OperationLog
    from .log.sealed import why_not_read as why_not_read
    from .log.states import State as State
    from .log.versions import Recorded as Recorded
    from .open_index import OpenIndex as OpenIndex
    from .open_index import Ordinals as Ordinals
    from .store.cache import StoreCache as StoreCache
    from .verification.report import Verification as Verification
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "actions.action": "Outcome",
            "actions.index_actions": "IndexActions",
            "actions.trial": "Sandbox Trial TrialRows",
            "actions.refresh": "Staleness",
            "actions.target": "Target Written",
            "build.local": "LocalBuilder",
            "build.protocol": "Builder Progress",
            "build.spark": "SparkBuilder",
            "folder": "IndexFolder",
            "keys": "FileIdentities",
            "kinds.bloom.spec": "Bloom",
            "kinds.canonical": "answers_for hash_values plain_type",
            "kinds.column_stats.spec": "ColumnStats",
            "kinds.columns": "columns_of find_leaf",
            "kinds.command": "KindCommand",
            "kinds.covering.curve": "CoveringCurve",
            "kinds.covering.spec": "Covering CoveringRange",
            "kinds.described": "FactKind StoredColumn footers_tell leaves_of",
            "kinds.different": "key_floats keys_type may_be_cut value_keys",
            "kinds.exact_sums": "SUM_BYTES can_be_summed scale_of totals",
            "kinds.facts": "facts_of replace_rows take_bounds unknown_facts",
            "kinds.keyed": "Hits KeyReader SupportsBatchReads ReadsRanges",
            "kinds.kind": "AskedColumns KeepsValues KeyKind Kind",
            "kinds.of_files": "OfFilesKind Told of_key",
            "kinds.pieces": "MergedPiece RowMerge",
            "kinds.registry": (
                "FACT_ROWS KINDS asked check_kinds check_one_index covered_columns key_reader keyed "
                "kind_from_spec looked_up looked_up_rows others readable rows_of served_keys served_rows "
                "serves_rows stored_kind stranger"
            ),
            "kinds.renames": "same_kinds with_ids",
            "kinds.served": ("ORDINAL ROW RowKind RowLayout StoredPart row_plans"),
            "kinds.sketches.spec": "Sketches",
            "kinds.spark_types": "is_whole spark_type stored_type stored_types width",
            "kinds.states": "StatState",
            "kinds.sums.spec": "Sums",
            "kinds.theta.hashed": "as_sketched can_be_sketched different",
            "kinds.theta.murmur": "Hashes murmur_hashes",
            "kinds.theta.sketch": "ENTRIES Theta union",
            "kinds.values.lists": "ValueList",
            "kinds.values.spec": "Values",
            "kinds.written": "Options Using Value create_text kind_of_word known_words options_of value_text with_text",
            "log.entry": "CoveredColumn CoveredKey IndexLogEntry RunRef",
            "log.operation_log": "OperationLog",
            "log.sealed": "why_not_read",
            "log.states": "State",
            "log.versions": "Recorded",
            "open_index": "OpenIndex Ordinals",
            "store.cache": "StoreCache",
            "verification.report": "Verification",
        },
    )
