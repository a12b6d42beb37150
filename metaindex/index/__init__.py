"""Stored indexes and what changes them: the operation log, runs, kinds, builders, actions."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .actions.action import Outcome as Outcome
    from .actions.refresh import Staleness as Staleness
    from .actions.refresh import Written as Written
    from .actions.target import Target as Target
    from .actions.trial import Sandbox as Sandbox
    from .actions.trial import Trial as Trial
    from .actions.trial import TrialRows as TrialRows
    from .build.builders import Builders as Builders
    from .build.protocol import Builder as Builder
    from .build.protocol import Progress as Progress
    from .folder import IndexFolder as IndexFolder
    from .keys import FileIdentities as FileIdentities
    from .kinds.bloom.spec import Bloom as Bloom
    from .kinds.canonical import hash_values as hash_values
    from .kinds.column_stats.spec import ColumnStats as ColumnStats
    from .kinds.command import KindCommand as KindCommand
    from .kinds.covering.curve import CoveringCurve as CoveringCurve
    from .kinds.covering.spec import Covering as Covering
    from .kinds.covering.spec import CoveringRange as CoveringRange
    from .kinds.described import FactKind as FactKind
    from .kinds.different import DistinctKeys as DistinctKeys
    from .kinds.kind import AskedColumns as AskedColumns
    from .kinds.kind import KeyKind as KeyKind
    from .kinds.kind import Kind as Kind
    from .kinds.of_files import FileAggregate as FileAggregate
    from .kinds.registry import KINDS as KINDS
    from .kinds.served import RowKind as RowKind
    from .kinds.served import RowLayout as RowLayout
    from .kinds.served import RowSizes as RowSizes
    from .kinds.served import StoredPart as StoredPart
    from .kinds.sketches.spec import Sketches as Sketches
    from .kinds.spark_types import shown_as as shown_as
    from .kinds.states import StatState as StatState
    from .kinds.sums.spec import Sums as Sums
    from .kinds.theta.sketch import Theta as Theta
    from .kinds.values.lists import ValueList as ValueList
    from .kinds.values.spec import Values as Values
    from .kinds.written import Options as Options
    from .kinds.written import Using as Using
    from .kinds.written import Value as Value
    from .log.entry import CoveredKey as CoveredKey
    from .log.entry import IndexLogEntry as IndexLogEntry
    from .log.entry import RunRef as RunRef
    from .log.operation_log import OperationLog as OperationLog
    from .log.states import State as State
    from .log.versions import Recorded as Recorded
    from .lookup.combined import Combination as Combination
    from .lookup.key_source import KnowsRowGroups as KnowsRowGroups
    from .lookup.run_source import BoundPredicate as BoundPredicate
    from .lookup.run_source import RunCoverage as RunCoverage
    from .lookup.run_source import RunSource as RunSource
    from .open_index import OpenIndex as OpenIndex
    from .statistics.bounds import ColumnFacts as ColumnFacts
    from .statistics.bounds import FileStatistics as FileStatistics
    from .statistics.counts import KnownCounts as KnownCounts
    from .statistics.kept import KeptSketches as KeptSketches
    from .statistics.kept import KeptSums as KeptSums
    from .statistics.kept import KeptValues as KeptValues
    from .statistics.located import LeftOut as LeftOut
    from .verification.report import Verification as Verification
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "actions.action": "Outcome",
            "actions.refresh": "Staleness Written",
            "actions.target": "Target",
            "actions.trial": "Sandbox Trial TrialRows",
            "build.builders": "Builders",
            "build.protocol": "Builder Progress",
            "folder": "IndexFolder",
            "keys": "FileIdentities",
            "kinds.bloom.spec": "Bloom",
            "kinds.canonical": "hash_values",
            "kinds.column_stats.spec": "ColumnStats",
            "kinds.command": "KindCommand",
            "kinds.covering.curve": "CoveringCurve",
            "kinds.covering.spec": "Covering CoveringRange",
            "kinds.described": "FactKind",
            "kinds.different": "DistinctKeys",
            "kinds.kind": "AskedColumns KeyKind Kind",
            "kinds.of_files": "FileAggregate",
            "kinds.registry": "KINDS",
            "kinds.served": "RowKind RowLayout RowSizes StoredPart",
            "kinds.sketches.spec": "Sketches",
            "kinds.spark_types": "shown_as",
            "kinds.states": "StatState",
            "kinds.sums.spec": "Sums",
            "kinds.theta.sketch": "Theta",
            "kinds.values.lists": "ValueList",
            "kinds.values.spec": "Values",
            "kinds.written": "Options Using Value",
            "log.entry": "CoveredKey IndexLogEntry RunRef",
            "log.operation_log": "OperationLog",
            "log.states": "State",
            "log.versions": "Recorded",
            "lookup.combined": "Combination",
            "lookup.key_source": "KnowsRowGroups",
            "lookup.run_source": "BoundPredicate RunCoverage RunSource",
            "open_index": "OpenIndex",
            "statistics.bounds": "ColumnFacts FileStatistics",
            "statistics.counts": "KnownCounts",
            "statistics.kept": "KeptSketches KeptSums KeptValues",
            "statistics.located": "LeftOut",
            "verification.report": "Verification",
        },
    )
