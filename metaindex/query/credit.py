"""The gain of an index for a query: the files that it drops and that the table's own statistics would keep."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pyarrow.compute as pc

from metaindex.core import Vector

from .explanation import Credit
from .pruning.result import PruneResult
from .pruning.walk import LOG

logger = logging.getLogger("metaindex")


def credited(result: PruneResult, ask: Callable[[list[str]], PruneResult]) -> Credit | None:
    """Return the credit of each index. `ask`: the same question at the same version, to these indexes alone. None if
    the table does not answer by itself: an explanation goes without."""
    helped = [report for report in result.indexes if report.used and report.dropped_files and report.name != LOG]
    try:
        own = ask([])
        if own.total_files != result.total_files:
            return None
        if not own.dropped_files:
            return Credit(0, {report.name: report.dropped_files for report in helped})
        return Credit(own.dropped_files, {report.name: _more(own, ask([report.name])) for report in helped})
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the table, its indexes are explained
        logger.debug("what a table's own statistics leave out is not told: %s", error)
        return None


def _more(own: PruneResult, other: PruneResult) -> int:
    """Files that `own` keeps and `other` does not."""
    kept = pc.is_in(Vector(own.files.paths).array, value_set=Vector(other.files.paths).array)
    return len(own.files) - int(pc.sum(kept).as_py() or 0)
