"""Stored indexes and what changes them: the operation log, runs, kinds, builders, actions."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .actions.action import Outcome as Outcome
    from .actions.refresh import Written as Written
    from .actions.trial import Sandbox as Sandbox
    from .build.protocol import BuilderChoice as BuilderChoice
    from .folder import IndexFolder as IndexFolder
    from .kinds.bloom.spec import Bloom as Bloom
    from .kinds.column_stats.spec import ColumnStats as ColumnStats
    from .kinds.covering.spec import Covering as Covering
    from .kinds.covering.spec import CoveringCurve as CoveringCurve
    from .kinds.covering.spec import CoveringRange as CoveringRange
    from .kinds.different import DistinctKeys as DistinctKeys
    from .kinds.kind import AskedColumns as AskedColumns
    from .kinds.kind import Kind as Kind
    from .kinds.registry import KINDS as KINDS
    from .kinds.served import StoredPart as StoredPart
    from .kinds.sketches.spec import Sketches as Sketches
    from .kinds.sums.spec import Sums as Sums
    from .kinds.theta.sketch import Theta as Theta
    from .kinds.values.spec import ValueList as ValueList
    from .kinds.values.spec import Values as Values
    from .lacking import Lacking as Lacking
    from .log.entry import IndexLogEntry as IndexLogEntry
    from .lookup.run_source import BoundPredicate as BoundPredicate
    from .lookup.run_source import RunCoverage as RunCoverage
    from .open_index import OpenIndex as OpenIndex
    from .open_index import ServedKey as ServedKey
    from .statistics.bounds import ColumnFacts as ColumnFacts
    from .statistics.bounds import FileStatistics as FileStatistics
    from .statistics.kept import Kept as Kept
    from .verification.report import Verification as Verification

__getattr__, __dir__ = door(__name__)
