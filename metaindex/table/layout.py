"""How a table's files are laid out, asked of its snapshot and its indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from metaindex.advice.bounds import BoundsOf
from metaindex.advice.measure import ClusteringQuestion, measure
from metaindex.formats.model import Leaf
from metaindex.readers.scan import Scan

from .asked import TimestampLike, VersionLike, at_version, names_of
from .handle import Handle

if TYPE_CHECKING:
    from metaindex.advice.clustering import Clustering

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
    """See `Table.clustering`."""
    snapshot = handle.snapshot(at_version(version, timestamp))
    opened, refused = handle.open_indexes(names_of(indexes, "indexes"))
    notes = [f"index {report.name} is left out: {report.reason}" for report in refused]

    def scan(row: int, leaves: Sequence[Leaf]) -> Scan:
        names = tuple(dict.fromkeys(leaf.parts[0] for leaf in leaves))
        rows = np.array([row], np.int64)
        return Scan(snapshot, handle.ref.storage, handle.ref, rows, columns=names, time_zone=handle.config.time_zone)

    asked = ClusteringQuestion(
        tuple(columns), sample, scan, catalog_name(handle), handle.root(snapshot), _is_one_folder(handle)
    )
    return measure(asked, BoundsOf(snapshot, handle.ref.storage, opened, notes))


def catalog_name(handle: Handle) -> str:
    """Of a table that a catalog opened: with the catalog's own name, as SQL names it."""
    catalog = handle.ref.options.get("catalog")
    if catalog is None:
        return ""
    name = getattr(catalog, "name", None)
    return f"{name or 'catalog'}.{handle.ref.path}"


def _is_one_folder(handle: Handle) -> bool:
    """Is all that lies below the table's path the table? Plain files can be chosen among others."""
    chosen = {name.lower() for name in handle.ref.options} & _CHOOSING
    return handle.format != "files" or not (handle.ref.patterns or chosen)
