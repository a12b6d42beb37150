"""The layout of a table's files, measured from its snapshot and its indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from metaindex.advisor.clustering.measure import ClusteringQuestion, measure
from metaindex.expressions import column_sql, physical_type
from metaindex.formats import Leaf, Snapshot
from metaindex.query import BoundsOf, Handle, Scan, TimestampLike, VersionLike, at_version, names_of

if TYPE_CHECKING:
    from metaindex.advisor.clustering.clustering import Clustering
    from metaindex.advisor.report.facts import LayoutSeen

_MOST = 60
"""Columns of a page that are measured."""
_STRIPS = 8
"""Columns of a page whose ranges are drawn."""
_CHOOSING = {"glob", "pathglobfilter", "recursivefilelookup", "basepath", "modifiedbefore", "modifiedafter"}
"""Options that choose among plain files."""


def clustering(
    handle: Handle,
    columns: Sequence[str],
    *,
    version: VersionLike,
    timestamp: TimestampLike,
    sample: float | None,
    indexes: Iterable[str] | None,
) -> Clustering:
    """Implement `Table.clustering`."""
    bounds = _bounds(handle, handle.snapshot(at_version(version, timestamp)), indexes)
    return measure(_question(handle, bounds.snapshot, tuple(columns), sample), bounds)


def layout_seen(
    handle: Handle,
    snapshot: Snapshot,
    named: Sequence[tuple[str, ...]],
    *,
    sample: float | None,
    indexes: Iterable[str] | None,
) -> LayoutSeen:
    """Measure for a page: the columns of the table, the ranges of some, and advice for those that are `named` (by their
    parts), or for all if none is."""
    from metaindex.advisor.clustering.clustering import FilesOf, Measured
    from metaindex.advisor.clustering.strips import strip_of
    from metaindex.advisor.report.facts import LayoutSeen

    bounds = _bounds(handle, snapshot, indexes)
    whole = measure(_question(handle, snapshot, (), 0.0 if named else sample, _MOST), bounds)
    leaves = [leaf for leaf in snapshot.schema.leaves() if physical_type(leaf.type) is not None]
    wanted = [leaf for leaf in leaves if leaf.parts in named]
    asked = tuple(column_sql(leaf.parts) for leaf in wanted)
    advised = measure(_question(handle, snapshot, asked, sample), bounds) if wanted else whole
    told = {column.column: column for column in (*whole.columns, *(advised.columns if wanted else ()))}
    drawn = [
        leaf for leaf in [*wanted, *(leaf for leaf in leaves if leaf not in wanted)] if ".".join(leaf.parts) in told
    ]
    files = FilesOf.of(snapshot)
    strips = []
    for facts in bounds.columns(drawn[:_STRIPS]) if drawn else ():
        column = told[".".join(facts.leaf.parts)]
        strips.append(strip_of(Measured.of(facts, files), column))
    return LayoutSeen(whole, tuple(strips), advised, max(0, len(leaves) - _MOST))


def _bounds(handle: Handle, snapshot: Snapshot, indexes: Iterable[str] | None) -> BoundsOf:
    opened, refused = handle.open_indexes(names_of(indexes, "indexes"))
    notes = [f"index {report.name} is left out: {report.reason}" for report in refused]
    return BoundsOf(snapshot, handle.ref.storage, opened, notes)


def _question(
    handle: Handle, snapshot: Snapshot, columns: tuple[str, ...], sample: float | None, most: int | None = None
) -> ClusteringQuestion:
    def scan(row: int, leaves: Sequence[Leaf]) -> Scan:
        names = tuple(dict.fromkeys(leaf.parts[0] for leaf in leaves))
        rows = np.array([row], np.int64)
        return Scan(snapshot, handle.ref.storage, handle.ref, rows, columns=names, time_zone=handle.config.time_zone)

    return ClusteringQuestion(
        columns, sample, scan, catalog_name(handle), handle.root(snapshot), _is_one_folder(handle), most
    )


def catalog_name(handle: Handle) -> str:
    """Return the name of a table that a catalog opened, with the catalog's own name, as SQL writes it."""
    catalog = handle.ref.options.get("catalog")
    if catalog is None:
        return ""
    name = getattr(catalog, "name", None)
    return f"{name or 'catalog'}.{handle.ref.path}"


def _is_one_folder(handle: Handle) -> bool:
    """Return whether all files below the table's path are the table: plain files can be chosen among others."""
    chosen = {name.lower() for name in handle.ref.options} & _CHOOSING
    return not (handle.ref.patterns or chosen)
