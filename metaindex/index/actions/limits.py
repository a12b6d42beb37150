"""Files that a refresh is limited to: those of some partitions, or those below a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from metaindex.core import ArgumentError, UnknownColumnError
from metaindex.expressions import ArrowStatistics, columns, may_match
from metaindex.formats import Snapshot, predicate_of

if TYPE_CHECKING:
    from .refresh import Limit


def limited(where: object, under: str | None, time_zone: str) -> Limit | None:
    """The limit that a user asks for, or None. ArgumentError where both ways are named, or `under` is no folder below
    the table."""
    if where is not None and under is not None:
        raise ArgumentError("a refresh is limited by where= or by under=, not by both; leave one out")
    if under is not None:
        folder = under.strip("/") if isinstance(under, str) else ""
        if not folder or under.startswith("/") or "://" in under or ".." in folder.split("/"):
            raise ArgumentError(f"under= is a folder below the table, as in 'day=2026-01-01'; got {under!r}")
        return lambda snapshot: _below(snapshot, folder)
    if where is not None:
        return lambda snapshot: _in_partitions(snapshot, where, time_zone)
    return None


def _below(snapshot: Snapshot, folder: str) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.starts_with(snapshot.files.paths, folder + "/").to_numpy(), np.bool_)


def _in_partitions(snapshot: Snapshot, where: object, time_zone: str) -> npt.NDArray[np.bool_]:
    """Files whose partition may match. Only partition columns may be named: of other columns the files themselves would
    have to be asked."""
    predicate = predicate_of(where, snapshot.schema, time_zone)
    leaves = {leaf.parts: leaf for leaf in snapshot.schema.leaves()}
    known = {}
    for ref in columns(predicate):
        leaf = leaves.get(ref.parts)
        bounds = snapshot.details.partition_bounds(leaf) if leaf is not None else None
        if bounds is None:
            partitions = ", ".join(snapshot.partition_columns) or "none"
            raise UnknownColumnError(
                f"where= of a refresh names partition columns; {ref.name!r} is none; partition columns: {partitions};"
                " or use under="
            )
        known[ref] = bounds
    return may_match(predicate, ArrowStatistics(len(snapshot.files), known))
