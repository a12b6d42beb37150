"""The 99 queries of TPC-DS over all of its tables: what it takes to recommend indexes for them, and what is read for
it."""

from __future__ import annotations

import time
from pathlib import Path

import metaindex as mi

from . import lakes, tpcds

Figures = list[dict[str, object]]


def over_all(folder: Path, scale: float) -> Figures:
    """A line: covering indexes among the candidates, as Spark would read them, and without them."""
    root = lakes.every(folder, scale)
    queries = tpcds.queries(tpcds.made(folder, scale))
    out: Figures = []
    for copies in (False, True):
        cpu, wall = time.process_time(), time.perf_counter()
        paths = sorted(path for path in root.iterdir() if path.is_dir() and path.name != "_metaindex")
        told = mi.recommend(queries, *paths, sample=0.01, copies=copies)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        sampled = [table.sampled for table in told.tables]
        out.append(
            {
                "whole": "TPC-DS, 99 queries",
                "covering indexes": "yes" if copies else "no",
                "tables": len(told.tables),
                "templates": told.templates,
                "read": sum(one.size_bytes for one in sampled) / sum(table.size_bytes for table in told.tables),
                "recommended": len(told.indexes),
                "saves": told.saved_bytes / max(told.read_bytes, 1),
                "refused": sum(len(table.refused) for table in told.tables),
                "CPU s": cpu,
                "wall s": wall,
            }
        )
    return out
