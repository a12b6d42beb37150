"""Rows along a curve: which share of files is left out by which order, in memory; and what Spark reads of a Delta table
through `mi.CoveringCurve`, beside the same table in Delta's Z-order, clustered by Delta's liquid clustering, sorted by
the first column, and through `mi.CoveringRange`. One run, the same queries; every peer's rows are the plain ones."""

from __future__ import annotations

from pathlib import Path

from benchmarks.telling import Figures

from . import orders, peers


def run(folder: Path, quick: bool) -> Figures:
    """Both parts."""
    if quick:
        return [*orders.run(20_000, 16, 4), *peers.run(folder, 20_000, 6, 4)]
    return [*orders.run(1_000_000, 128, 200), *peers.run(folder, 1_500_000, 24, 36)]
