"""Bytes that the ranker expects of each covering index in the 22 queries, beside those that its scans read: each scan
is run alone, for Spark counts bytes by stage."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import metaindex as mi
from metaindex.core import SparkDriver
from metaindex.spark.optimizer.executed import counted_bytes, leaves, stages

from .lake import Lake
from .measured import median
from .queries import NEEDLES, QUERIES
from .sessions import beside

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LABEL = re.compile(r"<metaindex (\S+): covering")


def predicted(spark: SparkSession, lake: Lake) -> list[dict[str, object]]:
    """A line for each index of a table that a query reads, and the median of the errors: the larger of both numbers in
    units of the smaller one."""
    out: list[dict[str, object]] = []
    errors = []
    with beside(spark) as ours:
        lake.views(ours)
        for query, sql in {**QUERIES, **NEEDLES}.items():
            frame = ours.sql(sql)
            expected: Counter[tuple[str, str]] = Counter()
            for scan in mi.explain(frame).scans:
                if scan.cover is not None:
                    expected[scan.scan.rsplit("/", 1)[1], scan.cover.index] += scan.cover.read_bytes
            read: Counter[tuple[str, str]] = Counter()
            for leaf in leaves(frame._jdf.queryExecution().executedPlan()):
                label = _LABEL.search(leaf.simpleString(8))
                if label is not None:
                    root = leaf.relation().location().rootPaths().apply(0).toString()
                    table = root.split("/_metaindex/")[1].split("/", 1)[
                        0
                    ]  # beside folders of plain files, one for each
                    read[table, label[1]] += _alone(ours, leaf)
            assert set(read) == set(expected), f"{query}: {set(read)} are read, {set(expected)} expected"
            for table, index in expected:
                both = expected[table, index], read[table, index]
                errors.append(max(both) / max(1, min(both)))
                out.append(
                    {
                        "query": query,
                        "index": f"{table}.{index}",
                        "expected MB": both[0] / 1e6,
                        "read MB": both[1] / 1e6,
                        "error x": errors[-1],
                    }
                )
    assert errors, "no query is served by an index"
    return [*out, {"query": "median", "error x": median(errors)}]


def _alone(spark: SparkSession, leaf: Any) -> int:
    """Bytes that the tasks of a scan read."""
    with SparkDriver(spark).tagged() as tag, counted_bytes(spark):
        (leaf.executeColumnar() if leaf.supportsColumnar() else leaf.execute()).count()
        return sum(int(stage.inputBytes()) for stage in stages(spark, tag))
